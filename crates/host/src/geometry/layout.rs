//! The names inside `.geometry/`, in one place: the seed's and ours.

use std::path::{Path, PathBuf};

/// The folder's name in a workspace.
pub const FOLDER: &str = ".geometry";

/// A `.geometry/` folder and the paths of everything in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    folder: PathBuf,
}

/// Declares one path method per name, so that no name is spelled twice.
macro_rules! paths {
    ($($(#[$doc:meta])* $method:ident => $name:literal;)*) => {
        impl Layout {
            $($(#[$doc])* #[must_use] pub fn $method(&self) -> PathBuf { self.folder.join($name) })*
        }
    };
}

paths! {
    /// Counters, dirty bits and settings that a person may edit.
    manifest => "MANIFEST.yaml";
    /// The permissions of the roles, in Cedar.
    policy => "policy.cedar";
    /// The signed list of configurations that people vouch for.
    gold_standard => "gold_standard.note";
    /// Proposals of changes that wait for a review, and what became of them.
    reviews => "reviews";
    /// All safety events, in the seed's shape.
    safety_log => "safety_log.json";
    /// A person's order to stop; its presence is the order.
    stop => "STOP";
    /// A person's order to pause; its presence is the order.
    pause => "PAUSE";
    /// Why the loop is blocked; removing it clears the block.
    blocker_report => "BLOCKER_REPORT.md";
    /// Where the loop stood at the iteration cap; removing it acknowledges.
    checkpoint => "CHECKPOINT.md";
    /// What a fresh worker must know after a compaction.
    mission_briefing => "MISSION_BRIEFING.md";
    /// The recitation of objective and progress.
    todo => "todo.md";
    /// Frozen replays, one file per session.
    replays => "replays";
    /// Executable hooks for clients.
    hooks => "hooks";
    /// The hook that enforces the context gate.
    compaction_hook => "hooks/compaction-gate-enforcement.sh";
    /// Journals, one folder per session.
    journal => "journal";
    /// The memory store.
    memory => "memory";
    /// Snapshots that can be rebuilt from the journal.
    state => "state";
    /// Transcripts, one file per session.
    transcripts => "transcripts";
}

impl Layout {
    /// The names below the given folder.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The workspace, where the folder lies in it; a folder that was put elsewhere does not know its workspace.
    #[must_use]
    pub fn workspace(&self) -> Option<&Path> {
        self.folder.parent().filter(|_| self.folder.file_name().is_some_and(|name| name == FOLDER))
    }

    /// The folder itself.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_the_seeds() {
        let layout = Layout::at(Path::new("/w/.geometry"));
        assert_eq!(layout.manifest(), Path::new("/w/.geometry/MANIFEST.yaml"));
        assert_eq!(layout.compaction_hook(), Path::new("/w/.geometry/hooks/compaction-gate-enforcement.sh"));
        assert_eq!(layout.safety_log(), Path::new("/w/.geometry/safety_log.json"));
    }
}
