//! Asking the model: the request to the gate, the answer, and what follows when there is none.

use super::ending::Ending;
use super::fallback::{self, Context, Matter, Position, Reason};
use super::line::{Line, Switched};
use super::phase::{Asked, Asker, Phase, Turn};
use super::reading::{Permission, Reading};
use super::record::{Answer, EngineFailure, FailureKind};
use super::{Run, Saying, View, worker};
use crate::effect::{ExitStatus, SwitchReason};
use crate::units::Count;
use alloc::vec::Vec;

impl Run {
    pub(super) fn model_request_answered(&mut self, reading: &Reading<'_>, views: &mut Vec<View>) {
        match reading.permission() {
            Permission::Allowed => self.phase = Phase::Asking,
            Permission::Later(ms) => self.phase = Phase::Waiting { ms, then: Asked::ModelRequest },
            Permission::Over(status) => {
                let reason = match status {
                    ExitStatus::Timeout => "the iteration's wall clock ran out",
                    ExitStatus::MaxSteps
                    | ExitStatus::Interrupted
                    | ExitStatus::SystemError
                    | ExitStatus::Completed => "the iteration has used up its steps",
                };
                self.end_iteration(status, reason, views);
            }
            Permission::Held(reason) => self.hold(reason, views),
            Permission::Denied => self.finish(Ending::Refused { reason: reading.reason() }, views),
        }
    }

    pub(super) fn take_answer(&mut self, answer: &Answer, views: &mut Vec<View>) {
        self.due.just_fresh = false;
        if worker::is_good(answer) {
            self.failures = Count::ZERO;
        }
        views.push(View::Line(Line::Answer(worker::without_session(answer))));
        views.push(View::Say(Saying::Model(answer.clone())));
        self.next =
            answer.text.lines().map(str::trim).find(|line| !line.is_empty()).map(Into::into).or(self.next.take());
        self.turn = Turn { answer: Some(answer.clone()), ..Turn::default() };
        self.phase = Phase::Taking(Asked::ModelEvent);
    }

    pub(super) fn take_failure(&mut self, failure: &EngineFailure, views: &mut Vec<View>) {
        self.failures = self.failures.next();
        views.push(View::Line(Line::EngineError(failure.clone())));
        self.after_spending(Asker::Model, failure, views);
    }

    /// What a question used in vain is told to the chain before anything else follows from it: budgets must not be blind
    /// to it.
    pub(super) fn after_spending(&mut self, asker: Asker, failure: &EngineFailure, views: &mut Vec<View>) {
        if failure.spent.is_some() {
            self.turn.failed = Some(failure.clone());
            self.phase = Phase::Taking(Asked::Spent(asker));
        } else {
            self.failed(asker, failure, views);
        }
    }

    pub(super) fn spent_answered(&mut self, asker: Asker, views: &mut Vec<View>) {
        match (asker, self.turn.failed.take()) {
            (Asker::Model | Asker::Advisor | Asker::Reviewer, Some(failure)) => self.failed(asker, &failure, views),
            (Asker::Probe, _) | (Asker::Model | Asker::Advisor | Asker::Reviewer, None) => self.go_on(views),
        }
    }

    fn failed(&mut self, asker: Asker, failure: &EngineFailure, views: &mut Vec<View>) {
        match asker {
            Asker::Model => self.model_failed(failure, views),
            Asker::Advisor => self.no_advice(views),
            Asker::Reviewer => self.no_review(failure, views),
            Asker::Probe => self.go_on(views),
        }
    }

    fn model_failed(&mut self, failure: &EngineFailure, views: &mut Vec<View>) {
        let Some(reason) = reason(failure) else {
            // The gate knows why the call was cut off.
            self.phase = Phase::Taking(Asked::ModelRequest);
            return;
        };
        match self.fall_back(reason) {
            fallback::Next::Again { after } => self.phase = Phase::Waiting { ms: after, then: Asked::ModelRequest },
            fallback::Next::FreshContext => {
                self.due.fresh_context = true;
                self.go_on(views);
            }
            fallback::Next::Switch { to } => {
                self.switch(to, &failure.said, views);
                self.phase = Phase::Taking(Asked::ModelRequest);
            }
            fallback::Next::Park { retry_after } => {
                self.finish(Ending::Parked { retry_after_ms: retry_after, said: failure.said.clone() }, views);
            }
            fallback::Next::GiveUp => self.finish(Ending::NoEngine { said: failure.said.clone() }, views),
        }
    }

    /// The chain of fallbacks, as one table says it.
    pub(super) fn fall_back(&self, reason: Reason) -> fallback::Next {
        let position = Position {
            seats: &self.setup.seats,
            at: self.engine,
            failures: self.failures,
            matter: Matter::Open,
            context: if self.due.just_fresh { Context::Fresh } else { Context::Grown },
        };
        fallback::next(reason, &position, &fallback::Patience::default())
    }

    /// The chain asks for another engine; without one the engine at hand goes on.
    pub(super) fn switch_for(&mut self, reason: SwitchReason, views: &mut Vec<View>) {
        let (reason, words) = match reason {
            SwitchReason::VerificationFailed => (Reason::VerificationFailed, "verification failed too often"),
            SwitchReason::ContextExhausted => (Reason::ContextExhausted, "the context is exhausted"),
        };
        if let fallback::Next::Switch { to } = self.fall_back(reason) {
            self.switch(to, words, views);
        }
    }

    /// Takes another engine, announced.
    pub(super) fn switch(&mut self, next: usize, reason: &str, views: &mut Vec<View>) {
        let name = |at: usize| self.setup.engines.get(at).cloned().unwrap_or_default();
        let switched = Switched { from: name(self.engine), reason: reason.into(), to: name(next) };
        views.push(View::Line(Line::EngineSwitch(switched)));
        (self.engine, self.failures) = (next, Count::ZERO);
    }
}

/// The reason by which the table chooses; none for a call that was cut off on purpose.
const fn reason(failure: &EngineFailure) -> Option<Reason> {
    let retry_after = failure.retry_after_ms;
    match failure.kind {
        FailureKind::Cut => None,
        FailureKind::Overloaded => Some(Reason::Overloaded { retry_after }),
        FailureKind::RateLimited => Some(Reason::RateLimited { retry_after }),
        FailureKind::Unreachable => Some(Reason::Unreachable),
        FailureKind::Broken => Some(Reason::Broken),
        FailureKind::ContextExhausted => Some(Reason::ContextExhausted),
        FailureKind::Refused => Some(Reason::Refused),
    }
}
