//! The pure crates are `no_std`, and no file of theirs opens a side door into the standard library.

use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta, Path, UseTree};

use super::finding::{Finding, Rule};
use super::rust::{Role, SourceFile, is_test_only};
use super::workspace::Workspace;

/// The crates that know no clock, no disk, no environment.
const PURE: [&str; 3] = ["crates/core", "crates/shell", "crates/observe"];

/// Banned as text, comments included: one less thing to argue about.
const SIDE_DOOR: &str = "extern crate std";

pub(crate) fn check(ws: &Workspace, findings: &mut Vec<Finding>) {
    for source in &ws.sources {
        if !PURE.contains(&source.package_folder()) {
            continue;
        }
        check_text(source, findings);
        let is_root = source.path_in_package() == "src/lib.rs";
        if is_root && !source.syntax.attrs.iter().any(is_no_std) {
            findings.push(Finding::new(
                &source.path,
                1,
                Rule::Purity,
                "`#![no_std]` is missing; it is the wall that keeps this crate pure",
            ));
        }
        if source.role == Role::Production {
            let mut paths = StdPaths { source, findings };
            paths.visit_file(&source.syntax);
        }
    }
}

fn check_text(source: &SourceFile, findings: &mut Vec<Finding>) {
    for (index, line) in source.text.lines().enumerate() {
        if line.contains(SIDE_DOOR) {
            findings.push(Finding::new(
                &source.path,
                index + 1,
                Rule::Purity,
                format!("`{SIDE_DOOR}` is banned in {}; use `core` and `alloc`", source.package_folder()),
            ));
        }
    }
}

/// Unconditional, or lifted for the crate's own unit tests only.
fn is_no_std(attribute: &Attribute) -> bool {
    if attribute.path().is_ident("no_std") {
        return true;
    }
    let Meta::List(list) = &attribute.meta else {
        return false;
    };
    let condition = list.tokens.to_string().replace(' ', "");
    list.path.is_ident("cfg_attr") && condition == "not(test),no_std"
}

/// Paths into `std` outside tests, for a crate that was made to link it in some other way.
struct StdPaths<'a> {
    source: &'a SourceFile,
    findings: &'a mut Vec<Finding>,
}

impl StdPaths<'_> {
    fn report(&mut self, span: proc_macro2::Span) {
        self.findings.push(self.source.finding(
            span,
            Rule::Purity,
            "`std` in a pure crate; use `core` and `alloc`, and let the world enter as input",
        ));
    }
}

impl<'ast> Visit<'ast> for StdPaths<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let in_tests = matches!(item, Item::Mod(module) if is_test_only(&module.attrs));
        if !in_tests {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, import: &'ast syn::ItemUse) {
        if let UseTree::Path(path) = &import.tree
            && path.ident == "std"
            && !is_test_only(&import.attrs)
        {
            self.report(path.ident.span());
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let starts_in_std = path.segments.len() > 1 && path.segments.first().is_some_and(|first| first.ident == "std");
        if starts_in_std && let Some(first) = path.segments.first() {
            self.report(first.ident.span());
        }
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{library, member_files, printed};
    use super::*;

    fn core(text: &str) -> Vec<String> {
        printed(&member_files(&[("crates/core/src/lib.rs", text)]), check)
    }

    #[test]
    fn every_pure_crate_is_held() {
        for folder in PURE {
            let root = format!("{folder}/src/lib.rs");
            assert_eq!(printed(&member_files(&[(&root, "//! x\n")]), check).len(), 1, "{folder}");
        }
        assert!(printed(&library("//! x\n"), check).is_empty());
    }

    #[test]
    fn the_side_door_is_found_everywhere_in_core_and_only_there() {
        let found = core("#![no_std]\n#[cfg(test)]\nextern crate std;\n");
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("lib.rs:3: purity"), "{found:?}");
        let in_tests = member_files(&[("crates/core/tests/t.rs", "extern crate std;\n")]);
        assert_eq!(printed(&in_tests, check).len(), 1);
        assert!(printed(&library("extern crate std;\n"), check).is_empty());
    }

    #[test]
    fn a_core_that_links_std_is_found() {
        assert_eq!(core("//! x\n").len(), 1);
        assert_eq!(core("#![cfg_attr(not(feature = \"std\"), no_std)]\n").len(), 1);
        assert!(core("#![no_std]\n").is_empty());
        assert!(core("#![cfg_attr(not(test), no_std)]\n").is_empty());
    }

    #[test]
    fn paths_into_std_are_found_outside_tests() {
        let found = core("#![no_std]\nuse std::fmt;\nfn f() -> std::string::String { std::env::args() }\n");
        assert_eq!(found.len(), 3, "{found:?}");
    }

    #[test]
    fn tests_of_the_core_may_use_std() {
        let text =
            "#![cfg_attr(not(test), no_std)]\nuse alloc::vec::Vec;\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
        assert!(core(text).is_empty());
        let suite = member_files(&[("crates/core/tests/t.rs", "use std::fs;\n")]);
        assert!(printed(&suite, check).is_empty());
    }
}
