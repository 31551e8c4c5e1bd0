//! Why a tool did not get at a file. Every text names the path relative to the workspace and what to do instead.

use super::path::WorkPath;
use std::borrow::Cow;
use std::io;
use tripwire_core::explain::Explain;

/// Why a file was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// No path at all, or one that no file can have.
    #[error("`{path}` is not a path: {why}")]
    NotAPath {
        /// The text, cut.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The path leads out of the workspace.
    #[error("`{path}` is outside of the workspace")]
    Outside {
        /// The path as it was written, cut.
        path: String,
    },
    /// A link on the way leads out of the workspace.
    #[error("`{path}` leads out of the workspace through a link")]
    LeadsOut {
        /// The path.
        path: WorkPath,
    },
    /// A link on the way leads to a protected name.
    #[error("`{path}` leads to a protected name through a link")]
    Disguised {
        /// The path.
        path: WorkPath,
    },
    /// The path is one that no tool may write.
    #[error("`{path}` is protected: {why}")]
    Protected {
        /// The path.
        path: WorkPath,
        /// Why.
        why: &'static str,
    },
    /// The path is one that no tool may read.
    #[error("`{path}` may not be read: {why}")]
    Hidden {
        /// The path.
        path: WorkPath,
        /// Why.
        why: &'static str,
    },
    /// Nothing is there.
    #[error("`{path}` does not exist")]
    Missing {
        /// The path.
        path: WorkPath,
    },
    /// A folder where a file was meant.
    #[error("`{path}` is a folder")]
    IsFolder {
        /// The path.
        path: WorkPath,
    },
    /// A file where a folder was meant.
    #[error("`{path}` is not a folder")]
    NotAFolder {
        /// The path.
        path: WorkPath,
    },
    /// A pipe, a device or a socket: reading it could wait for ever.
    #[error("`{path}` is not a plain file but {kind}")]
    NotAFile {
        /// The path.
        path: WorkPath,
        /// What it is.
        kind: &'static str,
    },
    /// More than is read into memory.
    #[error("`{path}` has {bytes} bytes, more than the {limit} that are read")]
    TooLarge {
        /// The path.
        path: WorkPath,
        /// Its size.
        bytes: u64,
        /// The bound.
        limit: u64,
    },
    /// The file system refused.
    #[error("cannot {action} `{path}`: {cause}")]
    Io {
        /// The path.
        path: String,
        /// What was tried.
        action: &'static str,
        /// The system's answer.
        cause: io::Error,
    },
}

impl FilesError {
    /// Wraps what the system said about one path.
    pub(super) fn io(path: &str, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Io { path, action, cause }
    }

    /// Whether a guard refused it, rather than the file system.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        match self {
            Self::Outside { .. }
            | Self::LeadsOut { .. }
            | Self::Disguised { .. }
            | Self::Protected { .. }
            | Self::Hidden { .. }
            | Self::NotAFile { .. } => true,
            Self::NotAPath { .. }
            | Self::Missing { .. }
            | Self::IsFolder { .. }
            | Self::NotAFolder { .. }
            | Self::TooLarge { .. }
            | Self::Io { .. } => false,
        }
    }
}

impl Explain for FilesError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::NotAPath { .. } => "give a path relative to the workspace, such as `src/main.rs`".into(),
            Self::Outside { .. } | Self::LeadsOut { .. } => {
                "only files of the workspace can be used; see `list`".into()
            }
            Self::Protected { .. } | Self::Disguised { .. } => {
                "leave it to the person whose workspace this is; work on the project's own files".into()
            }
            Self::Hidden { .. } => "go on without it; what a program needs from it must come from the person".into(),
            Self::Missing { .. } => "see what is there with `list`, or look for it with `search`".into(),
            Self::IsFolder { .. } => "see what is in it with `list`".into(),
            Self::NotAFolder { .. } => "name a folder, or read the file with `read_file`".into(),
            Self::NotAFile { .. } => "use a plain file instead".into(),
            Self::TooLarge { .. } => "look for a part of it with `search`, or print one with `shell`".into(),
            Self::Io { .. } => "check the path and its permissions with `list`".into(),
        }
    }
}
