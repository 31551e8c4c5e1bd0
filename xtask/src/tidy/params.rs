//! A call must be readable without its declaration: few parameters, and no flag that says only `true`.
//!
//! Implementations of a trait are exempt, because the trait fixes the signature; our own traits are checked where they
//! are declared. Closures and foreign functions are exempt for the same reason: someone else chose their shape.

use syn::visit::{self, Visit};
use syn::{FnArg, ImplItemFn, ItemFn, ItemImpl, Signature, TraitItemFn, Type};

use super::finding::{Finding, Rule};
use super::rust::SourceFile;
use super::workspace::Workspace;

/// Parameters beside `self`.
pub(crate) const PARAMETERS_MAX: usize = 5;

pub(crate) fn check(ws: &Workspace, findings: &mut Vec<Finding>) {
    for source in &ws.sources {
        let mut signatures = Signatures { source, findings };
        signatures.visit_file(&source.syntax);
    }
}

struct Signatures<'a> {
    source: &'a SourceFile,
    findings: &'a mut Vec<Finding>,
}

impl Signatures<'_> {
    fn check(&mut self, signature: &Signature) {
        let name = &signature.ident;
        let typed: Vec<_> = signature
            .inputs
            .iter()
            .filter_map(|input| match input {
                FnArg::Typed(typed) => Some(typed),
                FnArg::Receiver(_) => None,
            })
            .collect();
        if typed.len() > PARAMETERS_MAX {
            self.findings.push(self.source.finding(
                signature.fn_token.span,
                Rule::ParameterCount,
                format!("`{name}` takes {} parameters, at most {PARAMETERS_MAX}; group them in a struct", typed.len()),
            ));
        }
        for parameter in typed {
            if is_bool(&parameter.ty) {
                self.findings.push(self.source.finding(
                    parameter.colon_token.span,
                    Rule::BoolParameter,
                    format!("`{name}` takes a `bool`; an enum with two named variants says which"),
                ));
            }
        }
    }
}

fn is_bool(ty: &Type) -> bool {
    if let Type::Reference(reference) = ty {
        return is_bool(&reference.elem);
    }
    if let Type::Paren(paren) = ty {
        return is_bool(&paren.elem);
    }
    matches!(ty, Type::Path(path) if path.qself.is_none() && path.path.is_ident("bool"))
}

impl<'ast> Visit<'ast> for Signatures<'_> {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.check(&function.sig);
        visit::visit_item_fn(self, function);
    }

    fn visit_item_impl(&mut self, block: &'ast ItemImpl) {
        if block.trait_.is_none() {
            for item in &block.items {
                if let syn::ImplItem::Fn(ImplItemFn { sig, .. }) = item {
                    self.check(sig);
                }
            }
        }
        // Bodies may declare functions of their own, in trait implementations too.
        visit::visit_item_impl(self, block);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        self.check(&function.sig);
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{library, printed};
    use super::*;

    #[test]
    fn six_parameters_are_found_and_five_are_not() {
        let six = "fn f(a: u8, b: u8, c: u8, d: u8, e: u8, g: u8) {}\n";
        assert_eq!(
            printed(&library(six), check),
            ["crates/a/src/lib.rs:1: parameter-count: `f` takes 6 parameters, at most 5; group them in a struct"]
        );
        let five = "fn f(a: u8, b: u8, c: u8, d: u8, e: u8) {}\n";
        assert!(printed(&library(five), check).is_empty());
    }

    #[test]
    fn self_does_not_count() {
        let text = "impl S { fn f(&self, a: u8, b: u8, c: u8, d: u8, e: u8) {} }\n";
        assert!(printed(&library(text), check).is_empty());
        let text = "impl S { fn f(&self, a: u8, b: u8, c: u8, d: u8, e: u8, g: u8) {} }\n";
        assert_eq!(printed(&library(text), check).len(), 1);
    }

    #[test]
    fn a_bool_parameter_is_found_by_value_and_by_reference() {
        for ty in ["bool", "&bool", "&mut bool", "(bool)"] {
            let found = printed(&library(&format!("fn f(\n    a: {ty},\n) {{}}\n")), check);
            assert_eq!(found.len(), 1, "{ty}");
            assert!(found[0].contains(":2: bool-parameter: `f`"), "{found:?}");
        }
        assert_eq!(printed(&library("trait T { fn f(a: bool); }\n"), check).len(), 1);
        assert_eq!(printed(&library("impl S { fn f(a: bool) {} }\n"), check).len(), 1);
    }

    #[test]
    fn closures_results_and_callbacks_may_use_bool() {
        let text = "fn f(keep: impl Fn(bool) -> bool) -> bool {\n    let g = |x: bool| !x;\n    keep(g(true))\n}\n";
        assert!(printed(&library(text), check).is_empty());
    }

    #[test]
    fn a_trait_implementation_follows_the_trait_but_its_inner_functions_do_not() {
        let foreign = "impl Visitor for V { fn visit_bool(self, v: bool) {} }\n";
        assert!(printed(&library(foreign), check).is_empty());
        let inner = "impl Visitor for V { fn visit(self) { fn helper(v: bool) {} } }\n";
        assert_eq!(printed(&library(inner), check).len(), 1);
    }
}
