//! What is put before the chain: requests with their authority, events with their figures. Facts only, no decision.

use super::engine_set::EngineSet;
use crate::engines::CallCost;
use crate::tools::Meaning;
use std::path::Path;
use std::time::Duration;
use tripwire_authority::{CommandRuling, Confinement, Need, Surroundings, Who};
use tripwire_core::chain::event::{Action, AgentEvent, Flag, Flags, Outcome as EventOutcome};
use tripwire_core::chain::feedback::{ExecutionResult, ExecutionStatus};
use tripwire_core::input::{
    Authority, EngineSwitched, FloorFact, Grant, IdentityFact, Permission, Request, ReviewVerdict, Verdict,
};
use tripwire_core::label::Label;
use tripwire_core::prices::{Cost, PriceBasis, PriceList};
use tripwire_core::record::chain::Digest;
use tripwire_core::run::line::Switched;
use tripwire_core::run::record::{Answer, Call, CallOutcome, Returned, ReviewAnswer, Reviewed, Spent, Work};
use tripwire_core::units::{Count, MicroUsd, RunMillis, Tokens};
use tripwire_core::usage::FigureSource;
use tripwire_core::usage::Usage;
use tripwire_judge::outside::OutsideTexts;
use tripwire_judge::reading::CallReading;
use tripwire_judge::{self as judge, Judge};
use tripwire_observe::{RawCall, observe};
use tripwire_session::driver::Driver;
use tripwire_session::file_marks::BoundTree;

/// What memories are called that a policy does not distinguish: the careful answer.
const PRIVATE: &str = "private";
/// The name under which asking the model is requested.
const MODEL: &str = "model";
/// The name under which applying a reviewed change is requested.
const APPLY: &str = "apply";

/// The action of applying a reviewed change.
pub(super) fn apply_action() -> Action {
    Action { tool: Label::cut(APPLY), ..Action::default() }
}

/// What the facts are taken from.
pub(super) struct Facts<'a> {
    pub(super) driver: &'a Driver,
    pub(super) engines: &'a EngineSet,
    /// The workspace.
    pub(super) root: &'a Path,
    /// The folder whose contents the agent changes.
    pub(super) tree: &'a Path,
    /// The running step.
    pub(super) step: Count,
    /// How long the last call took.
    pub(super) took: Duration,
    /// What the model has read from outside of the workspace.
    pub(super) outside: &'a OutsideTexts,
}

