//! Staged writes: a command works on what looks like the workspace, and what it wrote is a change set that a person or a
//! review can look at, apply or throw away.

mod apply;
mod changes;
mod protected;
mod recover;
mod shelf;

use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use changes::RECORDS;
pub use changes::{Change, ChangeKind, ChangeSet};
pub use recover::Recovered;
use tripwire_fs::beneath::{EntryKind, FolderEntry, HeldFolder};

use tripwire_core::record::chain::Digest;

use crate::error::{ApplyError, StageError};

/// A folder with the staged writes of one workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    dir: PathBuf,
    workspace: PathBuf,
    form: Form,
}

/// The right to apply a stage, until it is dropped.
struct Alone(fs::File);

impl Drop for Alone {
    /// A child that was just forked has the file open for a moment; the right must not outlive this value by that.
    fn drop(&mut self) {
        self.0.unlock().ok();
    }
}

/// How the writes are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The upper folder of an overlay: only what changed.
    Overlay,
    /// A copy of the whole workspace, where overlays in user namespaces are missing.
    Copy,
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Self::Overlay => "overlay",
            Self::Copy => "copy",
        }
    }
}

impl Stage {
    /// An existing stage.
    ///
    /// # Errors
    /// If the folder is no stage or belongs to another workspace.
    pub fn open(dir: &Path, workspace: &Path) -> Result<Self, StageError> {
        let not = |why| StageError::NotAStage { path: dir.to_path_buf(), why };
        let recorded = fs::read(dir.join("workspace")).map_err(|_| not("it holds no staged writes"))?;
        let workspace =
            fs::canonicalize(workspace).map_err(|source| StageError::Read { path: workspace.to_path_buf(), source })?;
        if std::ffi::OsString::from_vec(recorded) != workspace.as_os_str() {
            return Err(not("it belongs to another workspace"));
        }
        let form = match fs::read_to_string(dir.join("form")).as_deref() {
            Ok("overlay") => Form::Overlay,
            Ok("copy") => Form::Copy,
            Ok(_) | Err(_) => return Err(not("its form is unknown")),
        };
        Ok(Self { dir: dir.to_path_buf(), workspace, form })
    }

