//! Every file and every public item has a line that says why it exists.
//!
//! The compiler's `missing_docs` sees only what leaves a crate; this check also sees `pub` items of private modules,
//! which colleagues read. Test code needs the file line only.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the syntax enums of syn are non-exhaustive, so the compiler demands the arm"
)]

use proc_macro2::Span;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Expr, Fields, ImplItem, Item, ItemEnum, ItemImpl, ItemMacro, ItemMod, ItemStruct, ItemTrait, Lit, Meta,
    TraitItem, Visibility,
};

use super::finding::{Finding, Rule};
use super::rust::{SourceFile, is_public, is_test_only};
use super::workspace::Workspace;

pub(crate) fn check(ws: &Workspace, findings: &mut Vec<Finding>) {
    for source in &ws.sources {
        check_file_line(source, findings);
    }
    for source in ws.production() {
        let mut items = Items { source, findings };
        items.visit_file(&source.syntax);
    }
}

fn check_file_line(source: &SourceFile, findings: &mut Vec<Finding>) {
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

struct Items<'a> {
    source: &'a SourceFile,
    findings: &'a mut Vec<Finding>,
}

/// What is needed to judge one item.
struct Candidate<'a> {
    visibility: &'a Visibility,
    attributes: &'a [Attribute],
    name: String,
    span: Span,
}

impl<'a> Candidate<'a> {
    fn new(visibility: &'a Visibility, attributes: &'a [Attribute], name: &syn::Ident) -> Self {
        Self { visibility, attributes, name: name.to_string(), span: name.span() }
    }
}

impl Items<'_> {
    fn judge(&mut self, candidate: &Candidate<'_>) {
        if is_public(candidate.visibility) {
            self.require(candidate.attributes, &candidate.name, candidate.span);
        }
    }

    fn require(&mut self, attributes: &[Attribute], name: &str, span: Span) {
        if !attributes.iter().any(is_doc) {
            self.findings.push(self.source.finding(
                span,
                Rule::ItemDoc,
                format!("`{name}` is public and has no doc line that says why"),
            ));
        }
    }

    fn struct_fields(&mut self, item: &ItemStruct) {
        let Fields::Named(fields) = &item.fields else {
            return;
        };
        for field in &fields.named {
            if let Some(name) = &field.ident {
                self.judge(&Candidate::new(&field.vis, &field.attrs, name));
            }
        }
    }

    fn variants(&mut self, item: &ItemEnum) {
        if is_public(&item.vis) {
            for variant in &item.variants {
                let name = variant.ident.to_string();
                self.require(&variant.attrs, &name, variant.ident.span());
            }
        }
    }

    fn trait_items(&mut self, item: &ItemTrait) {
        if !is_public(&item.vis) {
            return;
        }
        for member in &item.items {
            let (attributes, name) = match member {
                TraitItem::Fn(function) => (&function.attrs, &function.sig.ident),
                TraitItem::Const(constant) => (&constant.attrs, &constant.ident),
                TraitItem::Type(ty) => (&ty.attrs, &ty.ident),
                _ => continue,
            };
            self.require(attributes, &name.to_string(), name.span());
        }
    }

    /// A module with a file of its own is documented by that file's first line.
    fn module(&mut self, module: &ItemMod) {
        if module.content.is_some() {
            self.judge(&Candidate::new(&module.vis, &module.attrs, &module.ident));
        }
    }

    fn exported_macro(&mut self, item: &ItemMacro) {
        let exported = item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export"));
        if let (true, Some(name)) = (exported, &item.ident) {
            self.require(&item.attrs, &name.to_string(), name.span());
        }
    }
}

