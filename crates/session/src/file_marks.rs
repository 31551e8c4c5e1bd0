//! Which files changed between two looks at a tree, whatever a command's words say: by the marks that the system
//! keeps of each, and by the contents where the marks moved. Writing what was there already changes nothing.

use ignore::WalkBuilder;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use tripwire_core::chain::event::DiskChanges;
use tripwire_core::label::Label;
use tripwire_core::policy::{Policy, Switch};
use tripwire_core::record::chain::Digest;
use tripwire_fs::file::read_bounded;
use tripwire_observe::{is_code, is_test_file};
use tripwire_workspace::clock;
use tripwire_workspace::hash::workspace_hash;
use tripwire_workspace::own_outputs::own_outputs;

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

/// The largest file whose contents are compared; of a larger one its marks are.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The most that one look reads of files whose marks have moved.
const LOOK_BYTES_MAX: u64 = 64 << 20;
/// File times move in steps: a file that changed within this time before a look may change again unseen by its times.
const TIME_STEP_MS: u64 = 50;

/// What moves when a file is written to: its number, its size, and the time of the last change, which no program can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct FileMark {
    inode: u64,
    size: u64,
    changed_s: i64,
    changed_ns: i64,
}

impl FileMark {
    fn of(meta: &Metadata) -> Self {
        Self { inode: meta.ino(), size: meta.size(), changed_s: meta.ctime(), changed_ns: meta.ctime_nsec() }
    }

    /// Whether the file was left alone for so long that a later change must show in its mark.
    fn is_settled(self, now_ms: u64) -> bool {
        let changed_ms = self.changed_s.saturating_mul(1_000).saturating_add(self.changed_ns / 1_000_000);
        u64::try_from(changed_ms).is_ok_and(|changed_ms| changed_ms.saturating_add(TIME_STEP_MS) < now_ms)
    }
}

/// One file at a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct FileSeen {
    mark: FileMark,
    settled: bool,
    /// Its contents, or where a link leads; nothing where they were not read.
    contents: Option<Digest>,
}

impl FileSeen {
    /// Whether both hold the same, by their contents where both are known.
    fn is_same(&self, other: &Self) -> bool {
        match (self.contents, other.contents) {
            (Some(one), Some(two)) => one == two,
            (Some(_) | None, _) => self.mark == other.mark,
        }
    }
}

/// How much one look may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookLimits {
    /// Beyond so many files and folders nothing is reported.
    pub entries_max: usize,
    /// The most that is read of files whose marks have moved.
    pub bytes_max: u64,
}

impl LookLimits {
    /// For a process that stays: looking must not cost more than most commands.
    pub const SUPERVISOR: Self = Self { entries_max: ENTRIES_MAX, bytes_max: LOOK_BYTES_MAX };
    /// For a hook, which a client waits for.
    pub const HOOK: Self = Self { entries_max: 4_000, bytes_max: 4 << 20 };
}

/// The files of a tree that count as work, at one moment. A link is a file of its own and is not followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMarks {
    root: PathBuf,
    files: BTreeMap<PathBuf, FileSeen>,
    /// The folders that were listed, the root as the empty path: while a mark stands, the names are those that were listed.
    /// One that changed just then has none.
    folders: BTreeMap<PathBuf, Option<FileMark>>,
}

impl FileMarks {
    /// Looks at a tree; nothing if it is too large.
    #[must_use]
    pub fn of(root: &Path) -> Option<Self> {
        Self::look(root, None, LookLimits::SUPERVISOR)
    }

    /// Looks at a tree within these limits, after an earlier look at it where there was one.
    #[must_use]
    pub fn within(root: &Path, before: Option<&Self>, limits: LookLimits) -> Option<Self> {
        Self::look(root, before, limits)
    }

