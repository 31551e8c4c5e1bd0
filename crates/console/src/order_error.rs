//! Why an order could not be given.

use std::borrow::Cow;
use std::path::PathBuf;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_fs::file::{FileError, ReadError};
use tripwire_session::driver::DriverError;
use tripwire_workspace::session::SessionIdError;

/// Why an order could not be given, or not journaled.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    /// A session cannot be driven.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The file of the order cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The record of a run cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The named session has no session's name.
    #[error(transparent)]
    Session(#[from] SessionIdError),
    /// The order stands, but no session could be told.
    #[error("`{}` is written and is enforced, but the act was not journaled: {error}", file.display())]
    Unjournaled {
        /// The order's file.
        file: PathBuf,
        /// Why.
        error: Box<OrderError>,
    },
    /// Some of it was done before it failed.
    #[error("{}; then it failed: {error}", done.join("; "))]
    CutShort {
        /// What was done, a sentence each.
        done: Vec<String>,
        /// What failed.
        error: Box<OrderError>,
    },
}

impl Explain for OrderError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Driver(error) => error.hint(),
            Self::File(error) => error.hint(),
            Self::Read(error) => error.hint(),
            Self::Session(error) => error.hint(),
            Self::Unjournaled { error, .. } | Self::CutShort { error, .. } => error.hint(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Driver(error) => error.exit_class(),
            Self::File(error) => error.exit_class(),
            Self::Read(error) => error.exit_class(),
            Self::Session(error) => error.exit_class(),
            Self::CutShort { error, .. } => error.exit_class(),
            // A guard that cannot do its work lets nothing through, and says so with a code of its own.
            Self::Unjournaled { .. } => ExitClass::DoesNotHold,
        }
    }
}
