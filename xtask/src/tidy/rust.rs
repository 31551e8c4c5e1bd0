//! One parsed Rust file, and the few questions about syntax that several checks ask.

use proc_macro2::{Span, TokenStream};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta};

use super::finding::{Finding, Rule};

/// Whether a file is part of the product or watches over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Compiled into what people run.
    Production,
    /// Tests and benches, including modules that exist only under `cfg(test)`.
    Test,
}

/// A Rust file as text, tokens and syntax: each check takes the form in which its question is simplest.
pub(crate) struct SourceFile {
    /// Relative to the root.
    pub(crate) path: String,
    /// The text as it stands on disk.
    pub(crate) text: String,
    /// What the compiler's lexer sees: no comments, and macro calls included.
    pub(crate) tokens: TokenStream,
    /// The syntax tree, macro calls opaque.
    pub(crate) syntax: syn::File,
    /// Set when the module tree is known; until then by folder.
    pub(crate) role: Role,
}

impl SourceFile {
    pub(crate) fn parse(path: &str, text: &str) -> Result<Self, Finding> {
        let broken = |line: usize, error: &dyn std::fmt::Display| {
            Finding::new(path, line, Rule::Unreadable, format!("not valid rust: {error}"))
        };
        let tokens: TokenStream =
            text.parse().map_err(|error: proc_macro2::LexError| broken(start_line(error.span()), &error))?;
        let syntax =
            syn::parse2(tokens.clone()).map_err(|error| broken(last_line_if_unplaced(&error, text), &error))?;
        Ok(Self { path: path.to_owned(), text: text.to_owned(), tokens, syntax, role: Role::Production })
    }

    /// The crate's folder: `crates/core`, `xtask`.
    pub(crate) fn package_folder(&self) -> &str {
        package_folder(&self.path)
    }

    /// The path below the crate's folder: `src/lib.rs`.
    pub(crate) fn path_in_package(&self) -> &str {
        self.path.strip_prefix(self.package_folder()).map_or("", |rest| rest.trim_start_matches('/'))
    }

    /// Lines of inline `#[cfg(test)]` modules, attributes included.
    pub(crate) fn inline_test_lines(&self) -> usize {
        let mut counter = InlineTests { lines: 0 };
        counter.visit_file(&self.syntax);
        counter.lines
    }

    /// Lines without inline tests; all lines of a file that is test code as a whole.
    pub(crate) fn own_lines(&self) -> usize {
        let all = self.text.lines().count();
        match self.role {
            Role::Production => all - self.inline_test_lines(),
            Role::Test => all,
        }
    }

    pub(crate) fn finding(&self, span: Span, rule: Rule, message: impl Into<String>) -> Finding {
        Finding::new(&self.path, start_line(span), rule, message)
    }
}

pub(crate) fn package_folder(path: &str) -> &str {
    let depth = if path.starts_with("crates/") { 2 } else { 1 };
    path.match_indices('/').nth(depth - 1).map_or(path, |(index, _)| path.split_at(index).0)
}

pub(crate) fn start_line(span: Span) -> usize {
    span.start().line
}

pub(crate) fn end_line(span: Span) -> usize {
    span.end().line
}

/// An error at the end of input has no place of its own.
fn last_line_if_unplaced(error: &syn::Error, text: &str) -> usize {
    let line = start_line(error.span());
    if error.to_string().starts_with("unexpected end of input") { text.lines().count().max(1) } else { line }
}

/// Whether an item exists only when tests are built: `cfg(test)` or a conjunction with it.
pub(crate) fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"))
        .filter_map(|attribute| attribute.parse_args::<Meta>().ok())
        .any(|condition| requires_test(&condition))
}

fn requires_test(condition: &Meta) -> bool {
    if condition.path().is_ident("test") {
        return true;
    }
    let Meta::List(list) = condition else {
        return false;
    };
    let nested = list.parse_args_with(syn::punctuated::Punctuated::<Meta, syn::Token![,]>::parse_terminated);
    let Ok(nested) = nested else { return false };
    if list.path.is_ident("all") {
        nested.iter().any(requires_test)
    } else if list.path.is_ident("any") {
        !nested.is_empty() && nested.iter().all(requires_test)
    } else {
        false
    }
}

struct InlineTests {
    lines: usize,
}

impl<'ast> Visit<'ast> for InlineTests {
    fn visit_item(&mut self, item: &'ast Item) {
        let Item::Mod(module) = item else {
            return visit::visit_item(self, item);
        };
        let (true, Some((brace, _))) = (is_test_only(&module.attrs), &module.content) else {
            return visit::visit_item(self, item);
        };
        let first = module
            .attrs
            .first()
            .map_or_else(|| start_line(module.mod_token.span), |attribute| start_line(attribute.pound_token.span));
        self.lines += end_line(brace.span.close()) + 1 - first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> SourceFile {
        SourceFile::parse("crates/a/src/lib.rs", text).unwrap()
    }

    #[test]
    fn test_lines_are_those_of_modules_under_cfg_test() {
        let source = parse("//! x\nfn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n");
        assert_eq!(source.inline_test_lines(), 4);
        let nested = parse("mod m {\n    #[cfg(all(test, unix))]\n    mod t {}\n}\n");
        assert_eq!(nested.inline_test_lines(), 2);
    }

    #[test]
    fn a_module_that_also_exists_without_tests_is_production() {
        for condition in ["not(test)", "any(test, unix)", "feature = \"test\"", "all()"] {
            let source = parse(&format!("#[cfg({condition})]\nmod m {{\n}}\n"));
            assert_eq!(source.inline_test_lines(), 0, "{condition}");
        }
        let every_way = parse("#[cfg(any(test, all(test, unix)))]\nmod m {\n}\n");
        assert_eq!(every_way.inline_test_lines(), 3);
    }

    #[test]
    fn a_path_splits_into_crate_and_rest() {
        let source = parse("//! x\n");
        assert_eq!(source.package_folder(), "crates/a");
        assert_eq!(source.path_in_package(), "src/lib.rs");
        assert_eq!(package_folder("xtask/src/tidy/rust.rs"), "xtask");
    }
}
