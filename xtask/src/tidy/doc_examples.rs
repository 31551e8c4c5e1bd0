//! A crate without examples in its docs says `doctest = false`, because looking for them costs as much as a build's front half; so
//! an example in such a crate would be compiled by nobody, and is a finding.

use super::finding::{Finding, Rule};
use super::rust::SourceFile;
use super::workspace::Workspace;

/// What a block says when it is no example.
const NO_EXAMPLE: &str = "text";

pub(crate) fn check(ws: &Workspace, findings: &mut Vec<Finding>) {
    for member in ws.members.iter().filter(|member| is_not_searched(&member.table)) {
        let folder = member.package_folder();
        for source in ws.production().filter(|source| source.package_folder() == folder) {
            check_source(source, findings);
        }
    }
}

fn is_not_searched(manifest: &toml::Table) -> bool {
    let doctest = manifest.get("lib").and_then(|lib| lib.get("doctest"));
    doctest.and_then(toml::Value::as_bool) == Some(false)
}

fn check_source(source: &SourceFile, findings: &mut Vec<Finding>) {
    let (mut is_inside, mut is_paragraph) = (false, false);
    for (index, line) in source.text.lines().enumerate() {
        let Some(text) = doc_text(line) else {
            (is_inside, is_paragraph) = (false, false);
            continue;
        };
        if let Some(kind) = text.trim_start().strip_prefix("```") {
            if !is_inside && kind.trim() != NO_EXAMPLE {
                findings.push(finding(source, index + 1));
            }
            is_inside = !is_inside;
        } else if !is_inside && !is_paragraph && text.starts_with("     ") {
            findings.push(finding(source, index + 1));
        }
        is_paragraph = !text.trim().is_empty();
    }
}

/// What a line of docs says, with the blank that usually stands before it.
fn doc_text(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
}

fn finding(source: &SourceFile, line: usize) -> Finding {
    let message = format!(
        "an example that nothing compiles: {} says `doctest = false`; make it ```{NO_EXAMPLE} or remove that line",
        source.package_folder()
    );
    Finding::new(&source.path, line, Rule::DocExample, message)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{member_files, printed};
    use super::*;

    const SILENT: (&str, &str) = ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n[lib]\ndoctest = false\n");
    const SEARCHED: (&str, &str) = ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n");

    fn found(manifest: (&str, &str), text: &str) -> Vec<String> {
        printed(&member_files(&[manifest, ("crates/a/src/lib.rs", text)]), check)
    }

    #[test]
    fn an_example_where_nobody_looks_for_examples_is_found() {
        for example in
            ["/// ```\n/// a();\n/// ```", "/// ```compile_fail\n/// a();\n/// ```", "/// Why.\n///\n///     a();"]
        {
            let text = format!("//! Why.\n\n{example}\npub fn a() {{}}\n");
            assert_eq!(found(SILENT, &text).len(), 1, "{text}");
            assert!(found(SEARCHED, &text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_drawing_and_a_paragraph_are_no_examples() {
        for docs in
            ["/// ```text\n/// a -> b\n///     c\n/// ```", "/// - one\n///     goes on\n", "/// One.\n/// Two."]
        {
            let text = format!("//! Why.\n\n{docs}\npub fn a() {{}}\n");
            assert!(found(SILENT, &text).is_empty(), "{text}");
        }
    }
}
