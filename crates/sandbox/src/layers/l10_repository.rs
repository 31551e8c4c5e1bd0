//! Layer 10, one repository: what git would run or obey there and what is done with it.
//!
//! Everything is relative to an open folder, so that another run in the same workspace cannot lead us elsewhere.

use std::ffi::{CString, OsStr};
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fchmod, fstat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use crate::outcome::{Finding, FindingFate, FindingKind};
use crate::walk::{OWNER_ALL, folder_flags, open_up};

use super::l10_config::is_plain;
use super::l10_known::{Known, Since, is_sample};

const EXECUTE: u32 = 0o111;
/// A file beyond this size is not read but moved aside.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
const QUARANTINE_SUFFIX: &str = ".quarantined-by-tripwire";
/// So many other names are tried if the first one is taken.
const ASIDE_MAX: usize = 64;
/// The folders that hold the steps of something unfinished, each with the file that lists them.
const STEPS: [(&str, &str); 3] =
    [("rebase-merge", "git-rebase-todo"), ("rebase-apply", "git-rebase-todo"), ("sequencer", "todo")];

/// The look at one repository.
#[derive(Debug)]
pub(crate) struct Look<'a> {
    pub(crate) dir: BorrowedFd<'a>,
    /// Its path below the root that is scanned.
    pub(crate) path: &'a Path,
    pub(crate) known: &'a Known,
    /// What is new in it.
    pub(crate) since: Since,
    pub(crate) findings: &'a mut Vec<Finding>,
}

impl Look<'_> {
    /// Makes harmless whatever is new and armed.
    pub(crate) fn look(mut self) {
        // A worktree's folder points to its repository by this file; everything else would replace configuration and hooks.
        let worktree = self.path.parent().is_some_and(|parent| parent.ends_with("worktrees"));
        let pointer = if worktree { Content::Pointer } else { Content::Nothing };
        for (name, plain) in [("config", Content::Config), ("config.worktree", Content::Config), ("commondir", pointer)]
        {
            let done = self.quarantine(self.dir, name, self.since, plain);
            self.tell(FindingKind::GitConfig, Path::new(name), done);
        }
        for (folder, list) in STEPS {
            let Some((steps, since)) = self.folder(folder, FindingKind::GitConfig) else { continue };
            let done = self.quarantine(steps.as_fd(), list, since, Content::Todo);
            self.tell(FindingKind::GitConfig, &Path::new(folder).join(list), done);
        }
        self.hooks();
    }

    fn hooks(&mut self) {
        let Some((hooks, since)) = self.folder("hooks", FindingKind::GitHook) else { return };
        for entry in Dir::read_from(&hooks).into_iter().flatten().flatten() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_os_string();
            let Ok(stat) = statat(&hooks, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let kind = FileType::from_raw_mode(stat.st_mode);
            let exempt = is_sample(name.as_bytes()) || kind == FileType::Directory || is_whiteout(&stat);
            if exempt || !self.known.is_new(&stat, since) {
                continue;
            }
            let done = disarm_hook(hooks.as_fd(), &name, &stat);
            self.tell(FindingKind::GitHook, &Path::new("hooks").join(&name), done);
        }
    }

    /// Opens a folder of the repository, and says what is new in it. A new link in its place is removed: it would take what
    /// git runs from anywhere.
    fn folder(&mut self, name: &str, kind: FindingKind) -> Option<(OwnedFd, Since)> {
        let stat = statat(self.dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let since = self.known.new_in(&self.path.join(name), &stat, self.since);
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink if since.covers(&stat) => {
                let done = remove(self.dir, OsStr::new(name)).map(|()| Some("link removed".to_owned()));
                self.tell(kind, Path::new(name), done);
                None
            }
            FileType::Directory => match open_folder(self.dir, name) {
                Ok(folder) => Some((folder, since)),
                Err(error) => {
                    self.tell(kind, Path::new(name), Err(error));
                    None
                }
            },
            FileType::Symlink
            | FileType::RegularFile
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => None,
        }
    }

    /// Moves a new file aside if it holds anything that git would execute or include.
    fn quarantine(
        &self,
        dir: BorrowedFd<'_>,
        name: &str,
        since: Since,
        content: Content,
    ) -> io::Result<Option<String>> {
        let stat = match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if !is_whiteout(&stat) && self.known.is_new(&stat, since) => stat,
            Ok(_) | Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let readable = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
            && u64::try_from(stat.st_size).is_ok_and(|size| size <= FILE_BYTES_MAX);
        if readable {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = openat(dir, name, flags, Mode::empty()).ok().map(fs::File::from);
            let text = file.and_then(|file| io::read_to_string(file).ok());
            if text.is_some_and(|text| content.allows(&text)) {
                return Ok(None);
            }
        }
        set_aside(dir, name).map(Some)
    }

    fn tell(&mut self, kind: FindingKind, name: &Path, done: io::Result<Option<String>>) {
        let (action, fate) = match done {
            Ok(None) => return,
            Ok(Some(action)) => (action, FindingFate::Disarmed),
            Err(error) => (format!("could not be made harmless: {error}"), FindingFate::StillArmed),
        };
        self.findings.push(Finding { kind, path: self.path.join(name), action, fate });
    }
}