    /// Looks at one file alone, whether it is there or not.
    #[must_use]
    pub fn of_file(root: &Path, path: &Path) -> Self {
        let mut files = BTreeMap::new();
        let whole = root.join(path);
        if let Ok(meta) = whole.symlink_metadata()
            && !meta.is_dir()
        {
            let mark = FileMark::of(&meta);
            let contents = contents(&whole, &meta, &mut FILE_BYTES_MAX.clone());
            let settled = mark.is_settled(clock::now().epoch_ms());
            files.insert(path.to_owned(), FileSeen { mark, settled, contents });
        }
        Self { root: root.to_owned(), files, folders: BTreeMap::new() }
    }

    /// Looks at the same tree again; what did not move since is not read a second time.
    #[must_use]
    pub fn again(&self) -> Option<Self> {
        Self::look(&self.root, Some(self), LookLimits::SUPERVISOR)
    }

    fn look(root: &Path, before: Option<&Self>, limits: LookLimits) -> Option<Self> {
        let mut reader = Reader { bytes_left: limits.bytes_max, now_ms: clock::now().epoch_ms() };
        let before = before.filter(|before| before.root == root);
        if let Some(same) = before.and_then(|before| before.by_known_names(&mut reader)) {
            return Some(same);
        }
        let walk = WalkBuilder::new(root)
            .hidden(false)
            .ignore(false)
            .git_global(false)
            .parents(false)
            .filter_entry(|entry| entry.file_name().to_str().is_none_or(|name| !PASSED_OVER.contains(&name)))
            .build();
        let (mut files, mut folders) = (BTreeMap::new(), BTreeMap::new());
        for (index, entry) in walk.flatten().enumerate() {
            if index > limits.entries_max {
                return None;
            }
            let path = entry.path().strip_prefix(root).unwrap_or(entry.path()).to_owned();
            if entry.file_type().is_none_or(|kind| kind.is_dir()) {
                // Listed from now on; a name that comes meanwhile leaves it unsettled.
                let mark = entry.path().metadata().ok().map(|meta| FileMark::of(&meta));
                folders.insert(path, mark.filter(|mark| mark.is_settled(reader.now_ms)));
                continue;
            }
            let Ok(meta) = entry.path().symlink_metadata() else { continue };
            let seen = reader.see(entry.path(), &meta, before.and_then(|before| before.files.get(&path)));
            files.insert(path, seen);
        }
        Some(Self { root: root.to_owned(), files, folders })
    }

    /// The same files looked at one by one; nothing where a folder or a list of what is left out has moved, so that there may be
    /// others. Nothing is listed then and no `.gitignore` is read, which is most of what a look costs.
    fn by_known_names(&self, reader: &mut Reader) -> Option<Self> {
        // Where single files were looked at, nothing was listed.
        self.folders.get(Path::new(""))?;
        for (path, mark) in &self.folders {
            let known = (*mark)?;
            let meta = self.root.join(path).metadata().ok()?;
            if FileMark::of(&meta) != known {
                return None;
            }
        }
        let mut files = BTreeMap::new();
        for (path, seen) in &self.files {
            let whole = self.root.join(path);
            let meta = whole.symlink_metadata().ok()?;
            let now = reader.see(&whole, &meta, Some(seen));
            if now.mark != seen.mark && path.file_name().is_some_and(|name| name == ".gitignore") {
                return None;
            }
            files.insert(path.clone(), now);
        }
        Some(Self { root: self.root.clone(), files, folders: self.folders.clone() })
    }

    /// How many files there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The files that were changed, made or removed until a later look, as paths below the root.
    pub fn changed_until<'a>(&'a self, later: &'a Self) -> impl Iterator<Item = &'a Path> {
        let gone = self.files.keys().filter(|path| !later.files.contains_key(*path));
        let other =
            later.files.iter().filter(|(path, seen)| self.files.get(*path).is_none_or(|old| !old.is_same(seen)));
        gone.chain(other.map(|(path, _)| path)).map(PathBuf::as_path)
    }

