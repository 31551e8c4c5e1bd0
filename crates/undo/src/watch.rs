//! Which folders moved since the last look, told by the system: a process that stays need not look at the others.
//!
//! Writes through a mapping, or by a second name outside of the folder, are not told, so every so often everything is looked
//! at; and whenever the system lost count, or names came, were written to and went.

use crate::index::{Index, NOT_KNOWN};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use tripwire_core::record::chain::Digest;

/// Looks after which everything is looked at again.
const WHOLE_EVERY: u32 = 32;
/// What is read of the system's queue at once: less than what makes the allocator tidy up whenever it is given back.
const BUFFER_BYTES: usize = 16 << 10;

/// A watch over all folders of the last look.
#[derive(Debug)]
pub(crate) struct Watch {
    queue: OwnedFd,
    /// The folder behind each of the system's numbers.
    paths: HashMap<i32, Vec<u8>>,
    /// The folders that are watched, with the number that each had as a file.
    watched: HashMap<Vec<u8>, (i32, u64)>,
    /// Folders in which something moved since the last look.
    moved: HashSet<Vec<u8>>,
    /// Whether a file had other names at the last look: what is written by one of them may not be told of the others.
    shares: Shares,
    looks: u32,
    /// What the system's queue is read into.
    buffer: Vec<MaybeUninit<u8>>,
    /// The most that may be watched.
    pub(crate) folders_max: usize,
}

impl Watch {
    /// A watch over nothing yet; none where the system has no more of them.
    pub(crate) fn new(folders_max: usize) -> Option<Self> {
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        let (paths, watched, moved) = (HashMap::new(), HashMap::new(), HashSet::new());
        let buffer = vec![MaybeUninit::uninit(); BUFFER_BYTES];
        Some(Self { queue, paths, watched, moved, shares: Shares::default(), looks: 0, buffer, folders_max })
    }

    /// The folders that did not move since the last look; none where everything has to be looked at.
    pub(crate) fn still(&mut self) -> Option<Still<'_>> {
        self.looks = self.looks.wrapping_add(1);
        let counted = self.drain();
        if !counted || self.watched.is_empty() || self.looks.is_multiple_of(WHOLE_EVERY) {
            return None;
        }
        Some(Still { watched: &self.watched, moved: &self.moved, shares: self.shares })
    }

    /// Takes in what the system told; false if that is not all that may have happened.
    fn drain(&mut self) -> bool {
        let Self { queue, paths, watched, moved, buffer, .. } = self;
        let mut reader = inotify::Reader::new(&*queue, buffer);
        let mut names = NewNames::default();
        loop {
            let Ok(event) = reader.next() else { return names.are_all_told() };
            let events = event.events();
            if events.contains(ReadFlags::QUEUE_OVERFLOW) {
                return false;
            }
            let name = (event.wd(), event.file_name().map(|name| name.to_bytes().to_vec()));
            names.hear(events, name, event.cookie());
            if let Some(path) = paths.get(&event.wd()) {
                moved.insert(path.clone());
            }
            if events.contains(ReadFlags::IGNORED)
                && let Some(path) = paths.remove(&event.wd())
                && watched.get(&path).is_some_and(|(number, _)| *number == event.wd())
            {
                // The folder is gone; one that comes to its place may even have its number as a file.
                watched.remove(&path);
            }
        }
    }

    /// Follows what a look found: new folders are watched, and looked at once more the next time, because something may have
    /// come into them before. False if there are more than may be watched: then the watch is of no use.
    pub(crate) fn follow(&mut self, root: &Path, index: &Index) -> bool {
        if index.folders.len() > self.folders_max {
            return false;
        }
        self.moved.clear();
        let shares = index.folders.values().any(|folder| folder.has_shared());
        self.shares = if shares { Shares::Some } else { Shares::None };
        let gone: Vec<Vec<u8>> =
            self.watched.keys().filter(|path| !index.folders.contains_key(*path)).cloned().collect();
        for path in gone {
            if let Some((number, _)) = self.watched.remove(&path)
                && self.paths.get(&number) == Some(&path)
            {
                self.paths.remove(&number);
                inotify::remove_watch(&self.queue, number).ok();
            }
        }
        for (path, folder) in &index.folders {
            let inode = folder.mark.inode();
            if self.watched.get(path).is_some_and(|(_, known)| *known == inode) {
                continue;
            }
            let Ok(number) = inotify::add_watch(&self.queue, root.join(OsStr::from_bytes(path)), events()) else {
                return false;
            };
            self.paths.insert(number, path.clone());
            self.watched.insert(path.clone(), (number, inode));
            self.moved.insert(path.clone());
        }
        true
    }
}