impl Facts<'_> {
    /// A call that came back, with what the session knows of it.
    pub(super) fn tool_event(&self, event: AgentEvent) -> AgentEvent {
        let tested = event.flags.has(Flag::Test);
        AgentEvent {
            latency_ms: self.took_ms(),
            tool_calls: Count::new(1),
            turn_id: Some(self.turn_id()),
            workspace_hash: if tested { self.workspace() } else { None },
            ..event
        }
    }

    /// The request to ask the model.
    pub(super) fn model_request(&self, reserve_micro_usd: Option<MicroUsd>) -> Request {
        Request { reserve_micro_usd, ..self.loops_own_request(MODEL, None) }
    }

    /// The request to apply a reviewed change.
    pub(super) fn apply_request(&self, proposal: Digest) -> Request {
        self.loops_own_request(APPLY, Some(proposal))
    }

    /// The request for a call, with what the role's permissions say about it.
    pub(super) fn tool_request(&self, call: &Call, meaning: Option<Meaning>) -> Request {
        let raw = RawCall { tool: &call.tool, args: &call.arguments, ..RawCall::default() };
        let mut reading = self.reading(call);
        let who = Who::role(self.driver.role());
        let inside = Surroundings { root: self.root, confinement: Confinement::Sandboxed };
        let facts = judge::Facts::here(self.root.to_owned(), self.root.to_owned(), self.driver.policy());
        if let CommandRuling::Ask(why) = self.driver.ruling(who, &raw, &reading, inside) {
            reading.ask(Judge::fact_of_policy(&facts, &format!("{} {}", call.tool, call.arguments), &reading, &why));
        }
        if let Some(fact) = self.outside.fact_of(&facts, &raw, &reading) {
            reading.ask(fact);
        }
        let (action, authority) = match meaning {
            Some(meaning) => {
                let at = Surroundings { root: self.root, confinement: Confinement::Sandboxed };
                let authority = self.driver.authority_for(who, &raw, &reading, at);
                (meaning.action, Some(self.with_memories(authority, &meaning.permissions)))
            }
            // A call that does not decode is never requested; without authority the gate refuses it.
            None => (observe(&raw).action, None),
        };
        let action = Action { turn_id: Some(self.turn_id()), ..action };
        Request {
            action,
            authority,
            floor: reading.floor,
            proposal: None,
            reserve_micro_usd: None,
            agent_id: None,
            starts_agent: None,
            running: None,
        }
    }

    /// What a call would run, and what it would destroy beyond recall.
    fn reading(&self, call: &Call) -> CallReading {
        let facts = judge::Facts::here(self.root.to_owned(), self.root.to_owned(), self.driver.policy());
        let facts = facts.in_session(self.driver.layout(), self.driver.session());
        let reading = Judge::read_call(&facts, &call.tool, &call.arguments);
        // The model and the transcript see paths relative to the workspace.
        let root = self.root.to_string_lossy();
        let floor = reading.floor.map(|fact| {
            let reason = tripwire_observe::relative(fact.reason.as_str(), &[root.as_ref()]);
            FloorFact { reason: Label::cut(&reason), ..fact }
        });
        CallReading { floor, ..reading }
    }

    /// The same facts with what a tool of the memory needs beside them: the first that is missing is named.
    fn with_memories(&self, authority: Authority, needs: &[Permission]) -> Authority {
        let memory =
            |need: &&Permission| matches!(need, Permission::CanWriteMemories | Permission::CanAccessPrivateMemories);
        match (authority.grant, needs.iter().find(memory)) {
            (Grant::Granted, Some(need)) => self.authority_of(&[Need::new(*need, PRIVATE)], authority.identity),
            (Grant::Granted | Grant::Denied, _) => authority,
        }
    }

    fn authority_of(&self, needs: &[Need], identity: Option<IdentityFact>) -> Authority {
        let who = Who::role(self.driver.role());
        match &self.driver.frozen().permissions {
            Some(permissions) => permissions.authority(who, needs, identity),
            None => Authority {
                grant: Grant::Denied,
                identity,
                permission: Permission::CanExecuteTasks,
                role: Label::cut(who.role),
            },
        }
    }

    /// A request of the loop itself, under the role that the agent has.
    fn loops_own_request(&self, tool: &str, proposal: Option<Digest>) -> Request {
        let mut needs = vec![Need::new(Permission::CanExecuteTasks, tool)];
        if proposal.is_some() {
            needs.push(Need::new(Permission::CanEditSource, "."));
        }
        let action = Action { tool: Label::cut(tool), turn_id: Some(self.turn_id()), ..Action::default() };
        let authority = Some(self.authority_of(&needs, None));
        Request {
            action,
            authority,
            floor: None,
            proposal,
            reserve_micro_usd: None,
            agent_id: None,
            starts_agent: None,
            running: None,
        }
    }

    /// The model's turn: what it used, what it cost, how full its window is.
    pub(super) fn model_event(&self, answer: &Answer, asked: Tokens) -> AgentEvent {
        if let Some(work) = &answer.work {
            return self.work_event(answer, work);
        }
        let usage = &answer.usage;
        let silent = usage.context() == Tokens::ZERO;
        let context_source = if silent { FigureSource::Estimated } else { FigureSource::Told };
        AgentEvent {
            // A server that gives no figures must not look like an empty context.
            context_source,
            context_tokens: Some(if context_source.is_told() { usage.context() } else { asked }),
            context_window: self.engines.window_of(&answer.engine),
            latency_ms: self.took_ms(),
            output_length: Tokens::new(u64::try_from(answer.text.chars().count()).unwrap_or(u64::MAX)),
            ..self.usage_event(&answer.engine, &answer.model, usage)
        }
    }

    /// A question that gave no answer: what it used and cost. It says nothing about the context, which is as it was.
    pub(super) fn spent_event(&self, spent: &Spent) -> AgentEvent {
        self.usage_event(&spent.engine, &spent.model, &spent.usage)
    }

    /// The figures of one question, in tokens and in money.
    fn usage_event(&self, engine: &Label, model: &Label, usage: &Usage) -> AgentEvent {
        AgentEvent {
            cache_read_tokens: Some(usage.cache_read),
            cache_write_tokens: Some(usage.cache_write),
            cost_micro_usd: self.cost_of(engine, model, usage),
            input_tokens: Some(usage.fresh_input),
            model: Some(model.clone()),
            output_tokens: Some(usage.output.plus(usage.reasoning)),
            reasoning_tokens: Some(usage.reasoning),
            token_count: usage.total(),
            turn_id: Some(self.turn_id()),
            ..AgentEvent::default()
        }
    }

    fn cost_of(&self, engine: &Label, model: &Label, usage: &Usage) -> Option<MicroUsd> {
        let asked = self.engines.asked_model_of(engine).map_or_else(|| model.clone(), |asked| Label::cut(&asked));
        let models = ModelNames { asked: &asked, answered: model };
        charge(self.engines.call_cost_of(engine), &self.driver.policy().price_list(), models, usage)
    }

    /// A worker's turn: what its own guard saw of it. Its pace was guarded there, so its tokens are no burst of this
    /// minute; its money is this session's.
    fn work_event(&self, answer: &Answer, work: &Work) -> AgentEvent {
        let mut flags = Flags::default();
        if work.changed {
            flags = flags.with(Flag::Edit);
        }
        if work.tested.is_some() {
            flags = flags.with(Flag::Test);
        }
        AgentEvent {
            cost_micro_usd: Some(work.cost_micro_usd),
            flags,
            input_tokens: Some(Tokens::ZERO),
            latency_ms: self.took_ms(),
            model: Some(answer.model.clone()),
            outcome: Some(EventOutcome { test: work.tested, ..EventOutcome::default() }),
            output_length: Tokens::new(u64::try_from(answer.text.chars().count()).unwrap_or(u64::MAX)),
            output_tokens: Some(Tokens::ZERO),
            token_count: work.tokens,
            turn_id: Some(self.turn_id()),
            workspace_hash: work.tested.and_then(|_| self.workspace()),
            ..AgentEvent::default()
        }
    }

    /// What the gate learns of an execution.
    pub(super) fn result(&self, returned: &Returned) -> ExecutionResult {
        let (executed, status) = match returned.how {
            CallOutcome::Done | CallOutcome::Failed => (true, ExecutionStatus::Success),
            CallOutcome::Cut => (true, ExecutionStatus::Failed),
            CallOutcome::NotRun => (false, ExecutionStatus::Failed),
            CallOutcome::Refused => (false, ExecutionStatus::Blocked),
            CallOutcome::Unknown => (true, ExecutionStatus::Partial),
        };
        ExecutionResult { executed, latency_ms: self.took_ms(), status, tokens_used: Tokens::ZERO }
    }

    /// The calls of one step share it.
    fn turn_id(&self) -> Label {
        Label::cut(&format!("step-{}", self.step))
    }

    fn took_ms(&self) -> RunMillis {
        RunMillis::new(u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX))
    }

    /// The workspace now; one that cannot be hashed proves nothing, and the verdict says so.
    pub(super) fn workspace(&self) -> Option<Label> {
        BoundTree::under(self.driver.policy()).digest(self.tree)
    }
}

