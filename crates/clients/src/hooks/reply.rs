//! What a hook process says to its client, and why an input is not understood.

use std::borrow::Cow;
use tripwire_core::explain::{ExitClass, Explain};

/// What a hook process says: its standard output, its standard error and its exit code.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    /// For the client to parse; empty means: no objection.
    pub stdout: String,
    /// For the model or the person, where the exit code says so.
    pub stderr: String,
    /// 0 or the client's blocking code.
    pub exit_code: u8,
}

impl Reply {
    /// Words beside the event, in the form that the clients share; without the event's name they throw it away.
    pub(crate) fn context(event: &str, text: &str) -> Self {
        Self::json(&serde_json::json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}))
    }

    /// An answer that the client parses.
    pub(crate) fn json(value: &serde_json::Value) -> Self {
        Self { stdout: value.to_string(), ..Self::default() }
    }
}

/// Why a hook's input is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the hook's input is not understood: {problem}")]
pub struct HookError {
    /// What is wrong with it.
    pub problem: String,
}

impl Explain for HookError {
    fn hint(&self) -> Cow<'_, str> {
        "check with `tripwire doctor` that this version of the client is known".into()
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::DoesNotHold
    }
}
