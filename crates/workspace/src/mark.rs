//! Whether a file changed since the last look, without reading it.

use crate::geometry::wall_clock::WallClock;
use rustix::fs::Stat;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use tripwire_fs::file::{FileAction, FileError};

/// The inode, size and times of a file at a look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    inode: u64,
    size: u64,
    modified_ns: i64,
    changed_ns: i64,
    seen_at: WallClock,
}

impl Mark {
    pub(crate) fn of(metadata: &std::fs::Metadata, seen_at: WallClock) -> Self {
        let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            inode: metadata.ino(),
            size: metadata.size(),
            modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            seen_at,
        }
    }

    /// The same from a result of `statat`.
    pub(crate) fn of_stat(stat: &Stat, seen_at: WallClock) -> Self {
        let nanoseconds = |seconds: i64, rest: u64| {
            seconds.saturating_mul(1_000_000_000).saturating_add(i64::try_from(rest).unwrap_or(0))
        };
        Self {
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            changed_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
            seen_at,
        }
    }

    /// Whether a file with this mark certainly holds what it held then.
    ///
    /// File times move in steps of some milliseconds. A file that was looked at within that time of its last change
    /// may have changed again without its times showing it, so such a mark proves nothing.
    pub(crate) fn still_means(&self, now: &Self) -> bool {
        let same = (self.inode, self.size, self.modified_ns, self.changed_ns)
            == (now.inode, now.size, now.modified_ns, now.changed_ns);
        let settled_ms = self.changed_ns.max(self.modified_ns) / 1_000_000 + FILE_TIME_STEP_MS;
        same && i64::try_from(self.seen_at.epoch_ms()).is_ok_and(|seen_ms| seen_ms > settled_ms)
    }
}

/// Looks at a file without following a link; a missing file is no error, everything else is.
pub(crate) fn stat(path: &Path) -> Result<Option<std::fs::Metadata>, FileError> {
    match path.symlink_metadata() {
        Ok(metadata) => Ok(Some(metadata)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(FileError::at(path, FileAction::Inspect)(cause)),
    }
}

/// The coarsest step in which a local file system moves its times, with room to spare.
const FILE_TIME_STEP_MS: i64 = 50;

/// Whether names may have come or gone in a folder, told by the folder's own mark: for a process that stays, which then need not
/// look for each name again.
#[derive(Debug, Default)]
pub struct FolderWatch {
    known: Option<Mark>,
}

/// What may have happened to the names in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// They are those of the last look, certainly.
    Stood,
    /// There may be others.
    Moved,
}

impl FolderWatch {
    /// What may have happened since the last call; to be called before the names are looked at.
    pub fn look(&mut self, folder: Option<&std::fs::Metadata>, now: WallClock) -> Names {
        let mark = folder.map(|folder| Mark::of(folder, now));
        if let (Some(known), Some(mark)) = (&self.known, &mark)
            && known.still_means(mark)
        {
            return Names::Stood;
        }
        self.known = mark;
        Names::Moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_holds_only_once_the_times_of_the_file_have_settled() {
        let seen_at = WallClock::from_epoch_ms(2_000);
        let mark = Mark { inode: 1, size: 2, modified_ns: 0, changed_ns: 1_000_000_000, seen_at };
        assert!(mark.still_means(&mark));
        assert!(!mark.still_means(&Mark { size: 3, ..mark.clone() }));
        let fresh = Mark { seen_at: WallClock::from_epoch_ms(1_050), ..mark };
        assert!(!fresh.still_means(&fresh), "a file that changed just now proves nothing");
    }

    #[test]
    fn the_names_of_a_folder_stand_once_it_was_left_alone_and_until_one_comes_or_goes() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("folder");
        std::fs::create_dir(&folder).unwrap();
        let mut watch = FolderWatch::default();
        let mut look = || watch.look(folder.metadata().ok().as_ref(), crate::clock::now());
        let settle = || std::thread::sleep(std::time::Duration::from_millis(70));
        assert_eq!((look(), look()), (Names::Moved, Names::Moved), "it was made just now");
        settle();
        assert_eq!((look(), look()), (Names::Moved, Names::Stood));
        std::fs::write(folder.join("a"), "x").unwrap();
        assert_eq!(look(), Names::Moved);
        settle();
        assert_eq!((look(), look()), (Names::Moved, Names::Stood));
        std::fs::write(folder.join("a"), "y").unwrap();
        assert_eq!(look(), Names::Stood, "its names are the same");
        std::fs::remove_file(folder.join("a")).unwrap();
        assert_eq!(look(), Names::Moved);
        std::fs::remove_dir(&folder).unwrap();
        assert_eq!((look(), look()), (Names::Moved, Names::Moved), "it is gone");
    }
}
