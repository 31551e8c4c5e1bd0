//! Walking a folder that a hostile program may be changing: by descriptors, never through a symbolic link, with bounds.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, chmodat, fstat, openat, statat};
use rustix::io::Errno;

/// Deeper folders are reported, not entered. More than the files that a run may make by default, so one run cannot dig so deep.
const DEPTH_MAX: usize = 16_384;
/// A walk holds a descriptor for each of so many levels; further up it finds its way back by `..` and by number.
const HELD_MAX: usize = 128;
/// A walk that takes longer is given up and says so.
const TIME_MAX: Duration = Duration::from_secs(60);
/// What an owner needs to look into a folder of his and to take something out of it.
pub(crate) const OWNER_ALL: u32 = 0o700;

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

/// A folder that was just opened.
#[derive(Debug)]
pub(crate) struct Folder<'a> {
    pub(crate) dir: BorrowedFd<'a>,
    /// Its path below the start.
    pub(crate) path: &'a Path,
    names: &'a [(CString, FileType)],
}

impl Folder<'_> {
    /// Whether git would make a repository of it and keep what is there: `git init` does so in a folder of this name.
    pub(crate) fn is_named_as_one(&self) -> bool {
        self.path.ends_with(".git")
    }

    /// Whether git would take it for a repository: it has a `HEAD`, or `objects` where several share one, folder or link.
    /// That finds bare ones too.
    pub(crate) fn is_repository(&self) -> bool {
        self.names.iter().any(|(name, kind)| match name.to_bytes() {
            b"HEAD" => *kind != FileType::Directory,
            b"objects" => *kind != FileType::RegularFile,
            _ => false,
        })
    }
}

/// What to do after an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkStep {
    /// Go on, into the entry if it is a folder.
    Enter,
    /// Go on, past the entry.
    Skip,
    /// End the walk.
    #[cfg_attr(not(test), expect(dead_code, reason = "every walk of today sees all"))]
    Stop,
}

