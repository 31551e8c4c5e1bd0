//! Why there is no snapshot, or no way back.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_fs::file::{FileError, ReadError};

/// Why there is no snapshot, or no way back.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// A file of the store cannot be written or read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The same, or it is larger than it can be.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The folder cannot be looked at or written.
    #[error("cannot {act} `{}`: {cause}", path.display())]
    Folder {
        /// What was tried.
        act: &'static str,
        /// Where.
        path: PathBuf,
        /// The system's reason.
        cause: io::Error,
    },
    /// An object that a snapshot names is missing or damaged.
    #[error("the store of snapshots is damaged: {what}")]
    Damaged {
        /// What is wrong.
        what: String,
    },
    /// There are more files than are kept.
    #[error("the folder holds more than {limit} files and folders")]
    TooManyFiles {
        /// The limit.
        limit: usize,
    },
    /// What is to be kept is larger than the store may become.
    #[error("the folder holds more than the {mib} MiB that the store of snapshots may take")]
    TooLarge {
        /// The limit.
        mib: u64,
    },
    /// It took too long; what was read so far is kept, and the next snapshot goes on there.
    #[error("the snapshot was not finished in time")]
    TimeOver,
    /// No step of this number changed files.
    #[error("{session} has no step {step} that can be taken back{}", near(nearest))]
    NoStep {
        /// What was asked for.
        step: u64,
        /// In which session.
        session: String,
        /// The steps before and after it that there are.
        nearest: Vec<u64>,
    },
    /// There is no snapshot of a session at all.
    #[error("no snapshot is known of {what}")]
    NoSnapshots {
        /// Of what.
        what: String,
    },
    /// Nothing is to be taken back.
    #[error("nothing is to be taken back: {why}")]
    Nothing {
        /// Why.
        why: &'static str,
    },
}

/// The steps that a person may have meant.
fn near(steps: &[u64]) -> String {
    match steps {
        [] => String::new(),
        [one] => format!("; the nearest is {one}"),
        [one, two, ..] => format!("; the nearest are {one} and {two}"),
    }
}

impl UndoError {
    pub(crate) fn folder(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |cause| Self::Folder { act, path, cause }
    }

    /// Whether it is the disk that is full.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        let full = |kind| matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        match self {
            Self::File(error) => full(error.kind()),
            Self::Read(ReadError::File(error)) => full(error.kind()),
            Self::Folder { cause, .. } => full(cause.kind()),
            Self::Read(ReadError::TooBig { .. })
            | Self::Damaged { .. }
            | Self::TooManyFiles { .. }
            | Self::TooLarge { .. }
            | Self::TimeOver
            | Self::NoStep { .. }
            | Self::NoSnapshots { .. }
            | Self::Nothing { .. } => false,
        }
    }
}

impl Explain for UndoError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::File(error) if self.is_disk_full() => {
                format!("make room on the disk of `{}`, or run `tripwire undo --gc`", error.path().display()).into()
            }
            Self::File(error) => error.hint(),
            Self::Read(error) => error.hint(),
            Self::Folder { .. } => "check the folder and its rights, then run it again".into(),
            Self::Damaged { .. } => {
                "older steps may still be whole: see `tripwire undo --list`; remove the store to start over".into()
            }
            Self::TooManyFiles { .. } | Self::TooLarge { .. } => {
                "leave folders out with `undo.exclude`, or raise `undo.store_mib_max`, in .geometry/MANIFEST.yaml"
                    .into()
            }
            Self::TimeOver => "the next step goes on with it, or make it now with `tripwire undo --snapshot`".into(),
            Self::NoStep { .. } | Self::Nothing { .. } => "list the steps with `tripwire undo --list`".into(),
            Self::NoSnapshots { .. } => {
                "snapshots begin with the first step under `tripwire run`, `tripwire agent` or a hook".into()
            }
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::NoStep { .. } | Self::NoSnapshots { .. } | Self::Nothing { .. } => ExitClass::BadInput,
            Self::File(_)
            | Self::Read(_)
            | Self::Folder { .. }
            | Self::Damaged { .. }
            | Self::TooManyFiles { .. }
            | Self::TooLarge { .. }
            | Self::TimeOver => ExitClass::DoesNotHold,
        }
    }
}
