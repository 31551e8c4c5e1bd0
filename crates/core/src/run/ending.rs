//! How the loop ended, in one value: the exit code, the last line of the transcript and the report follow from it.

use crate::chain::gate::dirty_bits::Verification;
use crate::effect::{HoldReason, StopReason};
use crate::text::Reason;
use crate::units::RunMillis;
use alloc::format;
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// Why nothing more is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "camelCase")]
pub enum Ending {
    /// The claim to be done was released.
    Completed {
        /// What is proved about the work.
        verdict: Verification,
    },
    /// It waits for a person.
    Held {
        /// What for.
        reason: HoldReason,
    },
    /// The engine ended the session.
    Stopped {
        /// Why.
        reason: StopReason,
    },
    /// Nothing valid came after the allowed repairs.
    SystemError {
        /// The diagnostics.
        diagnostics: Reason,
    },
    /// A tool failed, and the policy says that this ends the run.
    ToolFailed {
        /// The call and how it ended.
        said: Reason,
    },
    /// The gate refuses to let the model be asked at all.
    Refused {
        /// Why.
        reason: Reason,
    },
    /// The last iteration ended by its steps or its wall clock.
    OutOfIterations,
    /// A provider limits the rate, and no other engine can answer.
    Parked {
        /// How long it asked to wait, where it said so.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        retry_after_ms: Option<RunMillis>,
        /// In its own words.
        said: Reason,
    },
    /// No engine can answer.
    NoEngine {
        /// What the last one said.
        said: Reason,
    },
    /// A budget that other machines spend too does not pay for another question.
    NoMoney {
        /// What is left of it.
        said: Reason,
    },
}

impl Ending {
    /// In one sentence, for a person.
    #[must_use]
    pub fn explain(&self) -> String {
        match self {
            Self::Completed { verdict: Verification::Verified } => {
                "done and VERIFIED: the tests passed on exactly this tree".into()
            }
            Self::Completed { verdict: Verification::NothingToVerify } => {
                "done; no code was changed, there is nothing to verify".into()
            }
            Self::Completed { verdict: Verification::Stale } => {
                "done, but STALE: something changed after the tests passed".into()
            }
            Self::Completed { verdict: Verification::Failed } => "done, but FAILED: the tests do not pass".into(),
            Self::Completed { verdict: Verification::Unverified } => {
                "done, but UNVERIFIED: no test run was seen".into()
            }
            Self::Completed { verdict: Verification::Waived } => {
                "done, but WAIVED: a person skipped the check, and no test run proves the work".into()
            }
            Self::Completed { verdict: Verification::Undocumented } => {
                "done, but UNDOCUMENTED: the API changed and its documentation was not updated".into()
            }
            Self::Held { reason } => reason.explain().into(),
            Self::Stopped { reason } => reason.explain().into(),
            Self::SystemError { diagnostics } => format!("stopped with SYSTEM_ERROR: {diagnostics}"),
            Self::ToolFailed { said } => format!("stopped at a tool error (tools.on_tool_error: stop): {said}"),
            Self::Refused { reason } => format!("refused: {reason}"),
            Self::OutOfIterations => {
                "no iteration is left; read .geometry/CHECKPOINT.md, then `tripwire ack` and `tripwire agent --resume`"
                    .into()
            }
            Self::Parked { said, .. } => format!("parked for a rate limit: {said}"),
            Self::NoEngine { said } => format!("no engine can answer: {said}"),
            Self::NoMoney { said } => format!("no money for another question: {said}"),
        }
    }

    /// Whether a person's restart may open it again: everything but what is done.
    #[must_use]
    pub const fn can_be_restarted(&self) -> bool {
        match self {
            Self::Completed { .. } => false,
            Self::Held { .. }
            | Self::Stopped { .. }
            | Self::SystemError { .. }
            | Self::ToolFailed { .. }
            | Self::Refused { .. }
            | Self::OutOfIterations
            | Self::Parked { .. }
            | Self::NoEngine { .. }
            | Self::NoMoney { .. } => true,
        }
    }

    /// Whether a later process may go on from here once what held it is cleared.
    #[must_use]
    pub const fn can_go_on(&self) -> bool {
        match self {
            Self::Held { .. }
            | Self::ToolFailed { .. }
            | Self::OutOfIterations
            | Self::Parked { .. }
            | Self::NoEngine { .. }
            | Self::NoMoney { .. } => true,
            Self::Stopped { reason } => matches!(reason, StopReason::StoppedByPerson),
            Self::Completed { .. } | Self::SystemError { .. } | Self::Refused { .. } => false,
        }
    }
}
