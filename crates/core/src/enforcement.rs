//! Refusals that are not vetoes: typed errors with the rule, the cause and the next command (GATE-6).

use crate::effect::HoldReason;
use crate::effect::StopReason;
use crate::label::Label;
use serde::Serialize;

/// Everything that may be refused apart from the six vetoes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
pub enum EnforcementError {
    /// The role lacks a permission.
    #[error(transparent)]
    PermissionDenied(PermissionDeniedError),
    /// A wall clock ran out.
    #[error(transparent)]
    WallClockTimeout(WallClockTimeoutError),
    /// The review is missing, rejected or of another change.
    #[error(transparent)]
    ReviewGating(ReviewGatingError),
    /// The command would destroy what nobody gets back.
    #[error(transparent)]
    FloorHeld(FloorHeldError),
    /// The session is over or held.
    #[error(transparent)]
    CycleTermination(CycleTerminationError),
    /// A premise of the guard broke.
    #[error(transparent)]
    GuardFailure(GuardFailureError),
}

/// The role lacks a permission, or came without one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error(
    "permission denied: role `{role}` lacks `{permission}`; ask for a role that has it, or change the policy and start a new session"
)]
pub struct PermissionDeniedError {
    /// What is missing.
    pub permission: Label,
    /// Who lacks it.
    pub role: Label,
}

/// The command would destroy what nobody gets back; a person may let it pass once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("held: {reason} [{rule}]; to allow this once, a person runs: tripwire allow --once {code}")]
pub struct FloorHeldError {
    /// The code that a person names.
    pub code: Label,
    /// What it would destroy.
    pub reason: Label,
    /// The rule of the floor that it breaks.
    pub rule: Label,
}

/// A wall clock ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("wall clock timeout: {limit_ms} ms are over; start a new iteration or raise `limits.max_runtime_hours`")]
pub struct WallClockTimeoutError {
    /// The limit that was reached.
    pub limit_ms: crate::units::RunMillis,
}

/// The review gate refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("review gate: the review of this change is {problem}; run `tripwire review show`")]
pub struct ReviewGatingError {
    /// What is wrong with the review.
    pub problem: ReviewProblem,
}

/// What may be wrong with a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "lowercase")]
pub enum ReviewProblem {
    /// Nobody answered.
    #[error("missing")]
    Missing,
    /// The answer was no.
    #[error("rejected")]
    Rejected,
    /// The answer was about another change.
    #[error("for another change (mismatched)")]
    Mismatched,
}

/// Nothing more may happen in this session, or not now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub enum CycleTerminationError {
    /// The session is over.
    #[error("{}", .0.explain())]
    Stopped(StopReason),
    /// The session is held.
    #[error("{}", .0.explain())]
    Held(HoldReason),
    /// The iteration has used up its steps.
    #[error("the iteration has used up its steps; the next one starts with the recitation")]
    MaxSteps,
}

/// A premise of the guard broke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("guard failure: {cause}; {fix}")]
pub struct GuardFailureError {
    /// What broke.
    pub cause: Label,
    /// What to do.
    pub fix: Label,
}
