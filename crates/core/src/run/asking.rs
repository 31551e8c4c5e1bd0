//! Asking the model: the request to the gate, the answer, and what follows when there is none.

use super::ending::Ending;
use super::line::Line;
use super::reading::{Permission, Reading};
use super::record::{Answer, EngineFailure, FailureKind};
use super::{Asked, Phase, Run, Saying, Turn, View};
use crate::effect::ExitStatus;
use crate::units::{Count, RunMillis};
use alloc::format;
use alloc::vec::Vec;

/// Times that one engine is asked again after an overload or a broken answer before the next one is taken.
const RETRIES_MAX: u32 = 3;
/// The first wait between two of them; each further one is twice as long.
const BACK_OFF_MS: u64 = 1_000;
/// The longest wait for a rate limit inside a running session; beyond it the session is parked.
const RATE_LIMIT_WAIT_MS_MAX: u64 = 60_000;

/// What to do when an engine gave no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remedy {
    /// Ask the gate again: it knows why the call was cut off.
    AskTheGate,
    /// The same engine again, after a wait.
    Again(RunMillis),
    /// Begin the context anew.
    FreshContext,
    /// The next engine.
    NextEngine,
    /// End now, to be taken up later.
    Park,
    /// Nobody can answer.
    GiveUp,
}

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
        (self.failures, self.due.just_fresh) = (Count::ZERO, false);
        views.push(View::Line(Line::Answer(answer.clone())));
        views.push(View::Say(Saying::Model(answer.clone())));
        self.next =
            answer.text.lines().map(str::trim).find(|line| !line.is_empty()).map(Into::into).or(self.next.take());
        self.turn = Turn { answer: Some(answer.clone()), ..Turn::default() };
        self.phase = Phase::Taking(Asked::ModelEvent);
    }

    pub(super) fn take_failure(&mut self, failure: &EngineFailure, views: &mut Vec<View>) {
        self.failures = self.failures.next();
        views.push(View::Line(Line::EngineError(failure.clone())));
        match self.remedy(failure) {
            Remedy::AskTheGate => self.phase = Phase::Taking(Asked::ModelRequest),
            Remedy::Again(ms) => self.phase = Phase::Waiting { ms, then: Asked::ModelRequest },
            Remedy::FreshContext => {
                self.due.fresh_context = true;
                self.go_on(views);
            }
            Remedy::NextEngine => {
                self.switch(&format!("{}", failure.said), views);
                self.phase = Phase::Taking(Asked::ModelRequest);
            }
            Remedy::Park => {
                let (retry_after_ms, said) = (failure.retry_after_ms, failure.said.clone());
                self.finish(Ending::Parked { retry_after_ms, said }, views);
            }
            Remedy::GiveUp => self.finish(Ending::NoEngine { said: failure.said.clone() }, views),
        }
    }

    fn remedy(&self, failure: &EngineFailure) -> Remedy {
        let others = self.engine.saturating_add(1) < self.setup.engines.len();
        let tried = self.failures.get();
        let next = if others { Remedy::NextEngine } else { Remedy::GiveUp };
        match failure.kind {
            FailureKind::Cut => Remedy::AskTheGate,
            FailureKind::Refused => next,
            FailureKind::ContextExhausted if self.due.just_fresh => next,
            FailureKind::ContextExhausted => Remedy::FreshContext,
            FailureKind::RateLimited => match (failure.retry_after_ms, others) {
                (Some(wait), _) if wait.get() <= RATE_LIMIT_WAIT_MS_MAX && tried <= RETRIES_MAX => Remedy::Again(wait),
                (_, true) => Remedy::NextEngine,
                (_, false) => Remedy::Park,
            },
            FailureKind::Overloaded | FailureKind::Unreachable | FailureKind::Broken if tried <= RETRIES_MAX => {
                let doubled =
                    BACK_OFF_MS.saturating_mul(1_u64.checked_shl(tried.saturating_sub(1)).unwrap_or(u64::MAX));
                let wait = failure.retry_after_ms.map_or(doubled, |wait| wait.get().min(RATE_LIMIT_WAIT_MS_MAX));
                Remedy::Again(RunMillis::new(wait))
            }
            FailureKind::Overloaded | FailureKind::Unreachable | FailureKind::Broken => next,
        }
    }
}
