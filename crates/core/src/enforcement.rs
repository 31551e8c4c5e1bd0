//! Refusals that are not vetoes: typed errors with the rule, the cause and the next command (GATE-6).

use crate::effect::{HoldReason, StopReason};
use crate::explain::{ExitClass, Explain};
use crate::input::ActOrigin;
use crate::label::Label;
use crate::rules::Rule;
use crate::text::Reason;
use crate::units::Count;
use alloc::borrow::Cow;
use alloc::string::ToString;
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
    /// The command would destroy what cannot be restored.
    #[error(transparent)]
    FloorHeld(FloorHeldError),
    /// The session is over or held.
    #[error(transparent)]
    CycleTermination(CycleTerminationError),
    /// A premise of the guard broke.
    #[error(transparent)]
    GuardFailure(GuardFailureError),
    /// The tree of agents has no place for another one.
    #[error(transparent)]
    AgentLimit(AgentLimitError),
    /// A tool was called as often as it may be.
    #[error(transparent)]
    ToolLimit(ToolLimitError),
}

/// An enforcement error part by part, with the same fields for every kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// Which kind of error it is.
    pub error: &'static str,
    /// What to do about it.
    pub fix: Reason,
    /// What happened, in words.
    pub message: Reason,
    /// The permission that is missing, where one is.
    pub permission: Option<Label>,
    /// The role that lacks it, where one does.
    pub role: Option<Label>,
    /// The rule that refused.
    pub rule: &'static str,
}

impl EnforcementError {
    /// The kind, as the seed names it.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::PermissionDenied(_) => "PermissionDenied",
            Self::FloorHeld(_) => "FloorHeld",
            Self::WallClockTimeout(_) => "WallClockTimeout",
            Self::ReviewGating(_) => "ReviewGating",
            Self::CycleTermination(_) => "CycleTermination",
            Self::GuardFailure(_) => "GuardFailure",
            Self::AgentLimit(_) => "AgentLimit",
            Self::ToolLimit(_) => "ToolLimit",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn fix(&self) -> Reason {
        match self {
            Self::PermissionDenied(error) => error.remedy.fix().into(),
            Self::FloorHeld(error) if error.denied.is_some() => "find another way".into(),
            Self::FloorHeld(error) => alloc::format!("a person may run `tripwire allow --once {}`", error.code).into(),
            Self::WallClockTimeout(_) => "start a new iteration or raise `limits.max_runtime_hours`".into(),
            Self::ReviewGating(error) => match error.problem {
                ReviewProblem::Missing => "have it reviewed with `tripwire review decide`".into(),
                ReviewProblem::Rejected => "change it and propose it again with `tripwire review propose`".into(),
                ReviewProblem::Mismatched => {
                    "propose what is staged now with `tripwire review propose` and have it reviewed".into()
                }
            },
            Self::CycleTermination(CycleTerminationError::Stopped(_)) => {
                "see `tripwire status`; a person runs `tripwire resume --restart`".into()
            }
            Self::CycleTermination(CycleTerminationError::Held(_)) => {
                "see `tripwire status` and `tripwire resume`".into()
            }
            Self::CycleTermination(CycleTerminationError::MaxSteps) => "start a new iteration".into(),
            Self::GuardFailure(error) => error.fix.to_string().into(),
            Self::AgentLimit(error) => alloc::format!(
                "go on without another sub-agent; a person may raise `{}` for the next session",
                error.setting()
            )
            .into(),
            Self::ToolLimit(ToolLimitError::Calls { .. }) => {
                "go on without this tool; a person may raise its limit in `tools` for the next session".into()
            }
            Self::ToolLimit(ToolLimitError::PerMinute { .. }) => {
                "do something else first, and call it again later".into()
            }
        }
    }

