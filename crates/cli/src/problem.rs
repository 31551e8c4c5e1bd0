//! What went wrong, for a person: what, where, why, and the next command.

use crate::exit::Exit;
use std::io;
use std::path::{Path, PathBuf};
use tripwire_core::policy::PolicyError;
use tripwire_core::record::canonical::CanonicalError;
use tripwire_host::policy_file::PolicyFileError;
use tripwire_host::recording::WriteError;
use tripwire_host::replay::ReplayError;
use tripwire_host::stream::StreamError;
use tripwire_host::traces::TraceError;

/// Anything that ends a verb early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// A file cannot be opened.
    #[error("cannot open `{}`: {error}", file.display())]
    Open {
        /// The file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A recording would overwrite a file.
    #[error("`{}` exists already and is not overwritten", file.display())]
    Exists {
        /// The file.
        file: PathBuf,
    },
    /// A file named `.zst` is not packed that way.
    #[error("`{}` is not packed with zstd: {problem}", file.display())]
    Unpack {
        /// The file.
        file: PathBuf,
        /// Why.
        problem: String,
    },
    /// A stream that should be replayed is empty: nothing was proved.
    #[error("{file}: holds no event")]
    Empty {
        /// The stream.
        file: String,
    },
    /// A line of a stream is bad.
    #[error("{file}: {error}")]
    Stream {
        /// The stream.
        file: String,
        /// What is wrong.
        error: StreamError,
    },
    /// A trace file is bad.
    #[error("{file}: {error}")]
    Trace {
        /// The file.
        file: String,
        /// What is wrong.
        error: TraceError,
    },
    /// A recording does not verify.
    #[error("{file}: {error}")]
    Replay {
        /// The file.
        file: String,
        /// What is wrong.
        error: ReplayError,
    },
    /// A policy file is bad.
    #[error(transparent)]
    PolicyFile(#[from] PolicyFileError),
    /// A policy contradicts itself.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The settings in a scenario's head are bad.
    #[error("{file}: line 1: field `scenario`: {error}")]
    Scenario {
        /// The stream.
        file: String,
        /// What is wrong.
        error: PolicyError,
    },
    /// The recording cannot be written.
    #[error("`{}`: {error}", file.display())]
    Record {
        /// The file.
        file: PathBuf,
        /// Why.
        error: WriteError,
    },
    /// There is no such rule.
    #[error("there is no rule `{name}`{}", nearest.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default())]
    NoRule {
        /// What was asked for.
        name: String,
        /// The rule whose name is nearest.
        nearest: Option<&'static str>,
    },
    /// Standard output is closed or full.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
    /// A value has no canonical form.
    #[error("a record has no canonical form: {0}")]
    Canonical(#[from] CanonicalError),
}

impl Problem {
    /// A file that cannot be opened.
    pub(crate) fn open(file: &Path, error: io::Error) -> Self {
        Self::Open { file: file.to_owned(), error }
    }

    /// How the command ends with it.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Open { .. }
            | Self::Exists { .. }
            | Self::Unpack { .. }
            | Self::Empty { .. }
            | Self::Scenario { .. }
            | Self::Stream { .. }
            | Self::Trace { .. }
            | Self::PolicyFile(_)
            | Self::Policy(_)
            | Self::NoRule { .. } => Exit::Usage,
            Self::Replay { error, .. } => match error {
                ReplayError::Read(_) | ReplayError::Record { .. } | ReplayError::Head(_) | ReplayError::NoHead => {
                    Exit::DoesNotHold
                }
                ReplayError::Policy(_) | ReplayError::Canonical(_) | ReplayError::Snapshot(_) => Exit::Internal,
            },
            Self::Record { .. } | Self::Output(_) | Self::Canonical(_) => Exit::Internal,
        }
    }

    /// What to do next.
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::Open { .. } => "check the path; `-` reads standard input".to_owned(),
            Self::Exists { .. } | Self::Record { .. } => "choose another place with `--record FILE`".to_owned(),
            Self::Unpack { .. } => "pack it with `zstd FILE`, or give it a name without `.zst`".to_owned(),
            Self::Empty { .. } => "record one with `tripwire decide --record FILE`".to_owned(),
            Self::Stream { error, .. } if error.is_final() => {
                "check the device or the pipe, then run it again".to_owned()
            }
            Self::Stream { .. } => {
                "mend the line, or pass over bad lines with `--lenient`; the format: docs/reference/events.md"
                    .to_owned()
            }
            Self::Trace { .. } => "one trace per line; the format: docs/reference/traces.md".to_owned(),
            Self::Replay { .. } => {
                "keep the file as evidence; record again with `tripwire decide --record FILE`".to_owned()
            }
            Self::PolicyFile(PolicyFileError::Manifest(error)) => error.hint(),
            Self::PolicyFile(PolicyFileError::Setting { .. } | PolicyFileError::Relation { .. })
            | Self::Policy(_)
            | Self::Scenario { .. } => "list all settings with `tripwire policy show`".to_owned(),
            Self::NoRule { .. } => "list all rules with `tripwire explain`".to_owned(),
            Self::Output(_) => "check the disk and the reader of the pipe".to_owned(),
            Self::Canonical(_) => "this is a defect of tripwire; please report it".to_owned(),
        }
    }
}
