//! No two files of a crate need each other: such files are one thing in two pieces, and neither can be read, tested or
//! moved alone.
//!
//! A file needs another one if any path in it, in a `use` line, a type, an expression, a macro call or an attribute, leads
//! to something that is written there. Re-exports are followed to the definition, so a name taken from the crate's root
//! does not hide the way. Test code is left out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, Item, ItemMod, ItemUse, Macro, Visibility};

use super::finding::{Finding, Rule};
use super::modules::{Modules, flattened};
use super::reach::is_root;
use super::rust::{SourceFile, is_test_only};
use super::workspace::Workspace;

/// Which file needs which, with one name as the reason.
type Needs<'a> = BTreeMap<&'a str, BTreeMap<&'a str, String>>;

/// Every circle in the production code.
pub(crate) fn check(ws: &Workspace, findings: &mut Vec<Finding>) {
    let needs = all_needs(ws);
    for circle in circles(&needs) {
        let Some(first) = circle.first() else { continue };
        let message = format!("{} files need each other: {}", circle.len(), shortest_way(first, &needs).join(", "));
        findings.push(Finding::new(first, 1, Rule::Circle, message));
    }
}

fn all_needs(ws: &Workspace) -> Needs<'_> {
    let by_path: BTreeMap<&str, &SourceFile> = ws.production().map(|source| (source.path.as_str(), source)).collect();
    let mut needs = Needs::new();
    for root in ws.production().filter(|source| is_root(source.path_in_package())) {
        let modules = Modules::below(root, &by_path);
        for (index, module) in modules.iter() {
            let mut paths = Paths { found: Vec::new() };
            for item in &module.content {
                paths.visit_item(item);
            }
            for path in paths.found {
                for file in modules.definers(index, &path) {
                    if file != module.file {
                        needs.entry(module.file).or_default().entry(file).or_insert_with(|| path.join("::"));
                    }
                }
            }
        }
    }
    needs
}

/// Groups of files in which each reaches each.
fn circles<'a>(needs: &Needs<'a>) -> Vec<Vec<&'a str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = needs.keys().map(|file| (*file, reached_from(file, needs))).collect();
    let mut seen = BTreeSet::new();
    let mut groups = Vec::new();
    for (file, targets) in &reached {
        if !targets.contains(file) || seen.contains(file) {
            continue;
        }
        let back = |other: &&str| reached.get(other).is_some_and(|targets| targets.contains(file));
        let group: Vec<&str> = targets.iter().copied().filter(back).collect();
        seen.extend(group.iter().copied());
        groups.push(group);
    }
    groups
}

fn reached_from<'a>(file: &str, needs: &Needs<'a>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&str> = needs.get(file).into_iter().flat_map(BTreeMap::keys).copied().collect();
    while let Some(next) = waiting.pop() {
        if reached.insert(next) {
            waiting.extend(needs.get(next).into_iter().flat_map(BTreeMap::keys));
        }
    }
    reached
}

/// The fewest steps from a file back to itself, each with the name that leads on.
fn shortest_way(start: &str, needs: &Needs<'_>) -> Vec<String> {
    let mut waiting = VecDeque::from([(start, Vec::new())]);
    let mut seen = BTreeSet::new();
    while let Some((file, way)) = waiting.pop_front() {
        for (next, reason) in needs.get(file).into_iter().flatten() {
            let step = format!("{} -> {} (`{reason}`)", short(file), short(next));
            let way = [way.as_slice(), &[step]].concat();
            if *next == start {
                return way;
            }
            if seen.insert(*next) {
                waiting.push_back((next, way));
            }
        }
    }
    Vec::new()
}

fn short(file: &str) -> &str {
    file.split_once("/src/").map_or(file, |(_, path)| path)
}

