//! Asking the engine whose turn it is: reserved before it leaves, settled when it has ended, journaled, and only then used.

use super::agent_loop::Session;
use super::answer_budget::bound;
use super::asking::{Listening, late_or, longest, missing, with_own_ids};
use super::engine_set::LoopAgent;
use super::error::SessionError;
use super::money::{PaidCall, no_money, paid, priced};
use crate::engines::{Allowance, EngineKind, Question};
use crate::prompt;
use std::time::Instant;
use tripwire_core::ledger::CallEnd;
use tripwire_core::run::LoopRequest;
use tripwire_core::run::record::{RunRecord, Spent};
use tripwire_core::units::MicroUsd;
use tripwire_core::usage::FigureSource;

impl Session<'_> {
    /// Asks an engine of the chain with the conversation as it stands.
    pub(super) fn ask(&mut self, engine: usize) -> Result<(), SessionError> {
        // The permit is for this one question.
        let until = self.permit.take().and_then(|permit| self.deadline(permit.deadline()));
        let (step, begun) = (self.run.step().get(), Instant::now());
        let name = self.engines.label(engine);
        let status = self.status(&format!("asks {name}"));
        let (left, view, prices) = (self.money_left(), self.driver.view(), self.driver.policy().price_list());
        let Self { engines, conversation, runner, watch, frontend, money, .. } = self;
        let mut question = conversation.question(prompt::SYSTEM, runner.specs());
        let Some(asked) = engines.chain.get_mut(engine) else {
            return self.learn(RunRecord::Failed(missing(name)), begun.elapsed());
        };
        let bound = bound(asked.as_ref(), &question, &prices, left);
        question.output_tokens_max = bound.output;
        let held = match (money.as_mut(), asked.kind()) {
            (Some(money), EngineKind::Model) => money.hold(LoopAgent::Model, bound.worst, &view),
            (Some(money), EngineKind::Worker) => money.hold_all(&view),
            (None, EngineKind::Model | EngineKind::Worker) => Ok(None),
        };
        let held = match held {
            Ok(held) => held,
            Err(error) => {
                let failure = no_money(asked.as_ref(), &error).failure(name, None);
                return self.learn(RunRecord::Failed(failure), begun.elapsed());
            }
        };
        let payer = money.as_ref().map(|money| money.session().clone());
        asked.allow(&Allowance { money: left, payer });
        let longest = longest(asked.as_ref());
        let heard = Listening { status, watch, frontend: &mut **frontend, until }.ask(asked.as_mut(), &question);
        let cost = paid(asked.as_ref(), &prices, &heard);
        let worked = heard.answer.as_ref().ok().filter(|answer| answer.work.is_some());
        let short = match (money.as_mut(), worked, held) {
            (Some(money), Some(answer), held) => money.settle_worker(held, answer).map(|()| None)?,
            (Some(money), None, Some(held)) => money.settle(held, cost)?,
            (Some(_), None, None) | (None, _, _) => None,
        };
        engines.record(&question, &heard.answer, runner.redactor());
        short.iter().for_each(|short| frontend.notice(short));
        let record = match heard.answer {
            Ok(answer) => RunRecord::Answered(with_own_ids(runner.claim_of_worker(answer), step)),
            Err(error) => RunRecord::Failed(late_or(error, until, longest).failure(name, heard.spent)),
        };
        self.took = begun.elapsed();
        let took = self.took;
        self.learn(record, took)
    }

    /// What is left of the money, where it is bounded.
    pub(super) fn money_left(&mut self) -> Option<MicroUsd> {
        let view = self.driver.view();
        self.money.as_mut().and_then(|money| money.left(&view))
    }

    /// The worst case of the next question, for the gate: what will be reserved for it. A worker's own gateway reserves.
    pub(super) fn worst_case(&mut self) -> Option<MicroUsd> {
        let left = self.money_left();
        let prices = self.driver.policy().price_list();
        let question: Question<'_> = self.conversation.question(prompt::SYSTEM, self.runner.specs());
        let engine = self.engines.chain.get(self.run.engine())?;
        bound(engine.as_ref(), &question, &prices, left).worst
    }

    /// What the gate has just been told and no line of the ledger tells: a question before the session began.
    pub(super) fn account_for(&mut self, request: &LoopRequest) -> Result<(), SessionError> {
        let spent = match request {
            LoopRequest::Spent(spent) => spent.clone(),
            LoopRequest::ModelEvent(answer) => Spent {
                engine: answer.engine.clone(),
                estimated: false,
                model: answer.model.clone(),
                usage: answer.usage,
            },
            LoopRequest::IterationStarted
            | LoopRequest::ModelRequest
            | LoopRequest::ToolRequest(_)
            | LoopRequest::ToolResult(_)
            | LoopRequest::ToolEvent(..)
            | LoopRequest::Claim
            | LoopRequest::Compacted
            | LoopRequest::Advice(_)
            | LoopRequest::Verdict(_)
            | LoopRequest::ApplyRequest(_)
            | LoopRequest::ApplyResult(_) => return Ok(()),
        };
        let (view, prices) = (self.driver.view(), self.driver.policy().price_list());
        let Some(money) = self.money.as_mut() else { return Ok(()) };
        let engine = self.engines.named(&spent.engine);
        let call = engine.and_then(|engine| priced(engine, &prices, (&spent.model, spent.usage)));
        let source = if spent.estimated { FigureSource::Estimated } else { FigureSource::Told };
        money.catch_up(&view, call.map(|call| PaidCall { source, end: CallEnd::Complete, ..call }))
    }
}