/// The model that was asked, and what the one that answered calls itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct ModelNames<'a> {
    pub(super) asked: &'a Label,
    pub(super) answered: &'a Label,
}

/// What the tokens of one question cost: the higher price of the model that was asked and the one that answered, as far as
/// they have one. A name in an answer makes nothing cheaper.
pub(super) fn charge(cost_of: CallCost, prices: &PriceList, models: ModelNames<'_>, usage: &Usage) -> Option<MicroUsd> {
    charged(cost_of, dearer(prices, models, usage).1)
}

/// The name whose price is taken, and what the tokens cost under it.
pub(super) fn dearer<'a>(prices: &PriceList, models: ModelNames<'a>, usage: &Usage) -> (&'a Label, Cost) {
    let asked = prices.cost(models.asked.as_str(), usage);
    let answered = prices.cost(models.answered.as_str(), usage);
    let is_asked = match (asked.basis, answered.basis) {
        (PriceBasis::Listed, PriceBasis::HighestKnown) => true,
        (PriceBasis::HighestKnown, PriceBasis::Listed) => false,
        (PriceBasis::Listed, PriceBasis::Listed) | (PriceBasis::HighestKnown, PriceBasis::HighestKnown) => {
            asked.micro_usd > answered.micro_usd
        }
    };
    if is_asked { (models.asked, asked) } else { (models.answered, answered) }
}

