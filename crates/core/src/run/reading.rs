//! A decision as the loop reads it: the state of the session, and what is due.

use crate::chain::gate::dirty_bits::Verification;
use crate::decision::{Decision, SafetyVeto};
use crate::effect::{Effect, ExitStatus, HoldReason, StopReason};
use crate::enforcement::{CycleTerminationError, EnforcementError};
use crate::text::Reason;
use crate::units::RunMillis;

/// Whether the session may go on at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionStanding {
    Open,
    Held(HoldReason),
    Stopped(StopReason),
}

/// The answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GateAnswer {
    /// It may be done.
    Allowed,
    /// Not now: ask again after this time.
    Later(RunMillis),
    /// The iteration is over.
    Over(ExitStatus),
    /// Nothing goes on until a hold is cleared.
    Held(HoldReason),
    /// This may not be done.
    Denied,
}

/// A decision as the loop reads it.
#[derive(Debug)]
pub(super) struct DecisionReading<'a> {
    pub(super) decision: &'a Decision,
    pub(super) standing: SessionStanding,
}

impl<'a> DecisionReading<'a> {
    pub(super) fn of(decision: &'a Decision) -> Self {
        Self { decision, standing: standing(decision) }
    }

    /// The answer to a request.
    pub(super) fn permission(&self) -> GateAnswer {
        let safety = &self.decision.safety;
        match (safety.allowed, self.standing, &safety.error, safety.retry_after_ms) {
            (true, _, _, _) => GateAnswer::Allowed,
            (false, SessionStanding::Held(reason), _, _) => GateAnswer::Held(reason),
            (false, _, Some(EnforcementError::CycleTermination(CycleTerminationError::MaxSteps)), _) => {
                GateAnswer::Over(ExitStatus::MaxSteps)
            }
            (false, _, Some(EnforcementError::WallClockTimeout(_)), _) => GateAnswer::Over(ExitStatus::Timeout),
            (false, _, None, Some(wait)) => GateAnswer::Later(wait),
            (false, _, _, _) => GateAnswer::Denied,
        }
    }

    /// The reason in words.
    pub(super) fn reason(&self) -> Reason {
        self.decision.safety.reason.clone()
    }

    /// The verdict, if a claim was released.
    pub(super) fn verdict(&self) -> Option<Verification> {
        self.decision.effects.iter().find_map(|effect| match effect {
            Effect::EndIteration(end) if end.exit_status == ExitStatus::Completed => end.verdict,
            Effect::EndIteration(_)
            | Effect::Hold(_)
            | Effect::Stop(_)
            | Effect::Kill
            | Effect::Inject(_)
            | Effect::Prompt(_)
            | Effect::Compact
            | Effect::WarnContext
            | Effect::AskAdvisor(_)
            | Effect::SwitchEngine(_)
            | Effect::WriteReport(_)
            | Effect::Notify(_)
            | Effect::WakeAt(_) => None,
        })
    }
}

fn standing(decision: &Decision) -> SessionStanding {
    let safety = &decision.safety;
    match (safety.allowed, &safety.error, safety.veto_reason) {
        (true, _, _) => SessionStanding::Open,
        (false, Some(EnforcementError::CycleTermination(CycleTerminationError::Stopped(reason))), _) => {
            SessionStanding::Stopped(*reason)
        }
        (false, Some(EnforcementError::CycleTermination(CycleTerminationError::Held(reason))), _) => {
            SessionStanding::Held(*reason)
        }
        (false, Some(EnforcementError::GuardFailure(_)), _) => SessionStanding::Held(HoldReason::GuardFailure),
        (false, None, Some(SafetyVeto::HealthDegraded)) => SessionStanding::Held(HoldReason::SoftSuspend),
        (
            false,
            None,
            Some(
                SafetyVeto::RunawayDetected
                | SafetyVeto::LoopDetected
                | SafetyVeto::TokenBudgetExceeded
                | SafetyVeto::RateLimitExceeded
                | SafetyVeto::CooldownActive,
            )
            | None,
        )
        | (
            false,
            Some(
                EnforcementError::CycleTermination(CycleTerminationError::MaxSteps)
                | EnforcementError::PermissionDenied(_)
                | EnforcementError::WallClockTimeout(_)
                | EnforcementError::FloorHeld(_)
                | EnforcementError::ReviewGating(_)
                | EnforcementError::AgentLimit(_)
                | EnforcementError::ToolLimit(_),
            ),
            _,
        ) => SessionStanding::Open,
    }
}
