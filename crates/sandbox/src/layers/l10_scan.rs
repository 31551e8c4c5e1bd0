//! Layer 10: the look at the workspace after the run, for what a command may have planted for others.
//!
//! The known places are read-only during the run. This scan is for places that did not exist then: hooks, configurations
//! and rebase steps of git repositories that were made below the workspace (`l10_repository.rs`), and set-id files that
//! slipped past the filter. What could not be looked at or made harmless is said, and the run counts as failed.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, statat};
use rustix::io::Errno;

use crate::outcome::{Finding, FindingFate, FindingKind};
use crate::walk::{Entry, Folder, Visit, WalkEnd, WalkStep, open_up, walk_with};

use super::l10_known::{Known, Since};
use super::l10_repository::{Look, change_mode};

const SET_ID: u32 = 0o6000;
const OWNER_READS: u32 = 0o500;

/// One folder that the command could write to.
#[derive(Debug)]
pub(crate) struct Ground<'a> {
    pub(crate) root: &'a Path,
    /// What lies below it, if it is the upper folder of an overlay: repositories are recognised in both.
    pub(crate) base: Option<&'a Path>,
    pub(crate) known: &'a Known,
    pub(crate) since: Since,
}

/// What a scan found, and what it could not see.
#[derive(Debug, Default)]
pub(crate) struct Scanned {
    pub(crate) findings: Vec<Finding>,
    pub(crate) unseen: Option<String>,
}

/// Looks through one writable root and makes harmless what it finds.
pub(crate) fn scan(ground: &Ground<'_>) -> io::Result<Scanned> {
    let base = ground.base.map(|base| openat(CWD, base, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())).transpose()?;
    let mut scan = Scan { ground, base, found: Scanned::default() };
    let walked = walk_with(ground.root, &mut scan)?;
    let mut found = scan.found;
    if walked.ended == WalkEnd::Cut {
        found.unseen = Some("folders are too deep or too many to be looked into".to_owned());
    }
    Ok(found)
}

struct Scan<'a> {
    ground: &'a Ground<'a>,
    base: Option<OwnedFd>,
    found: Scanned,
}

impl Visit for Scan<'_> {
    fn folder(&mut self, folder: &Folder<'_>) {
        let below = self.base.as_ref().is_some_and(|base| is_repository_in(base, folder.path));
        if !folder.is_repository() && !folder.is_named_as_one() && !below {
            return;
        }
        let Ok(stat) = fstat(folder.dir) else { return };
        let since = self.ground.known.new_in(folder.path, &stat, self.ground.since);
        Look {
            dir: folder.dir,
            path: folder.path,
            known: self.ground.known,
            since,
            findings: &mut self.found.findings,
        }
        .look();
    }

    fn entry(&mut self, entry: &Entry<'_>) -> WalkStep {
        let Ok(stat) = entry.stat() else { return WalkStep::Enter };
        if !self.ground.since.covers(&stat) {
            return WalkStep::Enter;
        }
        if entry.kind == FileType::Directory && stat.st_mode & OWNER_READS != OWNER_READS {
            // A folder that cannot be listed can still hold a repository that git finds by name.
            if let Err(error) = open_up(entry.dir, entry.name) {
                self.found.unseen = Some(format!("`{}` stays closed: {error}", entry.path.display()));
            }
        }
        if entry.kind == FileType::RegularFile && stat.st_mode & SET_ID != 0 {
            self.found.findings.push(clear_set_id(entry.dir, OsStr::from_bytes(entry.name_bytes()), entry.path));
        }
        WalkStep::Enter
    }
}

/// Whether the folder below is a repository; what cannot be asked is taken for one.
fn is_repository_in(base: &OwnedFd, path: &Path) -> bool {
    let path = if path == Path::new("") { Path::new(".") } else { path };
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    let dir = match openat2(base, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty(), resolve) {
        Ok(dir) => dir,
        Err(errno) => return !matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP),
    };
    ["HEAD", "objects"].iter().any(|name| statat(&dir, *name, AtFlags::SYMLINK_NOFOLLOW).is_ok())
}

