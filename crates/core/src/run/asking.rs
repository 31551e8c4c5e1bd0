//! Asking the model: the request to the gate, the answer, and what follows when there is none.

use super::ending::Ending;
use super::fallback::{self, Context, Fallback, FallbackReason, Matter, Position, RetryBounds};
use super::line::{Line, Switched};
use super::phase::{Asked, Asker, ModelTurn, Phase};
use super::reading::{DecisionReading, GateAnswer};
use super::record::{Answer, EngineFailure, FailureKind, Spent, Spoken};
use super::{LoopEffect, Run, Saying, worker};
use crate::effect::{ExitStatus, SwitchReason};
use crate::text::Reason;
use crate::units::{Count, Tokens};
use alloc::vec::Vec;

impl Run {
    /// A switch of engines that the chain has to hear of before the model is asked again.
    #[must_use]
    pub const fn switched(&self) -> Option<&Switched> {
        self.due.switched.as_ref()
    }

    pub(super) fn model_request_answered(&mut self, reading: &DecisionReading<'_>, views: &mut Vec<LoopEffect>) {
        self.due.switched = None;
        match reading.permission() {
            GateAnswer::Allowed => self.phase = Phase::Asking,
            GateAnswer::Later(ms) => self.phase = Phase::Waiting { ms, then: Asked::ModelRequest },
            GateAnswer::Over(status) => {
                let reason = match status {
                    ExitStatus::Timeout => "the iteration's wall clock ran out",
                    ExitStatus::MaxSteps
                    | ExitStatus::Interrupted
                    | ExitStatus::SystemError
                    | ExitStatus::Completed => "the iteration has used up its steps",
                };
                self.end_iteration(status, reason, views);
            }
            GateAnswer::Held(reason) => self.hold(reason, views),
            GateAnswer::Denied => self.finish(Ending::Refused { reason: reading.reason() }, views),
        }
    }

    pub(super) fn take_answer(&mut self, answer: &Answer, views: &mut Vec<LoopEffect>) {
        self.due.just_fresh = false;
        if worker::is_good(answer) {
            self.failures = Count::ZERO;
        }
        views.push(LoopEffect::Line(Line::Answer(worker::without_session(answer))));
        views.push(LoopEffect::Say(Saying::Model(answer.clone())));
        self.turn = ModelTurn { answer: Some(answer.clone()), ..ModelTurn::default() };
        self.phase = Phase::Taking(Asked::ModelEvent);
    }

    pub(super) fn take_failure(&mut self, failure: &EngineFailure, views: &mut Vec<LoopEffect>) {
        self.failures = self.failures.next();
        views.push(LoopEffect::Line(Line::EngineError(failure.clone())));
        self.after_spending(Asker::Model, failure, views);
    }

    /// What a question used without an answer goes to the chain before anything else follows from it: budgets must not be blind
    /// to it.
    pub(super) fn after_spending(&mut self, asker: Asker, failure: &EngineFailure, views: &mut Vec<LoopEffect>) {
        if failure.spent.is_some() {
            self.turn.spent.clone_from(&failure.spent);
            self.turn.failed = Some(failure.clone());
            self.phase = Phase::Taking(Asked::Spent(asker));
        } else {
            self.failed(asker, failure, views);
        }
    }

    /// What an answer beside the model's used goes to the chain before it is acted on; what used nothing is acted on at once.
    pub(super) fn after_speech(&mut self, asker: Asker, spoken: &Spoken, views: &mut Vec<LoopEffect>) {
        self.turn.failed = None;
        if spoken.usage.total() == Tokens::ZERO {
            return self.spent_answered(asker, views);
        }
        let Spoken { engine, model, usage, .. } = spoken.clone();
        self.turn.spent = Some(Spent { engine, estimated: false, model, usage });
        self.phase = Phase::Taking(Asked::Spent(asker));
    }

    pub(super) fn spent_answered(&mut self, asker: Asker, views: &mut Vec<LoopEffect>) {
        self.turn.spent = None;
        match (asker, self.turn.failed.take()) {
            (Asker::Advice, _) => self.advice_heard(),
            (Asker::Review, _) => self.review_heard(views),
            (Asker::Model | Asker::Advisor | Asker::Reviewer, Some(failure)) => self.failed(asker, &failure, views),
            (Asker::Probe | Asker::Opinion, _) | (Asker::Model | Asker::Advisor | Asker::Reviewer, None) => {
                self.go_on(views);
            }
        }
    }

