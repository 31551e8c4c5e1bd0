//! Layer 10: the look at the workspace after the run, for what a command may have planted for others.
//!
//! The known places are read-only during the run. This scan is for places that did not exist then: hooks, configurations
//! and rebase steps of git repositories that were made below the workspace, and set-id files that slipped past the filter.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, chmodat, fchmod, openat, openat2, renameat, statat, unlinkat,
};

use crate::outcome::{Finding, FindingKind};
use crate::sys;
use crate::walk::{Ended, Step, walk};

const SET_ID: u32 = 0o6000;
const EXECUTE: u32 = 0o111;
const OWNER_READS: u32 = 0o500;
const OWNER_ALL: u32 = 0o700;
/// A git configuration beyond this size is not read but quarantined.
const CONFIG_BYTES_MAX: u64 = 1024 * 1024;
/// What `git rebase --continue` carries out.
const REBASE_TODO: &str = "git-rebase-todo";
const QUARANTINE_SUFFIX: &str = ".quarantined-by-tripwire";

/// Only what changed since the run began is looked at twice; the status-change time cannot be set by a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Since {
    pub(crate) seconds: i64,
    pub(crate) nanos: i64,
}

impl Since {
    /// Whether a file was touched at or after this moment.
    pub(crate) fn covers(self, stat: &Stat) -> bool {
        let changed = Self { seconds: stat.st_ctime, nanos: i64::try_from(stat.st_ctime_nsec).unwrap_or(i64::MAX) };
        changed >= self
    }
}

/// Looks through one writable root and makes harmless what it finds.
pub(crate) fn scan(root: &Path, since: Since) -> io::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut repositories: Vec<PathBuf> = Vec::new();
    let walked = walk(root, &mut |entry| {
        let Ok(stat) = entry.stat() else {
            return Step::Enter;
        };
        let closed = stat.st_mode & OWNER_READS != OWNER_READS;
        if entry.kind == FileType::Directory && closed && since.covers(&stat) {
            // A folder that cannot be listed can still hold a repository that git finds by name.
            let mode = Mode::from_raw_mode(stat.st_mode & 0o7777 | OWNER_ALL);
            sys::best_effort(chmodat(entry.dir, entry.name, mode, AtFlags::empty()));
        }
        if entry.kind == FileType::RegularFile && stat.st_mode & SET_ID != 0 && since.covers(&stat) {
            findings.push(clear_set_id(entry.dir, OsStr::from_bytes(entry.name_bytes()), entry.path));
        }
        // A repository is known by its `HEAD`, or by its `objects` where several share one, folder or link; that finds bare
        // ones too.
        let head = entry.name_bytes() == b"HEAD" && entry.kind != FileType::Directory;
        let objects = entry.name_bytes() == b"objects" && entry.kind != FileType::RegularFile;
        if head || objects {
            repositories.extend(entry.path.parent().map(Path::to_path_buf));
        }
        Step::Enter
    })?;
    if walked.ended == Ended::TooDeep {
        return Err(io::Error::other("folders are nested too deep to be looked into"));
    }
    repositories.sort();
    repositories.dedup();
    for repository in repositories {
        look_into_repository(root, &repository, since, &mut findings);
    }
    Ok(findings)
}

fn clear_set_id(dir: BorrowedFd<'_>, name: &OsStr, path: &Path) -> Finding {
    let cleared = change_mode(dir, name, SET_ID);
    let action = match cleared {
        Ok(()) => "set-id bits removed".to_owned(),
        Err(error) => format!("set-id bits could not be removed: {error}"),
    };
    Finding { kind: FindingKind::SetId, path: path.to_path_buf(), action }
}

/// Takes mode bits away from a regular file, never through a link.
fn change_mode(dir: BorrowedFd<'_>, name: &OsStr, bits: u32) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(dir, name, flags, Mode::empty()) {
        Ok(file) => file,
        // A file without read permission cannot be opened; it is removed instead of left armed.
        Err(rustix::io::Errno::ACCESS) => return Ok(unlinkat(dir, name, AtFlags::empty())?),
        Err(errno) => return Err(errno.into()),
    };
    let stat = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(());
    }
    Ok(fchmod(&file, Mode::from_raw_mode(stat.st_mode & 0o7777 & !bits))?)
}

