//! What the tools show of a tree: one order, the project's own ignore rules, and neither git's nor the guard's folder.
//!
//! Ignore files inside the tree count; those of the machine and of folders above do not, so that the same tree gives the
//! same list everywhere. They are read as every other file is: a named pipe called `.gitignore` is passed over.

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::fs::FileType;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use tripwire_session::files::{Files, WorkPath};

/// Folders that are never walked.
const SKIPPED: [&str; 2] = [".git", ".geometry"];
/// The files that say what a project ignores, the later ones stronger.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];
/// What one clone of the project ignores.
const EXCLUDE_FILE: &str = ".git/info/exclude";
/// Folders nested deeper than this are not walked.
const DEPTH_MAX: usize = 64;
/// Most names that one walk looks at.
const NAMES_MAX: usize = 400_000;

/// One name that a walk found.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Where it is, relative to the workspace.
    pub(crate) path: WorkPath,
    /// What it is, links not followed.
    pub(crate) kind: FileType,
    /// How many folders are above it.
    pub(crate) depth: usize,
    /// Its size.
    pub(crate) bytes: u64,
}

/// What a walk does next.
pub(crate) type Next = ControlFlow<()>;

/// Walks what lies below one folder (or at one file) of the tree, in the order of the names.
pub(crate) fn walk(files: &Files, below: &WorkPath, visit: &mut dyn FnMut(Seen) -> Next) {
    let wanted = if below.as_str() == "." { PathBuf::new() } else { PathBuf::from(below.as_str()) };
    let exclude = ignore_rules(files, Path::new(""), &[EXCLUDE_FILE]);
    let mut walk = Walk { files, wanted, rules: exclude.into_iter().collect(), names: 0, visit };
    // The caller that breaks the walk off knows why.
    let _ended = walk.folder(Path::new(""), 0);
}

struct Walk<'a> {
    files: &'a Files,
    wanted: PathBuf,
    /// The rules of the folders on the way, the innermost last.
    rules: Vec<Gitignore>,
    names: usize,
    visit: &'a mut dyn FnMut(Seen) -> Next,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) -> Next {
        let Ok(entries) = std::fs::read_dir(self.files.tree().join(folder)) else { return Next::Continue(()) };
        let mut names: Vec<(String, FileType)> = entries
            .flatten()
            .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.file_type().ok()?)))
            .filter(|(name, _)| !SKIPPED.contains(&name.as_str()))
            .take(NAMES_MAX.saturating_sub(self.names))
            .collect();
        names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        self.names = self.names.saturating_add(names.len());
        let rules = ignore_rules(self.files, folder, &IGNORE_FILES);
        let kept = self.rules.len();
        self.rules.extend(rules);
        let mut next = Next::Continue(());
        for (name, kind) in names {
            next = self.entry(&folder.join(name), kind, depth);
            if next.is_break() {
                break;
            }
        }
        self.rules.truncate(kept);
        next
    }

    fn entry(&mut self, path: &Path, kind: FileType, depth: usize) -> Next {
        let inside = path.starts_with(&self.wanted);
        let on_the_way = inside || self.wanted.starts_with(path);
        if !on_the_way || self.is_ignored(path, kind) {
            return Next::Continue(());
        }
        if inside && path != self.wanted || kind.is_file() {
            let Some(found) = WorkPath::found(path) else { return Next::Continue(()) };
            let bytes = self.files.tree().join(path).symlink_metadata().map_or(0, |meta| meta.len());
            (self.visit)(Seen { path: found, kind, depth, bytes })?;
        }
        if kind.is_dir() && depth < DEPTH_MAX { self.folder(path, depth.saturating_add(1)) } else { Next::Continue(()) }
    }

    /// The innermost rule that speaks about a path decides.
    fn is_ignored(&self, path: &Path, kind: FileType) -> bool {
        let spoken =
            self.rules.iter().rev().map(|rules| rules.matched(path, kind.is_dir())).find(|said| !said.is_none());
        spoken.is_some_and(|said| said.is_ignore())
    }
}

/// The ignore rules that one folder adds; files that are missing or no text add none.
fn ignore_rules(files: &Files, folder: &Path, names: &[&str]) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    let mut any = false;
    for name in names {
        let Some(path) = WorkPath::found(&folder.join(name)) else { continue };
        let Ok(bytes) = files.read(&path) else { continue };
        for line in String::from_utf8_lossy(&bytes).lines() {
            // A line that is no rule rules nothing; git does the same.
            any |= builder.add_line(None, line).is_ok();
        }
    }
    if any { builder.build().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn walked(root: &Path, below: &str) -> Vec<String> {
        let files = Files::of(root, &root.join(".geometry")).unwrap();
        let mut seen = Vec::new();
        walk(&files, &files.path(below).unwrap(), &mut |entry| {
            seen.push(entry.path.to_string());
            Next::Continue(())
        });
        seen
    }

    fn tree(paths: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in paths {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn tool_1_ignore_files_count_in_their_folders_and_below() {
        let folder = tree(&[
            (".gitignore", "target/\n*.log\n"),
            ("target/debug/x", ""),
            ("a.log", ""),
            ("src/.gitignore", "!keep.log\n/local\n"),
            ("src/keep.log", ""),
            ("src/drop.log", ""),
            ("src/local", ""),
            ("src/deep/local", ""),
            (".git/info/exclude", "private.txt\n"),
            ("private.txt", ""),
            (".geometry/MANIFEST.yaml", ""),
            (".github/ci.yml", ""),
        ]);
        let shown = [
            ".github",
            ".github/ci.yml",
            ".gitignore",
            "src",
            "src/.gitignore",
            "src/deep",
            "src/deep/local",
            "src/keep.log",
        ];
        assert_eq!(walked(folder.path(), "."), shown);
        assert_eq!(walked(folder.path(), "src"), shown[4..]);
        assert_eq!(walked(folder.path(), "src/keep.log"), ["src/keep.log"]);
        assert_eq!(walked(folder.path(), "target"), Vec::<String>::new());
    }

    #[test]
    fn a_pipe_in_place_of_an_ignore_file_is_not_waited_for() {
        let folder = tree(&[("a.txt", "")]);
        let status = std::process::Command::new("mkfifo").arg(folder.path().join(".gitignore")).status().unwrap();
        assert!(status.success());
        assert_eq!(walked(folder.path(), "."), [".gitignore", "a.txt"]);
    }

    #[test]
    fn links_are_named_and_not_followed() {
        let folder = tree(&[("a/b", "")]);
        std::os::unix::fs::symlink("..", folder.path().join("a/up")).unwrap();
        assert_eq!(walked(folder.path(), "."), ["a", "a/b", "a/up"]);
    }
}