/// A name in a folder.
type Name = (i32, Option<Vec<u8>>);

/// Names that came since the last look. One that was written to and went again may have been a second one of a file
/// elsewhere, which then changes unnoticed; `git status` makes a lock, does not write to it and removes it.
#[derive(Debug, Default)]
struct NewNames {
    made: HashMap<Name, Touched>,
    /// Renamed, and not yet seen at their new place.
    on_the_way: HashMap<u32, Touched>,
    missed: Missed,
}

/// Whether a file was written to by its new name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Touched {
    #[default]
    No,
    Yes,
}

/// Whether something may have happened that was not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Missed {
    #[default]
    Nothing,
    Something,
}

impl NewNames {
    fn hear(&mut self, events: ReadFlags, name: Name, cookie: u32) {
        if events.intersects(ReadFlags::MODIFY | ReadFlags::ATTRIB)
            && let Some(touched) = self.made.get_mut(&name)
        {
            *touched = Touched::Yes;
        }
        if events.intersects(ReadFlags::DELETE | ReadFlags::MOVED_TO) && self.made.remove(&name) == Some(Touched::Yes) {
            self.missed = Missed::Something;
        }
        // A draft that was renamed to its place is still to be seen there.
        if events.contains(ReadFlags::MOVED_FROM)
            && let Some(touched) = self.made.remove(&name)
        {
            self.on_the_way.insert(cookie, touched);
        }
        if events.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            // In a new folder nothing was told yet.
            if events.contains(ReadFlags::ISDIR) {
                self.missed = Missed::Something;
            }
            let touched = self.on_the_way.remove(&cookie).filter(|_| events.contains(ReadFlags::MOVED_TO));
            self.made.insert(name, touched.unwrap_or_default());
        }
    }

    fn are_all_told(&self) -> bool {
        self.missed == Missed::Nothing && self.on_the_way.is_empty()
    }
}

/// Whether files have names outside of the folder, or several in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Shares {
    #[default]
    Some,
    None,
}

/// Folders in which nothing moved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Still<'a> {
    watched: &'a HashMap<Vec<u8>, (i32, u64)>,
    moved: &'a HashSet<Vec<u8>>,
    shares: Shares,
}

impl Still<'_> {
    /// Whether nothing moved in a folder.
    pub(crate) fn is_still(&self, path: &[u8]) -> bool {
        self.watched.contains_key(path) && !self.moved.contains(path)
    }

    /// The listing of the whole folder, where nothing moved anywhere in it since the look that made this index; nothing if
    /// another folder has come to its place.
    pub(crate) fn whole(&self, root: &Path, index: &Index) -> Option<Digest> {
        if !self.moved.is_empty() || self.shares == Shares::Some || self.watched.len() != index.folders.len() {
            return None;
        }
        let known = index.folders.get(&Vec::new()[..])?;
        let inode = root.symlink_metadata().ok()?.ino();
        (inode == known.mark.inode() && known.tree != NOT_KNOWN).then_some(known.tree)
    }
}

