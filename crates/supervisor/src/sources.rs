//! The sources of the workspace at the start of the run, to find changes that no tool call showed.
//!
//! An agent may change code by ways that cannot be seen from the call: a script of its own, a program in another language.
//! Before tests run and when the agent says that it is done, the sources are held against what they were. Only what looks
//! like source counts: logs, caches and build products come and go without anybody's work being unproved.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use tripwire_core::chain::event::{Action, AgentEvent, Flag, Flags, Outcome};
use tripwire_core::input::What;
use tripwire_core::label::Label;

/// Entries that are looked at; a larger workspace is known by its first ones.
const ENTRIES_MAX: usize = 20_000;
/// Folders below folders that are looked into.
const DEPTH_MAX: usize = 24;

/// Folders whose contents nobody writes by hand.
const PASSED_OVER: [&str; 14] = [
    ".git",
    ".hg",
    ".svn",
    ".geometry",
    "node_modules",
    "target",
    ".venv",
    "venv",
    "__pycache__",
    "dist",
    "build",
    ".tox",
    ".mypy_cache",
    ".pytest_cache",
];

/// Endings of source files.
const ENDINGS: [&str; 48] = [
    "rs", "py", "pyi", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "go", "c", "h", "cc", "cpp", "cxx", "hpp", "hh",
    "java", "kt", "kts", "scala", "rb", "php", "cs", "fs", "swift", "m", "mm", "sh", "bash", "zsh", "pl", "pm", "lua",
    "r", "jl", "ex", "exs", "erl", "hs", "ml", "sql", "vue", "svelte", "zig", "nim", "dart",
];

/// Names of files that build or describe a project.
const NAMES: [&str; 8] =
    ["Makefile", "makefile", "Dockerfile", "CMakeLists.txt", "Cargo.toml", "package.json", "pyproject.toml", "go.mod"];

/// What tells two versions of a file apart without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    inode: u64,
    size: u64,
    modified_ns: i128,
}

/// The sources at one moment.
#[derive(Debug)]
pub(crate) struct Sources {
    root: PathBuf,
    marks: BTreeMap<PathBuf, Mark>,
}

impl Sources {
    /// The sources as they are now.
    pub(crate) fn of(root: &Path) -> Self {
        let mut marks = BTreeMap::new();
        let mut left = ENTRIES_MAX;
        walk(root, DEPTH_MAX, &mut left, &mut marks);
        Self { root: root.to_owned(), marks }
    }

    /// A source that was changed, made or removed since, if there is one.
    pub(crate) fn changed(&self) -> Option<PathBuf> {
        let now = Self::of(&self.root).marks;
        let gone = self.marks.keys().find(|path| !now.contains_key(*path));
        let moved = || now.iter().find(|(path, mark)| self.marks.get(*path) != Some(mark)).map(|(path, _)| path);
        let path = gone.or_else(moved)?;
        Some(path.strip_prefix(&self.root).unwrap_or(path).to_owned())
    }
}

/// The fact that a source changed.
pub(crate) fn event(path: &Path) -> What {
    let target = path.display().to_string();
    let action = Action {
        tool: Label::cut("workspace"),
        signature: Some(Label::cut(&format!("Changed({target})"))),
        target: Some(Label::cut(&target)),
        ..Action::default()
    };
    What::Event(AgentEvent {
        action: Some(action),
        outcome: Some(Outcome::default()),
        flags: Flags::default().with(Flag::Edit),
        ..AgentEvent::default()
    })
}

fn walk(folder: &Path, depth: usize, left: &mut usize, marks: &mut BTreeMap<PathBuf, Mark>) {
    let Ok(listed) = std::fs::read_dir(folder) else { return };
    for entry in listed.filter_map(Result::ok) {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else { continue };
        let name = name.to_string_lossy();
        if kind.is_dir() && depth > 0 && !PASSED_OVER.contains(&name.as_ref()) {
            walk(&entry.path(), depth - 1, left, marks);
        } else if kind.is_file()
            && is_source(&name)
            && let Ok(metadata) = entry.metadata()
        {
            let modified_ns = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
            marks.insert(entry.path(), Mark { inode: metadata.ino(), size: metadata.size(), modified_ns });
        }
    }
}

fn is_source(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    NAMES.contains(&name) || ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn dirty_1_a_source_that_changed_appeared_or_went_is_found() {
        let place = tempfile::tempdir().unwrap();
        let source = place.path().join("src/a.py");
        fs::create_dir(place.path().join("src")).unwrap();
        fs::write(&source, "one").unwrap();
        let before = Sources::of(place.path());
        assert_eq!(before.changed(), None);
        fs::write(&source, "other").unwrap();
        assert_eq!(before.changed(), Some(PathBuf::from("src/a.py")));
        let before = Sources::of(place.path());
        fs::write(place.path().join("b.rs"), "").unwrap();
        assert_eq!(before.changed(), Some(PathBuf::from("b.rs")));
        let before = Sources::of(place.path());
        fs::remove_file(&source).unwrap();
        assert_eq!(before.changed(), Some(PathBuf::from("src/a.py")));
    }

    #[test]
    fn dirty_1_what_is_no_source_does_not_count() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("main.go"), "x").unwrap();
        let before = Sources::of(place.path());
        for folder in ["__pycache__", "node_modules", ".geometry", "target"] {
            fs::create_dir(place.path().join(folder)).unwrap();
            fs::write(place.path().join(folder).join("made.py"), "").unwrap();
        }
        fs::write(place.path().join("run.log"), "").unwrap();
        fs::write(place.path().join("counter"), "1").unwrap();
        std::os::unix::fs::symlink("/", place.path().join("everything.rs")).unwrap();
        assert_eq!(before.changed(), None);
    }
}
