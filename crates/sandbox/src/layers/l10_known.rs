//! Layer 10: which repositories were there before the run, and what in them is older than it.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Mode, Stat, fstat, openat, statat};
use rustix::io::Errno;

use crate::walk::folder_flags;

/// Folders of a repository in which others find what to run; a folder can be put in place with files of any age in it.
pub(crate) const ARMING_FOLDERS: [&str; 4] = ["hooks", "rebase-merge", "rebase-apply", "sequencer"];

/// Files of a repository that git obeys, besides those in its folders.
const OBEYED_FILES: [&str; 3] = ["config", "config.worktree", "commondir"];

/// Whether a hook is one of git's examples, which it never runs.
pub(crate) fn is_sample(name: &[u8]) -> bool {
    name.ends_with(b".sample")
}

/// Only what changed since the run began is looked at twice; the status-change time cannot be set by a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Since {
    pub(crate) seconds: i64,
    pub(crate) nanos: i64,
}

impl Since {
    /// Everything counts, however old.
    pub(crate) const EVER: Self = Self { seconds: i64::MIN, nanos: 0 };

    /// Whether a file was touched at or after this moment.
    pub(crate) fn covers(self, stat: &Stat) -> bool {
        Self::changed(stat) >= self
    }

    /// When a file was touched last.
    fn changed(stat: &Stat) -> Self {
        Self { seconds: stat.st_ctime, nanos: i64::try_from(stat.st_ctime_nsec).unwrap_or(i64::MAX) }
    }
}

/// The repositories that were there before the run, each with the folders in it that matter, by path and by number.
///
/// What is not known became a repository in this run, or was renamed to its place: the age of its files says nothing then.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    pub(super) folders: BTreeMap<PathBuf, (u64, u64)>,
    /// The files in them that git obeys, each by number and by the moment of its last change.
    files: BTreeSet<(u64, u64, Since)>,
}

impl Known {
    /// Notes a repository and its folders.
    pub(crate) fn note(&mut self, dir: BorrowedFd<'_>, path: &Path) {
        let folders = ARMING_FOLDERS.iter().filter_map(|name| {
            let stat = statat(dir, *name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            Some((path.join(name), stat))
        });
        let own = fstat(dir).ok().map(|stat| (path.to_path_buf(), stat));
        self.folders.extend(folders.chain(own).map(|(path, stat)| (path, (stat.st_dev, stat.st_ino))));
        for name in OBEYED_FILES {
            self.note_file(statat(dir, name, AtFlags::SYMLINK_NOFOLLOW));
        }
        let Ok(hooks) = openat(dir, "hooks", folder_flags(), Mode::empty()) else { return };
        for entry in Dir::read_from(&hooks).into_iter().flatten().flatten() {
            if !is_sample(entry.file_name().to_bytes()) {
                self.note_file(statat(&hooks, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW));
            }
        }
    }

    fn note_file(&mut self, found: Result<Stat, Errno>) {
        if let Ok(stat) = found {
            self.files.insert((stat.st_dev, stat.st_ino, Since::changed(&stat)));
        }
    }

    /// What in this folder is new: what changed since the run began, or everything.
    pub(crate) fn new_in(&self, path: &Path, stat: &Stat, since: Since) -> Since {
        if self.folders.get(path) == Some(&(stat.st_dev, stat.st_ino)) { since } else { Since::EVER }
    }

    /// Whether a file is the run's. What a person changed in the tick of the clock in which the run began is not, if nothing
    /// but its own name, which is read-only in the run, leads to it.
    pub(crate) fn is_new(&self, stat: &Stat, since: Since) -> bool {
        let before = || stat.st_nlink == 1 && self.files.contains(&(stat.st_dev, stat.st_ino, Since::changed(stat)));
        since.covers(stat) && (since == Since::EVER || !before())
    }
}
