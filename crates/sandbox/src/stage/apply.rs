//! Carrying staged changes into the workspace.
//!
//! All new content is written beside the workspace's files first; until that has worked nothing is touched. Then old files are
//! moved aside and new ones moved in, each by one rename, with a log that is undone in reverse if anything fails. A command may
//! be running in the workspace meanwhile, so every step looks its folder up again and follows no link; see `beneath`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::changes::{Change, ChangeSet, Node, open_top, read_node};
use super::protected;
use super::recover;
use super::shelf::{SHELF_PREFIX, new_name, old_name, sync_touched};
use crate::error::ApplyError;
use tripwire_fs::beneath::{FolderEntry, HeldFolder};

/// Makes the changes, all or none. `content` holds the new files at the same relative paths.
/// `notes` is a folder outside of the workspace, where the plan lies until everything is done.
pub(crate) fn apply(workspace: &Path, content: &Path, notes: &Path, changes: &ChangeSet) -> Result<(), ApplyError> {
    let (top, content) = (open_top(workspace)?, open_top(content)?);
    protected::refuse(changes)?;
    let made = folders_made(changes);
    for change in changes.changes() {
        if read_node(&top, &change.path)? != change.before || !parent_is_a_folder(&top, &made, change) {
            return Err(ApplyError::Conflict { path: change.path.clone() });
        }
    }
    let name = PathBuf::from(format!("{SHELF_PREFIX}{}", std::process::id()));
    let at_shelf = |source| (name.clone(), source);
    let write = |(path, source)| ApplyError::Write { path, source };
    // A shelf is noted before it is made: the process that finds the note removes it.
    recover::note_shelf(notes, &name).map_err(at_shelf).map_err(write)?;
    let made = top.entry(&name).and_then(|place| place.make_dir()).and_then(|()| top.folder(&name));
    let shelf = made.map_err(|source| {
        drop(recover::forget(notes));
        write(at_shelf(source))
    })?;
    // The name is in the workspace itself, and removing a tree follows no link. What cannot be removed stays noted.
    let clear = || fs::remove_dir_all(workspace.join(&name));
    let prepared = shelve(&shelf, &content, changes).and_then(|()| {
        let on_disk = shelf.sync(Path::new("")).and_then(|()| top.sync(Path::new("")));
        on_disk.and_then(|()| recover::write_plan(notes, &name, changes)).map_err(at_shelf)
    });
    if let Err(failed) = prepared {
        drop(recover::note_shelf(notes, &name).and_then(|()| clear()).and_then(|()| recover::forget(notes)));
        return Err(write(failed));
    }
    let mut log = Log { workspace: &top, shelf: &shelf, done: Vec::new() };
    // The mark may reach the disk only after everything that it speaks of.
    let carried = log.carry_out(changes).and_then(|()| {
        let synced = shelf.sync(Path::new("")).and_then(|()| sync_touched(&top, changes.changes().iter().map(touched)));
        synced.and_then(|()| recover::write_done(notes)).map_err(at_shelf)
    });
    if let Err((path, source)) = carried {
        return Err(match recover::unmark(notes).map_err(at_shelf).and_then(|()| log.undo()) {
            Ok(()) => {
                let synced = sync_touched(&top, changes.changes().iter().map(touched));
                let noted = synced.and_then(|()| recover::note_shelf(notes, &name));
                drop(noted.and_then(|()| clear()).and_then(|()| recover::forget(notes)));
                ApplyError::Write { path, source }
            }
            Err((left, undo)) => ApplyError::Torn { path, source, left, undo },
        });
    }
    // Everything is in its place and on the disk. A shelf that cannot be removed now is removed when the plan is found.
    drop(clear());
    Ok(())
}

/// The folders whose names or mode a change touches: the one that it is in, and itself if it is one.
fn touched(change: &Change) -> [Option<&Path>; 2] {
    let itself = matches!(change.after, Some(Node::Dir { .. })).then_some(change.path.as_path());
    [change.path.parent(), itself]
}

/// The folders that the change set itself makes.
fn folders_made(changes: &ChangeSet) -> BTreeSet<&Path> {
    let made = |change: &&Change| matches!(change.after, Some(Node::Dir { .. }));
    changes.changes().iter().filter(made).map(|change| change.path.as_path()).collect()
}

