//! Working on a staged copy: everything that tools and commands write stays there until exactly what was reviewed is
//! applied (REVIEW-1).
//!
//! The stage is a whole copy of the workspace, not an overlay: tools that act in this process and commands in the sandbox
//! then see the same tree, one after the other, without a mount outside of the sandbox. `.geometry/` is not copied; the
//! records stay where they are and are never part of a change.

use crate::execution::sandboxed::Writes;
use crate::files::{Files, FilesError};
use std::path::{Path, PathBuf};
use tripwire_core::record::chain::Digest;
use tripwire_sandbox::Stage;
pub use tripwire_sandbox::{ApplyError, Change, ChangeKind, ChangeSet, StageError};

/// A staged copy of a workspace.
#[derive(Debug)]
pub struct Staging {
    stage: Stage,
    folder: PathBuf,
    copy: PathBuf,
    workspace: PathBuf,
}

impl Staging {
    /// Opens the stage in `folder`, or makes it from the workspace as it is now.
    ///
    /// # Errors
    /// If the folder is a stage of another workspace, or one of another form, or the copy cannot be made.
    pub fn open(folder: &Path, workspace: &Path) -> Result<Self, StageError> {
        let stage = Stage::copy_of(folder, workspace)?;
        let copy = stage.copied_tree().ok_or_else(|| StageError::NotAStage {
            path: folder.to_owned(),
            why: "it holds an overlay, which tools outside of the sandbox cannot see",
        })?;
        Ok(Self { stage, folder: folder.to_owned(), copy, workspace: workspace.to_owned() })
    }

    /// The files as tools see them: the workspace's names, the stage's contents.
    ///
    /// # Errors
    /// If the copy is gone.
    pub fn files(&self, records: &Path) -> Result<Files, FilesError> {
        Files::staged(&self.workspace, &self.copy, records)
    }

    /// Where commands write.
    #[must_use]
    pub fn writes(&self) -> Writes {
        Writes::Staged(self.folder.clone())
    }

    /// What applying would change, named by one digest.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn changes(&self) -> Result<ChangeSet, StageError> {
        self.stage.changes()
    }

    /// Carries the changes over, all or none, if they are the ones that the digest names; then the stage is gone.
    ///
    /// # Errors
    /// If they are others, the workspace moved on, or a write failed.
    pub fn apply(self, wanted: &Digest) -> Result<ChangeSet, ApplyError> {
        self.stage.apply(wanted)
    }

    /// Throws the changes away.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn discard(self) -> Result<(), StageError> {
        self.stage.discard()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Change as FileChange;
    use std::fs;

    fn bed() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let top = tempfile::tempdir().unwrap();
        let (work, stage) = (top.path().join("work"), top.path().join("stage"));
        fs::create_dir_all(work.join(".geometry/journal")).unwrap();
        fs::write(work.join("a.txt"), "old\n").unwrap();
        fs::write(work.join(".geometry/todo.md"), "objective\n").unwrap();
        (top, work, stage)
    }

    fn write(files: &Files, path: &str, bytes: &[u8]) {
        files.change(&[FileChange::Write { path: files.path(path).unwrap(), bytes }]).unwrap();
    }

    #[test]
    fn review_1_staged_writes_reach_the_workspace_only_with_their_digest() {
        let (_top, work, stage) = bed();
        let staging = Staging::open(&stage, &work).unwrap();
        let files = staging.files(&work.join(".geometry")).unwrap();
        write(&files, "a.txt", b"new\n");
        write(&files, "b/c.txt", b"more\n");
        let digest = staging.changes().unwrap().digest();
        assert_eq!(fs::read_to_string(work.join("a.txt")).unwrap(), "old\n");
        write(&files, "b/c.txt", b"something else\n");
        let refused = Staging::open(&stage, &work).unwrap().apply(&digest);
        assert!(matches!(refused, Err(ApplyError::Mismatch { .. })), "{refused:?}");
        assert!(!work.join("b").exists());
        let digest = staging.changes().unwrap().digest();
        assert_eq!(staging.apply(&digest).unwrap().changes().len(), 3);
        assert_eq!(fs::read_to_string(work.join("a.txt")).unwrap(), "new\n");
        assert_eq!(fs::read_to_string(work.join("b/c.txt")).unwrap(), "something else\n");
        assert!(!stage.exists());
    }

    #[test]
    fn review_1_records_that_grow_meanwhile_are_no_change_and_stay() {
        let (_top, work, stage) = bed();
        let staging = Staging::open(&stage, &work).unwrap();
        fs::write(work.join(".geometry/journal/1.jsonl"), "record\n").unwrap();
        assert!(staging.changes().unwrap().changes().is_empty());
        let files = staging.files(&work.join(".geometry")).unwrap();
        write(&files, "a.txt", b"new\n");
        let digest = staging.changes().unwrap().digest();
        staging.apply(&digest).unwrap();
        assert_eq!(fs::read_to_string(work.join(".geometry/journal/1.jsonl")).unwrap(), "record\n");
    }

    #[test]
    fn review_1_discarded_writes_leave_no_trace() {
        let (_top, work, stage) = bed();
        let staging = Staging::open(&stage, &work).unwrap();
        write(&staging.files(&work.join(".geometry")).unwrap(), "a.txt", b"new\n");
        staging.discard().unwrap();
        assert_eq!(fs::read_to_string(work.join("a.txt")).unwrap(), "old\n");
        assert!(!stage.exists());
    }
}
