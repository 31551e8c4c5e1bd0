//! What a session needs from the command line to be taken up again: the engines by their full names.
//!
//! It is kept beside the session's state and not in its transcript: where a cassette lies is no part of what happened.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::PathBuf;
use tripwire_core::explain::Explain;
use tripwire_fs::file::{self, FileError, read_bounded};
use tripwire_workspace::geometry::layout::Layout;

/// The largest file of this kind that is read.
const BYTES_MAX: u64 = 64 * 1_024;

/// The engines of a session as a person named them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedEngines {
    /// The engines in the order in which they are taken.
    pub engines: Vec<String>,
    /// The advisors in the order in which they are asked.
    #[serde(default)]
    pub advisors: Vec<String>,
    /// The reviewer.
    pub reviewer: Option<String>,
}

/// Why the names cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum SavedEnginesError {
    /// It cannot be read.
    #[error("`{}` does not say which engines session {session} used: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The session.
        session: String,
        /// Why.
        why: String,
    },
    /// It cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Explain for SavedEnginesError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Unreadable { .. } => "name them again: `tripwire agent --resume SESSION --engine NAME`".into(),
            Self::File(error) => error.hint(),
        }
    }
}

impl SavedEngines {
    /// Keeps it for a session.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn keep(&self, layout: &Layout, session: &str) -> Result<(), SavedEnginesError> {
        file::make_folder(&layout.state())?;
        let text = serde_json::to_string(self).unwrap_or_default();
        Ok(file::replace(&path(layout, session), text.as_bytes())?)
    }

    /// Reads what was kept.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn of(layout: &Layout, session: &str) -> Result<Self, SavedEnginesError> {
        let path = path(layout, session);
        let wrong =
            |why: String| SavedEnginesError::Unreadable { path: path.clone(), session: session.to_owned(), why };
        let bytes = read_bounded(&path, BYTES_MAX).map_err(|error| wrong(error.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))
    }
}

fn path(layout: &Layout, session: &str) -> PathBuf {
    layout.state().join(format!("{session}.engines"))
}
