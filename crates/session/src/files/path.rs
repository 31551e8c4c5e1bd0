//! Paths as tools get them: made relative to the workspace, and judged by their names.

use super::error::FilesError;
use std::fmt;
use std::path::{Path, PathBuf};
use tripwire_sandbox::{HIDDEN_NAMES, PROTECTED_NAMES};
use tripwire_workspace::geometry::layout::FOLDER;

/// A path inside the workspace: relative, without `.` and `..`, `/` between its parts; `.` is the workspace itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkPath(String);

/// What somebody wants with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// To know that it is there.
    Look,
    /// To read its contents.
    Read,
    /// To change it.
    Write,
}

/// The longest path.
const PATH_BYTES_MAX: usize = 4_096;
/// How much of a bad path an error repeats.
const SHOWN_BYTES: usize = 200;
/// The records that an agent may read: they are written for it.
const READABLE_RECORDS: [&str; 2] = ["MISSION_BRIEFING.md", "todo.md"];

impl WorkPath {
    /// Reads a path; an absolute one must begin with one of the workspace's own names.
    pub(super) fn parse(text: &str, roots: &[PathBuf]) -> Result<Self, FilesError> {
        let shown = || tripwire_core::label::cut(text, SHOWN_BYTES).to_owned();
        let wrong = |why| FilesError::NotAPath { path: shown(), why };
        if text.trim().is_empty() {
            return Err(wrong("it is empty"));
        }
        if text.len() > PATH_BYTES_MAX {
            return Err(wrong("it is too long"));
        }
        if text.contains('\0') {
            return Err(wrong("it holds a zero byte"));
        }
        let path = Path::new(text);
        let inside = if path.is_absolute() {
            roots
                .iter()
                .find_map(|root| path.strip_prefix(root).ok())
                .ok_or_else(|| FilesError::Outside { path: shown() })?
        } else {
            path
        };
        let mut parts: Vec<&str> = Vec::new();
        for part in inside.to_str().unwrap_or_default().split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop().ok_or_else(|| FilesError::Outside { path: shown() })?;
                }
                name => parts.push(name),
            }
        }
        Ok(Self::join(&parts))
    }

    /// A path that the kernel or a walk found, relative to the workspace; none if it is no UTF-8.
    #[must_use]
    pub fn found(path: &Path) -> Option<Self> {
        let parts: Option<Vec<&str>> = path.iter().map(|part| part.to_str()).collect();
        Some(Self::join(&parts?))
    }

    fn join(parts: &[&str]) -> Self {
        Self(if parts.is_empty() { ".".to_owned() } else { parts.join("/") })
    }

    /// The workspace itself.
    #[must_use]
    pub fn root() -> Self {
        Self::join(&[])
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its last part.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The folder that holds it, and its last part; none for the workspace itself.
    pub(super) fn split(&self) -> Option<(Self, &str)> {
        if self.0 == "." {
            return None;
        }
        match self.0.rsplit_once('/') {
            Some((folder, name)) => Some((Self(folder.to_owned()), name)),
            None => Some((Self(".".to_owned()), &self.0)),
        }
    }

    /// Its parts; none for the workspace itself.
    pub(super) fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|part| *part != ".")
    }

    /// A path below this one.
    pub(super) fn below(&self, parts: &[&str]) -> Self {
        Self::join(&self.parts().chain(parts.iter().copied()).collect::<Vec<_>>())
    }

    /// The name in `.geometry/`, if this is one of the records that an agent may read.
    pub(super) fn record_name(&self) -> Option<&'static str> {
        let name = self.0.strip_prefix(FOLDER)?.strip_prefix('/')?;
        READABLE_RECORDS.into_iter().find(|readable| *readable == name)
    }

    /// Judges the path by its names: what no tool may read, and what no tool may write (CTRL-3).
    ///
    /// # Errors
    /// When it may not be used so.
    pub fn check(&self, intent: Intent) -> Result<(), FilesError> {
        let hidden = |why| FilesError::Hidden { path: self.clone(), why };
        let protected = |why| FilesError::Protected { path: self.clone(), why };
        let in_records = self.parts().next() == Some(FOLDER);
        match intent {
            Intent::Look | Intent::Read if in_records && self.record_name().is_none() => {
                Err(hidden("it belongs to the guard; only its `MISSION_BRIEFING.md` and `todo.md` are for the agent"))
            }
            Intent::Read | Intent::Write if self.parts().any(|part| HIDDEN_NAMES.contains(&part)) => {
                Err(hidden("files of this name hold secrets"))
            }
            Intent::Look | Intent::Read => Ok(()),
            Intent::Write if in_records => Err(protected("it belongs to the guard")),
            Intent::Write if self.parts().any(|part| part == ".git") => {
                Err(protected("what lies in `.git` is obeyed by git; use git through `shell`"))
            }
            Intent::Write if PROTECTED_NAMES.iter().any(|name| self.is_or_is_below(name)) => {
                Err(protected("other programs obey what is written there"))
            }
            Intent::Write => Ok(()),
        }
    }

    fn is_or_is_below(&self, name: &str) -> bool {
        self.0.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for WorkPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