/// What of a price is charged for a call that costs so.
pub(super) fn charged(cost_of: CallCost, cost: Cost) -> Option<MicroUsd> {
    match (cost_of, cost.basis) {
        (CallCost::Free, PriceBasis::Listed | PriceBasis::HighestKnown)
        | (CallCost::IfListed, PriceBasis::HighestKnown) => None,
        (CallCost::IfListed, PriceBasis::Listed) | (CallCost::Full, PriceBasis::Listed | PriceBasis::HighestKnown) => {
            Some(cost.micro_usd)
        }
    }
}

/// A switch of engines, as the chain hears of it.
pub(super) fn switched(switched: &Switched) -> EngineSwitched {
    let Switched { from, reason, to } = switched;
    EngineSwitched { from: from.clone(), to: to.clone(), reason: Label::cut(reason) }
}

pub(super) fn verdict(reviewed: &Reviewed) -> ReviewVerdict {
    let verdict = match reviewed.answer {
        ReviewAnswer::Approved => Verdict::Approved,
        ReviewAnswer::Rejected | ReviewAnswer::Unclear | ReviewAnswer::NothingChanged => Verdict::Rejected,
    };
    ReviewVerdict { proposal: reviewed.proposal.unwrap_or_else(|| Digest::of(b"")), verdict }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gate_8_a_listed_model_behind_a_loopback_address_costs_its_price() {
        let usage = Usage { fresh_input: Tokens::new(1_000_000), ..Usage::default() };
        let cost = |cost_of, asked: &str, answered: &str| {
            let (asked, answered) = (Label::cut(asked), Label::cut(answered));
            let models = ModelNames { asked: &asked, answered: &answered };
            charge(cost_of, &PriceList::default(), models, &usage).map(MicroUsd::get)
        };
        let of = |cost_of, model: &str| cost(cost_of, model, model);
        let price = of(CallCost::Full, "claude-opus-4-5");
        assert_eq!(price, Some(5_000_000));
        assert_eq!(of(CallCost::IfListed, "claude-opus-4-5"), price);
        assert_eq!(of(CallCost::IfListed, "llama3:8b"), None, "a model of this machine costs nothing");
        assert!(of(CallCost::Full, "llama3:8b") >= price, "a remote one without a price costs the highest known");
        assert_eq!(of(CallCost::Free, "claude-opus-4-5"), None, "a cassette was paid for when it was recorded");
        for name in ["gpt-5-nano", "llama3:8b"] {
            for cost_of in [CallCost::Full, CallCost::IfListed] {
                assert_eq!(cost(cost_of, "claude-opus-4-5", name), price, "a name in an answer makes nothing cheaper");
            }
        }
    }
}