/// A folder, opened up if a command closed it.
fn open_folder(dir: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
    let open = || openat(dir, name, folder_flags(), Mode::empty());
    match open() {
        Err(Errno::ACCESS) => {
            open_up(dir, &CString::new(name)?)?;
            Ok(open()?)
        }
        result => Ok(result?),
    }
}

/// Acts in a folder; if it is closed for writing, it is opened first, because it is our own.
fn in_writable<T>(dir: BorrowedFd<'_>, act: impl Fn() -> rustix::io::Result<T>) -> io::Result<T> {
    match act() {
        Err(Errno::ACCESS) => {
            fchmod(dir, Mode::from_raw_mode(fstat(dir)?.st_mode & 0o7777 | OWNER_ALL))?;
            Ok(act()?)
        }
        result => Ok(result?),
    }
}

fn remove(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    in_writable(dir, || unlinkat(dir, name, AtFlags::empty()))
}

/// Takes mode bits away from a regular file, never through a link.
pub(crate) fn change_mode(dir: BorrowedFd<'_>, name: &OsStr, bits: u32) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(dir, name, flags, Mode::empty()) {
        Ok(file) => file,
        // A file without read permission cannot be opened; it is removed instead of left armed.
        Err(Errno::ACCESS) => return remove(dir, name),
        Err(errno) => return Err(errno.into()),
    };
    let stat = fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(());
    }
    Ok(fchmod(&file, Mode::from_raw_mode(stat.st_mode & 0o7777 & !bits))?)
}

fn disarm_hook(dir: BorrowedFd<'_>, name: &OsStr, stat: &Stat) -> io::Result<Option<String>> {
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        remove(dir, name)?;
        return Ok(Some("removed".to_owned()));
    }
    if stat.st_mode & EXECUTE == 0 {
        // Git passes over it, until somebody makes it executable: the reader of the findings should know.
        return Ok(Some("not executable, left as it is".to_owned()));
    }
    change_mode(dir, name, EXECUTE)?;
    Ok(Some("made not executable".to_owned()))
}

/// An overlay's mark that something of the base is gone: nothing is there.
fn is_whiteout(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == 0
}

/// What a file that git obeys may hold without being moved aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// A configuration that makes git run or include nothing.
    Config,
    /// The way from a worktree's folder to its repository, as git writes it.
    Pointer,
    /// Steps of a rebase that run no command.
    Todo,
    /// Nothing: the file has no business there.
    Nothing,
}

impl Content {
    fn allows(self, text: &str) -> bool {
        match self {
            Self::Config => is_plain(text),
            Self::Pointer => text.trim_end() == "../..",
            Self::Todo => !text.lines().any(|line| matches!(line.split_whitespace().next(), Some("exec" | "x"))),
            Self::Nothing => false,
        }
    }
}

/// Gives the file a name that git does not look for; if every such name is taken, the file goes.
fn set_aside(dir: BorrowedFd<'_>, name: &str) -> io::Result<String> {
    for count in 0..ASIDE_MAX {
        let aside = if count == 0 {
            format!("{name}{QUARANTINE_SUFFIX}")
        } else {
            format!("{name}{QUARANTINE_SUFFIX}-{count}")
        };
        let taken = statat(dir, aside.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok();
        if !taken && in_writable(dir, || renameat(dir, name, dir, aside.as_str())).is_ok() {
            return Ok(format!("moved to `{aside}`"));
        }
    }
    remove(dir, OsStr::new(name)).map(|()| "removed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn box_1_pointers_and_rebase_steps_are_judged_by_what_they_hold() {
        assert!(Content::Pointer.allows("../..\n") && !Content::Pointer.allows("../../../evil\n"));
        assert!(Content::Todo.allows("pick 1234 text that says exec\nfixup 99\n"));
        assert!(!Content::Todo.allows("pick 1\n  exec ./evil\n") && !Content::Todo.allows("x ./evil\n"));
        assert!(!Content::Nothing.allows(""));
    }

    #[test]
    fn box_1_with_every_other_name_taken_the_file_is_removed() {
        let top = Scratch::new();
        fs::write(top.join("config"), "[core]\nfsmonitor = x\n").expect("a file");
        for count in 0..ASIDE_MAX {
            let end = if count == 0 { String::new() } else { format!("-{count}") };
            fs::create_dir_all(top.join(format!("config{QUARANTINE_SUFFIX}{end}/x"))).expect("in the way");
        }
        let dir = fs::File::open(top.path()).expect("a folder");
        assert_eq!(set_aside(dir.as_fd(), "config").expect("done"), "removed");
        assert!(!top.join("config").exists());
    }
}