    /// The error part by part, under the rule that refused.
    #[must_use]
    pub fn explained(&self, rule: Rule) -> Explained {
        let denied = match self {
            Self::PermissionDenied(error) => Some(error),
            Self::FloorHeld(_)
            | Self::WallClockTimeout(_)
            | Self::ReviewGating(_)
            | Self::CycleTermination(_)
            | Self::GuardFailure(_)
            | Self::AgentLimit(_)
            | Self::ToolLimit(_) => None,
        };
        Explained {
            error: self.kind(),
            fix: self.fix(),
            message: self.to_string().into(),
            permission: denied.map(|error| error.permission.clone()),
            role: denied.map(|error| error.role.clone()),
            rule: rule.id(),
        }
    }
}

impl Explain for EnforcementError {
    fn hint(&self) -> Cow<'_, str> {
        Cow::Owned(self.fix().into_string())
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::FloorHeld(_) | Self::CycleTermination(CycleTerminationError::Held(_)) => ExitClass::Held,
            Self::CycleTermination(CycleTerminationError::Stopped(StopReason::StoppedByPerson)) => ExitClass::Stopped,
            Self::GuardFailure(_) => ExitClass::DoesNotHold,
            Self::PermissionDenied(_)
            | Self::ReviewGating(_)
            | Self::AgentLimit(_)
            | Self::ToolLimit(_)
            | Self::WallClockTimeout(_)
            | Self::CycleTermination(CycleTerminationError::Stopped(_) | CycleTerminationError::MaxSteps) => {
                ExitClass::Refused
            }
        }
    }
}

/// The role lacks a permission, or came without one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("permission denied: {}; {}", .remedy.problem(.role, .permission), .remedy.fix())]
pub struct PermissionDeniedError {
    /// What is missing.
    pub permission: Label,
    /// What can be done about it.
    #[serde(skip)]
    pub remedy: Remedy,
    /// Who lacks it.
    pub role: Label,
}

/// What can be done about a permission that is missing: advice that cannot help would only set an agent begging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Another role may have it.
    Role,
    /// No role has it: a person's controls are out of every agent's reach.
    Person,
    /// A person vouches for the agent's configuration.
    Trust,
    /// A person names the role among those that are authorized.
    Authorize,
    /// A new session takes over what the manifest says now.
    Begin,
}

impl Remedy {
    fn problem(self, role: &Label, permission: &Label) -> alloc::string::String {
        match self {
            Self::Role => alloc::format!("role `{role}` lacks `{permission}`"),
            Self::Person => alloc::format!("no agent may {permission}"),
            Self::Trust | Self::Authorize | Self::Begin => {
                alloc::format!("this operation is critical and needs {permission}")
            }
        }
    }

    /// What to do.
    #[must_use]
    pub const fn fix(self) -> &'static str {
        match self {
            Self::Role => {
                "ask for a role that has it with `--role`, or change `.geometry/policy.cedar` and start a new session"
            }
            Self::Person => "leave it, or ask the person to do it at their own terminal",
            Self::Trust => "ask the person to do it, or to run `tripwire identity trust` and start a new session",
            Self::Authorize => {
                "ask the person to do it, or to name the role in `identity.authorized_roles` and start a new session"
            }
            Self::Begin => "ask the person to do it, or to start a new session, which belongs to that workflow",
        }
    }
}

/// The command would destroy what cannot be restored; a person may let it pass once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{}", self.words())]
pub struct FloorHeldError {
    /// The code that a person names.
    pub code: Label,
    /// What it would destroy.
    pub reason: Label,
    /// The rule about destructive commands that it breaks.
    pub rule: Label,
    /// Who denied it, if a person did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied: Option<Denial>,
}

/// A person's no to one held command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Denial {
    /// Who, and why, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<ActOrigin>,
}

impl FloorHeldError {
    fn words(&self) -> alloc::string::String {
        let Self { code, reason, rule, denied } = self;
        match denied {
            None => {
                alloc::format!("held [{rule}]; to allow it once, a person runs: tripwire allow --once {code}; {reason}")
            }
            Some(denial) => {
                let by = denial.by.as_ref().map(|by| alloc::format!(" ({by})")).unwrap_or_default();
                alloc::format!("denied by a person{by} [{rule}]; do not ask for it again, find another way; {reason}")
            }
        }
    }
}

