//! Which files changed between two looks at a tree, whatever a command's words say: the marks that the system keeps of each.

use ignore::WalkBuilder;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Beyond so many files and folders nothing is reported: looking would cost more than most commands.
const ENTRIES_MAX: usize = 50_000;

/// Folders whose contents are not written by hand, also where no `.gitignore` says so.
const PASSED_OVER: [&str; 17] = [
    ".git",
    ".hg",
    ".svn",
    ".geometry",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".venv",
    "venv",
    "node_modules",
    "target",
    "build",
    "dist",
    ".gradle",
    "coverage",
];

/// What changes when a file is written to: its number, its size, and the time of the last change, which no program can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileMark {
    inode: u64,
    size: u64,
    changed_s: i64,
    changed_ns: i64,
}

/// The files of a tree that count as work, at one moment. A link is a file of its own and is not followed.
#[derive(Debug)]
pub struct FileMarks {
    root: PathBuf,
    marks: BTreeMap<PathBuf, FileMark>,
}

impl FileMarks {
    /// Looks at a tree; nothing if it is too large.
    #[must_use]
    pub fn of(root: &Path) -> Option<Self> {
        let walk = WalkBuilder::new(root)
            .hidden(false)
            .ignore(false)
            .git_global(false)
            .parents(false)
            .filter_entry(|entry| entry.file_name().to_str().is_none_or(|name| !PASSED_OVER.contains(&name)))
            .build();
        let mut marks = BTreeMap::new();
        for (index, entry) in walk.flatten().enumerate() {
            if index > ENTRIES_MAX {
                return None;
            }
            if entry.file_type().is_none_or(|kind| kind.is_dir()) {
                continue;
            }
            let Ok(meta) = entry.path().symlink_metadata() else { continue };
            let path = entry.path().strip_prefix(root).unwrap_or(entry.path()).to_owned();
            let mark = FileMark {
                inode: meta.ino(),
                size: meta.size(),
                changed_s: meta.ctime(),
                changed_ns: meta.ctime_nsec(),
            };
            marks.insert(path, mark);
        }
        Some(Self { root: root.to_owned(), marks })
    }

    /// The first file for which `counts` holds that was changed, made or removed since, as a path below the root; none too if
    /// the tree has become too large.
    pub fn changed_since(&self, counts: impl Fn(&Path) -> bool) -> Option<PathBuf> {
        let now = Self::of(&self.root)?;
        let gone = self.marks.keys().filter(|path| !now.marks.contains_key(*path));
        let other = now.marks.iter().filter(|(path, mark)| self.marks.get(*path) != Some(mark)).map(|(path, _)| path);
        gone.chain(other).find(|path| counts(path)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn dirty_1_every_way_to_change_a_file_is_seen_and_what_is_no_work_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("src")).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(root.join(".gitignore"), "out/\n").unwrap();
        fs::write(root.join("src/a.py"), "a").unwrap();
        fs::write(root.join("README.md"), "r").unwrap();
        let change = |act: &dyn Fn()| {
            let before = FileMarks::of(root).unwrap();
            act();
            before.changed_since(|path| path != Path::new("README.md")).map(|path| path.display().to_string())
        };
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            // Another file in its place is another file, however coarse the clock is.
            fs::write(root.join(".git/draft"), text).unwrap();
            fs::rename(root.join(".git/draft"), path).unwrap();
        };
        let unchanged = None::<&str>;
        assert_eq!(change(&|| {}).as_deref(), unchanged, "nothing was done");
        assert_eq!(change(&|| write("src/a.py", "b")).as_deref(), Some("src/a.py"));
        assert_eq!(change(&|| write("new.sh", "x")).as_deref(), Some("new.sh"));
        assert_eq!(change(&|| fs::remove_file(root.join("new.sh")).unwrap()).as_deref(), Some("new.sh"));
        let link = || std::os::unix::fs::symlink("/", root.join("src/b.py")).unwrap();
        assert_eq!(change(&link).as_deref(), Some("src/b.py"), "it counts and is not followed");
        assert_eq!(change(&|| write("README.md", "s")).as_deref(), unchanged, "the caller does not count it");
        assert_eq!(change(&|| write("out/a.o", "x")).as_deref(), unchanged, "it is ignored");
        for folder in PASSED_OVER {
            assert_eq!(change(&|| write(&format!("{folder}/made.py"), "x")).as_deref(), unchanged, "{folder}");
        }
    }
}