    /// Opens the stage, or makes an empty one.
    pub(crate) fn open_or_make(dir: &Path, workspace: &Path, form: Form) -> Result<Self, StageError> {
        if dir.join("workspace").exists() {
            let stage = Self::open(dir, workspace)?;
            match stage.settle_if_interrupted()? {
                Some(Recovered::RolledBack) | None => return Ok(stage),
                // What was staged is in the workspace by now: the next writes start from an empty stage.
                Some(Recovered::Completed) => {}
            }
        }
        if form == Form::Copy && dir.starts_with(workspace) && !dir.starts_with(workspace.join(RECORDS)) {
            let why = "a copy of the workspace cannot lie in the workspace; set `XDG_STATE_HOME` to another place";
            return Err(StageError::NotAStage { path: dir.to_path_buf(), why });
        }
        let at = |source| StageError::Prepare { path: dir.to_path_buf(), source };
        fs::create_dir_all(dir).map_err(at)?;
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).map_err(at)?;
        match form {
            Form::Overlay => {
                fs::create_dir_all(dir.join("upper")).map_err(at)?;
                fs::create_dir_all(dir.join("work")).map_err(at)?;
            }
            Form::Copy => {
                // What a copy that was interrupted left is not the workspace as it is now.
                remove_whole(&dir.join("copy")).map_err(at)?;
                copy_workspace(workspace, &dir.join("copy"))?;
            }
        }
        fs::write(dir.join("form"), form.name()).map_err(at)?;
        // The record comes last: a half-made stage is none.
        fs::write(dir.join("workspace"), workspace.as_os_str().as_bytes()).map_err(at)?;
        Self::open(dir, workspace)
    }

    /// Opens the stage, or makes one that is a whole copy of the workspace: several programs can then work on the same
    /// staged tree one after the other, inside the sandbox and outside, which an overlay does not allow.
    ///
    /// # Errors
    /// If the folder is a stage of another workspace, or the copy cannot be made.
    pub fn copy_of(dir: &Path, workspace: &Path) -> Result<Self, StageError> {
        let workspace =
            fs::canonicalize(workspace).map_err(|source| StageError::Read { path: workspace.to_path_buf(), source })?;
        Self::open_or_make(dir, &workspace, Form::Copy)
    }

    /// The folder with the staged tree as a whole, if the stage is a copy.
    #[must_use]
    pub fn copied_tree(&self) -> Option<PathBuf> {
        match self.form {
            Form::Overlay => None,
            Form::Copy => Some(self.content()),
        }
    }

    /// What the staged writes would change, in path order.
    ///
    /// # Errors
    /// If a file cannot be read or is of a kind that cannot be carried over.
    pub fn changes(&self) -> Result<ChangeSet, StageError> {
        match self.form {
            Form::Overlay => changes::of_overlay(&self.workspace, &self.dir.join("upper")),
            Form::Copy => changes::of_copy(&self.workspace, &self.dir.join("copy")),
        }
    }

    /// Carries the changes into the workspace, all or none, if they are the ones named by the digest; then the stage is gone.
    ///
    /// # Errors
    /// If the change set differs from the named one, the workspace moved on, or a write failed; or if an apply that was
    /// interrupted had been complete: then there is nothing left to apply, and the stage is gone.
    pub fn apply(self, wanted: &Digest) -> Result<ChangeSet, ApplyError> {
        let _alone = self.lock()?;
        if self.settle()? == Some(Recovered::Completed) {
            return Err(ApplyError::Finished);
        }
        let changes = self.changes()?;
        if changes.digest() != *wanted {
            return Err(ApplyError::Mismatch { wanted: wanted.to_string(), found: changes.digest().to_string() });
        }
        apply::apply(&self.workspace, &self.content(), &self.dir, &changes)?;
        // The changes are applied, whatever follows: what cannot be cleared away now has its plan and its mark beside it.
        drop(self.settle());
        Ok(changes)
    }

    /// Finishes what an interrupted apply left in the workspace: rolled back, or complete and then the stage is gone too.
    ///
    /// # Errors
    /// If another process is applying just now, or a file cannot be put back.
    pub fn recover(&self) -> Result<Option<Recovered>, ApplyError> {
        let _alone = self.lock()?;
        self.settle()
    }

    fn settle(&self) -> Result<Option<Recovered>, ApplyError> {
        let found = recover::recover(&self.workspace, &self.dir)?;
        if found == Some(Recovered::Completed) {
            self.remove()?;
        }
        Ok(found)
    }

    /// Keeps other processes from applying at the same time.
    fn lock(&self) -> Result<Alone, ApplyError> {
        let path = self.beside(".lock");
        let at = |source| ApplyError::Stage(StageError::Prepare { path: self.dir.clone(), source });
        let file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(at)?;
        match file.try_lock() {
            Ok(()) => Ok(Alone(file)),
            Err(fs::TryLockError::WouldBlock) => Err(ApplyError::Busy),
            Err(fs::TryLockError::Error(source)) => Err(at(source)),
        }
    }

    /// Throws the staged writes away. An apply that was interrupted is taken back first: its plan is in the stage.
    ///
    /// # Errors
    /// If a file cannot be removed or put back.
    pub fn discard(self) -> Result<(), StageError> {
        match self.settle_if_interrupted()? {
            Some(Recovered::Completed) => Ok(()),
            Some(Recovered::RolledBack) | None => self.remove(),
        }
    }

    /// Settles an apply that was interrupted, if there is one.
    fn settle_if_interrupted(&self) -> Result<Option<Recovered>, StageError> {
        if !recover::is_under_way(&self.dir) {
            return Ok(None);
        }
        let at = |error: ApplyError| StageError::Prepare {
            path: self.dir.clone(),
            source: io::Error::other(error.to_string()),
        };
        self.recover().map_err(at)
    }

    /// Removes the stage. One rename takes it out of its place, so that a crash leaves all of it or nothing: never a plan
    /// without its mark, never half of a change set.
    fn remove(&self) -> Result<(), StageError> {
        let aside = self.beside(".discarded");
        let at = |source| StageError::Prepare { path: self.dir.clone(), source };
        // What an interrupted removal left.
        remove_whole(&aside).map_err(at)?;
        fs::rename(&self.dir, &aside).and_then(|()| recover::sync_folder_of(&self.dir)).map_err(at)?;
        remove_whole(&aside).map_err(at)
    }

    /// The stage's own name with an ending: a neighbour in the same folder.
    fn beside(&self, ending: &str) -> PathBuf {
        let mut path = self.dir.clone().into_os_string();
        path.push(ending);
        PathBuf::from(path)
    }

    /// The folder that holds the new content.
    pub(crate) fn content(&self) -> PathBuf {
        match self.form {
            Form::Overlay => self.dir.join("upper"),
            Form::Copy => self.dir.join("copy"),
        }
    }

    /// Turns an empty overlay stage into a copy.
    #[cfg(target_os = "linux")]
    pub(crate) fn into_copy(self) -> Result<Self, StageError> {
        let (dir, workspace) = (self.dir.clone(), self.workspace.clone());
        self.discard()?;
        Self::open_or_make(&dir, &workspace, Form::Copy)
    }
}

