//! How one text became another, in the unified form that people and `patch` read.

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::udiff::UnifiedHunkHeader;
use similar::{ChangeTag, DiffOp, group_diff_ops};
use std::fmt::Write as _;

/// Lines around a change, as in `diff -u`.
pub const CONTEXT_LINES: usize = 3;

/// A text and the name under which a difference shows it.
#[derive(Debug, Clone, Copy)]
pub struct NamedText<'a> {
    /// The name.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
}

/// The difference of two texts with so many lines around each change; empty where they are equal.
#[must_use]
pub fn unified(old: NamedText<'_>, new: NamedText<'_>, context_lines: usize) -> String {
    let old_lines: Vec<&str> = old.text.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.text.split_inclusive('\n').collect();
    let mut shown = String::new();
    for operations in group_diff_ops(operations(&old_lines, &new_lines), context_lines) {
        if operations.is_empty() {
            continue;
        }
        if shown.is_empty() {
            write_to(&mut shown, format_args!("--- {}\n+++ {}\n", old.name, new.name));
        }
        write_to(&mut shown, format_args!("{}\n", UnifiedHunkHeader::new(&operations)));
        for operation in &operations {
            for change in operation.iter_changes(&old_lines, &new_lines) {
                write_line(&mut shown, change.tag(), change.value());
            }
        }
    }
    shown
}

/// The operations that turn one list of lines into the other. The algorithm is called by name: a call that lets the library choose
/// links all of them, several hundred kilobytes.
fn operations(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let mut collected = Compact::new(Replace::new(Capture::new()), old, new);
    let Ok(()) = myers::diff(&mut collected, old, 0..old.len(), new, 0..new.len());
    collected.into_inner().into_inner().into_ops()
}

fn write_line(shown: &mut String, tag: ChangeTag, line: &str) {
    write_to(shown, format_args!("{tag}{line}"));
    if !line.ends_with('\n') {
        shown.push_str("\n\\ No newline at end of file\n");
    }
}

fn write_to(shown: &mut String, text: std::fmt::Arguments<'_>) {
    // A text that cannot be written to a string does not exist.
    shown.write_fmt(text).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str, context_lines: usize) -> String {
        unified(NamedText { name: "a", text: old }, NamedText { name: "b", text: new }, context_lines)
    }

    #[test]
    fn equal_texts_have_no_difference() {
        assert_eq!(shown("", "", 3), "");
        assert_eq!(shown("one\ntwo", "one\ntwo", 3), "");
    }

    #[test]
    fn changes_far_apart_are_shown_apart_with_the_lines_around_them() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n10\n";
        assert_eq!(shown(old, new, 1), "--- a\n+++ b\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n@@ -9 +9,2 @@\n 9\n+10\n");
        assert_eq!(shown(old, new, 9).matches("@@ ").count(), 1);
    }

    #[test]
    fn a_missing_line_end_is_said() {
        assert_eq!(
            shown("", "one\ntwo", 3),
            "--- a\n+++ b\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n"
        );
        assert_eq!(shown("one", "one\n", 3), "--- a\n+++ b\n@@ -1 +1 @@\n-one\n\\ No newline at end of file\n+one\n");
    }

    /// Texts of many lines with nothing in common are where a difference without heuristics takes minutes.
    #[test]
    fn long_texts_without_a_common_line_are_compared_at_once() {
        let lines = |word: &str| (0..20_000).map(|number| format!("{word} {number}\n")).collect::<String>();
        let shown = shown(&lines("old"), &lines("new"), 3);
        assert_eq!(shown.lines().filter(|line| line.starts_with('-')).count(), 20_001);
        assert_eq!(shown.lines().filter(|line| line.starts_with('+')).count(), 20_001);
    }
}
