//! The workspace hash: one digest that changes exactly when the work changes.
//!
//! With git it covers HEAD, the index, and the contents of changed and untracked files; ignored files do not count,
//! and touching a file without changing it does not either. Without git it is a walk over all files within bounds.
//! It reads many files and starts programs: never on the quiet path of a tool call.

pub use super::git::GitError;
use super::git::Repository;
use super::walk::{Caps, Contents};
use crate::geometry::layout::FOLDER;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A digest and how much it covers.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct WorkspaceHash {
    /// SHA-256, in hexadecimal.
    pub digest: String,
    /// How it was made; hashes of different methods are never equal.
    pub method: Method,
    /// Files that were too many or too large and count with their size only; 0 means complete.
    pub capped: u64,
}

/// How a hash was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// HEAD, index, changed and untracked files.
    Git,
    /// A bounded walk, because there is no repository or no git.
    Walk,
}

/// Computes the hash of a workspace.
pub fn workspace_hash(root: &Path) -> Result<WorkspaceHash, GitError> {
    if super::git::top_level(root).is_none() {
        return Ok(walk(root));
    }
    let mut contents = Contents::new("git", GIT_CAPS);
    match repository(&mut contents, root, 0) {
        Ok(()) => {
            let capped = contents.capped();
            Ok(WorkspaceHash { digest: contents.finish(), method: Method::Git, capped })
        }
        Err(GitError::NotInstalled) => Ok(walk(root)),
        Err(error) => Err(error),
    }
}

/// The walk where there is no git.
fn walk(root: &Path) -> WorkspaceHash {
    let mut contents = Contents::new("walk", WALK_CAPS);
    contents.tree(root);
    let capped = contents.capped();
    WorkspaceHash { digest: contents.finish(), method: Method::Walk, capped }
}

/// Adds one repository, and the submodules and nested repositories inside it.
fn repository(contents: &mut Contents, root: &Path, depth: u32) -> Result<(), GitError> {
    let repository = Repository::open(root)?;
    let index = repository.index()?;
    let state = State::parse(&repository.status()?);
    contents.field(&state.head);
    contents.field(&index);
    let mut nested = submodules(&index);
    for path in &state.paths {
        match path.strip_suffix(b"/") {
            Some(folder) => {
                nested.insert(folder.to_vec());
            }
            None => contents.path(root, as_path(path)),
        }
    }
    for path in nested.iter().filter(|path| !path.is_empty()) {
        contents.field(path);
        let below = root.join(as_path(path));
        if depth < NESTED_DEPTH_MAX && super::git::common_folder(&below).is_some() {
            self::repository(contents, &below, depth.saturating_add(1))?;
        }
    }
    Ok(())
}

/// What `git status` says.
#[derive(Debug, Default, PartialEq, Eq)]
struct State {
    head: Vec<u8>,
    paths: BTreeSet<Vec<u8>>,
}

impl State {
    /// Reads porcelain v2: entries end with a zero byte, and their paths are the last field, unquoted.
    fn parse(output: &[u8]) -> Self {
        let mut state = Self::default();
        for entry in output.split(|byte| *byte == 0) {
            let fields_before_path = match entry.first() {
                Some(b'#') => {
                    if let Some(head) = entry.strip_prefix(b"# branch.oid ") {
                        state.head = head.to_vec();
                    }
                    continue;
                }
                Some(b'1') => 8,
                Some(b'u') => 10,
                Some(b'?') => 1,
                Some(_) | None => continue,
            };
            let path = entry.splitn(fields_before_path + 1, |byte| *byte == b' ').nth(fields_before_path);
            if let Some(path) = path.filter(|path| !ours(path)) {
                state.paths.insert(path.to_vec());
            }
        }
        state
    }
}

/// Whether a path lies in a `.geometry/`: our own records are not the work.
fn ours(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|part| part == FOLDER.as_bytes())
}

/// The submodules that an index lists, by their mode.
fn submodules(index: &[u8]) -> BTreeSet<Vec<u8>> {
    index
        .split(|byte| *byte == 0)
        .filter(|entry| entry.starts_with(b"160000 "))
        .filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1))
        .map(<[u8]>::to_vec)
        .collect()
}

/// A path from git's bytes.
fn as_path(path: &[u8]) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(path))
}

