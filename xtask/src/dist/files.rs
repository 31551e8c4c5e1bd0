//! The files of a release on disk, and why nothing, or not everything, was made.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

/// Why nothing, or not everything, was made.
#[derive(Debug)]
pub enum DistError {
    /// A file could not be read or written.
    File {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A tool could not be started, or failed.
    Tool {
        /// The command.
        command: String,
        /// What it said, or why it did not start.
        problem: String,
        /// What to do about it.
        hint: &'static str,
    },
}

impl fmt::Display for DistError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, cause } => write!(f, "`{}`: {cause}", path.display()),
            Self::Tool { command, problem, hint } => write!(f, "`{command}`: {problem}\nhint: {hint}"),
        }
    }
}

impl std::error::Error for DistError {}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, DistError> {
    fs::read(path).map_err(failed(path))
}

pub(super) fn read_text(path: &Path) -> Result<String, DistError> {
    fs::read_to_string(path).map_err(failed(path))
}

pub(super) fn write_file(path: &Path, bytes: &[u8], mode: u32) -> Result<(), DistError> {
    fs::write(path, bytes).map_err(failed(path))?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(failed(path))
}

pub(super) fn failed(path: &Path) -> impl FnOnce(io::Error) -> DistError {
    let path = path.to_owned();
    move |cause| DistError::File { path, cause }
}