/// Removes a stage's folder, if it is there.
fn remove_whole(dir: &Path) -> io::Result<()> {
    let work = dir.join("work/work");
    if work.is_dir() {
        // The overlay leaves its work folder closed for everybody.
        fs::set_permissions(&work, fs::Permissions::from_mode(0o700))?;
    }
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Copies files, folders and links; sockets and pipes are nobody's work and stay behind, and so do the runtime's records.
/// Somebody may be changing the workspace meanwhile: no link is followed, and nothing is waited for.
fn copy_workspace(workspace: &Path, to: &Path) -> Result<(), StageError> {
    let at = |source| StageError::Prepare { path: workspace.to_path_buf(), source };
    let mode = fs::symlink_metadata(workspace).map_err(at)?.permissions().mode();
    let top = HeldFolder::open(workspace).map_err(at)?;
    copy_folder(&top, workspace, to, Some(RECORDS))?;
    fs::set_permissions(to, fs::Permissions::from_mode(mode)).map_err(at)
}

/// Copies what is in one open folder; `path` is its name for messages.
fn copy_folder(from: &HeldFolder, path: &Path, to: &Path, left_out: Option<&str>) -> Result<(), StageError> {
    let at = |path: &Path| {
        let path = path.to_path_buf();
        move |source: io::Error| StageError::Prepare { path, source }
    };
    fs::create_dir_all(to).map_err(at(to))?;
    for name in from.names().map_err(at(path))?.into_iter().filter(|name| left_out.is_none_or(|out| name != out)) {
        let (source, target) = (path.join(&name), to.join(&name));
        let place = from.entry(Path::new(&name)).map_err(at(&source))?;
        match place.kind().map_err(at(&source))? {
            EntryKind::Dir { mode } => {
                let folder = from.folder(Path::new(&name)).map_err(at(&source))?;
                copy_folder(&folder, &source, &target, None)?;
                fs::set_permissions(&target, fs::Permissions::from_mode(mode)).map_err(at(&target))?;
            }
            EntryKind::Link => {
                let link = place.link_target().map_err(at(&source))?;
                std::os::unix::fs::symlink(link, &target).map_err(at(&target))?;
            }
            EntryKind::File { .. } => copy_file(&place, &target).map_err(at(&source))?,
            EntryKind::Special(..) | EntryKind::Nothing => {}
        }
    }
    Ok(())
}

/// Copies one file with its mode. What became a link or a pipe since it was looked at is an error, and nothing is copied.
fn copy_file(place: &FolderEntry, target: &Path) -> io::Result<()> {
    let mut from = place.open_file()?;
    let mut to = fs::File::create_new(target)?;
    io::copy(&mut from, &mut to)?;
    to.set_permissions(from.metadata()?.permissions())
}

#[cfg(target_os = "linux")]
mod launcher {
    use super::{Form, Stage};
    use crate::layer::LayerError;
    use crate::outcome::{Layer, LayerState};
    use crate::policy::Writes;
    use crate::spec::Sandbox;
    use std::path::Path;

    /// Where the writes of a run go.
    pub(crate) fn open_writes(spec: &Sandbox) -> Result<Writes, LayerError> {
        let Some(dir) = &spec.stage else {
            return Ok(Writes::Direct);
        };
        let stage = Stage::open_or_make(dir, &spec.workspace, Form::Overlay).map_err(|error| failure(&error))?;
        Ok(writes(&stage))
    }

    /// The same with a copy instead of an overlay.
    pub(crate) fn fall_back_to_copy(spec: &Sandbox) -> Result<(), LayerError> {
        let Some(dir) = &spec.stage else {
            return Ok(());
        };
        let stage = Stage::open(dir, &spec.workspace).and_then(Stage::into_copy).map_err(|error| failure(&error))?;
        drop(stage);
        Ok(())
    }

    fn writes(stage: &Stage) -> Writes {
        match stage.form {
            Form::Overlay => Writes::Overlay { upper: stage.dir.join("upper"), work: stage.dir.join("work") },
            Form::Copy => Writes::Copy { copy: stage.dir.join("copy") },
        }
    }

    /// How the layer stood.
    pub(crate) fn describe(dir: &Path) -> LayerState {
        match std::fs::read_to_string(dir.join("form")).as_deref() {
            Ok("copy") => {
                LayerState::Replaced("a copy of the workspace; overlays in user namespaces are missing".to_owned())
            }
            Ok(_) | Err(_) => LayerState::On("overlay".to_owned()),
        }
    }

    /// Whether the stage is an overlay that nothing was written to yet.
    pub(crate) fn is_fresh_overlay(spec: &Sandbox) -> bool {
        let upper = spec.stage.as_ref().map(|dir| dir.join("upper"));
        upper.is_some_and(|upper| std::fs::read_dir(upper).is_ok_and(|mut entries| entries.next().is_none()))
    }

    fn failure(error: &crate::error::StageError) -> LayerError {
        LayerError::new(Layer::Stage, 0, format!("stage writes: {error}"))
    }
}
#[cfg(target_os = "linux")]
pub(crate) use launcher::{describe, fall_back_to_copy, is_fresh_overlay, open_writes};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    /// A workspace with one file, and a stage of it with one more.
    fn staged(top: &Path) -> (PathBuf, PathBuf, Stage) {
        let (workspace, dir) = (top.join("workspace"), top.join("stage"));
        fs::create_dir(&workspace).expect("a folder");
        let workspace = fs::canonicalize(workspace).expect("a folder");
        fs::write(workspace.join("old"), "old").expect("write");
        let stage = Stage::open_or_make(&dir, &workspace, Form::Copy).expect("a stage");
        fs::write(dir.join("copy/new"), "new").expect("write");
        (workspace, dir, stage)
    }

    /// The state after a crash between the mark of an apply and the removal of its stage.
    fn complete(workspace: &Path, dir: &Path, stage: &Stage) {
        let changes = stage.changes().expect("compares");
        apply::apply(workspace, &stage.content(), dir, &changes).expect("applies");
        assert!(recover::is_under_way(dir));
    }

    #[test]
    fn an_apply_leaves_neither_stage_nor_notes() {
        let top = Scratch::new();
        let (workspace, dir, stage) = staged(top.path());
        let digest = stage.changes().expect("compares").digest();
        assert_eq!(stage.apply(&digest).expect("applies").changes().len(), 1);
        assert!(workspace.join("new").is_file() && !dir.exists() && !top.path().join("stage.discarded").exists());
    }

    #[test]
    fn an_apply_that_was_complete_is_said_to_be_and_not_made_again() {
        let top = Scratch::new();
        let (workspace, dir, stage) = staged(top.path());
        let digest = stage.changes().expect("compares").digest();
        complete(&workspace, &dir, &stage);
        // Somebody took the change back meanwhile; it does not come again.
        fs::remove_file(workspace.join("new")).expect("remove");
        assert!(matches!(stage.apply(&digest), Err(ApplyError::Finished)));
        assert!(!dir.exists() && !workspace.join("new").exists());
    }

    #[test]
    fn an_apply_whose_stage_cannot_be_cleared_away_is_no_failed_apply() {
        let top = Scratch::new();
        let (workspace, dir, stage) = staged(top.path());
        let digest = stage.changes().expect("compares").digest();
        let hindrance = top.path().join("stage.discarded");
        fs::write(&hindrance, "a file, no folder").expect("write");
        stage.clone().apply(&digest).expect("applies");
        assert!(workspace.join("new").is_file() && dir.exists());
        fs::remove_file(&hindrance).expect("remove");
        assert_eq!(stage.recover().expect("clears"), Some(Recovered::Completed));
        assert!(workspace.join("new").is_file() && !dir.exists());
    }

    #[test]
    fn a_stage_whose_apply_was_complete_begins_anew_for_the_next_run() {
        let top = Scratch::new();
        let (workspace, dir, stage) = staged(top.path());
        complete(&workspace, &dir, &stage);
        let next = Stage::open_or_make(&dir, &workspace, Form::Copy).expect("a stage");
        assert!(next.changes().expect("compares").changes().is_empty());
        fs::write(dir.join("copy/more"), "more").expect("write");
        assert_eq!(next.recover().expect("nothing is under way"), None);
        assert!(dir.join("copy/more").is_file() && workspace.join("new").is_file());
    }

    #[test]
    fn a_copy_that_was_interrupted_is_made_anew() {
        let top = Scratch::new();
        let (workspace, dir, _stage) = staged(top.path());
        std::os::unix::fs::symlink("old", workspace.join("link")).expect("link");
        std::os::unix::fs::symlink("old", dir.join("copy/link")).expect("link");
        fs::remove_file(dir.join("workspace")).expect("without its record a stage is none");
        let again = Stage::open_or_make(&dir, &workspace, Form::Copy).expect("a stage");
        assert!(again.changes().expect("compares").changes().is_empty());
    }

    #[test]
    fn a_copy_has_files_folders_links_and_modes_and_neither_pipes_nor_records() {
        let top = Scratch::new();
        let (from, to) = (top.path().join("from"), top.path().join("to"));
        fs::create_dir_all(from.join("sub/.geometry")).expect("folders");
        fs::create_dir(from.join(RECORDS)).expect("a folder");
        fs::write(from.join("sub/file"), "text").expect("write");
        fs::set_permissions(from.join("sub/file"), fs::Permissions::from_mode(0o750)).expect("mode");
        fs::set_permissions(from.join("sub"), fs::Permissions::from_mode(0o711)).expect("mode");
        std::os::unix::fs::symlink("/etc", from.join("link")).expect("link");
        let _socket = std::os::unix::net::UnixListener::bind(from.join("socket")).expect("a socket");
        copy_workspace(&from, &to).expect("copies");
        let mode = |path: &str| fs::symlink_metadata(to.join(path)).expect("there").permissions().mode() & 0o7777;
        assert_eq!(fs::read_to_string(to.join("sub/file")).expect("there"), "text");
        assert_eq!((mode("sub/file"), mode("sub")), (0o750, 0o711));
        assert_eq!(fs::read_link(to.join("link")).expect("a link"), Path::new("/etc"));
        assert!(to.join("sub/.geometry").is_dir(), "only the workspace's own records are left out");
        assert!(!to.join(RECORDS).exists() && !to.join("socket").exists());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_became_a_link_or_a_pipe_is_neither_followed_nor_waited_for() {
        let dir = Scratch::new();
        fs::write(dir.path().join("secret"), "secret").expect("write");
        std::os::unix::fs::symlink("secret", dir.path().join("link")).expect("link");
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mknodat(rustix::fs::CWD, dir.path().join("pipe"), rustix::fs::FileType::Fifo, mode, 0)
            .expect("a pipe");
        let top = HeldFolder::open(dir.path()).expect("a folder");
        for name in ["link", "pipe"] {
            let place = top.entry(Path::new(name)).expect("a place");
            copy_file(&place, &dir.path().join("copy")).expect_err(name);
            assert!(!dir.path().join("copy").exists(), "{name}");
        }
        copy_file(&top.entry(Path::new("secret")).expect("a place"), &dir.path().join("copy")).expect("a plain file");
    }

    #[test]
    fn a_stage_without_an_interrupted_apply_is_opened_as_it_is() {
        let top = Scratch::new();
        let (workspace, dir, stage) = staged(top.path());
        let digest = stage.changes().expect("compares").digest();
        let again = Stage::open_or_make(&dir, &workspace, Form::Copy).expect("a stage");
        assert_eq!(again.changes().expect("compares").digest(), digest);
    }

    #[test]
    fn discarding_a_stage_in_the_middle_of_an_apply_takes_the_apply_back_first() {
        let top = Scratch::new();
        let (workspace, dir, stage) = staged(top.path());
        fs::remove_file(dir.join("copy/old")).expect("remove");
        let changes = stage.changes().expect("compares");
        let shelf = workspace.join(format!("{}crashed", shelf::SHELF_PREFIX));
        fs::create_dir(&shelf).expect("a shelf");
        recover::write_plan(&dir, &shelf, &changes).expect("a plan");
        // A crash with the old file moved aside and the new one moved in.
        let old = changes.changes().iter().position(|change| change.path() == Path::new("old")).expect("a change");
        fs::rename(workspace.join("old"), shelf.join(shelf::old_name(old))).expect("moves");
        fs::write(workspace.join("new"), "new").expect("write");
        stage.discard().expect("discards");
        assert_eq!(fs::read_to_string(workspace.join("old")).expect("it is back"), "old");
        assert!(!workspace.join("new").exists() && !shelf.exists() && !dir.exists());
    }

    #[test]
    fn what_an_interrupted_discard_left_goes_with_the_next_one() {
        let top = Scratch::new();
        let (_workspace, dir, stage) = staged(top.path());
        let left = top.path().join("stage.discarded");
        fs::create_dir_all(left.join("copy")).expect("a folder");
        stage.discard().expect("discards");
        assert!(!left.exists() && !dir.exists());
    }
}