    /// One digest of all that a test could check. Where git keeps it says nothing: a commit changes no code.
    #[must_use]
    pub fn code_digest(&self) -> Digest {
        let own = own_outputs();
        let mut text = String::new();
        for (path, seen) in &self.files {
            let is_own = own.iter().any(|(_, inode)| *inode == seen.mark.inode);
            if is_own || !is_code(&path.to_string_lossy()) {
                continue;
            }
            let FileMark { inode, size, changed_s, changed_ns } = seen.mark;
            let held = match seen.contents {
                Some(contents) => contents.to_string(),
                None => format!("{inode} {size} {changed_s} {changed_ns}"),
            };
            text.push_str(&format!("{}\0{held}\0", path.to_string_lossy()));
        }
        Digest::of(text.as_bytes())
    }

    /// The same as facts of a call: what `counts` as code, the tests among it, and the rest.
    pub fn changes_until(&self, later: &Self, counts: impl Fn(&str) -> bool) -> DiskChanges {
        let mut changes = DiskChanges::default();
        for path in self.changed_until(later) {
            let path = path.to_string_lossy();
            let code = counts(&path);
            let lists = [
                (code, &mut changes.code),
                (!code, &mut changes.other),
                (code && is_test_file(&path), &mut changes.tests),
            ];
            for (_, list) in lists.into_iter().filter(|(holds, list)| *holds && list.len() < DiskChanges::NAMED_MAX) {
                list.push(Label::cut(&path));
            }
        }
        changes
    }
}

/// What of the workspace test runs and claims are bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundTree {
    /// Its code: a commit, a note or a log takes nothing back of what tests have shown.
    Code,
    /// Everything, because equal workspaces are convergence.
    Everything,
}

impl BoundTree {
    /// As a policy wants it.
    #[must_use]
    pub const fn under(policy: &Policy) -> Self {
        match policy.limits.stop_on_convergence {
            Switch::On => Self::Everything,
            Switch::Off => Self::Code,
        }
    }

    /// The tree as it is now; in one that is too large for a look, what git says of it. It reads many files: only around test
    /// runs and at the end.
    #[must_use]
    pub fn digest(self, root: &Path) -> Option<Label> {
        let code = match self {
            Self::Code => FileMarks::of(root),
            Self::Everything => None,
        };
        match code {
            Some(marks) => Some(Label::cut(&marks.code_digest().to_string())),
            None => workspace_hash(root).ok().map(|hash| Label::cut(&hash.digest)),
        }
    }
}

/// Reads what moved, within the bounds of one look.
struct Reader {
    bytes_left: u64,
    /// When the look began.
    now_ms: u64,
}

impl Reader {
    /// A file as it is now; what did not move since an earlier look is not read again.
    fn see(&mut self, path: &Path, meta: &Metadata, before: Option<&FileSeen>) -> FileSeen {
        let mark = FileMark::of(meta);
        let known = before.filter(|seen| seen.settled && seen.mark == mark);
        let contents = match known {
            Some(seen) => seen.contents,
            None => contents(path, meta, &mut self.bytes_left),
        };
        FileSeen { mark, settled: mark.is_settled(self.now_ms), contents }
    }
}

