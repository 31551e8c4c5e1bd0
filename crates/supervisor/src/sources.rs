//! The sources of the workspace at the start of the run, to find changes that no tool call showed.
//!
//! An agent may change code by ways that cannot be seen from the call: a script of its own, a program in another language.
//! Before tests run and when the agent says that it is done, the sources are held against what they were. Only what looks
//! like source counts: logs, caches and build products come and go without anybody's work being unproved.

use std::path::Path;
use tripwire_core::chain::event::{Action, AgentEvent, Flag, Flags, Outcome};
use tripwire_core::input::What;
use tripwire_core::label::Label;

/// Endings of source files.
const ENDINGS: [&str; 48] = [
    "rs", "py", "pyi", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "go", "c", "h", "cc", "cpp", "cxx", "hpp", "hh",
    "java", "kt", "kts", "scala", "rb", "php", "cs", "fs", "swift", "m", "mm", "sh", "bash", "zsh", "pl", "pm", "lua",
    "r", "jl", "ex", "exs", "erl", "hs", "ml", "sql", "vue", "svelte", "zig", "nim", "dart",
];

/// Names of files that build or describe a project.
const NAMES: [&str; 8] =
    ["Makefile", "makefile", "Dockerfile", "CMakeLists.txt", "Cargo.toml", "package.json", "pyproject.toml", "go.mod"];

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

/// Whether a file below the workspace looks like source, by its name.
pub(crate) fn is_source(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    NAMES.contains(&name) || ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;
    use tripwire_session::file_marks::FileMarks;

    #[test]
    fn dirty_1_a_source_that_changed_appeared_or_went_is_found() {
        let place = tempfile::tempdir().unwrap();
        let source = place.path().join("src/a.py");
        let change = |act: &dyn Fn()| {
            let before = FileMarks::of(place.path()).unwrap();
            act();
            before.changed_since(is_source)
        };
        fs::create_dir(place.path().join("src")).unwrap();
        fs::write(&source, "one").unwrap();
        assert_eq!(change(&|| {}), None);
        assert_eq!(change(&|| fs::write(&source, "other").unwrap()), Some(PathBuf::from("src/a.py")));
        assert_eq!(change(&|| fs::write(place.path().join("b.rs"), "").unwrap()), Some(PathBuf::from("b.rs")));
        assert_eq!(change(&|| fs::remove_file(&source).unwrap()), Some(PathBuf::from("src/a.py")));
    }

    #[test]
    fn dirty_1_what_is_no_source_does_not_count() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("main.go"), "x").unwrap();
        let before = FileMarks::of(place.path()).unwrap();
        for folder in ["__pycache__", "node_modules", ".geometry", "target"] {
            fs::create_dir(place.path().join(folder)).unwrap();
            fs::write(place.path().join(folder).join("made.py"), "").unwrap();
        }
        fs::write(place.path().join("run.log"), "").unwrap();
        fs::write(place.path().join("counter"), "1").unwrap();
        std::os::unix::fs::symlink("/", place.path().join("everything")).unwrap();
        assert_eq!(before.changed_since(is_source), None);
    }
}
