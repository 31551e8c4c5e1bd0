//! A path inside the workspace.

use std::fmt;
use std::path::Path;
use tripwire_workspace::geometry::layout::FOLDER;

/// A path inside the workspace: relative, without `.` and `..`, `/` between its parts; `.` is the workspace itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkPath(String);

/// The records that an agent may read: they are written for it.
const READABLE_RECORDS: [&str; 2] = ["MISSION_BRIEFING.md", "todo.md"];

impl WorkPath {
    /// A path that the kernel or a walk found, relative to the workspace; none if it is no UTF-8.
    #[must_use]
    pub fn found(path: &Path) -> Option<Self> {
        let parts: Option<Vec<&str>> = path.iter().map(|part| part.to_str()).collect();
        Some(Self::join(&parts?))
    }

    pub(super) fn join(parts: &[&str]) -> Self {
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

    /// Whether it is this name at the top of the workspace, or below it.
    pub(super) fn is_or_is_below(&self, name: &str) -> bool {
        self.0.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for WorkPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
