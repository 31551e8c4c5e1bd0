//! Calls with their real values. The machine and the record know placeholders only; a tool gets what they stand for, and a
//! placeholder whose value is gone reaches no file and no command (SECRET-1).

use tripwire_core::run::record::{Call, CallFault, FaultKind};
use tripwire_secrets::{UnresolvedError, Vault};

/// A call with its real values, and as the record holds it.
#[derive(Debug, Clone)]
pub(super) struct RealCall {
    /// What runs.
    pub(super) real: Call,
    /// The same with placeholders in the place of its secrets.
    pub(super) recorded: Call,
}

impl RealCall {
    /// The real values of a recorded call.
    ///
    /// # Errors
    /// When it holds a placeholder whose value is not in memory: it must not reach a command or a file.
    pub(super) fn of(recorded: &Call, vault: &Vault) -> Result<Self, UnresolvedError> {
        let arguments = vault.restore(&recorded.arguments)?.into_owned();
        Ok(Self { real: Call { arguments: arguments.into(), ..recorded.clone() }, recorded: recorded.clone() })
    }
}

/// Why a call with such a placeholder cannot be used, for the model.
pub(super) fn fault(error: &UnresolvedError) -> CallFault {
    CallFault { kind: FaultKind::ValidationError, text: not_resolved(error).into() }
}

/// The same in words.
pub(super) fn not_resolved(error: &UnresolvedError) -> String {
    format!(
        "error: {error}; nothing was run, because the placeholder itself would have been used [SECRET-1]\n\
         hint: read the value again from where it came, or have the person set it in the environment"
    )
}
