//! What a process that was killed left open of its money: a question whose answer was not written down, and calls that were settled
//! before the session's journal heard of them.

use super::agent_loop::Session;
use super::answer_budget::{bound, lost};
use super::aside;
use super::engine_set::LoopAgent;
use super::error::SessionError;
use super::money::{PaidCall, priced};
use crate::engines::{Engine, Question, Turn};
use crate::prompt;
use std::time::Duration;
use tripwire_core::input::{ModelSpend, What};
use tripwire_core::prices::PriceList;
use tripwire_core::run::record::{EngineFailure, FailureKind, RunRecord, Spent};
use tripwire_core::run::{LoopRequest, Next};
use tripwire_core::text::Reason;
use tripwire_core::units::MicroUsd;

impl Session<'_> {
    /// Brings the money gate and the ledger to the same figure. A question that was settled is told to the gate as it was; one
    /// that was reserved and not settled was sent, and may have cost all that it was allowed to (GATE-8).
    pub(super) fn settle_accounts(&mut self) -> Result<(), SessionError> {
        let due = self.due();
        let view = self.driver.view();
        let Some(money) = self.money.as_mut() else { return Ok(()) };
        let untold = money.reconcile(&view, due)?;
        if !untold.is_empty() {
            // Nothing is asked beside a question under way: what was settled last was that one.
            return untold.into_iter().try_for_each(|spend| self.put(What::ModelSpend(spend)));
        }
        self.book_lost_question()
    }

    /// What the gate is about to be told, because it is journaled already.
    fn due(&self) -> MicroUsd {
        let event = match self.run.next() {
            Next::Take(LoopRequest::ModelEvent(answer)) => self.facts().model_event(&answer, Default::default()),
            Next::Take(LoopRequest::Spent(spent)) => self.facts().spent_event(&spent),
            Next::Take(_)
            | Next::Ask { .. }
            | Next::Check(_)
            | Next::Execute(_)
            | Next::JudgeLoop
            | Next::Advise { .. }
            | Next::Review
            | Next::Apply(_)
            | Next::Wait(_)
            | Next::AwaitAnswer { .. }
            | Next::AwaitPerson(_)
            | Next::Finished(_) => return MicroUsd::ZERO,
        };
        event.cost_micro_usd.unwrap_or_default()
    }

    fn book_lost_question(&mut self) -> Result<(), SessionError> {
        let (left, prices) = (self.money_left(), self.driver.policy().price_list());
        if let Some((aux, text)) = self.aux_under_way() {
            let turns = [Turn::User(text)];
            let asked = self.engines.aux(aux);
            let Some((_, call)) = asked.and_then(|asked| worst(asked, aside::question(&turns), &prices, left)) else {
                return Ok(());
            };
            let spend = ModelSpend { model: call.model.clone(), micro_usd: call.cost.micro_usd, usage: call.usage };
            self.book(aux.agent(), call)?;
            return self.put(What::ModelSpend(spend));
        }
        let Next::Ask { engine } = self.run.next() else { return Ok(()) };
        let question = self.conversation.question(prompt::SYSTEM, self.runner.specs());
        let asked = self.engines.chain.get(engine);
        let Some((spent, call)) = asked.and_then(|asked| worst(asked.as_ref(), question, &prices, left)) else {
            return Ok(());
        };
        self.book(LoopAgent::Model, call)?;
        let failure = EngineFailure {
            engine: spent.engine.clone(),
            kind: FailureKind::Cut,
            retry_after_ms: None,
            said: Reason::fixed("tripwire was killed before the answer came"),
            spent: Some(spent),
        };
        self.learn(RunRecord::Failed(failure), Duration::ZERO)
    }

    fn book(&mut self, agent: LoopAgent, call: PaidCall) -> Result<(), SessionError> {
        self.money.as_mut().map_or(Ok(()), |money| money.book_lost(agent, call))
    }
}

/// The most that a question can have used, with its price; nothing where it costs nothing.
fn worst(
    asked: &dyn Engine,
    mut question: Question<'_>,
    prices: &PriceList,
    left: Option<MicroUsd>,
) -> Option<(Spent, PaidCall)> {
    question.output_tokens_max = bound(asked, &question, prices, left).output;
    let spent = lost(asked, &question, prices)?;
    let call = priced(asked, prices, (&spent.model, spent.usage))?;
    Some((spent, call))
}
