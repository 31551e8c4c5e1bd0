//! Step 6: what the execution adapter reports back to the gate.

use crate::units::{RunMillis, Tokens};
use serde::{Deserialize, Serialize};

/// The result of one permitted action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecutionResult {
    /// Whether it ran at all.
    pub executed: bool,
    /// How long it took.
    pub latency_ms: RunMillis,
    /// How it ended.
    pub status: ExecutionStatus,
    /// What it used.
    pub tokens_used: Tokens,
}

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ExecutionStatus {
    /// It ran to its end.
    Success,
    /// It ran, and part of it was cut off.
    Partial,
    /// It broke: timed out or could not run.
    Failed,
    /// It was refused before it ran.
    Blocked,
}

impl ExecutionStatus {
    /// Whether the execution itself broke, which costs health (GATE-4).
    #[must_use]
    pub const fn is_execution_error(self) -> bool {
        match self {
            Self::Failed => true,
            Self::Success | Self::Partial | Self::Blocked => false,
        }
    }
}
