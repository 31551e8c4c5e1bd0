//! Workers in the chain of engines: someone else's agent does a whole turn with hands of its own (RUN-4).
//!
//! A worker is guarded by a session of its own, and whether it may go on is decided there. Here its end is only read: a
//! claim to be done goes the way of every claim, and a worker that its guard had to stop is the seed's stop event that
//! persists. The advisor may get it going again once; then the next engine takes over, and without one the loop ends as
//! the worker did.

use super::ending::Ending;
use super::fallback::{Fallback, FallbackReason};
use super::line::Line;
use super::phase::{Asked, Phase};
use super::record::{Answer, EngineFailure, FailureKind, WorkEnd};
use super::{LoopEffect, Run};
use crate::effect::{Deadlock, HoldReason, LoopOverride, Sameness, StopReason};
use crate::label::Label;
use crate::text::Reason;
use crate::units::Count;
use alloc::format;
use alloc::vec::Vec;

/// Whether an answer is one: a worker that was stopped gave none.
pub(super) fn is_good(answer: &Answer) -> bool {
    left_early(answer).is_none()
}

/// The engine and the end of a worker whose turn did not end with a claim.
pub(super) fn left_early(answer: &Answer) -> Option<(Label, WorkEnd)> {
    let end = answer.work.as_ref()?.end;
    match end {
        WorkEnd::Finished => None,
        WorkEnd::Held(_) | WorkEnd::Stopped(_) | WorkEnd::Failed(_) => Some((answer.engine.clone(), end)),
    }
}

/// The answer as the transcript shows it.
pub(super) fn without_session(answer: &Answer) -> Answer {
    let mut shown = answer.clone();
    if let Some(work) = &mut shown.work {
        work.session = None;
    }
    shown
}

/// A worker's turn as an answer that was not had; what it used is counted with its turn.
fn no_answer(engine: &Label, kind: FailureKind, said: Reason) -> EngineFailure {
    EngineFailure { engine: engine.clone(), kind, retry_after_ms: None, said, spent: None }
}

impl Run {
    /// An engine was being asked when its process died. A model is asked again; a worker may have done half of its turn.
    pub(super) fn ask_again(&mut self, views: &mut Vec<LoopEffect>) {
        let asked = self.setup.engines.get(self.engine);
        if asked.is_some_and(|asked| self.setup.workers.contains(asked)) {
            self.tell_successor("tripwire was killed while it worked", views);
        }
        self.phase = Phase::Taking(Asked::ModelRequest);
    }

    /// A worker's turn ended without a claim.
    pub(super) fn worker_left(&mut self, engine: &Label, end: WorkEnd, views: &mut Vec<LoopEffect>) {
        let said = self.turn.answer.as_ref().map(|answer| answer.text.clone()).unwrap_or_default();
        let said = Reason::from(said.into_string());
        self.due.worker_object = Label::cut(&said);
        self.close_turn(views);
        self.steps = self.steps.next();
        match end {
            // A claim has calls of its own and does not come here.
            WorkEnd::Finished => self.go_on(views),
            WorkEnd::Failed(kind) => {
                self.tell_successor(&said, views);
                self.take_failure(&no_answer(engine, kind, said), views);
            }
            WorkEnd::Held(HoldReason::Context) => {
                self.tell_successor(&said, views);
                let kind = FailureKind::ContextExhausted;
                self.take_failure(&no_answer(engine, kind, said), views);
            }
            WorkEnd::Held(HoldReason::Loop) => self.worker_stuck(Deadlock::HardLoop, end, views),
            WorkEnd::Held(HoldReason::NoProgress) => self.worker_stuck(Deadlock::NoProgress, end, views),
            WorkEnd::Stopped(StopReason::SystemError | StopReason::InfiniteLoop | StopReason::Refusals) => {
                self.worker_stuck(Deadlock::HardLoop, end, views);
            }
            WorkEnd::Stopped(StopReason::Runaway | StopReason::HardStop) | WorkEnd::Held(HoldReason::SoftSuspend) => {
                self.stop_persists(end, views);
            }
            // Both sessions have the same wall clock: the gate says whether the iteration or the session is over.
            WorkEnd::Stopped(StopReason::WallClock) => self.phase = Phase::Taking(Asked::ModelRequest),
            WorkEnd::Stopped(reason @ StopReason::StoppedByPerson) => self.finish(Ending::Stopped { reason }, views),
            WorkEnd::Held(
                reason @ (HoldReason::Money
                | HoldReason::IterationCap
                | HoldReason::GuardFailure
                | HoldReason::Converged
                | HoldReason::UnreadBlocker
                | HoldReason::UnreadCheckpoint
                | HoldReason::Paused),
            ) => self.finish(Ending::Held { reason }, views),
        }
    }

