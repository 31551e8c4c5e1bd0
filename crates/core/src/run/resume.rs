//! Taking a loop up again: after a crash, a hold, or a person's restart.

use super::line::Line;
use super::phase::{Asked, Execution, Phase};
use super::record::{CallOutcome, Returned};
use super::{LoopEffect, Run};
use crate::input::{HumanAct, What};
use crate::units::Count;
use alloc::vec::Vec;

impl Run {
    /// Whether a later process may go on from here: what held it is cleared by its own act, what ended it by a restart.
    #[must_use]
    pub const fn can_go_on(&self) -> bool {
        match &self.phase {
            Phase::Done(ending) => ending.can_go_on() || self.reopened,
            Phase::Taking(_)
            | Phase::Asking
            | Phase::Checking
            | Phase::Executing(_)
            | Phase::JudgingLoop
            | Phase::Advising(_)
            | Phase::Reviewing
            | Phase::Applying
            | Phase::Waiting { .. }
            | Phase::AwaitingAnswer { .. }
            | Phase::Holding(_) => true,
        }
    }

    /// A person's restart opens what had ended by itself; what was done stays done.
    pub(super) fn reopen_if_restarted(&mut self, what: &What) {
        if let (What::Human(act), Phase::Done(ending)) = (what, &self.phase)
            && matches!(act.unsigned(), (HumanAct::Restart, _))
        {
            self.reopened = ending.can_be_restarted();
        }
    }

    /// Another process goes on from here. What was awaited is awaited again, except a call that had begun:
    /// what it did is unknown, and it is never repeated silently.
    pub(super) fn resume(&mut self, views: &mut Vec<LoopEffect>) {
        views.push(LoopEffect::Line(Line::Resumed));
        match self.phase.clone() {
            Phase::Executing(Execution::Started) => self.take_returned(&unknown_result(), views),
            // A permit dies with the process that held it.
            Phase::Executing(Execution::Permitted) | Phase::AwaitingAnswer { .. } => {
                self.phase = Phase::Taking(Asked::ToolRequest);
            }
            Phase::Asking => self.ask_again(views),
            Phase::Applying => self.phase = Phase::Taking(Asked::ApplyRequest),
            Phase::Done(_) if self.can_go_on() => {
                self.due.advice_failed = false;
                (self.reopened, self.failures, self.repairs) = (false, Count::ZERO, Count::ZERO);
                self.go_on(views);
            }
            Phase::Holding(_) => self.go_on(views),
            Phase::Taking(_)
            | Phase::Checking
            | Phase::JudgingLoop
            | Phase::Advising(_)
            | Phase::Reviewing
            | Phase::Waiting { .. }
            | Phase::Done(_) => {}
        }
    }
}

/// What is said of a call whose end a crash hid.
fn unknown_result() -> Returned {
    Returned {
        exit_code: None,
        how: CallOutcome::Unknown,
        pointer: None,
        text: "started, result unknown (interrupted): look at what it did before you do it again".into(),
        verbatim: None,
    }
}
