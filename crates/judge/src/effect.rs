//! The effect card: what a held command would hit, counted on the real disk.

use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;
use tripwire_core::counted::counted;

/// Most entries that are counted below one path whose contents decide; more is said as "at least".
pub(crate) const ENTRIES_MAX: u64 = 20_000;
/// The same below a path that is held because of where it is.
pub(crate) const CARD_ENTRIES_MAX: u64 = 2_000;
/// Most names of a kind that a card lists; the count is always whole.
const NAMES_MAX: usize = 5;

/// What would be hit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Effect {
    /// The paths, with what is in them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
    /// Tracked files with changes that no commit holds.
    #[serde(skip_serializing_if = "Names::is_empty")]
    pub uncommitted: Names,
    /// Files that git does not know.
    #[serde(skip_serializing_if = "Names::is_empty")]
    pub untracked: Names,
    /// Ignored files that look like secrets or data.
    #[serde(skip_serializing_if = "Names::is_empty")]
    pub secrets: Names,
    /// Repositories with work that exists nowhere else.
    #[serde(skip_serializing_if = "Names::is_empty")]
    pub repositories: Names,
    /// The branch or ref.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Commits or stashes that would vanish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
}

/// One path with what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Target {
    /// The path.
    pub path: String,
    /// Files in it.
    pub files: u64,
    /// Their size.
    pub bytes: u64,
    /// Whether counting stopped at its bound.
    #[serde(skip_serializing_if = "Count::is_whole")]
    pub counted: Count,
}

/// Whether a count is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Count {
    /// Everything was counted.
    #[default]
    Whole,
    /// Counting stopped at its bound.
    AtLeast,
}

impl Count {
    const fn is_whole(&self) -> bool {
        matches!(self, Self::Whole)
    }
}

/// Names of one kind: how many, and the first few.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Names {
    /// How many there are.
    pub count: usize,
    /// The first few.
    pub first: Vec<String>,
}

impl Names {
    /// Adds a name.
    pub(crate) fn add(&mut self, path: &Path) {
        self.count += 1;
        if self.first.len() < NAMES_MAX {
            self.first.push(path.display().to_string());
        }
    }

    /// Whether there are none.
    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl Effect {
    /// Whether the card says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The card as one line for a person.
    #[must_use]
    pub fn line(&self) -> String {
        let mut parts = Vec::new();
        for target in self.targets.iter().take(NAMES_MAX) {
            let least = if target.counted.is_whole() { "" } else { "at least " };
            parts.push(format!("{}: {least}{}, {}", target.path, counted(target.files, "file"), size(target.bytes)));
        }
        let kinds = [
            ("uncommitted", &self.uncommitted),
            ("untracked", &self.untracked),
            ("secret or data", &self.secrets),
            ("repositories with work found nowhere else", &self.repositories),
        ];
        for (kind, names) in kinds.into_iter().filter(|(_, names)| !names.is_empty()) {
            parts.push(format!("{} {kind} ({})", names.count, names.first.join(", ")));
        }
        if let Some(branch) = &self.branch {
            let mut text = format!("branch {branch}");
            if let Some(commits) = self.commits {
                // Writing to a string cannot fail.
                let _written = write!(text, ", {}", counted(commits, "commit"));
            }
            parts.push(text);
        } else if let Some(commits) = self.commits {
            parts.push(counted(commits, "commit"));
        }
        parts.join("; ")
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..10_240 => counted(bytes, "byte"),
        10_240..10_485_760 => format!("{} KiB", bytes / 1_024),
        _ => format!("{} MiB", bytes / 1_048_576),
    }
}