/// What is done on a walk.
pub(crate) trait Visit {
    /// A folder was opened; its entries come next.
    fn folder(&mut self, folder: &Folder<'_>);

    /// One entry.
    fn entry(&mut self, entry: &Entry<'_>) -> WalkStep;
}

/// What a walk could not see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Walked {
    pub(crate) ended: WalkEnd,
    /// Folders that are closed to us.
    pub(crate) closed: Vec<PathBuf>,
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkEnd {
    /// Everything was seen.
    Whole,
    /// A visitor stopped it.
    Stopped,
    /// Some folder was too deep to enter, was moved away meanwhile, or the time was over.
    Cut,
}

/// Calls `visit` for everything below `top`, parents first. What vanishes meanwhile is passed over.
pub(crate) fn walk(top: &Path, visit: &mut dyn FnMut(&Entry<'_>) -> WalkStep) -> io::Result<Walked> {
    struct EntriesOnly<'v>(&'v mut dyn FnMut(&Entry<'_>) -> WalkStep);
    impl Visit for EntriesOnly<'_> {
        fn folder(&mut self, _folder: &Folder<'_>) {}

        fn entry(&mut self, entry: &Entry<'_>) -> WalkStep {
            (self.0)(entry)
        }
    }
    walk_with(top, &mut EntriesOnly(visit))
}

/// The same for a visitor that wants to see the folders as well.
pub(crate) fn walk_with(top: &Path, visit: &mut dyn Visit) -> io::Result<Walked> {
    bounded(top, visit, DEPTH_MAX)
}

fn bounded(top: &Path, visit: &mut dyn Visit, depth_max: usize) -> io::Result<Walked> {
    let fd = openat(CWD, top, folder_flags(), Mode::empty())?;
    let mut walk = Walk { visit, depth_max, path: PathBuf::new(), cut: WalkEnd::Whole, closed: Vec::new() };
    let ended = walk.run(fd, Instant::now() + TIME_MAX);
    Ok(Walked { ended, closed: walk.closed })
}

/// Gives us all rights on a folder of our own that was closed; never through a link.
pub(crate) fn open_up(dir: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(dir, name, flags, Mode::empty())?;
    let mode = Mode::from_raw_mode(fstat(&folder)?.st_mode & 0o7777 | OWNER_ALL);
    Ok(chmodat(CWD, format!("/proc/self/fd/{}", folder.as_raw_fd()), mode, AtFlags::empty())?)
}

pub(crate) fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW
}

struct Walk<'v> {
    visit: &'v mut dyn Visit,
    depth_max: usize,
    path: PathBuf,
    cut: WalkEnd,
    closed: Vec<PathBuf>,
}

/// A folder on the way down.
struct Level {
    /// Held while it is the last one, and always near the top.
    fd: Option<OwnedFd>,
    identity: (u64, u64),
    entries: std::vec::IntoIter<(CString, FileType)>,
}

/// Where an entry leads.
enum Next {
    Past,
    Into(OwnedFd),
    Stop,
}

impl Walk<'_> {
    fn run(&mut self, top: OwnedFd, deadline: Instant) -> WalkEnd {
        let mut levels = vec![self.open(top)];
        loop {
            let depth = levels.len();
            let Some(level) = levels.last_mut() else { return self.cut };
            let Some(fd) = &level.fd else { return WalkEnd::Cut };
            let Some((name, kind)) = level.entries.next() else {
                let done = levels.pop();
                self.path.pop();
                if let (Some(done), Some(above)) = (done, levels.last_mut()) {
                    above.take_hold(&done);
                }
                continue;
            };
            if Instant::now() > deadline {
                return WalkEnd::Cut;
            }
            self.path.push(OsStr::from_bytes(name.to_bytes()));
            match self.one(fd, &name, kind, depth) {
                Next::Into(inner) => {
                    if depth > HELD_MAX {
                        level.fd = None;
                    }
                    let inner = self.open(inner);
                    levels.push(inner);
                }
                Next::Past => {
                    self.path.pop();
                }
                Next::Stop => return WalkEnd::Stopped,
            }
        }
    }

    /// Lists a folder whole before anything is done in it.
    fn open(&mut self, fd: OwnedFd) -> Level {
        let mut names = Vec::new();
        match Dir::read_from(&fd) {
            Ok(entries) => {
                for entry in entries {
                    match entry {
                        Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
                        Ok(entry) => names.push((entry.file_name().to_owned(), entry.file_type())),
                        // A folder that was removed meanwhile holds nothing.
                        Err(Errno::NOENT) => break,
                        Err(_) => {
                            self.cut = WalkEnd::Cut;
                            break;
                        }
                    }
                }
            }
            // It can be listed but not entered.
            Err(Errno::ACCESS) => self.closed.push(self.path.clone()),
            Err(Errno::NOENT) => {}
            Err(_) => self.cut = WalkEnd::Cut,
        }
        self.visit.folder(&Folder { dir: fd.as_fd(), path: &self.path, names: &names });
        let identity = fstat(&fd).map_or((0, 0), |stat| (stat.st_dev, stat.st_ino));
        Level { fd: Some(fd), identity, entries: names.into_iter() }
    }

    fn one(&mut self, fd: &OwnedFd, name: &CStr, kind: FileType, depth: usize) -> Next {
        let kind = if kind == FileType::Unknown {
            match statat(fd, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(_) => return Next::Past,
            }
        } else {
            kind
        };
        let entry = Entry { dir: fd.as_fd(), name, path: &self.path, kind };
        match self.visit.entry(&entry) {
            WalkStep::Enter if kind == FileType::Directory => {}
            WalkStep::Enter | WalkStep::Skip => return Next::Past,
            WalkStep::Stop => return Next::Stop,
        }
        if depth > self.depth_max {
            self.cut = WalkEnd::Cut;
            return Next::Past;
        }
        match openat(fd, name, folder_flags(), Mode::empty()) {
            Ok(inner) => return Next::Into(inner),
            Err(Errno::ACCESS) => self.closed.push(self.path.clone()),
            // Gone or replaced meanwhile.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(_) => self.cut = WalkEnd::Cut,
        }
        Next::Past
    }
}

impl Level {
    /// Opens this folder again from the one below it, if it was let go and is still the same.
    fn take_hold(&mut self, below: &Self) {
        let Some(from) = below.fd.as_ref().filter(|_| self.fd.is_none()) else { return };
        let found = openat(from, "..", folder_flags(), Mode::empty()).ok();
        let same = |fd: &OwnedFd| fstat(fd).is_ok_and(|stat| (stat.st_dev, stat.st_ino) == self.identity);
        self.fd = found.filter(same);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use std::fs;

    fn names(top: &Path) -> Vec<String> {
        let mut found = Vec::new();
        walk(top, &mut |entry| {
            found.push(entry.path.display().to_string());
            WalkStep::Enter
        })
        .expect("walks");
        found.sort();
        found
    }

    #[test]
    fn links_are_seen_but_not_followed() {
        let dir = Scratch::new();
        fs::create_dir_all(dir.join("a/b")).expect("folders");
        std::os::unix::fs::symlink("/etc", dir.join("a/out")).expect("a link");
        assert_eq!(names(&dir), ["a", "a/b", "a/out"]);
    }

    /// Folders in each other, made one by one because the path is longer than any call takes.
    fn dig(dir: &Path, depth: usize) {
        let mut fd = openat(CWD, dir, folder_flags(), Mode::empty()).expect("a folder");
        for _ in 0..depth {
            rustix::fs::mkdirat(&fd, "d", Mode::from_raw_mode(0o755)).expect("a folder");
            fd = openat(&fd, "d", folder_flags(), Mode::empty()).expect("a folder");
        }
    }

    #[test]
    fn a_chain_of_folders_is_seen_to_its_end_and_beyond_the_bound_it_is_reported() {
        struct Count(usize);
        impl Visit for Count {
            fn folder(&mut self, _folder: &Folder<'_>) {}

            fn entry(&mut self, _entry: &Entry<'_>) -> WalkStep {
                self.0 += 1;
                WalkStep::Enter
            }
        }
        let dir = Scratch::new();
        let depth = 4 * HELD_MAX;
        dig(&dir, depth);
        fs::write(dir.join("last"), "").expect("a file");
        let mut seen = Count(0);
        let whole = walk_with(&dir, &mut seen).expect("walks");
        assert_eq!((whole.ended, seen.0), (WalkEnd::Whole, depth + 1));
        assert_eq!(bounded(&dir, &mut Count(0), depth - 1).expect("walks").ended, WalkEnd::Cut);
        assert_eq!(walk(&dir, &mut |_| WalkStep::Skip).expect("walks").ended, WalkEnd::Whole);
        assert_eq!(walk(&dir, &mut |_| WalkStep::Stop).expect("walks").ended, WalkEnd::Stopped);
    }
}
