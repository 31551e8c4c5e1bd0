//! A Rust file that no `mod` line reaches is dead.

use super::finding::{Finding, Rule};
use super::rust::package_folder;
use super::workspace::Workspace;

pub(crate) fn check(ws: &Workspace, findings: &mut Vec<Finding>) {
    for path in &ws.unreached {
        if !is_named_by_a_neighbour(ws, path) {
            findings.push(Finding::new(
                path,
                1,
                Rule::DeadFile,
                "no `mod` line leads here, so nothing compiles it; declare it or delete it",
            ));
        }
    }
}

/// `include!` and macros that take file names reach files without a `mod` line.
fn is_named_by_a_neighbour(ws: &Workspace, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let quoted_end = format!("{name}\"");
    ws.sources
        .iter()
        .filter(|source| source.path != path)
        .filter(|source| source.package_folder() == package_folder(path))
        .any(|source| source.text.contains(&quoted_end))
}

#[cfg(test)]
mod tests {
    use super::super::rust::Role;
    use super::super::testing::{member_files, printed};
    use super::*;

    fn role_of(ws: &Workspace, path: &str) -> Option<Role> {
        let source = ws.sources.iter().find(|source| source.path == path)?;
        (!ws.unreached.contains(path)).then_some(source.role)
    }

    #[test]
    fn a_file_without_a_mod_line_is_dead() {
        let ws = member_files(&[
            ("crates/a/src/lib.rs", "//! x\nmod used;\n"),
            ("crates/a/src/used.rs", "//! x\nmod inner;\n"),
            ("crates/a/src/used/inner.rs", "//! x\n"),
            ("crates/a/src/lost.rs", "//! x\n"),
        ]);
        let lines = printed(&ws, check);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with("crates/a/src/lost.rs:1: dead-file:"));
    }

    #[test]
    fn every_usual_way_to_reach_a_file_keeps_it_alive() {
        let ws = member_files(&[
            ("crates/a/Cargo.toml", "[[bin]]\nname = \"b\"\npath = \"src/odd/place.rs\"\n"),
            (
                "crates/a/src/lib.rs",
                "//! x\nmod folder;\nmod inline { mod deep; }\n#[path = \"odd/name.rs\"]\nmod named;\ninclude!(\"text.rs\");\n",
            ),
            ("crates/a/src/folder/mod.rs", "//! x\n"),
            ("crates/a/src/inline/deep.rs", "//! x\n"),
            ("crates/a/src/odd/name.rs", "//! x\n"),
            ("crates/a/src/odd/place.rs", "//! x\n"),
            ("crates/a/src/text.rs", "//! x\n"),
            ("crates/a/src/bin/tool.rs", "//! x\n"),
            ("crates/a/tests/suite.rs", "//! x\nmod common;\n"),
            ("crates/a/tests/common/mod.rs", "//! x\n"),
            ("crates/a/benches/speed.rs", "//! x\n"),
            ("crates/a/build.rs", "//! x\n"),
        ]);
        assert_eq!(printed(&ws, check), Vec::<String>::new());
    }

    #[test]
    fn files_that_only_tests_reach_are_test_code() {
        let ws = member_files(&[
            ("crates/a/src/lib.rs", "//! x\nmod both;\n#[cfg(test)]\nmod tests;\n"),
            ("crates/a/src/tests.rs", "//! x\nmod helper;\n"),
            ("crates/a/src/tests/helper.rs", "//! x\n"),
            ("crates/a/src/both.rs", "//! x\n"),
            ("crates/a/tests/t.rs", "//! x\n#[path = \"../src/both.rs\"]\nmod both;\n"),
        ]);
        for (path, role) in [
            ("crates/a/src/lib.rs", Role::Production),
            ("crates/a/src/both.rs", Role::Production),
            ("crates/a/src/tests.rs", Role::Test),
            ("crates/a/src/tests/helper.rs", Role::Test),
            ("crates/a/tests/t.rs", Role::Test),
        ] {
            assert_eq!(role_of(&ws, path), Some(role), "{path}");
        }
    }
}
