//! Which files a command changed, whatever its words say: the marks that the system keeps of each file, before and after.

use ignore::WalkBuilder;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use tripwire_observe::is_plain_text;

/// Beyond so many files nothing is reported: looking would cost more than most commands.
const FILES_MAX: usize = 50_000;

/// What builds and tests leave behind where no `.gitignore` says so.
const LEFT_BEHIND: [&str; 12] = [
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".venv",
    "node_modules",
    "target",
    "build",
    "dist",
    ".gradle",
    "coverage",
];

/// The files of a tree that count as work, each with what changes when somebody writes to it: number, size, and the time of
/// the last change, which no program can set.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Marks(BTreeMap<PathBuf, (u64, u64, i64, i64)>);

impl Marks {
    /// Looks at a tree; nothing if it is too large.
    pub(super) fn of(root: &Path) -> Option<Self> {
        let counts = |name: &str| name != ".git" && name != ".geometry" && !LEFT_BEHIND.contains(&name);
        let walk = WalkBuilder::new(root)
            .hidden(false)
            .ignore(false)
            .git_global(false)
            .parents(false)
            .filter_entry(move |entry| entry.file_name().to_str().is_none_or(counts))
            .build();
        let mut marks = BTreeMap::new();
        for entry in walk.flatten().filter(|entry| entry.file_type().is_some_and(|kind| !kind.is_dir())) {
            let Ok(meta) = entry.path().symlink_metadata() else { continue };
            marks.insert(entry.into_path(), (meta.ino(), meta.size(), meta.ctime(), meta.ctime_nsec()));
            if marks.len() > FILES_MAX {
                return None;
            }
        }
        Some(Self(marks))
    }

    /// Whether a file that a test could check was made, changed or removed since.
    pub(super) fn code_differs_in(&self, after: &Self, root: &Path) -> bool {
        let differs = |(path, mark): (&PathBuf, _), other: &Self| other.0.get(path) != Some(mark);
        let is_code = |path: &Path| {
            let below = path.strip_prefix(root).unwrap_or(path);
            below.to_str().is_none_or(|below| !is_plain_text(below))
        };
        let gone = self.0.iter().filter(|entry| differs(*entry, after));
        let new = after.0.iter().filter(|entry| differs(*entry, self));
        gone.chain(new).any(|(path, _)| is_code(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn dirty_1_every_way_to_change_code_is_seen_and_what_is_no_code_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("src")).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(root.join(".gitignore"), "out/\n").unwrap();
        fs::write(root.join("src/a.py"), "a").unwrap();
        fs::write(root.join("README.md"), "r").unwrap();
        let change = |act: &dyn Fn()| {
            let before = Marks::of(root).unwrap();
            act();
            before.code_differs_in(&Marks::of(root).unwrap(), root)
        };
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            // Another file in its place is another file, however coarse the clock is.
            fs::write(root.join(".git/draft"), text).unwrap();
            fs::rename(root.join(".git/draft"), path).unwrap();
        };
        assert!(!change(&|| {}), "nothing was done");
        assert!(change(&|| write("src/a.py", "b")));
        assert!(change(&|| write("new.sh", "x")));
        assert!(change(&|| fs::remove_file(root.join("new.sh")).unwrap()));
        assert!(change(&|| std::os::unix::fs::symlink("a.py", root.join("src/b.py")).unwrap()));
        assert!(!change(&|| write("README.md", "s")), "no test could check it");
        assert!(!change(&|| write("out/a.o", "x")), "it is ignored");
        assert!(!change(&|| write("src/__pycache__/a.pyc", "x")), "it was left behind");
        assert!(!change(&|| write(".git/index", "x")) && !change(&|| write(".geometry/todo.md", "x")));
    }
}