fn clear_set_id(dir: BorrowedFd<'_>, name: &OsStr, path: &Path) -> Finding {
    let (action, fate) = match change_mode(dir, name, SET_ID) {
        Ok(()) => ("set-id bits removed".to_owned(), FindingFate::Disarmed),
        Err(error) => (format!("set-id bits could not be removed: {error}"), FindingFate::StillArmed),
    };
    Finding { kind: FindingKind::SetId, path: path.to_path_buf(), action, fate }
}

#[cfg(test)]
mod tests {
    use super::super::l10_known::ARMING_FOLDERS;
    use super::*;
    use crate::scratch::Scratch;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::PathBuf;

    const FUTURE: Since = Since { seconds: i64::MAX, nanos: 0 };

    fn repository() -> (Scratch, PathBuf) {
        let top = Scratch::new();
        let git = top.join("nested/.git");
        fs::create_dir_all(git.join("hooks")).expect("folders");
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("HEAD");
        fs::write(git.join("config"), "[core]\nfsmonitor = x\n").expect("config");
        hook(&git.join("hooks/pre-commit"));
        (top, git)
    }

    fn hook(path: &Path) {
        fs::write(path, "#!/bin/sh\n").expect("a hook");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("mode");
    }

    fn look(top: &Path, known: &Known, since: Since) -> Scanned {
        scan(&Ground { root: top, base: None, known, since }).expect("scans")
    }

    fn kinds(found: &Scanned) -> Vec<FindingKind> {
        assert!(found.findings.iter().all(|finding| finding.fate == FindingFate::Disarmed), "{found:?}");
        found.findings.iter().map(|finding| finding.kind).collect()
    }

    fn known(top: &Path) -> Known {
        struct Noting(Known);
        impl Visit for Noting {
            fn folder(&mut self, folder: &Folder<'_>) {
                if folder.is_repository() {
                    self.0.note(folder.dir, folder.path);
                }
            }

            fn entry(&mut self, _entry: &Entry<'_>) -> WalkStep {
                WalkStep::Enter
            }
        }
        let mut noting = Noting(Known::default());
        walk_with(top, &mut noting).expect("walks");
        noting.0
    }

    #[test]
    fn box_1_planted_hooks_are_disarmed_and_old_ones_are_left_alone() {
        let (top, git) = repository();
        let before = known(&top);
        assert!(look(&top, &before, FUTURE).findings.is_empty(), "a person's own repository is left alone");
        let found = look(&top, &before, Since::EVER);
        assert_eq!(kinds(&found), [FindingKind::GitConfig, FindingKind::GitHook]);
        assert_eq!(fs::metadata(git.join("hooks/pre-commit")).expect("still there").permissions().mode() & 0o111, 0);
        assert!(!git.join("config").exists());
    }

    #[test]
    fn box_1_a_hook_that_is_not_executable_yet_is_named_in_a_new_repository_and_samples_are_not() {
        let (top, git) = repository();
        fs::write(git.join("config"), "[core]\n\tbare = false\n").expect("config");
        fs::set_permissions(git.join("hooks/pre-commit"), fs::Permissions::from_mode(0o644)).expect("mode");
        hook(&git.join("hooks/pre-push.sample"));
        let found = look(&top, &Known::default(), Since::EVER);
        assert_eq!(kinds(&found), [FindingKind::GitHook]);
        assert!(found.findings[0].action.contains("not executable"), "{found:?}");
    }

    #[test]
    fn box_1_what_a_person_changed_as_the_run_began_is_not_the_runs() {
        let (top, git) = repository();
        let moment = Since { seconds: 0, nanos: 0 };
        let before = known(&top);
        assert!(look(&top, &before, moment).findings.is_empty(), "both were there, and nobody touched them");
        fs::write(top.join("new"), "[core]\nfsmonitor = y\n").expect("a file");
        fs::rename(top.join("new"), git.join("config")).expect("rename");
        hook(&git.join("hooks/post-commit"));
        assert_eq!(kinds(&look(&top, &before, moment)), [FindingKind::GitConfig, FindingKind::GitHook]);
        fs::hard_link(git.join("hooks/pre-commit"), top.join("other")).expect("a link");
        let before = known(&top);
        let found = look(&top, &before, moment);
        assert_eq!(kinds(&found), [FindingKind::GitHook], "another name can be written to");
    }

