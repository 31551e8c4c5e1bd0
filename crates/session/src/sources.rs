//! Which changed files count as code: for a call that says that it writes all but plain text, for any other what looks like
//! source. Logs, caches and build products come and go without anybody's work being unproved.

use tripwire_core::chain::event::{Flag, Flags};
use tripwire_observe::is_code;

/// Endings of source files.
const ENDINGS: [&str; 48] = [
    "rs", "py", "pyi", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "go", "c", "h", "cc", "cpp", "cxx", "hpp", "hh",
    "java", "kt", "kts", "scala", "rb", "php", "cs", "fs", "swift", "m", "mm", "sh", "bash", "zsh", "pl", "pm", "lua",
    "r", "jl", "ex", "exs", "erl", "hs", "ml", "sql", "vue", "svelte", "zig", "nim", "dart",
];

/// Names of files that build or describe a project.
const NAMES: [&str; 8] =
    ["Makefile", "makefile", "Dockerfile", "CMakeLists.txt", "Cargo.toml", "package.json", "pyproject.toml", "go.mod"];

/// Whether a file below the workspace looks like source, by its name.
#[must_use]
pub fn is_source(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    NAMES.contains(&name) || ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

/// Whether a file that changed while a call ran counts as code, by what the call's words say of it.
#[must_use]
pub fn counts_as_code(flags: Flags, path: &str) -> bool {
    if flags.has(Flag::Edit) || flags.has(Flag::Change) { is_code(path) } else { is_source(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirty_1_a_command_that_writes_may_write_any_code_and_another_only_sources() {
        let (writes, runs) = (Flags::default().with(Flag::Change), Flags::default());
        for (path, by_writer, by_other) in
            [("src/a.py", true, true), ("Makefile", true, true), ("conf.yaml", true, false), ("run.log", false, false)]
        {
            assert_eq!((counts_as_code(writes, path), counts_as_code(runs, path)), (by_writer, by_other), "{path}");
        }
    }
}
