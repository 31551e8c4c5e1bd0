//! The exit codes, each with one meaning (SPEC §12).

use std::process::ExitCode;
use tripwire_core::chain::ChainView;
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
    /// A promise that `doctor` looked at is not kept.
    NotKept,
    /// Wrong usage or bad input; nothing was done with it.
    Usage,
    /// A hook refuses: the code that every client takes for a block.
    Refusal,
    /// The session ended with a system error or a hard stop.
    HardStop,
    /// Done, but what was done is not verified.
    Unverified,
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
    /// A confined command ran and ended so: its own code is handed on.
    OfCommand(u8),
}

impl Exit {
    /// How a session stands after its last decision.
    pub(crate) fn of(view: &ChainView, last: &SafetyDecision) -> Self {
        let stands = Self::of_session(view);
        if stands == Self::Done { Self::of_refusal(last) } else { stands }
    }

    /// How a session stands, whatever was refused in it.
    pub(crate) const fn of_session(view: &ChainView) -> Self {
        match (view.stopped, view.held) {
            (Some(reason), _) => Self::of_stop(reason),
            (None, Some(reason)) => Self::of_hold(reason),
            (None, None) => Self::Done,
        }
    }

    /// How a session ended that was stopped.
    pub(crate) const fn of_stop(reason: StopReason) -> Self {
        match reason {
            StopReason::StoppedByPerson => Self::Stopped,
            StopReason::HardStop => Self::HardStop,
            // A stop of the chain with a system error is always the same call again after the override: a loop.
            StopReason::SystemError | StopReason::InfiniteLoop | StopReason::Runaway | StopReason::Refusals => {
                Self::Loop
            }
            StopReason::WallClock => Self::Clock,
        }
    }

    /// How a session stands that is held.
    pub(crate) const fn of_hold(reason: HoldReason) -> Self {
        match reason {
            HoldReason::Loop | HoldReason::NoProgress => Self::Loop,
            HoldReason::Money => Self::Budget,
            HoldReason::GuardFailure => Self::DoesNotHold,
            HoldReason::IterationCap
            | HoldReason::SoftSuspend
            | HoldReason::Context
            | HoldReason::Converged
            | HoldReason::UnreadBlocker
            | HoldReason::UnreadCheckpoint
            | HoldReason::Paused => Self::Held,
        }
    }

    /// How a refused request ends a command.
    pub(crate) fn of_refusal(last: &SafetyDecision) -> Self {
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
            (
                false,
                None,
                Some(
                    EnforcementError::PermissionDenied(_)
                    | EnforcementError::ReviewGating(_)
                    | EnforcementError::AgentLimit(_)
                    | EnforcementError::ToolLimit(_),
                )
                | None,
            ) => Self::Refused,
        }
    }
}

impl Exit {
    /// The number.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Internal | Self::NotKept => 1,
            Self::Usage | Self::Refusal => 2,
            Self::HardStop => 3,
            Self::Unverified => 4,
            Self::Held => 5,
            Self::Budget => 6,
            Self::Loop => 7,
            Self::Clock => 8,
            Self::DoesNotHold => 9,
            Self::Stopped => 10,
            Self::Refused => 11,
            Self::Parked => 75,
            Self::OfCommand(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
