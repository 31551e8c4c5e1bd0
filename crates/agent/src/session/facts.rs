//! What is said to the chain: requests with their authority, events with their figures. Facts only, no decision.

use super::{Session, ToldOwned};
use tripwire_core::chain::event::{Action, AgentEvent};
use tripwire_core::chain::feedback::{ExecutionResult, ExecutionStatus};
use tripwire_core::input::{AdvisorReply, Claim, Compaction, Request, ReviewVerdict, Verdict, What};
use tripwire_core::label::Label;
use tripwire_core::record::chain::Digest;
use tripwire_core::run::record::{Answer, Outcome, Returned, ReviewAnswer, Reviewed, Usage};
use tripwire_core::units::{Count, RunMillis, Tokens};
use tripwire_host::prices::{self, TokenClasses};
use tripwire_host::workspace::hash::workspace_hash;

/// The name under which asking the model is requested.
const MODEL: &str = "model";
/// The name under which applying a reviewed change is requested.
const APPLY: &str = "apply";

/// The action of applying a reviewed change.
pub(super) fn apply_action() -> Action {
    Action { tool: Label::cut(APPLY), ..Action::default() }
}

impl Session<'_> {
    /// What the machine wants said, with the facts.
    pub(super) fn what(&mut self, told: &ToldOwned) -> What {
        match told {
            ToldOwned::IterationStarted => What::IterationStarted,
            ToldOwned::ModelRequest => What::Request(self.loops_own_request(MODEL, None)),
            ToldOwned::ModelEvent(answer) => What::Event(self.model_event(answer)),
            ToldOwned::ToolRequest(call) => {
                let mut request = self.hands.request(call);
                request.action.turn_id = Some(self.turn_id());
                What::Request(request)
            }
            ToldOwned::ToolResult(returned) | ToldOwned::ApplyResult(returned) => What::Result(self.result(returned)),
            ToldOwned::ToolEvent(call, returned) => {
                let event = self.hands.event(call, returned);
                let tested = event.flags.has(tripwire_core::chain::event::Flag::Test);
                What::Event(AgentEvent {
                    latency_ms: self.took_ms(),
                    tool_calls: Count::new(1),
                    turn_id: Some(self.turn_id()),
                    workspace_hash: if tested { self.workspace() } else { None },
                    ..event
                })
            }
            ToldOwned::Claim => What::Claim(Claim { workspace_hash: self.workspace() }),
            ToldOwned::Compacted => {
                What::Compacted(Compaction { context_tokens: None, workspace_hash: self.workspace() })
            }
            ToldOwned::Advice(spoken) => What::Advisor(AdvisorReply { advice: Label::cut(spoken.text.trim()) }),
            ToldOwned::Verdict(reviewed) => What::Review(verdict(reviewed)),
            ToldOwned::ApplyRequest(proposal) => What::Request(self.loops_own_request(APPLY, Some(*proposal))),
        }
    }

    /// A request of the loop itself, under the role that the agent has.
    fn loops_own_request(&self, tool: &str, proposal: Option<Digest>) -> Request {
        let action = Action { tool: Label::cut(tool), turn_id: Some(self.turn_id()), ..Action::default() };
        let authority = Some(self.hands.authority_of_the_loop());
        Request { action, authority, proposal, reserve_micro_usd: None }
    }

    /// The model's turn: what it used, what it cost, how full its window is.
    fn model_event(&self, answer: &Answer) -> AgentEvent {
        let usage = &answer.usage;
        let cost = match self.engines.is_free(&answer.engine) {
            true => None,
            false => Some(prices::cost(answer.model.as_str(), &classes(usage)).micro_usd),
        };
        AgentEvent {
            cache_read_tokens: Some(usage.cache_read),
            cache_write_tokens: Some(usage.cache_write),
            context_tokens: Some(usage.context()),
            context_window: self.engines.window_of(&answer.engine),
            cost_micro_usd: cost,
            input_tokens: Some(usage.fresh_input),
            latency_ms: self.took_ms(),
            model: Some(answer.model.clone()),
            output_length: Tokens::new(u64::try_from(answer.text.chars().count()).unwrap_or(u64::MAX)),
            output_tokens: Some(usage.output.plus(usage.reasoning)),
            reasoning_tokens: Some(usage.reasoning),
            token_count: usage.total(),
            turn_id: Some(self.turn_id()),
            ..AgentEvent::default()
        }
    }

    /// What the gate learns of an execution.
    fn result(&self, returned: &Returned) -> ExecutionResult {
        let (executed, status) = match returned.how {
            Outcome::Done | Outcome::Failed => (true, ExecutionStatus::Success),
            Outcome::Cut => (true, ExecutionStatus::Failed),
            Outcome::NotRun => (false, ExecutionStatus::Failed),
            Outcome::Refused => (false, ExecutionStatus::Blocked),
            Outcome::Unknown => (true, ExecutionStatus::Partial),
        };
        ExecutionResult { executed, latency_ms: self.took_ms(), status, tokens_used: Tokens::ZERO }
    }

    /// The calls of one step share it.
    fn turn_id(&self) -> Label {
        Label::cut(&format!("step-{}", self.run.step()))
    }

    fn took_ms(&self) -> RunMillis {
        RunMillis::new(u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX))
    }

    /// The workspace now; one that cannot be hashed proves nothing, and the verdict says so.
    fn workspace(&self) -> Option<Label> {
        workspace_hash(self.hands.tree()).ok().map(|hash| Label::cut(&hash.digest))
    }
}

const fn classes(usage: &Usage) -> TokenClasses {
    TokenClasses {
        fresh_input: usage.fresh_input,
        cache_read: usage.cache_read,
        cache_write: usage.cache_write,
        cache_write_long: Tokens::ZERO,
        output: usage.output,
        reasoning: usage.reasoning,
    }
}

fn verdict(reviewed: &Reviewed) -> ReviewVerdict {
    let verdict = match reviewed.answer {
        ReviewAnswer::Approved => Verdict::Approved,
        ReviewAnswer::Rejected | ReviewAnswer::Unclear | ReviewAnswer::NothingChanged => Verdict::Rejected,
    };
    ReviewVerdict { proposal: reviewed.proposal.unwrap_or_else(|| Digest::of(b"")), verdict }
}
