//! A file is read in one go and says in its first line why it exists. Functions, parameters, match arms and the docs of
//! items are the lint table's task; see `lints.rs`.

use super::finding::{Finding, Rule};
use super::rust::SourceFile;
use super::workspace::Workspace;

/// Lines of a file without its inline test modules; a file of tests counts whole.
pub(crate) const FILE_LINES_MAX: usize = 500;

pub(crate) fn check(ws: &Workspace, findings: &mut Vec<Finding>) {
    for source in &ws.sources {
        check_length(source, findings);
        check_first_line(source, findings);
    }
}

fn check_length(source: &SourceFile, findings: &mut Vec<Finding>) {
    let lines = source.own_lines();
    if lines > FILE_LINES_MAX {
        findings.push(Finding::new(
            &source.path,
            1,
            Rule::FileLength,
            format!("{lines} lines without inline tests, at most {FILE_LINES_MAX}; split it by topic"),
        ));
    }
}

fn check_first_line(source: &SourceFile, findings: &mut Vec<Finding>) {
    let says_something = source
        .text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("//!"))
        .is_some_and(|text| !text.trim().is_empty());
    if !says_something {
        findings.push(Finding::new(
            &source.path,
            1,
            Rule::FileDoc,
            "the first line must be a `//!` sentence that says why the file exists",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{library, member_files, printed};
    use super::*;

    fn comments(count: usize) -> String {
        format!("//! Why.\n{}", "// line\n".repeat(count - 1))
    }

    #[test]
    fn a_file_over_the_limit_is_found_and_one_at_the_limit_is_not() {
        assert!(printed(&library(&comments(FILE_LINES_MAX)), check).is_empty());
        assert_eq!(
            printed(&library(&comments(FILE_LINES_MAX + 1)), check),
            ["crates/a/src/lib.rs:1: file-length: 501 lines without inline tests, at most 500; split it by topic"]
        );
    }

    #[test]
    fn inline_tests_do_not_count_but_a_file_of_tests_does() {
        let with_tests =
            format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", comments(FILE_LINES_MAX), "// x\n".repeat(300));
        assert!(printed(&library(&with_tests), check).is_empty());
        let suite = comments(FILE_LINES_MAX + 1);
        let ws = member_files(&[("crates/a/tests/suite.rs", &suite)]);
        assert_eq!(printed(&ws, check).len(), 1);
    }

    #[test]
    fn a_file_without_a_first_line_of_purpose_is_found() {
        for text in ["fn f() {}\n", "\n//! late\n", "//!\n//! empty first\n", ""] {
            let found = printed(&library(text), check);
            assert_eq!(found.len(), 1, "{text:?}");
            assert!(found[0].contains(":1: file-doc:"), "{found:?}");
        }
        assert!(printed(&library("//! Why.\n"), check).is_empty());
        let suite = member_files(&[("crates/a/tests/t.rs", "fn f() {}\n")]);
        assert_eq!(printed(&suite, check).len(), 1);
    }
}
