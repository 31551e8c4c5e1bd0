//! Why a session cannot be driven, and what to do about it.

use super::state::StateError;
use crate::body::SessionBodyError;
use tripwire_authority::AuthorityError;
use tripwire_authority::identity::ConfigurationError;
use tripwire_core::chain::SnapshotError;
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
}

impl DriverError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Journal(error) | Self::Unknown(error) => error.hint().to_owned(),
            Self::Fenced => "move the workspace to a local disk".to_owned(),
            Self::Control(error) => error.hint(),
            Self::PolicyFile(PolicyFileError::Manifest(error)) => error.hint(),
            Self::PolicyFile(PolicyFileError::Setting { .. } | PolicyFileError::Relation { .. }) | Self::Policy(_) => {
                "list all settings with `tripwire policy show`".to_owned()
            }
            Self::Authority(error) => error.hint(),
            Self::Configuration(error) => error.hint(),
            Self::Head(_) | Self::Record { .. } => "see what is damaged with `tripwire verify`".to_owned(),
            Self::Canonical(_) | Self::Snapshot(_) => "this is a defect of tripwire; please report it".to_owned(),
            Self::State(error) => error.hint(),
            Self::Log(error) => error.hint(),
            Self::File(error) => error.hint(),
        }
    }
}
