//! In the core a text has a type that says which text it is: few fields are bare strings or JSON values.
//!
//! A struct with one unnamed field is such a type, so its own field does not count as a bare text.

use syn::visit::{self, Visit};
use syn::{Fields, GenericArgument, Item, ItemStruct, PathArguments, Type, Variant};

use super::finding::{Finding, Rule};
use super::rust::is_test_only;
use super::workspace::Workspace;

const CORE: &str = "crates/core";

/// Bare texts per thousand fields.
pub(crate) const TEXT_PER_MILLE_MAX: usize = 20;

/// How many fields of the core's types there are, and which of them are bare texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldCounts {
    /// Fields of structs and variants.
    pub(crate) all: usize,
    /// Those that are a string or a JSON value, alone or inside a container.
    pub(crate) text: usize,
}

/// A finding per bare text if there are too many of them.
pub(crate) fn check(ws: &Workspace, findings: &mut Vec<Finding>) -> FieldCounts {
    let mut counts = FieldCounts::default();
    let mut places = Vec::new();
    for source in ws.production().filter(|source| source.package_folder() == CORE) {
        let mut walk = Walk { all: 0, text: Vec::new() };
        walk.visit_file(&source.syntax);
        counts.all += walk.all;
        counts.text += walk.text.len();
        places.extend(walk.text.into_iter().map(|(name, span)| (source, name, span)));
    }
    if counts.text * 1000 > counts.all * TEXT_PER_MILLE_MAX {
        for (source, name, span) in places {
            let message = format!("`{name}` is a bare text, and they are more than 2 % of the fields; give it a type");
            findings.push(source.finding(span, Rule::TextField, message));
        }
    }
    counts
}

struct Walk {
    all: usize,
    text: Vec<(String, proc_macro2::Span)>,
}

impl Walk {
    fn fields(&mut self, owner: &syn::Ident, fields: &Fields) {
        for (index, field) in fields.iter().enumerate() {
            self.all += 1;
            if is_text(&field.ty) {
                let name = field.ident.as_ref().map_or_else(|| index.to_string(), ToString::to_string);
                let span = field.ident.as_ref().map_or(owner.span(), syn::Ident::span);
                self.text.push((format!("{owner}.{name}"), span));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Walk {
    fn visit_item(&mut self, item: &'ast Item) {
        let in_tests = matches!(item, Item::Mod(module) if is_test_only(&module.attrs));
        if !in_tests {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        if matches!(&item.fields, Fields::Unnamed(fields) if fields.unnamed.len() == 1) {
            self.all += 1;
        } else {
            self.fields(&item.ident, &item.fields);
        }
    }

    fn visit_variant(&mut self, variant: &'ast Variant) {
        self.fields(&variant.ident, &variant.fields);
    }
}

/// `String`, `Cow<str>`, `Box<str>`, a JSON value, or a container of one.
fn is_text(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.segments.iter().any(|segment| {
        let name = segment.ident.to_string();
        let inner = match &segment.arguments {
            PathArguments::AngleBracketed(arguments) => arguments.args.iter().collect(),
            PathArguments::None | PathArguments::Parenthesized(_) => Vec::new(),
        };
        let types = inner.into_iter().filter_map(|argument| {
            let GenericArgument::Type(ty) = argument else { return None };
            Some(ty)
        });
        let is_str = |ty: &Type| matches!(ty, Type::Path(path) if path.path.is_ident("str"));
        matches!(name.as_str(), "String" | "Value" | "RawValue")
            || types.into_iter().any(|ty| is_str(ty) || is_text(ty))
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::member_files;
    use super::*;

    fn counted(text: &str) -> (FieldCounts, usize) {
        let mut findings = Vec::new();
        let counts = check(&member_files(&[("crates/core/src/lib.rs", text)]), &mut findings);
        (counts, findings.len())
    }

    #[test]
    fn bare_texts_are_counted_in_structs_variants_and_containers() {
        let text = "//! x
            struct A { a: String, b: u8, c: Option<Box<str>>, d: Vec<Label>, e: Cow<'static, str> }
            enum B { C(String, u8), D { e: serde_json::Value }, F }
            struct Label(String);
            #[cfg(test)]
            mod tests { struct G { h: String } }";
        let (counts, findings) = counted(text);
        assert_eq!(counts, FieldCounts { all: 9, text: 5 });
        assert_eq!(findings, 5);
    }

    #[test]
    fn two_percent_are_allowed() {
        let fields = |others: usize| {
            let others: String = (0..others).map(|n| format!("f{n}: u8, ")).collect();
            format!("//! x\nstruct A {{ a: String, {others} }}\n")
        };
        assert_eq!(counted(&fields(49)).1, 0);
        assert_eq!(counted(&fields(48)).1, 1);
    }
}