/// Every path that a piece of code names.
struct Paths {
    found: Vec<Vec<String>>,
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test_only(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    /// A module has its own turn.
    fn visit_item_mod(&mut self, _: &'ast ItemMod) {}

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if !is_test_only(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        // A re-export needs nothing itself; its users are followed through it.
        if matches!(item.vis, Visibility::Inherited) {
            self.found.extend(flattened(&item.tree).into_iter().map(|import| import.path));
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.found.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.visit_path(&call.path);
        self.tokens(call.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if !attribute.path().is_ident("doc") {
            self.strings(quote_tokens(attribute));
        }
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

impl Paths {
    /// Paths between the other tokens of a macro call.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.end(&mut path);
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    self.end(&mut path);
                    colons = 0;
                }
                TokenTree::Group(group) => {
                    self.end(&mut path);
                    colons = 0;
                    self.tokens(group.stream());
                }
            }
        }
        self.end(&mut path);
    }

    fn end(&mut self, path: &mut Vec<String>) {
        if !path.is_empty() {
            self.found.push(std::mem::take(path));
        }
    }

    /// Attributes name functions as text: `#[serde(with = "crate::hex")]`.
    fn strings(&mut self, tokens: TokenStream) {
        for token in tokens {
            if let TokenTree::Group(group) = token {
                self.strings(group.stream());
            } else if let TokenTree::Literal(literal) = token
                && let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string())
                && let Ok(path) = text.parse::<syn::Path>()
            {
                self.visit_path(&path);
            }
        }
    }
}

fn quote_tokens(attribute: &Attribute) -> TokenStream {
    attribute.meta.require_list().map(|list| list.tokens.clone()).unwrap_or_default()
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a foreign enum that may grow: what is new has no attributes that name code"
)]
fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{member_files, printed};
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, String)> =
            files.iter().map(|(path, text)| (format!("crates/a/src/{path}"), format!("//! x\n{text}"))).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        printed(&member_files(&files), check)
    }

    const TWO: (&str, &str) = ("lib.rs", "mod a;\nmod b;\n");

    #[test]
    fn files_that_import_each_other_are_a_circle() {
        let files = [
            TWO,
            ("a.rs", "use crate::b::B;\npub struct A(B);\n"),
            ("b.rs", "use crate::a::A;\npub struct B;\nfn f(a: A) {}\n"),
        ];
        let expected = "crates/a/src/a.rs:1: file-circle: 2 files need each other: a.rs -> b.rs (`crate::b::B`), \
                        b.rs -> a.rs (`crate::a::A`)";
        assert_eq!(found(&files), [expected]);
    }

    #[test]
    fn one_way_is_no_circle() {
        let files = [TWO, ("a.rs", "use crate::b::B;\npub struct A(B);\n"), ("b.rs", "pub struct B;\n")];
        assert!(found(&files).is_empty());
    }

    #[test]
    fn a_re_export_does_not_hide_a_circle() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\npub use a::A;\npub use inner::*;\nmod inner { pub use crate::b::B as C; }\n"),
            ("a.rs", "use crate::C;\npub struct A(C);\n"),
            ("b.rs", "use crate::A;\npub struct B;\nfn f(a: A) {}\n"),
        ];
        assert_eq!(found(&files).len(), 1);
    }

    #[test]
    fn a_super_path_in_an_expression_counts() {
        let files = [
            ("lib.rs", "mod a;\n"),
            ("a.rs", "mod child;\npub fn limit() -> u8 { child::half() }\n"),
            ("a/child.rs", "pub fn half() -> u8 { super::limit() / 2 }\n"),
        ];
        let lines = found(&files);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].contains("2 files need each other: "), "{lines:?}");
    }

    #[test]
    fn paths_in_types_macros_attributes_and_module_imports_count() {
        for other in [
            "pub struct B { a: Option<super::a::A> }\n",
            "pub struct B;\nfn f() { assert!(matches!(x, crate::a::A { .. })); }\n",
            "pub struct B { #[serde(with = \"crate::a::hex\")] x: u8 }\n",
            "use super::a;\npub struct B;\nfn f() { a::call() }\n",
            "use super::*;\npub struct B;\nfn f() { a::call() }\n",
            "pub struct B;\nfn f() { use crate::a::A; }\n",
        ] {
            let files = [TWO, ("a.rs", "use super::b::B;\npub struct A { b: B }\npub fn call() {}\n"), ("b.rs", other)];
            assert_eq!(found(&files).len(), 1, "{other}");
        }
    }

    #[test]
    fn tests_declarations_and_foreign_names_make_no_circle() {
        for other in [
            "pub struct B;\n#[cfg(test)]\nmod tests { use crate::a::A; }\n",
            "pub struct B;\n#[cfg(test)]\nimpl B { fn f(a: crate::a::A) {} }\n",
            "use a::A;\npub struct B;\n",
            "pub struct B;\npub(in crate::a) fn f() {}\n",
            "pub struct B;\n/// See [`crate::a::A`].\nfn f() {}\n",
        ] {
            let files = [TWO, ("a.rs", "use super::b::B;\npub struct A { b: B }\n"), ("b.rs", other)];
            assert!(found(&files).is_empty(), "{other}");
        }
    }

    #[test]
    fn a_parent_that_only_declares_and_re_exports_is_below_no_child() {
        let files = [
            ("lib.rs", "mod a;\n"),
            ("a.rs", "mod child;\npub use child::Child;\npub struct Limit;\n"),
            ("a/child.rs", "pub struct Child(super::Limit);\n"),
        ];
        assert!(found(&files).is_empty());
    }
}