    #[test]
    fn box_1_what_became_a_repository_or_a_folder_of_hooks_is_read_whatever_its_age() {
        let (top, git) = repository();
        fs::remove_file(git.join("HEAD")).expect("no repository yet");
        let before = known(&top);
        assert!(before.folders.is_empty(), "{before:?}");
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("HEAD");
        assert_eq!(kinds(&look(&top, &before, FUTURE)), [FindingKind::GitConfig, FindingKind::GitHook]);
        fs::create_dir(git.join("hooks_")).expect("a folder");
        hook(&git.join("hooks_/pre-commit"));
        let before = known(&top);
        fs::remove_dir_all(git.join("hooks")).expect("remove");
        fs::rename(git.join("hooks_"), git.join("hooks")).expect("rename");
        assert_eq!(kinds(&look(&top, &before, FUTURE)), [FindingKind::GitHook]);
    }

    #[test]
    fn box_1_a_folder_that_git_init_would_take_over_is_looked_into_already() {
        let (top, git) = repository();
        fs::remove_file(git.join("HEAD")).expect("no repository yet");
        assert_eq!(kinds(&look(&top, &Known::default(), Since::EVER)), [FindingKind::GitConfig, FindingKind::GitHook]);
        let (top, git) = repository();
        fs::remove_file(git.join("HEAD")).expect("no repository yet");
        fs::rename(&git, top.join("nested/plain")).expect("rename");
        assert!(
            look(&top, &Known::default(), Since::EVER).findings.is_empty(),
            "any other folder is no business of git"
        );
    }

    #[test]
    fn box_1_a_taken_name_and_a_closed_folder_do_not_keep_a_configuration_armed() {
        let (top, git) = repository();
        fs::create_dir_all(git.join("config.quarantined-by-tripwire/x")).expect("in the way");
        fs::set_permissions(git.join("hooks"), fs::Permissions::from_mode(0o500)).expect("mode");
        fs::set_permissions(&git, fs::Permissions::from_mode(0o555)).expect("mode");
        let found = look(&top, &Known::default(), Since::EVER);
        assert_eq!(kinds(&found), [FindingKind::GitConfig, FindingKind::GitHook]);
        assert!(!git.join("config").exists() && git.join("config.quarantined-by-tripwire-1").exists());
    }

    #[test]
    fn box_1_links_in_the_place_of_folders_that_git_obeys_are_removed() {
        let (top, git) = repository();
        fs::remove_dir_all(git.join("hooks")).expect("remove");
        fs::remove_file(git.join("config")).expect("remove");
        for name in ARMING_FOLDERS {
            symlink("..", git.join(name)).expect("a link");
        }
        assert!(look(&top, &known(&top), FUTURE).findings.is_empty(), "a link that was there before is left alone");
        assert_eq!(look(&top, &Known::default(), Since::EVER).findings.len(), ARMING_FOLDERS.len());
        assert!(ARMING_FOLDERS.iter().all(|name| fs::symlink_metadata(git.join(name)).is_err()));
    }

    #[test]
    fn box_1_a_repository_below_an_overlay_counts_for_what_lies_above_it() {
        let (top, git) = repository();
        let bare = top.join("nested/bare");
        fs::rename(git, &bare).expect("rename");
        let upper = top.join("upper");
        fs::create_dir_all(upper.join("nested/bare/rebase-merge")).expect("folders");
        fs::write(upper.join("nested/bare/rebase-merge/git-rebase-todo"), "exec x\n").expect("a step");
        fs::write(upper.join("nested/bare/commondir"), "../e\n").expect("a pointer");
        let none = Known::default();
        let alone = Ground { root: &upper, base: None, known: &none, since: Since::EVER };
        assert!(scan(&alone).expect("scans").findings.is_empty(), "no repository is seen without its base");
        let both = Ground { base: Some(&top), ..alone };
        assert_eq!(scan(&both).expect("scans").findings.len(), 2);
        assert!(bare.join("config").exists(), "the base itself is not touched");
    }
}
