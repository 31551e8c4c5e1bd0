//! Counts that a reader wants beside the findings; they are shown and not judged.

use std::fmt;

use super::rust::Role;
use super::spec_names::RuleCounts;
use super::workspace::Workspace;

/// How large the project is, and how much of it is tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figures {
    files: usize,
    production_lines: usize,
    test_lines: usize,
    rules: RuleCounts,
}

pub(crate) fn count(ws: &Workspace, rules: RuleCounts) -> Figures {
    let mut figures = Figures { files: ws.sources.len(), production_lines: 0, test_lines: 0, rules };
    for source in &ws.sources {
        match source.role {
            Role::Production => {
                figures.production_lines += source.own_lines();
                figures.test_lines += source.inline_test_lines();
            }
            Role::Test => figures.test_lines += source.own_lines(),
        }
    }
    figures
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, production_lines, test_lines, rules } = self;
        let balance = if test_lines >= production_lines {
            "test lines >= production lines"
        } else {
            "test lines < production lines"
        };
        write!(f, "{files} rust files, {production_lines} production lines, {test_lines} test lines ({balance}); ")?;
        write!(f, "{} promised rules", rules.promised)?;
        if rules.planned.is_empty() {
            return Ok(());
        }
        write!(f, ", {} planned: {}", rules.planned.len(), rules.planned.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::member_files;
    use super::*;

    #[test]
    fn lines_are_counted_by_what_they_serve() {
        let ws = member_files(&[
            ("crates/a/src/lib.rs", "//! x\nfn a() {}\n#[cfg(test)]\nmod tests {\n}\n"),
            ("crates/a/tests/t.rs", "//! x\n//! y\n"),
        ]);
        let rules = RuleCounts { promised: 3, planned: vec!["BOX-1".to_owned(), "BOX-2".to_owned()] };
        assert_eq!(
            count(&ws, rules).to_string(),
            "2 rust files, 2 production lines, 5 test lines (test lines >= production lines); 3 promised rules, 2 planned: BOX-1 BOX-2"
        );
    }

    #[test]
    fn too_few_tests_are_said_plainly() {
        let ws = member_files(&[("crates/a/src/lib.rs", "//! x\n")]);
        let text = count(&ws, RuleCounts::default()).to_string();
        assert!(text.contains("(test lines < production lines); 0 promised rules"), "{text}");
    }
}
