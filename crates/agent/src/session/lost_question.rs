//! A question whose process ended before its answer was written down.

use super::agent_loop::Session;
use super::answer_budget::{longest_answer, lost};
use super::error::SessionError;
use crate::prompt;
use std::time::Duration;
use tripwire_core::run::Next;
use tripwire_core::run::record::{EngineFailure, FailureKind, RunRecord};
use tripwire_core::text::Reason;

impl Session<'_> {
    /// Books a question to a model whose process ended before its answer was written down: it was sent, and may have cost all
    /// that it was allowed to (GATE-8).
    pub(super) fn book_lost_question(&mut self) -> Result<(), SessionError> {
        let Next::Ask { engine } = self.run.next() else { return Ok(()) };
        let (money, prices) = (self.money_left(), self.driver.policy().price_list());
        let Some(asked) = self.engines.chain.get(engine) else { return Ok(()) };
        let mut question = self.conversation.question(prompt::SYSTEM, self.runner.specs());
        question.output_tokens_max = longest_answer(asked.as_ref(), &question, &prices, money);
        let Some(spent) = lost(asked.as_ref(), &question, &prices) else { return Ok(()) };
        let failure = EngineFailure {
            engine: spent.engine.clone(),
            kind: FailureKind::Cut,
            retry_after_ms: None,
            said: Reason::fixed("tripwire was killed before the answer came"),
            spent: Some(spent),
        };
        self.learn(RunRecord::Failed(failure), Duration::ZERO)
    }
}
