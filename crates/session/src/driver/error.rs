//! Why a session cannot be driven, and what to do about it.

use super::state::StateError;
use crate::body::SessionBodyError;
use crate::execution::ExecutionError;
use crate::redaction::RedactionError;
use crate::replica::ReplicaError;
use std::borrow::Cow;
use tripwire_authority::AuthorityError;
use tripwire_authority::identity::ConfigurationError;
use tripwire_core::chain::SnapshotError;
use tripwire_core::decision::SafetyDecision;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::policy::PolicyError;
use tripwire_core::record::canonical::CanonicalError;
use tripwire_fs::file::FileError;
use tripwire_journal::JournalError;
use tripwire_workspace::control::ControlError;
use tripwire_workspace::geometry::safety_log::LogError;
use tripwire_workspace::policy_file::PolicyFileError;

/// Why a session cannot be driven. Every one of these means: nothing happens.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The journal is damaged, locked or cannot be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The batch may or may not be written; the session must be opened again.
    #[error("the journal could not be written for certain: {0}")]
    Unknown(JournalError),
    /// Another process was first although the lock was held: the lock does not work here.
    #[error("another process wrote to the journal in between; is the folder on a file system without locks?")]
    Fenced,
    /// What people did cannot be seen.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The policy cannot be read.
    #[error(transparent)]
    PolicyFile(#[from] PolicyFileError),
    /// The policy contradicts itself.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The permissions cannot be used.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// The agent's configuration has no checksum.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// The journal's head cannot be used.
    #[error("the journal's first record: {0}")]
    Head(#[from] SessionBodyError),
    /// A record is none that a session may hold.
    #[error("journal record {index}: {problem}")]
    Record {
        /// Its index.
        index: u64,
        /// What is wrong.
        problem: String,
    },
    /// A decision has no canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// The state cannot be written down.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The state file was written by a newer version.
    #[error(transparent)]
    State(#[from] StateError),
    /// The safety log cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A file of `.geometry/` cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Secrets cannot be kept out of the record.
    #[error(transparent)]
    Redaction(#[from] RedactionError),
    /// The record is on this disk, and not for certain where it must be as well.
    #[error("the record is not in the fleet: {0}")]
    NotReplicated(#[from] ReplicaError),
}

impl Explain for DriverError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Journal(error) | Self::Unknown(error) => error.hint(),
            Self::Fenced => "move the workspace to a local disk".into(),
            Self::Control(error) => error.hint(),
            Self::PolicyFile(error) => error.hint(),
            Self::Policy(_) => "list all settings with `tripwire policy show`".into(),
            Self::Authority(error) => error.hint(),
            Self::Configuration(error) => error.hint(),
            Self::Head(error) => error.hint(),
            Self::Record { .. } => "see what is damaged with `tripwire verify`".into(),
            Self::Canonical(_) | Self::Snapshot(_) => "this is a defect of tripwire; please report it".into(),
            Self::State(error) => error.hint(),
            Self::Log(error) => error.hint(),
            Self::File(error) => error.hint(),
            Self::Redaction(error) => error.hint(),
            Self::NotReplicated(_) => {
                "look at `tripwire fleet status`; `fleet.durability: async` in the manifest goes on without it".into()
            }
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Journal(error) => error.exit_class(),
            Self::State(error) => error.exit_class(),
            Self::PolicyFile(_)
            | Self::Policy(_)
            | Self::Authority(_)
            | Self::Redaction(RedactionError::Policy { .. }) => ExitClass::BadInput,
            Self::Canonical(_) | Self::Snapshot(_) => ExitClass::Internal,
            Self::Unknown(_)
            | Self::Fenced
            | Self::Control(_)
            | Self::Configuration(_)
            | Self::Head(_)
            | Self::Record { .. }
            | Self::Log(_)
            | Self::File(_)
            | Self::NotReplicated(_)
            | Self::Redaction(_) => ExitClass::DoesNotHold,
        }
    }
}

/// Why something was not permitted.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The engine said no.
    #[error("{}", .0.reason)]
    Refused(Box<SafetyDecision>),
    /// The engine could not be asked.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The permit was for something else.
    #[error(transparent)]
    Execution(#[from] ExecutionError),
}

impl Explain for AskError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Refused(decision) => refusal_hint(decision),
            Self::Driver(error) => error.hint(),
            Self::Execution(error) => error.hint(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Refused(_) => ExitClass::Refused,
            Self::Driver(error) => error.exit_class(),
            Self::Execution(error) => error.exit_class(),
        }
    }
}

/// What to do about a refusal of the engine.
#[must_use]
pub fn refusal_hint(decision: &SafetyDecision) -> Cow<'_, str> {
    decision.error.as_ref().map_or("see `tripwire why`".into(), |error| error.fix().into_string().into())
}
