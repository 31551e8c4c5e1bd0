//! Unsafe code has one home, and there each use says why it is sound.

use proc_macro2::Span;

use super::finding::{Finding, Rule};
use super::rust::{SourceFile, start_line};
use super::tokens;
use super::workspace::Workspace;

/// The one crate whose task cannot be done without it.
const HOME: &str = "crates/sandbox";

pub(crate) fn check(ws: &Workspace, findings: &mut Vec<Finding>) {
    for source in &ws.sources {
        for place in tokens::places_of("unsafe", &source.tokens) {
            if source.package_folder() != HOME {
                findings.push(source.finding(
                    place,
                    Rule::UnsafeCode,
                    format!("unsafe code may stand only in {HOME}; call a safe function of it"),
                ));
            } else if !is_explained(source, place) {
                findings.push(source.finding(
                    place,
                    Rule::SafetyComment,
                    "no `// SAFETY:` line above says why this is sound",
                ));
            }
        }
    }
}

/// The explanation stands on the same line, on the first line of the block, or above the statement, with only
/// comments, attributes and the statement's own earlier lines in between.
fn is_explained(source: &SourceFile, place: Span) -> bool {
    let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
    let index = start_line(place).saturating_sub(1);
    let on_line_or_inside = lines
        .iter()
        .skip(index)
        .take(2)
        .any(|line| explains(line) && (line.starts_with("//") || line.contains("unsafe")));
    if on_line_or_inside {
        return true;
    }
    for line in lines.iter().take(index).rev() {
        if explains(line) {
            return true;
        }
        let is_note = line.starts_with("//") || line.starts_with("#[");
        let ends_another = line.is_empty() || line.ends_with([';', '{', '}']);
        if !is_note && ends_another {
            return false;
        }
    }
    false
}

fn explains(line: &str) -> bool {
    let comment = line.split_once("//").map_or("", |(_, comment)| comment);
    let reason = comment.split_once("SAFETY:").map_or("", |(_, reason)| reason.trim());
    !reason.is_empty() || comment.contains("# Safety")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{library, member_files, printed};
    use super::*;

    fn sandbox(text: &str) -> Vec<String> {
        printed(&member_files(&[("crates/sandbox/src/lib.rs", text)]), check)
    }

    #[test]
    fn unsafe_code_outside_its_home_is_found_even_with_a_reason_and_in_macros() {
        for text in [
            "fn f() {\n    // SAFETY: fine\n    unsafe { g() }\n}\n",
            "fn f() {\n    m!(unsafe { g() });\n}\n",
            "unsafe impl Send for S {}\n",
            "#[unsafe(no_mangle)]\nfn f() {}\n",
        ] {
            let found = printed(&library(text), check);
            assert_eq!(found.len(), 1, "{text}");
            assert!(found[0].contains("unsafe-code"), "{found:?}");
        }
    }

    #[test]
    fn the_word_in_comments_strings_and_lint_names_is_no_use() {
        let text = "#![forbid(unsafe_code)]\n// unsafe\nconst A: &str = \"unsafe\";\n";
        assert!(printed(&library(text), check).is_empty());
    }

    #[test]
    fn in_its_home_a_use_without_a_reason_is_found() {
        for text in [
            "fn f() {\n    unsafe { g() }\n}\n",
            "fn f() {\n    // SAFETY:\n    unsafe { g() }\n}\n",
            "fn f() {\n    // SAFETY: of the other one\n    let a = 1;\n    unsafe { g() }\n}\n",
            "fn f() {\n    // SAFETY: too far away\n\n    unsafe { g() }\n}\n",
        ] {
            let found = sandbox(text);
            assert_eq!(found.len(), 1, "{text}");
            assert!(found[0].contains("safety-comment"), "{found:?}");
        }
    }

    #[test]
    fn in_its_home_every_usual_place_of_a_reason_counts() {
        for text in [
            "fn f() {\n    // SAFETY: no pointer is involved\n    unsafe { g() }\n}\n",
            "fn f() {\n    // SAFETY: two lines\n    // of reason\n    let a =\n        unsafe { g() };\n}\n",
            "fn f() {\n    unsafe {\n        // SAFETY: inside\n        g()\n    }\n}\n",
            "fn f() {\n    unsafe { g() } // SAFETY: beside\n}\n",
            "/// Why.\n///\n/// # Safety\n/// The caller owns the descriptor.\n#[inline]\npub unsafe fn f() {}\n",
        ] {
            assert!(sandbox(text).is_empty(), "{text}");
        }
    }
}
