//! Carrying staged changes into the workspace.
//!
//! All new content is written beside the workspace's files first; until that has worked nothing is touched. Then old files are
//! moved aside and new ones moved in, each by one rename, with a log that is undone in reverse if anything fails.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::changes::{Change, ChangeSet, Node, read_node};
use super::recover::{self, SHELF_PREFIX};
use crate::error::ApplyError;

/// Makes the changes, all or none. `content` holds the new files at the same relative paths.
/// `notes` is a folder outside of the workspace, where the plan lies until everything is done.
pub(crate) fn apply(workspace: &Path, content: &Path, notes: &Path, changes: &ChangeSet) -> Result<(), ApplyError> {
    for change in changes.changes() {
        if read_node(workspace, &change.path)? != change.before || !parents_are_folders(workspace, changes, change) {
            return Err(ApplyError::Conflict { path: change.path.clone() });
        }
    }
    let shelf = workspace.join(format!("{SHELF_PREFIX}{}", std::process::id()));
    let write = |path: &Path| {
        let path = path.to_path_buf();
        move |source| ApplyError::Write { path, source }
    };
    fs::create_dir(&shelf).map_err(write(&shelf))?;
    let prepared = shelve(&shelf, content, changes)
        .and_then(|()| recover::write_plan(notes, &shelf, changes).map_err(|source| (shelf.clone(), source)));
    if let Err((path, source)) = prepared {
        drop(fs::remove_dir_all(&shelf));
        return Err(ApplyError::Write { path, source });
    }
    let mut log = Log { workspace, shelf: &shelf, done: Vec::new() };
    if let Err((path, source)) = log.carry_out(changes) {
        return Err(match log.undo() {
            Ok(()) => {
                drop(recover::forget(notes));
                drop(fs::remove_dir_all(&shelf));
                ApplyError::Write { path, source }
            }
            Err((left, undo)) => ApplyError::Torn { path, source, left, undo },
        });
    }
    recover::write_done(notes).and_then(|()| fs::remove_dir_all(&shelf)).map_err(write(&shelf))
}

/// No change may go through a link; folders that the change set itself makes are fine.
fn parents_are_folders(workspace: &Path, changes: &ChangeSet, change: &Change) -> bool {
    let above = change.path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
    above.into_iter().all(|parent| {
        let made =
            changes.changes().iter().any(|other| other.path == parent && matches!(other.after, Some(Node::Dir { .. })));
        let gone = change.after.is_none();
        made || gone || fs::symlink_metadata(workspace.join(parent)).is_ok_and(|meta| meta.is_dir())
    })
}

type Failed = (PathBuf, io::Error);

/// Puts all new files on the shelf, which is in the workspace so that every later step is a rename.
fn shelve(shelf: &Path, content: &Path, changes: &ChangeSet) -> Result<(), Failed> {
    for (index, change) in changes.changes().iter().enumerate() {
        let at = |source| (change.path.clone(), source);
        let to = shelf.join(format!("new-{index}"));
        match &change.after {
            Some(Node::File { mode, .. }) => {
                fs::copy(content.join(&change.path), &to).map_err(at)?;
                fs::set_permissions(&to, fs::Permissions::from_mode(*mode)).map_err(at)?;
                fs::File::open(&to).and_then(|file| file.sync_all()).map_err(at)?;
            }
            Some(Node::Link { target }) => std::os::unix::fs::symlink(target, &to).map_err(at)?,
            Some(Node::Dir { .. }) | None => continue,
        }
        // What lies on the shelf is what will be applied: it must be what the digest named, whoever wrote meanwhile.
        let shelved = read_node(shelf, Path::new(&format!("new-{index}"))).ok().flatten();
        if shelved != change.after {
            return Err(at(io::Error::other("it was changed while it was applied")));
        }
    }
    Ok(())
}

/// A step that was made and how to take it back.
enum Done {
    MovedAside { path: PathBuf, index: usize },
    MovedIn { path: PathBuf },
    FolderMade { path: PathBuf },
    FolderRemoved { path: PathBuf, mode: u32 },
    ModeSet { path: PathBuf, mode: u32 },
}

struct Log<'a> {
    workspace: &'a Path,
    shelf: &'a Path,
    done: Vec<Done>,
}