    /// A loop of the worker: the advisor is asked once, then another engine is.
    fn worker_stuck(&mut self, deadlock: Deadlock, end: WorkEnd, views: &mut Vec<LoopEffect>) {
        if self.setup.advisor.is_none() || self.failures > Count::ZERO || self.due.advice_failed {
            return self.stop_persists(end, views);
        }
        self.failures = self.failures.next();
        (self.due.advisor, self.due.worker_stuck) = (Some(deadlock), Some(end));
        self.go_on(views);
    }

    /// The stop event persists: the next engine, or the end that the worker's guard gave it.
    fn stop_persists(&mut self, end: WorkEnd, views: &mut Vec<LoopEffect>) {
        let words = match end {
            WorkEnd::Held(reason) => reason.explain(),
            WorkEnd::Stopped(reason) => reason.explain(),
            WorkEnd::Finished | WorkEnd::Failed(_) => "the worker ended early",
        };
        self.failures = self.failures.next();
        match (self.fall_back(FallbackReason::StopPersists), end) {
            (Fallback::Switch { to }, _) => {
                self.switch(to, Reason::fixed(words), views);
                self.tell_successor(words, views);
                self.phase = Phase::Taking(Asked::ModelRequest);
            }
            (_, WorkEnd::Held(reason)) => self.finish(Ending::Held { reason }, views),
            (_, WorkEnd::Stopped(reason)) => self.finish(Ending::Stopped { reason }, views),
            (_, WorkEnd::Finished | WorkEnd::Failed(_)) => {
                self.finish(Ending::NoEngine { said: Reason::fixed(words) }, views);
            }
        }
    }

    /// The next engine is informed that work was done before it.
    fn tell_successor(&mut self, why: &str, views: &mut Vec<LoopEffect>) {
        self.due.words.push(format!("{SUCCESSOR_WORDS} ({why})").into());
        self.speak(views);
    }

    /// The advisor was heard. A worker gets its words in the same typed override that the chain gives to a model.
    pub(super) fn advice_answered(&mut self, views: &mut Vec<LoopEffect>) {
        let Some(end) = self.due.worker_stuck.take() else { return self.go_on(views) };
        let Some(spoken) = self.turn.advice.as_ref().filter(|spoken| !spoken.text.trim().is_empty()) else {
            return self.stop_persists(end, views);
        };
        let constraint = LoopOverride {
            advice: Some(Label::cut(spoken.text.trim())),
            do_not_repeat: core::mem::take(&mut self.due.worker_object),
            result: Sameness::Unknown,
            seen: Count::ZERO,
            workspace: Sameness::Unknown,
        };
        let typed = crate::record::canonical::to_string(&constraint).unwrap_or_default();
        views.push(LoopEffect::Line(Line::Override(constraint)));
        self.due.words.push(format!("LOOP_OVERRIDE {typed}").into());
        self.go_on(views);
    }

    /// No advisor could be had: a model's loop stays held by the chain, a worker's by its own guard.
    pub(super) fn go_on_without_advice(&mut self, views: &mut Vec<LoopEffect>) {
        match self.due.worker_stuck.take() {
            Some(end) => self.stop_persists(end, views),
            None => self.go_on(views),
        }
    }
}

/// The instruction to the engine that goes on after a stopped worker.
const SUCCESSOR_WORDS: &str =
    "A worker before you ended early. Look at the workspace as it stands, then go on with the objective.";
