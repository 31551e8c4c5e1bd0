//! A file is read in one go and a function on one screen, so both have a limit without an upper escape.

use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, Signature, TraitItemFn};

use super::finding::{Finding, Rule};
use super::rust::{Role, SourceFile, end_line};
use super::workspace::Workspace;

/// Lines of a file without its inline test modules; a file of tests counts whole.
pub(crate) const FILE_LINES_MAX: usize = 500;

/// Lines of a function from `fn` to its closing brace; comments count, attributes and docs do not.
pub(crate) const FUNCTION_LINES_MAX: usize = 70;

pub(crate) fn check(ws: &Workspace, findings: &mut Vec<Finding>) {
    for source in &ws.sources {
        check_file(source, findings);
        let mut functions = Functions { source, findings };
        functions.visit_file(&source.syntax);
    }
}

fn check_file(source: &SourceFile, findings: &mut Vec<Finding>) {
    let all = source.text.lines().count();
    let (lines, what) = match source.role {
        Role::Production => (all - source.inline_test_lines(), "lines without tests"),
        Role::Test => (all, "lines"),
    };
    if lines > FILE_LINES_MAX {
        findings.push(Finding::new(
            &source.path,
            1,
            Rule::FileLength,
            format!("{lines} {what}, at most {FILE_LINES_MAX}; split it by topic"),
        ));
    }
}

struct Functions<'a> {
    source: &'a SourceFile,
    findings: &'a mut Vec<Finding>,
}

impl Functions<'_> {
    fn check(&mut self, signature: &Signature, block: &Block) {
        let first = signature.fn_token.span.start().line;
        let lines = end_line(block.brace_token.span.close()) + 1 - first;
        if lines > FUNCTION_LINES_MAX {
            self.findings.push(self.source.finding(
                signature.fn_token.span,
                Rule::FunctionLength,
                format!(
                    "`{}` has {lines} lines, at most {FUNCTION_LINES_MAX}; give a part of it a name",
                    signature.ident
                ),
            ));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.check(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.check(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(block) = &function.default {
            self.check(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{library, member_files, printed};
    use super::*;

    fn comments(count: usize) -> String {
        "// line\n".repeat(count)
    }

    fn function_of(lines: usize) -> String {
        format!("fn f() {{\n{}}}\n", comments(lines - 2))
    }

    #[test]
    fn a_file_over_the_limit_is_found_and_one_at_the_limit_is_not() {
        assert!(printed(&library(&comments(FILE_LINES_MAX)), check).is_empty());
        assert_eq!(
            printed(&library(&comments(FILE_LINES_MAX + 1)), check),
            ["crates/a/src/lib.rs:1: file-length: 501 lines without tests, at most 500; split it by topic"]
        );
    }

    #[test]
    fn inline_tests_do_not_count_but_a_file_of_tests_does() {
        let with_tests = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", comments(FILE_LINES_MAX), comments(300));
        assert!(printed(&library(&with_tests), check).is_empty());
        let suite = comments(FILE_LINES_MAX + 1);
        let ws = member_files(&[("crates/a/tests/suite.rs", &suite)]);
        assert_eq!(printed(&ws, check).len(), 1);
    }

    #[test]
    fn a_function_over_the_limit_is_found_and_one_at_the_limit_is_not() {
        assert!(printed(&library(&function_of(FUNCTION_LINES_MAX)), check).is_empty());
        let lines = printed(&library(&function_of(FUNCTION_LINES_MAX + 1)), check);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].contains(":1: function-length: `f` has 71 lines"), "{lines:?}");
    }

    #[test]
    fn methods_and_default_methods_have_the_same_limit() {
        let long = function_of(FUNCTION_LINES_MAX + 1);
        let text = format!("struct S;\nimpl S {{ {long} }}\ntrait T {{ {long} }}\n");
        assert_eq!(printed(&library(&text), check).len(), 2);
    }

    #[test]
    fn attributes_and_docs_of_a_function_do_not_count() {
        let text = format!("{}{}", "/// Why.\n".repeat(30), function_of(FUNCTION_LINES_MAX));
        assert!(printed(&library(&text), check).is_empty());
    }
}