impl Log<'_> {
    /// Old things go, children first; then new things come, parents first.
    fn carry_out(&mut self, changes: &ChangeSet) -> Result<(), Failed> {
        for (index, change) in changes.changes().iter().enumerate().rev() {
            self.take_away(index, change).map_err(|source| (change.path.clone(), source))?;
        }
        for (index, change) in changes.changes().iter().enumerate() {
            self.bring_in(index, change).map_err(|source| (change.path.clone(), source))?;
        }
        Ok(())
    }

    fn take_away(&mut self, index: usize, change: &Change) -> io::Result<()> {
        let path = self.workspace.join(&change.path);
        match (&change.before, &change.after) {
            (Some(Node::Dir { .. }), Some(Node::Dir { .. })) | (None, _) => {}
            (Some(Node::Dir { mode }), _) => {
                fs::remove_dir(&path)?;
                self.done.push(Done::FolderRemoved { path, mode: *mode });
            }
            (Some(Node::File { .. } | Node::Link { .. }), _) => {
                fs::rename(&path, self.shelf.join(format!("old-{index}")))?;
                self.done.push(Done::MovedAside { path, index });
            }
        }
        Ok(())
    }

    fn bring_in(&mut self, index: usize, change: &Change) -> io::Result<()> {
        let path = self.workspace.join(&change.path);
        match (&change.before, &change.after) {
            (Some(Node::Dir { mode: old }), Some(Node::Dir { mode })) => {
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode))?;
                self.done.push(Done::ModeSet { path, mode: *old });
            }
            (_, Some(Node::Dir { mode })) => {
                fs::create_dir(&path)?;
                self.done.push(Done::FolderMade { path: path.clone() });
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode))?;
            }
            (_, Some(Node::File { .. } | Node::Link { .. })) => {
                fs::rename(self.shelf.join(format!("new-{index}")), &path)?;
                self.done.push(Done::MovedIn { path });
            }
            (_, None) => {}
        }
        Ok(())
    }

    fn undo(&mut self) -> Result<(), Failed> {
        while let Some(step) = self.done.pop() {
            let (path, result) = match step {
                Done::MovedAside { path, index } => {
                    let result = fs::rename(self.shelf.join(format!("old-{index}")), &path);
                    (path, result)
                }
                Done::MovedIn { path } => {
                    let result = fs::remove_file(&path);
                    (path, result)
                }
                Done::FolderMade { path } => {
                    let result = fs::remove_dir(&path);
                    (path, result)
                }
                Done::FolderRemoved { path, mode } => {
                    let made = fs::create_dir(&path);
                    let result = made.and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(mode)));
                    (path, result)
                }
                Done::ModeSet { path, mode } => {
                    let result = fs::set_permissions(&path, fs::Permissions::from_mode(mode));
                    (path, result)
                }
            };
            result.map_err(|error| (path, error))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::changes::of_copy;
    use super::*;
    use std::os::unix::fs::symlink;

    fn pair(name: &str) -> (PathBuf, PathBuf, PathBuf) {
        let dir = std::env::temp_dir().join(format!("tripwire-apply-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&dir));
        let (a, b) = (dir.join("a"), dir.join("b"));
        for top in [&a, &b] {
            fs::create_dir_all(top.join("sub")).expect("a folder");
            fs::write(top.join("sub/keep"), "keep").expect("write");
        }
        fs::write(a.join("gone"), "x").expect("write");
        fs::create_dir(a.join("old")).expect("a folder");
        fs::write(a.join("old/deep"), "x").expect("write");
        fs::write(a.join("swap"), "a file").expect("write");
        fs::create_dir_all(b.join("swap")).expect("a folder");
        fs::write(b.join("swap/inner"), "y").expect("write");
        fs::write(b.join("sub/new"), "n").expect("write");
        symlink("sub/new", b.join("link")).expect("link");
        (dir, a, b)
    }

    #[test]
    fn applying_makes_the_trees_equal_and_leaves_nothing_behind() {
        let (dir, a, b) = pair("equal");
        let changes = of_copy(&a, &b).expect("compares");
        apply(&a, &b, &dir, &changes).expect("applies");
        assert!(of_copy(&a, &b).expect("compares").changes().is_empty());
        fs::remove_dir_all(dir).expect("clean");
    }

    #[test]
    fn a_workspace_that_moved_on_is_a_conflict_and_untouched() {
        let (dir, a, b) = pair("conflict");
        let changes = of_copy(&a, &b).expect("compares");
        fs::write(a.join("gone"), "edited meanwhile").expect("write");
        let before = of_copy(&a, &b).expect("compares").digest();
        assert!(matches!(apply(&a, &b, &dir, &changes), Err(ApplyError::Conflict { .. })));
        assert_eq!(of_copy(&a, &b).expect("compares").digest(), before);
        fs::remove_dir_all(dir).expect("clean");
    }

    #[test]
    fn a_failure_half_way_puts_everything_back() {
        let (dir, a, b) = pair("undo");
        let changes = of_copy(&a, &b).expect("compares");
        let before = changes.digest();
        let shelf = a.join(".shelf");
        fs::create_dir(&shelf).expect("a shelf");
        shelve(&shelf, &b, &changes).expect("shelves");
        // The last new file is missing from the shelf, so the last step fails after all others were made.
        let last = changes.changes().len() - 1;
        fs::remove_file(shelf.join(format!("new-{last}"))).expect("remove");
        let mut log = Log { workspace: &a, shelf: &shelf, done: Vec::new() };
        assert!(log.carry_out(&changes).is_err());
        log.undo().expect("undone");
        fs::remove_dir_all(&shelf).expect("clean");
        assert_eq!(of_copy(&a, &b).expect("compares").digest(), before);
        fs::remove_dir_all(dir).expect("clean");
    }

    #[test]
    fn review_1_a_crash_after_any_step_is_rolled_back_to_the_old_state() {
        let steps = 2 * {
            let (dir, a, b) = pair("count");
            let count = of_copy(&a, &b).expect("compares").changes().len();
            fs::remove_dir_all(dir).expect("clean");
            count
        };
        for crash in 0..=steps {
            let (dir, a, b) = pair("crash");
            let changes = of_copy(&a, &b).expect("compares");
            let before = changes.digest();
            let shelf = a.join(format!("{SHELF_PREFIX}crashed"));
            fs::create_dir(&shelf).expect("a shelf");
            shelve(&shelf, &b, &changes).expect("shelves");
            recover::write_plan(&dir, &shelf, &changes).expect("a plan");
            let mut log = Log { workspace: &a, shelf: &shelf, done: Vec::new() };
            let away = changes.changes().iter().enumerate().rev().map(|(index, change)| (index, change, Way::Out));
            let back = changes.changes().iter().enumerate().map(|(index, change)| (index, change, Way::In));
            for (index, change, way) in away.chain(back).take(crash) {
                match way {
                    Way::Out => log.take_away(index, change).expect("goes"),
                    Way::In => log.bring_in(index, change).expect("comes"),
                }
            }
            drop(log);
            let found = recover::recover(&a, &dir).expect("recovers");
            assert_eq!(found, Some(recover::Recovered::RolledBack), "after {crash} steps");
            assert_eq!(of_copy(&a, &b).expect("compares").digest(), before, "after {crash} steps");
            assert_eq!(recover::recover(&a, &dir).expect("nothing is left"), None);
            fs::remove_dir_all(dir).expect("clean");
        }
    }

    #[test]
    fn review_1_a_planted_shelf_is_ignored_and_nothing_is_put_back_through_a_link() {
        let (dir, a, b) = pair("planted");
        let planted = a.join(format!("{SHELF_PREFIX}planted"));
        fs::create_dir(&planted).expect("a shelf");
        fs::write(planted.join("apply-plan"), "x").expect("write");
        assert_eq!(recover::recover(&a, &dir).expect("nothing is under way"), None);
        assert!(planted.exists());
        fs::remove_dir_all(&planted).expect("clean");
        let changes = of_copy(&a, &b).expect("compares");
        let shelf = a.join(format!("{SHELF_PREFIX}crashed"));
        fs::create_dir(&shelf).expect("a shelf");
        shelve(&shelf, &b, &changes).expect("shelves");
        recover::write_plan(&dir, &shelf, &changes).expect("a plan");
        fs::rename(a.join("sub"), a.join("moved")).expect("rename");
        symlink("/etc", a.join("sub")).expect("link");
        assert!(matches!(recover::recover(&a, &dir), Err(ApplyError::Recover { .. })));
        fs::remove_dir_all(dir).expect("clean");
    }

    #[derive(Clone, Copy)]
    enum Way {
        Out,
        In,
    }

    #[test]
    fn review_1_a_complete_apply_is_not_rolled_back() {
        let (dir, a, b) = pair("complete");
        let changes = of_copy(&a, &b).expect("compares");
        apply(&a, &b, &dir, &changes).expect("applies");
        let shelf = a.join(format!("{SHELF_PREFIX}late"));
        fs::create_dir(&shelf).expect("a shelf");
        recover::write_plan(&dir, &shelf, &changes).expect("a plan");
        recover::write_done(&dir).expect("a mark");
        assert_eq!(recover::recover(&a, &dir).expect("recovers"), Some(recover::Recovered::Completed));
        assert!(of_copy(&a, &b).expect("compares").changes().is_empty());
        fs::remove_dir_all(dir).expect("clean");
    }

    #[test]
    fn a_link_in_the_way_is_refused() {
        let (dir, a, b) = pair("way");
        let changes = of_copy(&a, &b).expect("compares");
        fs::remove_dir_all(a.join("sub")).expect("remove");
        symlink("/etc", a.join("sub")).expect("link");
        assert!(matches!(apply(&a, &b, &dir, &changes), Err(ApplyError::Conflict { .. })));
        fs::remove_dir_all(dir).expect("clean");
    }
}