/// What comes new must come into a folder; one that the change set itself makes is fine.
fn parent_is_a_folder(top: &HeldFolder, made: &BTreeSet<&Path>, change: &Change) -> bool {
    let above = change.path.parent().unwrap_or(Path::new(""));
    change.after.is_none() || made.contains(above) || top.entry(&change.path).is_ok()
}

type Failed = (PathBuf, io::Error);

/// Puts all new files on the shelf, which is in the workspace so that every later step is a rename.
fn shelve(shelf: &HeldFolder, content: &HeldFolder, changes: &ChangeSet) -> Result<(), Failed> {
    for (index, change) in changes.changes().iter().enumerate() {
        let at = |source| (change.path.clone(), source);
        let to = new_name(index);
        match &change.after {
            Some(Node::File { mode, .. }) => {
                let mut from = content.entry(&change.path).and_then(|place| place.open_file()).map_err(at)?;
                let mut file = shelf.entry(&to).and_then(|place| place.create_file()).map_err(at)?;
                io::copy(&mut from, &mut file).map_err(at)?;
                file.set_permissions(fs::Permissions::from_mode(*mode)).map_err(at)?;
                file.sync_all().map_err(at)?;
            }
            Some(Node::Link { target }) => {
                shelf.entry(&to).and_then(|place| place.make_link(target)).map_err(at)?;
            }
            Some(Node::Dir { .. }) | None => continue,
        }
        // What lies on the shelf is what will be applied: it must be what the digest named, even if somebody wrote meanwhile.
        let shelved = read_node(shelf, &to).ok().flatten();
        if shelved != change.after {
            return Err(at(io::Error::other("it was changed while it was applied")));
        }
    }
    Ok(())
}

/// A step that was made and how to take it back.
enum AppliedStep {
    MovedAside { index: usize },
    MovedIn,
    FolderMade,
    FolderRemoved { mode: u32 },
    ModeSet { mode: u32 },
}