/// What a file holds, where it is small enough to be read.
fn contents(path: &Path, meta: &Metadata, bytes_left: &mut u64) -> Option<Digest> {
    if meta.is_symlink() {
        return std::fs::read_link(path).ok().map(|target| Digest::of(target.as_os_str().as_encoded_bytes()));
    }
    if !meta.is_file() || meta.len() > FILE_BYTES_MAX {
        return None;
    }
    *bytes_left = bytes_left.checked_sub(meta.len())?;
    read_bounded(path, FILE_BYTES_MAX).ok().map(|bytes| Digest::of(&bytes))
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
            let after = before.again().unwrap();
            let mut changed = before.changed_until(&after).filter(|path| *path != Path::new("README.md"));
            changed.next().map(|path| path.display().to_string())
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
        assert_eq!(change(&|| write("src/a.py", "b")).as_deref(), unchanged, "it holds what it held");
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

    #[test]
    fn dirty_1_a_change_right_after_a_look_is_seen_and_large_files_count_by_their_marks() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.py");
        fs::write(&file, "one").unwrap();
        for text in ["two", "six", "ten"] {
            let before = FileMarks::of(folder.path()).unwrap();
            fs::write(&file, text).unwrap();
            let after = before.again().unwrap();
            assert_eq!(before.changed_until(&after).count(), 1, "{text}: same size, same file, same moment");
        }
        let large = vec![b'x'; usize::try_from(FILE_BYTES_MAX).unwrap() + 1];
        fs::write(folder.path().join("large"), &large).unwrap();
        let before = FileMarks::of(folder.path()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(TIME_STEP_MS));
        fs::write(folder.path().join("large"), &large).unwrap();
        assert_eq!(before.changed_until(&before.again().unwrap()).count(), 1, "nobody knows what it held");
    }

    #[test]
    fn dirty_1_a_look_that_lists_nothing_sees_what_one_that_lists_sees() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let write = |name: &str, text: &str| fs::write(root.join(name), text).unwrap();
        let settle = || std::thread::sleep(std::time::Duration::from_millis(2 * TIME_STEP_MS));
        fs::create_dir_all(root.join("src/deep")).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        write(".gitignore", "*.o\n");
        write("src/a.py", "one");
        write("src/a.o", "x");
        settle();
        let mut known = FileMarks::of(root).unwrap();
        let by_names = |known: &FileMarks| {
            known.by_known_names(&mut Reader { bytes_left: LOOK_BYTES_MAX, now_ms: clock::now().epoch_ms() })
        };
        assert_eq!(by_names(&known).as_ref(), Some(&known), "nothing moved");
        let changes: [(&dyn Fn(), Option<&str>); 6] = [
            (&|| write("src/a.py", "two"), Some("src/a.py")),
            (&|| write("src/deep/new.py", "x"), Some("src/deep/new.py")),
            (&|| fs::rename(root.join("src/deep/new.py"), root.join("b.py")).unwrap(), Some("b.py")),
            (&|| write("src/b.o", "x"), None),
            (&|| fs::remove_file(root.join("b.py")).unwrap(), Some("b.py")),
            (&|| write(".gitignore", "*.x\n"), Some("src/a.o")),
        ];
        for (change, seen) in changes {
            change();
            let after = known.again().unwrap();
            let whole = FileMarks::look(root, None, LookLimits::SUPERVISOR).unwrap();
            let names = |later: &FileMarks| known.changed_until(later).map(Path::to_owned).collect::<Vec<_>>();
            assert_eq!(names(&after), names(&whole));
            assert_eq!(names(&after).iter().any(|path| Some(path.as_path()) == seen.map(Path::new)), seen.is_some());
            settle();
            known = after.again().unwrap();
            assert!(by_names(&known).is_some(), "a folder that is left alone is listed once");
        }
    }

    #[test]
    fn dirty_1_a_commit_a_note_and_a_log_leave_the_tested_tree_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("a.py", "one");
        let tested = BoundTree::Code.digest(folder.path());
        fs::create_dir(folder.path().join(".git")).unwrap();
        write(".git/index", "a commit");
        write("CHANGELOG.md", "x");
        write("run.log", "x");
        write("a.py", "one");
        assert_eq!(BoundTree::Code.digest(folder.path()), tested);
        write("a.py", "two");
        assert_ne!(BoundTree::Code.digest(folder.path()), tested);
    }

    #[test]
    fn dirty_1_changes_are_told_apart_as_code_tests_and_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let before = FileMarks::of(folder.path()).unwrap();
        for name in ["a.py", "test_a.py", "done.log"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let changes = before.changes_until(&before.again().unwrap(), tripwire_observe::is_code);
        let labels = |names: &[&str]| names.iter().map(|name| Label::cut(name)).collect::<Vec<_>>();
        assert_eq!(changes.code, labels(&["a.py", "test_a.py"]));
        assert_eq!((changes.other, changes.tests), (labels(&["done.log"]), labels(&["test_a.py"])));
    }
}