/// The tree of agents is as large as it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub enum AgentLimitError {
    /// Nested too deep.
    #[error(
        "sub-agents are nested too deep: {0} levels are the limit (limits.max_agent_depth); go on without another one"
    )]
    Depth(Count),
    /// Too many in all.
    #[error("too many sub-agents: {0} were started, which is the limit (limits.max_agents); go on without another one")]
    Total(Count),
}

impl AgentLimitError {
    /// The setting that says how many there may be.
    #[must_use]
    pub const fn setting(self) -> &'static str {
        match self {
            Self::Depth(_) => "limits.max_agent_depth",
            Self::Total(_) => "limits.max_agents",
        }
    }
}

/// A tool was called as often as the policy lets it be (TOOL-3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub enum ToolLimitError {
    /// In the whole session.
    #[error("`{tool}` was called {most} times, which is its limit for a session (tools: max_calls); go on without it")]
    Calls {
        /// The name in the policy.
        tool: Label,
        /// The limit.
        most: Count,
    },
    /// In the sliding minute.
    #[error(
        "`{tool}` was called {most} times within a minute, which is its limit (tools: per_minute); call it again in {} s",
        .wait_ms.get().div_ceil(1_000)
    )]
    PerMinute {
        /// The name in the policy.
        tool: Label,
        /// The limit.
        most: Count,
        /// When there is room again.
        wait_ms: crate::units::RunMillis,
    },
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
    /// There is no answer.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::RunMillis;

    #[test]
    fn gate_8_a_limit_of_agents_names_the_setting_that_raises_it() {
        for (error, setting) in [
            (AgentLimitError::Depth(Count::new(3)), "limits.max_agent_depth"),
            (AgentLimitError::Total(Count::new(3)), "limits.max_agents"),
        ] {
            assert_eq!(error.setting(), setting);
            assert!(alloc::format!("{error}").contains(setting), "{error}");
        }
    }

    #[test]
    fn gate_6_a_held_command_may_be_allowed_once_unless_a_person_denied_it() {
        let held = |denied| {
            let (code, label) = (Label::cut("a1b2"), Label::cut);
            let error = FloorHeldError { code, reason: label("gone"), rule: label("FLOOR-1"), denied };
            EnforcementError::FloorHeld(error).fix().into_string()
        };
        assert_eq!(held(None), "a person may run `tripwire allow --once a1b2`");
        assert_eq!(held(Some(Denial { by: None })), "find another way");
    }

    #[test]
    fn gate_6_every_error_explains_itself_with_rule_and_fix() {
        let denied = PermissionDeniedError {
            permission: Label::cut("can_edit_source"),
            remedy: Remedy::Role,
            role: Label::cut("tester"),
        };
        let review = |problem| EnforcementError::ReviewGating(ReviewGatingError { problem });
        let ended = EnforcementError::CycleTermination;
        let broken = GuardFailureError { cause: Label::cut("the clock"), fix: Label::cut("set it right") };
        for (error, rule) in [
            (EnforcementError::PermissionDenied(denied), Rule::Permission),
            (
                EnforcementError::WallClockTimeout(WallClockTimeoutError { limit_ms: RunMillis::ZERO }),
                Rule::TermWallClock,
            ),
            (review(ReviewProblem::Missing), Rule::Review),
            (review(ReviewProblem::Rejected), Rule::Review),
            (review(ReviewProblem::Mismatched), Rule::Review),
            (ended(CycleTerminationError::Stopped(StopReason::StoppedByPerson)), Rule::Control),
            (ended(CycleTerminationError::Held(HoldReason::Converged)), Rule::Convergence),
            (ended(CycleTerminationError::MaxSteps), Rule::TermSteps),
            (EnforcementError::GuardFailure(broken), Rule::FailClosed),
        ] {
            let explained = error.explained(rule);
            assert_eq!(explained.rule, rule.id());
            assert!(!explained.fix.is_empty() && !explained.message.is_empty(), "{error:?}");
            let is_permission = matches!(error, EnforcementError::PermissionDenied(_));
            assert_eq!((explained.role.is_some(), explained.permission.is_some()), (is_permission, is_permission));
        }
    }
}