struct Log<'a> {
    workspace: &'a HeldFolder,
    shelf: &'a HeldFolder,
    done: Vec<(PathBuf, AppliedStep)>,
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
        match (&change.before, &change.after) {
            (Some(Node::Dir { .. }), Some(Node::Dir { .. })) | (None, _) => {}
            (Some(Node::Dir { mode }), _) => {
                self.entry(change)?.remove_dir()?;
                self.note(change, AppliedStep::FolderRemoved { mode: *mode });
            }
            (Some(Node::File { .. } | Node::Link { .. }), _) => {
                self.entry(change)?.move_to(&self.shelf.entry(&old_name(index))?)?;
                self.note(change, AppliedStep::MovedAside { index });
            }
        }
        Ok(())
    }

    fn bring_in(&mut self, index: usize, change: &Change) -> io::Result<()> {
        match (&change.before, &change.after) {
            (Some(Node::Dir { mode: old }), Some(Node::Dir { mode })) => {
                self.entry(change)?.set_dir_mode(*mode)?;
                self.note(change, AppliedStep::ModeSet { mode: *old });
            }
            (_, Some(Node::Dir { mode })) => {
                let place = self.entry(change)?;
                place.make_dir()?;
                self.note(change, AppliedStep::FolderMade);
                place.set_dir_mode(*mode)?;
            }
            (_, Some(Node::File { .. } | Node::Link { .. })) => {
                self.shelf.entry(&new_name(index))?.move_to(&self.entry(change)?)?;
                self.note(change, AppliedStep::MovedIn);
            }
            (_, None) => {}
        }
        Ok(())
    }

    /// The folder of a change is opened at the moment of the step; a link on the way ends it.
    fn entry(&self, change: &Change) -> io::Result<FolderEntry> {
        self.workspace.entry(&change.path)
    }

    fn note(&mut self, change: &Change, step: AppliedStep) {
        self.done.push((change.path.clone(), step));
    }

    fn undo(&mut self) -> Result<(), Failed> {
        while let Some((path, step)) = self.done.pop() {
            self.take_back(&path, &step).map_err(|error| (path, error))?;
        }
        Ok(())
    }

    fn take_back(&self, path: &Path, step: &AppliedStep) -> io::Result<()> {
        let place = self.workspace.entry(path)?;
        match step {
            AppliedStep::MovedAside { index } => self.shelf.entry(&old_name(*index))?.move_to(&place),
            AppliedStep::MovedIn => place.remove_file(),
            AppliedStep::FolderMade => place.remove_dir(),
            AppliedStep::FolderRemoved { mode } => place.make_dir().and_then(|()| place.set_dir_mode(*mode)),
            AppliedStep::ModeSet { mode } => place.set_dir_mode(*mode),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::changes::of_copy;
    use super::*;
    use crate::scratch::Scratch;
    use std::os::unix::fs::symlink;

    fn pair() -> (Scratch, PathBuf, PathBuf) {
        let dir = Scratch::new();
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
        // A link of the workspace that became a folder, with a neighbour behind the link.
        fs::create_dir(dir.join("outside")).expect("a folder");
        fs::write(dir.join("outside/file"), "precious").expect("write");
        symlink("../outside", a.join("turned")).expect("link");
        fs::create_dir(b.join("turned")).expect("a folder");
        fs::write(b.join("turned/file"), "new").expect("write");
        (dir, a, b)
    }

    fn shelved(a: &Path, b: &Path, name: &str, changes: &ChangeSet) -> (HeldFolder, HeldFolder) {
        fs::create_dir(a.join(name)).expect("a shelf");
        let top = HeldFolder::open(a).expect("a folder");
        let shelf = top.folder(Path::new(name)).expect("a shelf");
        shelve(&shelf, &HeldFolder::open(b).expect("a folder"), changes).expect("shelves");
        (top, shelf)
    }

    fn outside(dir: &Path) -> Vec<(String, String)> {
        let mut found: Vec<_> = fs::read_dir(dir.join("outside"))
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path())
            .map(|path| (path.display().to_string(), fs::read_to_string(&path).expect("a file")))
            .collect();
        found.sort();
        found
    }

    #[test]
    fn box_1_a_parent_that_becomes_a_link_during_apply_leads_nowhere() {
        let (dir, a, b) = pair();
        let before = outside(&dir);
        let changes = of_copy(&a, &b).expect("compares");
        let (top, shelf) = shelved(&a, &b, ".shelf", &changes);
        let mut log = Log { workspace: &top, shelf: &shelf, done: Vec::new() };
        for (index, change) in changes.changes().iter().enumerate().rev() {
            log.take_away(index, change).expect("goes");
        }
        // Somebody swaps a folder after everything was checked and half was done.
        fs::rename(a.join("sub"), a.join("moved")).expect("rename");
        symlink("../outside", a.join("sub")).expect("link");
        let index = changes.changes().iter().position(|change| change.path == Path::new("sub/new")).expect("a change");
        assert!(log.bring_in(index, &changes.changes()[index]).is_err());
        assert_eq!(outside(&dir), before);
        // The same on the way back.
        assert!(log.take_back(Path::new("sub/keep"), &AppliedStep::MovedIn).is_err());
        assert_eq!(outside(&dir), before);
        log.undo().expect("what went before the swap is put back");
        assert_eq!(fs::read_to_string(a.join("old/deep")).expect("back"), "x");
    }

    #[test]
    fn box_1_a_link_that_becomes_a_folder_is_replaced_itself() {
        let (dir, a, b) = pair();
        let before = outside(&dir);
        let changes = of_copy(&a, &b).expect("compares");
        apply(&a, &b, &dir, &changes).expect("applies");
        assert_eq!(outside(&dir), before, "nothing behind the link was touched");
        assert!(fs::symlink_metadata(a.join("turned")).expect("there").is_dir());
        assert_eq!(fs::read_to_string(a.join("turned/file")).expect("there"), "new");
    }

    #[test]
    fn applying_makes_the_trees_equal_and_leaves_nothing_behind() {
        let (dir, a, b) = pair();
        let changes = of_copy(&a, &b).expect("compares");
        apply(&a, &b, &dir, &changes).expect("applies");
        assert!(of_copy(&a, &b).expect("compares").changes().is_empty());
    }

    #[test]
    fn a_workspace_that_moved_on_is_a_conflict_and_untouched() {
        let (dir, a, b) = pair();
        let changes = of_copy(&a, &b).expect("compares");
        fs::write(a.join("gone"), "edited meanwhile").expect("write");
        let before = of_copy(&a, &b).expect("compares").digest();
        assert!(matches!(apply(&a, &b, &dir, &changes), Err(ApplyError::Conflict { .. })));
        assert_eq!(of_copy(&a, &b).expect("compares").digest(), before);
    }

    #[test]
    fn a_failure_half_way_puts_everything_back() {
        let (_dir, a, b) = pair();
        let changes = of_copy(&a, &b).expect("compares");
        let before = changes.digest();
        let (top, shelf) = shelved(&a, &b, ".shelf", &changes);
        // The last new file is missing from the shelf, so the last step fails after all others were made.
        let last = changes.changes().len() - 1;
        fs::remove_file(a.join(".shelf").join(new_name(last))).expect("remove");
        let mut log = Log { workspace: &top, shelf: &shelf, done: Vec::new() };
        assert!(log.carry_out(&changes).is_err());
        log.undo().expect("undone");
        fs::remove_dir_all(a.join(".shelf")).expect("clean");
        assert_eq!(of_copy(&a, &b).expect("compares").digest(), before);
    }

    #[test]
    fn review_1_a_crash_after_any_step_is_rolled_back_to_the_old_state() {
        let steps = 2 * {
            let (_dir, a, b) = pair();
            of_copy(&a, &b).expect("compares").changes().len()
        };
        for crash in 0..=steps {
            let (dir, a, b) = pair();
            let changes = of_copy(&a, &b).expect("compares");
            let before = changes.digest();
            let name = format!("{SHELF_PREFIX}crashed");
            let (top, shelf) = shelved(&a, &b, &name, &changes);
            recover::write_plan(&dir, Path::new(&name), &changes).expect("a plan");
            let mut log = Log { workspace: &top, shelf: &shelf, done: Vec::new() };
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
            assert_eq!(outside(&dir).len(), 1, "after {crash} steps");
            assert_eq!(recover::recover(&a, &dir).expect("nothing is left"), None);
        }
    }

    #[test]
    fn review_1_a_planted_shelf_is_ignored_and_nothing_is_put_back_through_a_link() {
        let (dir, a, b) = pair();
        let planted = a.join(format!("{SHELF_PREFIX}planted"));
        fs::create_dir(&planted).expect("a shelf");
        fs::write(planted.join("apply-plan"), "x").expect("write");
        assert_eq!(recover::recover(&a, &dir).expect("nothing is under way"), None);
        assert!(planted.exists());
        fs::remove_dir_all(&planted).expect("clean");
        let changes = of_copy(&a, &b).expect("compares");
        let name = format!("{SHELF_PREFIX}crashed");
        let _held = shelved(&a, &b, &name, &changes);
        recover::write_plan(&dir, Path::new(&name), &changes).expect("a plan");
        fs::rename(a.join("sub"), a.join("moved")).expect("rename");
        symlink("/etc", a.join("sub")).expect("link");
        assert!(matches!(recover::recover(&a, &dir), Err(ApplyError::Recover { .. })));
    }

    #[derive(Clone, Copy)]
    enum Way {
        Out,
        In,
    }

    #[test]
    fn review_1_a_complete_apply_is_not_rolled_back() {
        let (dir, a, b) = pair();
        let changes = of_copy(&a, &b).expect("compares");
        apply(&a, &b, &dir, &changes).expect("applies");
        let shelf = PathBuf::from(format!("{SHELF_PREFIX}late"));
        fs::create_dir(a.join(&shelf)).expect("a shelf");
        recover::write_plan(&dir, &shelf, &changes).expect("a plan");
        recover::write_done(&dir).expect("a mark");
        assert_eq!(recover::recover(&a, &dir).expect("recovers"), Some(recover::Recovered::Completed));
        assert!(of_copy(&a, &b).expect("compares").changes().is_empty());
    }

    #[test]
    fn a_mark_that_cannot_be_written_puts_everything_back() {
        let (dir, a, b) = pair();
        let changes = of_copy(&a, &b).expect("compares");
        let draft = dir.join("apply-done.draft");
        fs::create_dir(&draft).expect("a folder where the mark is drafted");
        assert!(matches!(apply(&a, &b, &dir, &changes), Err(ApplyError::Write { .. })));
        assert_eq!(of_copy(&a, &b).expect("compares").digest(), changes.digest());
        assert!(!recover::is_under_way(&dir));
        // Without the hindrance the same apply works.
        fs::remove_dir(&draft).expect("remove");
        apply(&a, &b, &dir, &changes).expect("applies");
        assert!(of_copy(&a, &b).expect("compares").changes().is_empty());
    }

    #[test]
    fn a_crash_while_the_shelf_is_filled_leaves_no_shelf_and_touches_nothing() {
        let (dir, a, b) = pair();
        let changes = of_copy(&a, &b).expect("compares");
        let name = format!("{SHELF_PREFIX}crashed");
        recover::note_shelf(&dir, Path::new(&name)).expect("a note");
        let _held = shelved(&a, &b, &name, &changes);
        // What somebody makes at a place that a change was to take is not the apply's to remove.
        fs::write(a.join("sub/new"), "somebody's").expect("write");
        let before = of_copy(&a, &b).expect("compares");
        assert_eq!(recover::recover(&a, &dir).expect("recovers"), Some(recover::Recovered::RolledBack));
        assert!(!a.join(&name).exists() && !recover::is_under_way(&dir));
        assert_eq!(fs::read_to_string(a.join("sub/new")).expect("there"), "somebody's");
        assert_ne!(of_copy(&a, &b).expect("compares").digest(), before.digest(), "only the shelf went");
    }

    #[test]
    fn a_shelf_that_is_in_the_way_is_not_ours_to_remove() {
        let (dir, a, b) = pair();
        let changes = of_copy(&a, &b).expect("compares");
        let taken = a.join(format!("{SHELF_PREFIX}{}", std::process::id()));
        fs::create_dir(&taken).expect("a folder");
        assert!(matches!(apply(&a, &b, &dir, &changes), Err(ApplyError::Write { .. })));
        assert!(taken.is_dir() && !recover::is_under_way(&dir));
    }

    #[test]
    fn every_folder_that_an_apply_touches_is_brought_to_the_disk_and_closed_or_missing_ones_end_nothing() {
        let (_dir, a, b) = pair();
        let changes = of_copy(&a, &b).expect("compares");
        let folders: BTreeSet<&Path> = changes.changes().iter().flat_map(touched).flatten().collect();
        for folder in ["", "old", "sub", "swap", "turned"] {
            assert!(folders.contains(Path::new(folder)), "{folder}");
        }
        assert!(!folders.contains(Path::new("gone")));
        let top = HeldFolder::open(&a).expect("a folder");
        fs::set_permissions(a.join("old"), fs::Permissions::from_mode(0o300)).expect("mode");
        sync_touched(&top, changes.changes().iter().map(touched)).expect("reaches the disk");
        fs::set_permissions(a.join("old"), fs::Permissions::from_mode(0o700)).expect("mode");
    }

    #[test]
    fn a_mark_of_an_earlier_apply_does_not_make_the_next_one_complete() {
        let (dir, a, b) = pair();
        recover::write_done(&dir).expect("a mark");
        assert_eq!(recover::recover(&a, &dir).expect("nothing is under way"), None);
        let changes = of_copy(&a, &b).expect("compares");
        let name = format!("{SHELF_PREFIX}crashed");
        let (top, shelf) = shelved(&a, &b, &name, &changes);
        recover::write_plan(&dir, Path::new(&name), &changes).expect("a plan");
        let mut log = Log { workspace: &top, shelf: &shelf, done: Vec::new() };
        log.take_away(0, &changes.changes()[0]).expect("goes");
        assert_eq!(recover::recover(&a, &dir).expect("recovers"), Some(recover::Recovered::RolledBack));
        assert_eq!(of_copy(&a, &b).expect("compares").digest(), changes.digest());
    }

    #[test]
    fn forgetting_a_plan_takes_its_mark_along() {
        let (dir, a, b) = pair();
        let changes = of_copy(&a, &b).expect("compares");
        recover::write_plan(&dir, Path::new(&format!("{SHELF_PREFIX}x")), &changes).expect("a plan");
        recover::write_done(&dir).expect("a mark");
        recover::forget(&dir).expect("forgets");
        assert!(!dir.join("apply-plan").exists() && !dir.join("apply-done").exists());
        recover::forget(&dir).expect("there is nothing to forget");
    }

    #[test]
    fn a_link_in_the_way_is_refused() {
        let (dir, a, b) = pair();
        let changes = of_copy(&a, &b).expect("compares");
        fs::remove_dir_all(a.join("sub")).expect("remove");
        symlink("/etc", a.join("sub")).expect("link");
        assert!(matches!(apply(&a, &b, &dir, &changes), Err(ApplyError::Conflict { .. })));
    }
}