    fn failed(&mut self, asker: Asker, failure: &EngineFailure, views: &mut Vec<LoopEffect>) {
        match asker {
            Asker::Model => self.model_failed(failure, views),
            Asker::Advisor => self.no_advice(views),
            Asker::Reviewer => self.no_review(failure, views),
            Asker::Probe | Asker::Opinion | Asker::Advice | Asker::Review => self.go_on(views),
        }
    }

    fn model_failed(&mut self, failure: &EngineFailure, views: &mut Vec<LoopEffect>) {
        let Some(reason) = reason(failure) else {
            // The gate knows why the call was cut off.
            self.phase = Phase::Taking(Asked::ModelRequest);
            return;
        };
        match self.fall_back(reason) {
            Fallback::Again { after } => self.phase = Phase::Waiting { ms: after, then: Asked::ModelRequest },
            Fallback::FreshContext => {
                self.due.fresh_context = true;
                self.go_on(views);
            }
            Fallback::Switch { to } => {
                self.switch(to, failure.said.clone(), views);
                self.phase = Phase::Taking(Asked::ModelRequest);
            }
            Fallback::Park { retry_after } => {
                self.finish(Ending::Parked { retry_after_ms: retry_after, said: failure.said.clone() }, views);
            }
            Fallback::GiveUp => {
                let said = failure.said.clone();
                let ending = match failure.kind {
                    FailureKind::NoMoney => Ending::NoMoney { said },
                    FailureKind::Overloaded
                    | FailureKind::RateLimited
                    | FailureKind::Unreachable
                    | FailureKind::Broken
                    | FailureKind::ContextExhausted
                    | FailureKind::Refused
                    | FailureKind::Cut => Ending::NoEngine { said },
                };
                self.finish(ending, views);
            }
        }
    }

    /// The chain of fallbacks, as one table says it.
    pub(super) fn fall_back(&self, reason: FallbackReason) -> Fallback {
        let position = Position {
            seats: &self.setup.seats,
            at: self.engine,
            failures: self.failures,
            matter: Matter::Open,
            context: if self.due.just_fresh { Context::Fresh } else { Context::Grown },
        };
        fallback::next(reason, &position, &RetryBounds::default())
    }

    /// The chain asks for another engine; without one the engine at hand goes on.
    pub(super) fn switch_for(&mut self, reason: SwitchReason, views: &mut Vec<LoopEffect>) {
        let (reason, words) = match reason {
            SwitchReason::VerificationFailed => (FallbackReason::VerificationFailed, "verification failed too often"),
            SwitchReason::ContextExhausted => (FallbackReason::ContextExhausted, "the context is exhausted"),
        };
        if let Fallback::Switch { to } = self.fall_back(reason) {
            self.switch(to, Reason::fixed(words), views);
        }
    }

    /// Takes another engine, announced.
    pub(super) fn switch(&mut self, next: usize, reason: Reason, views: &mut Vec<LoopEffect>) {
        let name = |at: usize| self.setup.engines.get(at).cloned().unwrap_or_default();
        let switched = Switched { from: name(self.engine), reason, to: name(next) };
        views.push(LoopEffect::Line(Line::EngineSwitch(switched.clone())));
        self.due.switched = Some(switched);
        (self.engine, self.failures) = (next, Count::ZERO);
    }
}

/// The reason by which the table chooses; none for a call that was cut off on purpose.
const fn reason(failure: &EngineFailure) -> Option<FallbackReason> {
    let retry_after = failure.retry_after_ms;
    match failure.kind {
        FailureKind::Cut => None,
        FailureKind::Overloaded => Some(FallbackReason::Overloaded { retry_after }),
        FailureKind::RateLimited => Some(FallbackReason::RateLimited { retry_after }),
        FailureKind::Unreachable => Some(FallbackReason::Unreachable),
        FailureKind::Broken => Some(FallbackReason::Broken),
        FailureKind::ContextExhausted => Some(FallbackReason::ContextExhausted),
        FailureKind::Refused | FailureKind::NoMoney => Some(FallbackReason::Refused),
    }
}