fn events() -> WatchFlags {
    WatchFlags::MODIFY
        | WatchFlags::CLOSE_WRITE
        | WatchFlags::ATTRIB
        | WatchFlags::CREATE
        | WatchFlags::DELETE
        | WatchFlags::MOVED_FROM
        | WatchFlags::MOVED_TO
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF
        | WatchFlags::ONLYDIR
        | WatchFlags::DONT_FOLLOW
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_all_told(heard: &[(ReadFlags, &str)]) -> bool {
        let mut names = NewNames::default();
        for (events, name) in heard {
            names.hear(*events, (1, Some(name.as_bytes().to_vec())), 7);
        }
        names.are_all_told()
    }

    #[test]
    fn undo_1_a_name_that_was_written_to_and_went_is_not_all_told() {
        use ReadFlags as E;
        for heard in [
            &[(E::CREATE, "a"), (E::MODIFY, "a"), (E::DELETE, "a")][..],
            &[(E::CREATE, "a"), (E::ATTRIB, "a"), (E::DELETE, "a")],
            &[(E::CREATE, "a"), (E::MODIFY, "a"), (E::MOVED_FROM, "a"), (E::MOVED_TO, "b"), (E::DELETE, "b")],
            &[(E::CREATE, "a"), (E::MODIFY, "a"), (E::MOVED_TO, "a")],
            &[(E::CREATE, "a"), (E::MOVED_FROM, "a")],
            &[(E::CREATE | E::ISDIR, "a")],
        ] {
            assert!(!are_all_told(heard), "{heard:?}");
        }
    }

    #[test]
    fn undo_1_a_lock_that_came_and_went_and_a_draft_that_took_its_place_are_all_told() {
        use ReadFlags as E;
        for heard in [
            &[(E::CREATE, "a"), (E::CLOSE_WRITE, "a"), (E::DELETE, "a")][..],
            &[(E::CREATE, "a"), (E::MODIFY, "a"), (E::MOVED_FROM, "a"), (E::MOVED_TO, "b")],
            &[(E::MODIFY, "a"), (E::DELETE, "a")],
        ] {
            assert!(are_all_told(heard), "{heard:?}");
        }
    }

    #[test]
    fn undo_1_a_folder_with_more_in_it_than_may_be_watched_is_looked_at_instead() {
        let dir = tripwire_testing::TestDir::new();
        for name in ["work/a", "work/b"] {
            std::fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        let settings = crate::settings::Settings::of(&tripwire_core::policy::Policy::default());
        let store = crate::UndoStore::of(&dir.path().join("state"), &dir.path().join("work"), settings);
        store.look_now().unwrap();
        let index = store.index(&store.hold(None).unwrap()).unwrap();
        assert_eq!(index.folders.len(), 3);
        assert!(!Watch::new(2).unwrap().follow(&dir.path().join("work"), &index));
        assert!(Watch::new(3).unwrap().follow(&dir.path().join("work"), &index));
    }

    #[test]
    fn undo_1_what_moves_in_a_folder_that_was_still_is_seen_and_so_is_another_folder_in_its_place() {
        let dir = tripwire_testing::TestDir::new();
        let work = dir.path().join("work");
        std::fs::create_dir_all(work.join("a")).unwrap();
        std::fs::write(work.join("a/file"), "one").unwrap();
        let settings = crate::settings::Settings::of(&tripwire_core::policy::Policy::default());
        let store = crate::UndoStore::of(&dir.path().join("state"), &work, settings).watching();
        let look = || store.look_now().unwrap().tree;
        let still = || {
            let trees = [look(), look(), look()];
            assert!(trees.iter().all(|tree| *tree == trees[0]));
            trees[0]
        };
        let first = still();
        std::fs::write(work.join("a/file"), "two").unwrap();
        let second = look();
        assert_ne!(second, first);
        assert_eq!(still(), second);
        std::fs::remove_file(work.join("a/file")).unwrap();
        let third = still();
        assert!(third != second && third != first);
        std::fs::rename(&work, dir.path().join("away")).unwrap();
        std::fs::create_dir_all(work.join("a")).unwrap();
        std::fs::write(work.join("a/file"), "one").unwrap();
        assert_eq!(still(), first, "another folder with the same in it");
    }
}