impl<'ast> Visit<'ast> for Items<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Fn(it) => self.judge(&Candidate::new(&it.vis, &it.attrs, &it.sig.ident)),
            Item::Const(it) => self.judge(&Candidate::new(&it.vis, &it.attrs, &it.ident)),
            Item::Static(it) => self.judge(&Candidate::new(&it.vis, &it.attrs, &it.ident)),
            Item::Type(it) => self.judge(&Candidate::new(&it.vis, &it.attrs, &it.ident)),
            Item::Union(it) => self.judge(&Candidate::new(&it.vis, &it.attrs, &it.ident)),
            Item::Struct(it) => {
                self.judge(&Candidate::new(&it.vis, &it.attrs, &it.ident));
                self.struct_fields(it);
            }
            Item::Enum(it) => {
                self.judge(&Candidate::new(&it.vis, &it.attrs, &it.ident));
                self.variants(it);
            }
            Item::Trait(it) => {
                self.judge(&Candidate::new(&it.vis, &it.attrs, &it.ident));
                self.trait_items(it);
            }
            Item::Mod(it) if is_test_only(&it.attrs) => return,
            Item::Mod(it) => self.module(it),
            Item::Macro(it) => self.exported_macro(it),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_impl(&mut self, block: &'ast ItemImpl) {
        if block.trait_.is_some() || is_test_only(&block.attrs) {
            return;
        }
        for member in &block.items {
            match member {
                ImplItem::Fn(it) => self.judge(&Candidate::new(&it.vis, &it.attrs, &it.sig.ident)),
                ImplItem::Const(it) => self.judge(&Candidate::new(&it.vis, &it.attrs, &it.ident)),
                _ => {}
            }
        }
    }
}

/// A doc attribute with at least one word; `#[doc = include_str!(…)]` counts as words.
fn is_doc(attribute: &Attribute) -> bool {
    let Meta::NameValue(pair) = &attribute.meta else {
        return false;
    };
    if !pair.path.is_ident("doc") {
        return false;
    }
    let Expr::Lit(literal) = &pair.value else {
        return true;
    };
    matches!(&literal.lit, Lit::Str(text) if !text.value().trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{library, member_files, printed};
    use super::*;

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

    #[test]
    fn every_kind_of_public_item_needs_a_doc_line() {
        for item in [
            "pub fn f() {}",
            "pub const A: u8 = 1;",
            "pub static A: u8 = 1;",
            "pub type A = u8;",
            "pub struct S;",
            "/// x\npub struct S { pub a: u8 }",
            "pub enum E {}",
            "/// x\npub enum E { A }",
            "pub trait T {}",
            "/// x\npub trait T { fn f(); }",
            "pub mod m {}",
            "mod m { pub fn f() {} }",
            "impl S { pub fn f() {} }",
            "impl S { pub const A: u8 = 1; }",
            "#[macro_export]\nmacro_rules! m { () => {} }",
            "///\npub fn f() {}",
        ] {
            let found = printed(&library(&format!("//! Why.\n{item}\n")), check);
            assert_eq!(found.len(), 1, "{item}: {found:?}");
            assert!(found[0].contains("item-doc"), "{found:?}");
        }
    }

    #[test]
    fn documented_private_and_test_items_are_fine() {
        for item in [
            "/// Why.\npub fn f() {}",
            "#[doc = include_str!(\"x.md\")]\npub fn f() {}",
            "/// Why.\npub struct S { a: u8, /** Why. */ pub b: u8 }",
            "/// Why.\npub enum E {\n    /// Why.\n    A,\n}",
            "pub(crate) fn f() {}",
            "fn f() {}",
            "pub mod elsewhere;",
            "pub mod m {\n    //! Why.\n}",
            "pub use m::f;",
            "impl T for S { fn f() {} }",
            "#[cfg(test)]\nmod tests { pub fn f() {} }",
            "enum E { A }",
        ] {
            let found = printed(&library(&format!("//! Why.\n{item}\n")), check);
            assert!(found.is_empty(), "{item}: {found:?}");
        }
    }

    #[test]
    fn helpers_of_test_suites_need_no_item_docs() {
        let ws = member_files(&[("crates/a/tests/t.rs", "//! Why.\npub fn f() {}\n")]);
        assert!(printed(&ws, check).is_empty());
    }
}
