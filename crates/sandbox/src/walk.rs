//! Walking a folder that a hostile program may be changing: by descriptors, never through a symbolic link, with bounds.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, openat, statat};

/// Deeper folders are reported, not entered: a walk holds one descriptor per level.
pub(crate) const DEPTH_MAX: usize = 400;

/// One entry of a walk.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    /// The folder it is in.
    pub(crate) dir: BorrowedFd<'a>,
    /// Its name there.
    pub(crate) name: &'a CStr,
    /// Its path below the start.
    pub(crate) path: &'a Path,
    pub(crate) kind: FileType,
}

impl Entry<'_> {
    pub(crate) fn name_bytes(&self) -> &[u8] {
        self.name.to_bytes()
    }

    /// Its metadata, not following a link; an error if it is gone by now or its folder is closed to us.
    pub(crate) fn stat(&self) -> rustix::io::Result<Stat> {
        statat(self.dir, self.name, AtFlags::SYMLINK_NOFOLLOW)
    }
}

/// What to do after an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Go on, into the entry if it is a folder.
    Enter,
    /// Go on, past the entry.
    Skip,
    /// End the walk.
    Stop,
}

/// What a walk could not see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Walked {
    pub(crate) ended: Ended,
    /// Folders that are closed to us.
    pub(crate) closed: Vec<PathBuf>,
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Everything was seen.
    Whole,
    /// A visitor stopped it.
    Stopped,
    /// Some folder was too deep to enter.
    TooDeep,
}

/// Calls `visit` for everything below `top`, parents first. What vanishes meanwhile is passed over.
pub(crate) fn walk(top: &Path, visit: &mut dyn FnMut(&Entry<'_>) -> Step) -> io::Result<Walked> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let fd = openat(CWD, top, flags, Mode::empty())?;
    let mut walk = Walk { visit, path: PathBuf::new(), too_deep: false, closed: Vec::new() };
    let ended = match walk.folder(&fd, 0)? {
        Step::Stop => Ended::Stopped,
        Step::Enter | Step::Skip if walk.too_deep => Ended::TooDeep,
        Step::Enter | Step::Skip => Ended::Whole,
    };
    Ok(Walked { ended, closed: walk.closed })
}

struct Walk<'v> {
    visit: &'v mut dyn FnMut(&Entry<'_>) -> Step,
    path: PathBuf,
    too_deep: bool,
    closed: Vec<PathBuf>,
}

impl Walk<'_> {
    fn folder(&mut self, fd: &OwnedFd, depth: usize) -> io::Result<Step> {
        let Ok(entries) = Dir::read_from(fd) else {
            return Ok(Step::Enter);
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            self.path.push(OsStr::from_bytes(name.to_bytes()));
            let step = self.one(fd, name, entry.file_type(), depth)?;
            self.path.pop();
            if step == Step::Stop {
                return Ok(Step::Stop);
            }
        }
        Ok(Step::Enter)
    }

    fn one(&mut self, fd: &OwnedFd, name: &CStr, kind: FileType, depth: usize) -> io::Result<Step> {
        let kind = if kind == FileType::Unknown {
            match statat(fd, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(_) => return Ok(Step::Skip),
            }
        } else {
            kind
        };
        let entry = Entry { dir: fd.as_fd(), name, path: &self.path, kind };
        let step = (self.visit)(&entry);
        if step != Step::Enter || kind != FileType::Directory {
            return Ok(step);
        }
        if depth >= DEPTH_MAX {
            self.too_deep = true;
            return Ok(Step::Skip);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match openat(fd, name, flags, Mode::empty()) {
            Ok(inner) => self.folder(&inner, depth + 1),
            Err(rustix::io::Errno::ACCESS) => {
                self.closed.push(self.path.clone());
                Ok(Step::Skip)
            }
            // Gone or replaced meanwhile.
            Err(_) => Ok(Step::Skip),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(top: &Path) -> Vec<String> {
        let mut found = Vec::new();
        walk(top, &mut |entry| {
            found.push(entry.path.display().to_string());
            Step::Enter
        })
        .expect("walks");
        found.sort();
        found
    }

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("tripwire-walk-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a folder");
        dir
    }

    #[test]
    fn links_are_seen_but_not_followed() {
        let dir = scratch("links");
        fs::create_dir_all(dir.join("a/b")).expect("folders");
        std::os::unix::fs::symlink("/etc", dir.join("a/out")).expect("a link");
        assert_eq!(names(&dir), ["a", "a/b", "a/out"]);
        fs::remove_dir_all(&dir).expect("clean");
    }

    #[test]
    fn a_chain_of_folders_beyond_the_bound_is_reported() {
        let dir = scratch("deep");
        let deep: PathBuf = (0..=DEPTH_MAX + 2).map(|_| "d").collect();
        fs::create_dir_all(dir.join(&deep)).expect("folders");
        assert_eq!(walk(&dir, &mut |_| Step::Enter).expect("walks").ended, Ended::TooDeep);
        assert_eq!(walk(&dir, &mut |_| Step::Skip).expect("walks").ended, Ended::Whole);
        fs::remove_dir_all(&dir).expect("clean");
    }
}
