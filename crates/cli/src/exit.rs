//! The exit codes, each with one meaning (SPEC §12).

use std::process::ExitCode;
use tripwire_core::chain::View;
use tripwire_core::decision::{SafetyDecision, SafetyVeto};
use tripwire_core::effect::{HoldReason, StopReason};
use tripwire_core::enforcement::{CycleTerminationError, EnforcementError};

/// How the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// An internal error: a defect of tripwire itself.
    Internal,
    /// Wrong usage or bad input; nothing was done with it.
    Usage,
    /// A hook refuses: the code that every client takes for a block.
    Refusal,
    /// The session ended with a system error or a hard stop.
    HardStop,
    /// Something waits for a person.
    Held,
    /// The money budget is used up.
    Budget,
    /// A loop, a runaway or no progress.
    Loop,
    /// A wall clock or a step cap.
    Clock,
    /// What was to be checked does not hold: a replay that differs, a record that was changed, a guard that is broken.
    DoesNotHold,
    /// A person stopped it.
    Stopped,
    /// Refused: permission, review or identity.
    Refused,
    /// Not now: a rate limit or a cooldown; the same again later.
    Parked,
}

impl Exit {
    /// How a session stands after its last decision.
    pub(crate) fn of(view: &View, last: &SafetyDecision) -> Self {
        match (view.stopped, view.held) {
            (Some(StopReason::StoppedByPerson), _) => Self::Stopped,
            (Some(StopReason::SystemError | StopReason::HardStop), _) => Self::HardStop,
            (Some(StopReason::InfiniteLoop | StopReason::Runaway), _) => Self::Loop,
            (Some(StopReason::WallClock), _) => Self::Clock,
            (None, Some(HoldReason::Loop | HoldReason::NoProgress)) => Self::Loop,
            (None, Some(HoldReason::Money)) => Self::Budget,
            (None, Some(HoldReason::GuardFailure)) => Self::DoesNotHold,
            (
                None,
                Some(
                    HoldReason::IterationCap
                    | HoldReason::SoftSuspend
                    | HoldReason::Context
                    | HoldReason::Converged
                    | HoldReason::Paused,
                ),
            ) => Self::Held,
            (None, None) => Self::of_refusal(last),
        }
    }

    fn of_refusal(last: &SafetyDecision) -> Self {
        match (last.allowed, last.veto_reason, &last.error) {
            (true, _, _) => Self::Done,
            (false, Some(SafetyVeto::RunawayDetected | SafetyVeto::LoopDetected), _) => Self::Loop,
            (
                false,
                Some(SafetyVeto::TokenBudgetExceeded | SafetyVeto::RateLimitExceeded | SafetyVeto::CooldownActive),
                _,
            ) => Self::Parked,
            (false, Some(SafetyVeto::HealthDegraded), _) => Self::Held,
            (false, None, Some(EnforcementError::GuardFailure(_))) => Self::DoesNotHold,
            (false, None, Some(EnforcementError::FloorHeld(_))) => Self::Held,
            (false, None, Some(EnforcementError::CycleTermination(CycleTerminationError::Held(HoldReason::Money)))) => {
                Self::Budget
            }
            (false, None, Some(EnforcementError::WallClockTimeout(_) | EnforcementError::CycleTermination(_))) => {
                Self::Clock
            }
            (false, None, Some(EnforcementError::PermissionDenied(_) | EnforcementError::ReviewGating(_)) | None) => {
                Self::Refused
            }
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Internal => 1,
            Exit::Usage | Exit::Refusal => 2,
            Exit::HardStop => 3,
            Exit::Held => 5,
            Exit::Budget => 6,
            Exit::Loop => 7,
            Exit::Clock => 8,
            Exit::DoesNotHold => 9,
            Exit::Stopped => 10,
            Exit::Refused => 11,
            Exit::Parked => 75,
        })
    }
}
