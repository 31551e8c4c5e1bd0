//! Why the file system refused: which file, what was tried, and what a person can do about it.

use crate::shell_word::shell_word;
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use tripwire_core::explain::{ExitClass, Explain};

/// What was tried on a file when it failed; the words become part of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAction {
    /// Making a file or a folder.
    Create,
    /// Reading contents.
    Read,
    /// Writing contents.
    Write,
    /// Forcing contents to the disk.
    Sync,
    /// Putting a finished file in its place.
    Rename,
    /// Deleting.
    Remove,
    /// Taking the lock that keeps several processes apart.
    Lock,
    /// Looking at size, kind and times.
    Inspect,
}

impl FileAction {
    const fn verb(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync => "sync",
            Self::Rename => "replace",
            Self::Remove => "remove",
            Self::Lock => "lock",
            Self::Inspect => "inspect",
        }
    }
}

/// A refusal of the file system: which file, what was tried, and the cause as the system gave it.
#[derive(Debug, thiserror::Error)]
#[error("cannot {} `{}`: {cause}", action.verb(), path.display())]
pub struct FileError {
    path: PathBuf,
    action: FileAction,
    cause: io::Error,
}

impl FileError {
    /// Binds a cause to the file and the action, for `map_err`.
    pub fn at(path: &Path, action: FileAction) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |cause| Self { path, action, cause }
    }

    /// The file that it is about.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The kind of the cause, for callers that treat a missing file apart.
    #[must_use]
    pub fn kind(&self) -> io::ErrorKind {
        self.cause.kind()
    }

    /// The cause alone, for callers that name the file in their own words.
    #[must_use]
    pub fn into_cause(self) -> io::Error {
        self.cause
    }
}

impl Explain for FileError {
    fn hint(&self) -> Cow<'_, str> {
        // A bare name lies in the folder in which the command runs.
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let (shown, folder, path) = (folder.display(), shell_word(folder), shell_word(&self.path));
        let hint = if self.cause.kind() == io::ErrorKind::StorageFull {
            format!("free some space on the disk of `{shown}` (`df -h {folder}`), then run the command again")
        } else if self.cause.kind() == io::ErrorKind::ReadOnlyFilesystem {
            format!("`{shown}` is mounted read-only: remount it or work in a writable copy")
        } else if self.cause.kind() == io::ErrorKind::PermissionDenied {
            format!("check who may write there: `ls -ld {folder}`")
        } else if self.cause.kind() == io::ErrorKind::NotFound {
            format!("check that it exists: `ls -l {path}`")
        } else {
            format!("look at it: `ls -l {path}`")
        };
        hint.into()
    }

    /// A guard that cannot do its work lets nothing through, and says so with a code of its own.
    fn exit_class(&self) -> ExitClass {
        ExitClass::DoesNotHold
    }
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is larger than this reader accepts.
    #[error("`{}` holds more than {limit} bytes", path.display())]
    TooBig {
        /// The file.
        path: PathBuf,
        /// The bound it crossed.
        limit: u64,
    },
}

impl Explain for ReadError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::File(error) => error.hint(),
            Self::TooBig { .. } => "remove the file: tripwire did not write it".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::DoesNotHold
    }
}
