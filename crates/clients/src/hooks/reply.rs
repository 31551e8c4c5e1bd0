//! What a hook process says to its client, and why an input is not understood.

use serde::Deserialize;
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

    /// Why an answer in the form of a door without hooks does not let the caller go on; a text beside an event is none.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        if self.exit_code != 0 {
            return Some(self.stderr.clone());
        }
        let said: DoorReply = serde_json::from_str(&self.stdout).ok()?;
        let refuses = said.goes_on == Some(false) || matches!(said.decision.as_deref(), Some("deny" | "block"));
        refuses.then(|| said.reason.or(said.stop_reason).unwrap_or_else(|| "the guard refuses it".to_owned()))
    }

    /// The words beside an event, if there are any.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let said: DoorReply = serde_json::from_str(&self.stdout).ok()?;
        said.beside.and_then(|beside| beside.text)
    }

    /// An answer that the client parses.
    pub(crate) fn json(value: &serde_json::Value) -> Self {
        Self { stdout: value.to_string(), ..Self::default() }
    }
}

/// An answer as a door without hooks reads it.
#[derive(Deserialize)]
struct DoorReply {
    #[serde(rename = "continue")]
    goes_on: Option<bool>,
    decision: Option<String>,
    reason: Option<String>,
    #[serde(rename = "stopReason")]
    stop_reason: Option<String>,
    #[serde(rename = "hookSpecificOutput")]
    beside: Option<BesideReply>,
}

#[derive(Deserialize)]
struct BesideReply {
    #[serde(rename = "additionalContext")]
    text: Option<String>,
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
