//! The names inside `.geometry/`, in one place: the seed's and ours.

use super::session_id::SessionId;
use std::path::{Path, PathBuf};
use tripwire_journal::names;

/// The folder's name in a workspace.
pub const FOLDER: &str = ".geometry";
/// The file that says whether hooks bind, here and in a person's own state.
pub(crate) const MODE: &str = "mode";
/// A `.geometry/` folder and the paths of everything in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    folder: PathBuf,
    /// The person's own settings, which the manifest's come before.
    user_settings: Option<PathBuf>,
}

/// Declares one path method per name, so that no name is spelled twice.
macro_rules! paths {
    ($($(#[$doc:meta])* $method:ident => $name:expr;)*) => {
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
    /// The plan of our own loop's agent, with the steps that calls have shown to be done.
    plan => "plan.json";
    /// The recitation of objective and progress.
    todo => "todo.md";
    /// Frozen replays, one file per session.
    replays => "replays";
    /// Executable hooks for clients.
    hooks => "hooks";
    /// The hook that enforces the context gate.
    compaction_hook => "hooks/compaction-gate-enforcement.sh";
    /// Journals, one folder per session.
    journal => names::JOURNAL;
    /// The ledger of model calls, a journal of its own.
    ledger => names::LEDGER;
    /// Contents too large for a journal's line, shared by all sessions.
    blobs => names::BLOBS;
    /// The memory store.
    memory => "memory";
    /// Snapshots that can be rebuilt from the journal.
    state => "state";
    /// Which client's session is which of ours, and what its hooks remember.
    clients => "state/clients";
    /// That a client really called its hook.
    hook_alive => "state/hook-alive";
    /// The digest of the manifest as one of our sessions wrote it last: what differs from it is a person's.
    shown_manifest => "state/manifest.shown";
    /// Transcripts, one file per session.
    transcripts => "transcripts";
    /// Whether hooks bind or only watch in this workspace.
    mode => "mode";
}

impl Layout {
    /// The names below the given folder.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), user_settings: None }
    }

    /// The same for a person who has settings of their own for all workspaces.
    #[must_use]
    pub fn with_user_settings(self, file: Option<PathBuf>) -> Self {
        Self { user_settings: file, ..self }
    }

    /// The person's own settings for all workspaces, whether or not they have written any; none if no home is known.
    #[must_use]
    pub fn user_settings(&self) -> Option<&Path> {
        self.user_settings.as_deref()
    }

    /// The workspace, where the folder lies in it; a folder that was put elsewhere does not know its workspace.
    #[must_use]
    pub fn workspace(&self) -> Option<&Path> {
        self.folder.parent().filter(|_| self.folder.file_name().is_some_and(|name| name == FOLDER))
    }

    /// A session's journal.
    #[must_use]
    pub fn journal_of(&self, session: &SessionId) -> PathBuf {
        self.journal().join(session.as_str())
    }

    /// The file in which a session's journal begins.
    #[must_use]
    pub fn first_segment(&self, session: &SessionId) -> PathBuf {
        self.journal_of(session).join(names::segment(1))
    }

    /// A session's state, to be rebuilt from its journal.
    #[must_use]
    pub fn state_of(&self, session: &SessionId) -> PathBuf {
        self.state().join(format!("{session}.state"))
    }

    /// The record of a session's supervised run.
    #[must_use]
    pub fn run_of(&self, session: &SessionId) -> PathBuf {
        self.state().join(format!("{session}.run"))
    }

    /// What a person asked a session for.
    #[must_use]
    pub fn objective_of(&self, session: &SessionId) -> PathBuf {
        self.state().join(format!("{session}.objective"))
    }

    /// The newest steps of a session in full, for the briefing.
    #[must_use]
    pub fn steps_of(&self, session: &SessionId) -> PathBuf {
        self.state().join(format!("{session}.steps"))
    }

    /// The lock of the one process that runs a session's loop.
    #[must_use]
    pub fn loop_of(&self, session: &SessionId) -> PathBuf {
        self.state().join(format!("{session}.loop"))
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

    #[test]
    fn the_names_of_a_session_are_those_that_older_versions_wrote() {
        let layout = Layout::at(Path::new("/g"));
        let session = SessionId::parse("auto-2026-01-02-030405").unwrap();
        for (path, name) in [
            (layout.first_segment(&session), "/g/journal/auto-2026-01-02-030405/00000001.jsonl"),
            (layout.state_of(&session), "/g/state/auto-2026-01-02-030405.state"),
            (layout.run_of(&session), "/g/state/auto-2026-01-02-030405.run"),
            (layout.loop_of(&session), "/g/state/auto-2026-01-02-030405.loop"),
            (layout.mode(), "/g/mode"),
        ] {
            assert_eq!(path, Path::new(name));
        }
        assert_eq!(layout.mode().file_name().unwrap(), MODE);
    }
}
