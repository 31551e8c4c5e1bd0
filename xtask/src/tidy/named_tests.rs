//! Every test that the documents name exists.
//!
//! In the tables that promise a test for each line, a name in backquotes such as `loop_1_a_repeat_fires` is one.

use super::finding::{Finding, Rule};
use super::workspace::Workspace;
use std::collections::BTreeSet;

/// The documents whose tables name tests.
const PATHS: [&str; 3] = ["SPECIFICATION.md", "docs/reference/features.md", "docs/reference/seeds.md"];

pub(crate) fn check(ws: &Workspace, findings: &mut Vec<Finding>) {
    let known = functions(ws);
    for path in PATHS {
        let Some(text) = ws.files.get(path) else { continue };
        for (index, line) in text.lines().enumerate() {
            for name in line.split('`').skip(1).step_by(2).filter(|name| is_test_name(name)) {
                if !known.contains(name) {
                    findings.push(Finding::new(path, index + 1, Rule::NamedTest, format!("there is no test `{name}`")));
                }
            }
        }
    }
}

/// The names of all functions, also those of the tests that need the real clients.
fn functions(ws: &Workspace) -> BTreeSet<&str> {
    let sources = ws.files.iter().filter(|(path, _)| path.ends_with(".rs"));
    let names = sources.flat_map(|(_, text)| text.split("fn ").skip(1));
    names.filter_map(|rest| rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()).collect()
}

/// Whether a word is the name of a test that carries a rule's: letters, a number, and more words.
fn is_test_name(word: &str) -> bool {
    let parts: Vec<&str> = word.split('_').collect();
    let plain = |part: &&str| {
        !part.is_empty() && part.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit())
    };
    parts.len() > 3 && parts.iter().all(plain) && parts.get(1).is_some_and(|part| part.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{member_files, printed};
    use super::*;

    #[test]
    fn a_test_that_is_named_and_not_there_is_found_at_its_line() {
        let table =
            "| 1 | repeats | `loop_1_a_repeat_fires`, `loop_1_work_is_quiet` |\n| 2 | `max_tokens`, `a_b_c_d` | |\n";
        let source = "#[test]\nfn loop_1_a_repeat_fires() {}\n";
        let ws = member_files(&[(PATHS[1], table), ("crates/a/tests/t.rs", source)]);
        assert_eq!(
            printed(&ws, check),
            ["docs/reference/features.md:1: named-test: there is no test `loop_1_work_is_quiet`"]
        );
    }
}