/// Bounds with git, where only changed and untracked files are read.
const GIT_CAPS: Caps = Caps { files: 50_000, bytes: 1024 * 1024 * 1024, depth: 64 };
/// Bounds without git, where everything is read.
const WALK_CAPS: Caps = Caps { files: 20_000, bytes: 256 * 1024 * 1024, depth: 64 };
/// How deep repositories inside repositories are followed.
const NESTED_DEPTH_MAX: u32 = 3;

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::process::Command;
    use tripwire_core::explain::Explain as _;
    use tripwire_testing::{TestDir, skip};

    pub(crate) fn has_git() -> bool {
        let found = Command::new("git").arg("--version").output().is_ok();
        if !found {
            skip("git is not installed");
        }
        found
    }

    pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "protocol.file.allow=always"])
            .args(arguments)
            .current_dir(folder)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn committed(dir: &TestDir) {
        git(dir.path(), &["init", "-q"]);
        std::fs::write(dir.path().join("a"), "one").unwrap();
        std::fs::write(dir.path().join(".gitignore"), "ignored\n").unwrap();
        git(dir.path(), &["add", "."]);
        git(dir.path(), &["commit", "-q", "-m", "x"]);
    }

    fn hash(dir: &TestDir) -> String {
        let hash = workspace_hash(dir.path()).unwrap();
        assert_eq!((hash.method, hash.capped), (Method::Git, 0));
        hash.digest
    }

    #[test]
    fn every_change_of_the_work_changes_the_hash() {
        let dir = TestDir::new();
        if !has_git() {
            return;
        }
        committed(&dir);
        let file = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        let mut seen = BTreeSet::from([hash(&dir)]);
        let mut changed = |what: &str| assert!(seen.insert(hash(&dir)), "{what}");
        file("a", "two");
        changed("edit");
        file("a", "three");
        changed("another edit of a changed file");
        git(dir.path(), &["add", "a"]);
        changed("staged");
        git(dir.path(), &["commit", "-q", "-m", "y"]);
        changed("committed");
        file("new file\nwith a break", "1");
        changed("untracked");
        file("new file\nwith a break", "2");
        changed("untracked, other contents");
        std::os::unix::fs::symlink("a", dir.path().join("link")).unwrap();
        changed("link");
        Command::new("chmod").arg("+x").arg(dir.path().join("new file\nwith a break")).status().unwrap();
        changed("executable");
        std::fs::remove_file(dir.path().join("a")).unwrap();
        changed("deleted");
    }

    #[test]
    fn what_is_no_work_leaves_the_hash_alone() {
        let dir = TestDir::new();
        if !has_git() {
            return;
        }
        committed(&dir);
        let before = hash(&dir);
        std::fs::write(dir.path().join("ignored"), "x").unwrap();
        std::fs::create_dir(dir.path().join(".geometry")).unwrap();
        std::fs::write(dir.path().join(".geometry/journal"), "x").unwrap();
        let touched = std::fs::File::options().append(true).open(dir.path().join("a")).unwrap();
        touched.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        drop(touched);
        assert_eq!(hash(&dir), before, "ignored, ours, and touched");
        let log = std::fs::File::create(dir.path().join("agent.log")).unwrap();
        assert_eq!(hash(&dir), before, "what this process writes");
        drop(log);
        assert_ne!(hash(&dir), before, "and no longer writes");
        std::fs::remove_file(dir.path().join("agent.log")).unwrap();
        std::fs::write(dir.path().join("a"), "two").unwrap();
        assert_ne!(hash(&dir), before);
        std::fs::write(dir.path().join("a"), "one").unwrap();
        assert_eq!(hash(&dir), before, "changed and changed back");
        let index = std::fs::read(dir.path().join(".git/index")).unwrap();
        hash(&dir);
        assert_eq!(std::fs::read(dir.path().join(".git/index")).unwrap(), index, "nothing was written");
    }

    #[test]
    fn a_repository_without_commits_has_a_hash() {
        let dir = TestDir::new();
        if !has_git() {
            return;
        }
        git(dir.path(), &["init", "-q"]);
        let before = hash(&dir);
        std::fs::write(dir.path().join("a"), "1").unwrap();
        assert_ne!(hash(&dir), before);
    }

    #[test]
    fn programs_that_a_repository_names_are_not_run() {
        let dir = TestDir::new();
        if !has_git() {
            return;
        }
        committed(&dir);
        let trap = dir.path().join("trap.sh");
        let sprung = dir.path().join(".git/sprung");
        std::fs::write(&trap, format!("#!/bin/sh\necho x >> {}\ncat\n", sprung.display())).unwrap();
        Command::new("chmod").arg("+x").arg(&trap).status().unwrap();
        let trap = trap.to_str().unwrap();
        std::fs::write(dir.path().join(".git/info/attributes"), "* filter=evil.x\n").unwrap();
        let set = |key: &str, value: &str| git(dir.path(), &["config", key, value]);
        set("filter.evil.x.clean", trap);
        // As many bytes as before: git notices a change of the size without reading the file.
        std::fs::write(dir.path().join("a"), "two").unwrap();
        git(dir.path(), &["status"]);
        assert!(sprung.exists(), "the trap works: plain git runs it");
        std::fs::remove_file(&sprung).unwrap();
        set("filter.evil.x.process", trap);
        set("filter.evil.x.required", "true");
        set("core.fsmonitor", trap);
        set("core.hooksPath", dir.path().to_str().unwrap());
        set("core.pager", trap);
        std::fs::remove_file(&sprung).ok();
        std::fs::write(dir.path().join("a"), "six").unwrap();
        hash(&dir);
        assert!(!sprung.exists(), "the hash does not");
    }

    #[test]
    fn submodules_and_nested_repositories_count() {
        let dir = TestDir::new();
        if !has_git() {
            return;
        }
        committed(&dir);
        let inner = TestDir::new();
        committed(&inner);
        git(dir.path(), &["submodule", "--quiet", "add", inner.path().to_str().unwrap(), "module"]);
        git(dir.path(), &["commit", "-q", "-m", "m"]);
        let before = hash(&dir);
        std::fs::write(dir.path().join("module/a"), "changed inside").unwrap();
        let changed = hash(&dir);
        assert_ne!(changed, before);
        std::fs::create_dir(dir.path().join("nested")).unwrap();
        git(&dir.path().join("nested"), &["init", "-q"]);
        let nested = hash(&dir);
        std::fs::write(dir.path().join("nested/x"), "1").unwrap();
        assert_ne!(hash(&dir), nested);
    }

    #[test]
    fn a_broken_repository_is_an_error_not_another_method() {
        let dir = TestDir::new();
        if !has_git() {
            return;
        }
        committed(&dir);
        std::fs::write(dir.path().join(".git/config"), "[broken\n").unwrap();
        let error = workspace_hash(dir.path()).unwrap_err();
        assert!(matches!(error, GitError::Failed { .. }), "{error}");
        assert!(error.hint().contains("git -C"), "{}", error.hint());
    }

    #[test]
    fn without_git_a_walk_is_marked_as_such() {
        let dir = TestDir::new();
        std::fs::create_dir_all(dir.path().join("b/c")).unwrap();
        std::fs::write(dir.path().join("b/c/d"), "1").unwrap();
        let before = workspace_hash(dir.path()).unwrap();
        assert_eq!((before.method, before.capped), (Method::Walk, 0));
        std::fs::create_dir(dir.path().join(".geometry")).unwrap();
        std::fs::write(dir.path().join(".geometry/x"), "1").unwrap();
        assert_eq!(workspace_hash(dir.path()).unwrap(), before);
        std::fs::write(dir.path().join("b/c/d"), "2").unwrap();
        assert_ne!(workspace_hash(dir.path()).unwrap().digest, before.digest);
    }

    #[test]
    fn a_walk_beyond_its_bounds_says_so_and_stays_within_them() {
        let dir = TestDir::new();
        for n in 0..10 {
            std::fs::write(dir.path().join(format!("f{n}")), "12345").unwrap();
        }
        let capped = |files, bytes| {
            let mut contents = Contents::new("walk", Caps { files, bytes, depth: 4 });
            contents.tree(dir.path());
            contents.capped()
        };
        assert_eq!((capped(10, 50), capped(9, 50), capped(10, 49), capped(0, 0)), (0, 1, 1, 10));
    }

    #[test]
    fn porcelain_with_spaces_conflicts_and_links_is_read() {
        let state = State::parse(
            b"# branch.oid abc\0# branch.head main\x001 .M N... 100644 100644 100644 aa bb a b.txt\0\
              u UU N... 100644 100644 100644 100644 aa bb cc both sides\0? new dir/\0? .geometry/x\0! ignored\0",
        );
        assert_eq!(state.head, b"abc");
        let paths: Vec<_> = state.paths.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        assert_eq!(paths, ["a b.txt", "both sides", "new dir/"]);
    }
}