fn look_into_repository(root: &Path, repository: &Path, since: Since, findings: &mut Vec<Finding>) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Some(dir) = open_below(root, repository) else {
        return;
    };
    // A worktree's folder points to its repository by this file; everything else would replace configuration and hooks.
    let worktree = repository.parent().is_some_and(|parent| parent.ends_with("worktrees"));
    let pointer = if worktree { Content::Pointer } else { Content::Nothing };
    for (name, plain) in [("config", Content::Config), ("config.worktree", Content::Config), ("commondir", pointer)] {
        if let Some(action) = quarantine(dir.as_fd(), name, since, plain) {
            findings.push(Finding { kind: FindingKind::GitConfig, path: repository.join(name), action });
        }
    }
    if let Ok(rebase) = openat(&dir, "rebase-merge", flags, Mode::empty())
        && let Some(action) = quarantine(rebase.as_fd(), REBASE_TODO, since, Content::Todo)
    {
        let path = repository.join("rebase-merge").join(REBASE_TODO);
        findings.push(Finding { kind: FindingKind::GitConfig, path, action });
    }
    let Ok(stat) = statat(&dir, "hooks", AtFlags::SYMLINK_NOFOLLOW) else {
        return;
    };
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink && since.covers(&stat) {
        // A link here would take its hooks from anywhere.
        let action = match unlinkat(&dir, "hooks", AtFlags::empty()) {
            Ok(()) => "link removed".to_owned(),
            Err(errno) => format!("link could not be removed: {errno}"),
        };
        findings.push(Finding { kind: FindingKind::GitHook, path: repository.join("hooks"), action });
        return;
    }
    let Ok(hooks) = openat(&dir, "hooks", flags, Mode::empty()) else {
        return;
    };
    let Ok(entries) = rustix::fs::Dir::read_from(&hooks) else {
        return;
    };
    for entry in entries.flatten() {
        let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_os_string();
        let sample = name.as_bytes().ends_with(b".sample");
        let Ok(stat) = statat(&hooks, &name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        if sample || kind == FileType::Directory || !since.covers(&stat) {
            continue;
        }
        let action = match disarm_hook(hooks.as_fd(), &name, kind, &stat) {
            Ok(Some(action)) => action.to_owned(),
            Ok(None) => continue,
            Err(error) => format!("could not be disarmed: {error}"),
        };
        findings.push(Finding { kind: FindingKind::GitHook, path: repository.join("hooks").join(name), action });
    }
}

fn disarm_hook(dir: BorrowedFd<'_>, name: &OsStr, kind: FileType, stat: &Stat) -> io::Result<Option<&'static str>> {
    if kind != FileType::RegularFile {
        unlinkat(dir, name, AtFlags::empty())?;
        return Ok(Some("removed"));
    }
    if stat.st_mode & EXECUTE == 0 {
        return Ok(None);
    }
    change_mode(dir, name, EXECUTE)?;
    Ok(Some("made not executable"))
}

/// A folder below the root by its path, where no component is a link: another run in the same workspace may be moving things.
fn open_below(root: &Path, path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top = openat(rustix::fs::CWD, root, flags | OFlags::NOFOLLOW, Mode::empty()).ok()?;
    if path == Path::new("") {
        return Some(top);
    }
    openat2(&top, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH).ok()
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
            Self::Config => config_is_plain(text),
            Self::Pointer => text.trim_end() == "../..",
            Self::Todo => !text.lines().any(|line| matches!(line.split_whitespace().next(), Some("exec" | "x"))),
            Self::Nothing => false,
        }
    }
}

/// Moves a new file aside if it holds anything that git would execute or include.
fn quarantine(dir: BorrowedFd<'_>, name: &str, since: Since, content: Content) -> Option<String> {
    let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if !since.covers(&stat) {
        return None;
    }
    let plain = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && u64::try_from(stat.st_size).is_ok_and(|size| size <= CONFIG_BYTES_MAX);
    if plain {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(dir, name, flags, Mode::empty()).ok().map(fs::File::from);
        let text = file.and_then(|file| io::read_to_string(file).ok());
        if text.is_some_and(|text| content.allows(&text)) {
            return None;
        }
    }
    Some(match renameat(dir, name, dir, format!("{name}{QUARANTINE_SUFFIX}")) {
        Ok(()) => format!("moved to `{name}{QUARANTINE_SUFFIX}`"),
        Err(errno) => format!("could not be moved aside: {errno}"),
    })
}

/// Whether every key of a git configuration is one that cannot make git run or read something else.
fn config_is_plain(text: &str) -> bool {
    const PLAIN_SECTIONS: [&str; 9] =
        ["branch", "user", "remote", "color", "init", "pull", "push", "extensions", "advice"];
    const PLAIN_CORE: [&str; 9] = [
        "repositoryformatversion",
        "filemode",
        "bare",
        "logallrefupdates",
        "ignorecase",
        "precomposeunicode",
        "symlinks",
        "autocrlf",
        "eol",
    ];
    const ARMED_REMOTE: [&str; 4] = ["uploadpack", "receivepack", "vcs", "proxy"];
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let mut rest = line;
        if let Some(head) = line.strip_prefix('[') {
            let Some((name, tail)) = head.split_once(']') else {
                return false;
            };
            section = name.split([' ', '"', '.']).next().unwrap_or_default().to_ascii_lowercase();
            rest = tail.trim();
            if rest.is_empty() {
                continue;
            }
        }
        let key = rest.split(['=', ' ', '\t']).next().unwrap_or_default().to_ascii_lowercase();
        // A line that goes on in the next one could hide a key.
        let plain = !rest.ends_with('\\')
            && !rest.contains("ext::")
            && match section.as_str() {
                "core" => PLAIN_CORE.contains(&key.as_str()),
                "remote" => !ARMED_REMOTE.contains(&key.as_str()),
                other => PLAIN_SECTIONS.contains(&other),
            };
        if !plain {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    const FRESH: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
                         [remote \"origin\"]\n\turl = https://example.org/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                         [branch \"main\"]\n\tremote = origin\n[user]\n\tname = a\n";

    #[test]
    fn a_fresh_configuration_is_plain() {
        assert!(config_is_plain(FRESH));
        assert!(config_is_plain(""));
    }

    #[test]
    fn keys_that_make_git_run_something_are_not_plain() {
        for line in [
            "[core]\nhooksPath = /x",
            "[core] fsmonitor = ./run",
            "[CORE]\nsshCommand = x",
            "[alias]\nst = !sh",
            "[filter \"x\"]\nclean = sh",
            "[include]\npath = ../evil",
            "[includeIf \"gitdir:x\"]\npath = y",
            "[remote \"o\"]\nuploadpack = sh",
            "[remote \"o\"]\nurl = ext::sh -c x",
            "[diff \"x\"]\ntextconv = sh",
            "[credential]\nhelper = !sh",
            "[core]\nbare = \\\nfalse",
            "[core",
            "../evil",
        ] {
            assert!(!config_is_plain(line), "{line}");
        }
    }

    #[test]
    fn pointers_and_rebase_steps_are_judged_by_what_they_hold() {
        assert!(Content::Pointer.allows("../..\n") && !Content::Pointer.allows("../../../evil\n"));
        assert!(Content::Todo.allows("pick 1234 text that says exec\nfixup 99\n"));
        assert!(!Content::Todo.allows("pick 1\n  exec ./evil\n") && !Content::Todo.allows("x ./evil\n"));
        assert!(!Content::Nothing.allows(""));
    }

    #[test]
    fn planted_hooks_are_disarmed_and_old_ones_are_left_alone() {
        let top = std::env::temp_dir().join(format!("tripwire-scan-{}", std::process::id()));
        let git = top.join("nested/.git");
        fs::create_dir_all(git.join("hooks")).expect("folders");
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("HEAD");
        fs::write(git.join("config"), "[core]\nfsmonitor = x\n").expect("config");
        let hook = git.join("hooks/pre-commit");
        fs::write(&hook, "#!/bin/sh\n").expect("a hook");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("mode");
        let future = Since { seconds: i64::MAX, nanos: 0 };
        assert!(scan(&top, future).expect("scans").is_empty());
        let found = scan(&top, Since { seconds: 0, nanos: 0 }).expect("scans");
        let kinds: Vec<_> = found.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, [FindingKind::GitConfig, FindingKind::GitHook]);
        assert_eq!(fs::metadata(&hook).expect("still there").permissions().mode() & 0o111, 0);
        assert!(!git.join("config").exists());
        fs::remove_dir_all(&top).expect("clean");
    }
}
