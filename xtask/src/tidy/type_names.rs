//! A type name is used once per crate, so that searching for `struct Line` finds one.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Span;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta};

use super::finding::{Finding, Rule};
use super::reach::{child_files, child_folder};
use super::rust::{is_test_only, start_line};
use super::workspace::Workspace;

/// Every second type of one name.
pub(crate) fn check(ws: &Workspace, findings: &mut Vec<Finding>) {
    let stand_ins = stand_ins(ws);
    let mut seen: BTreeMap<(&str, String), String> = BTreeMap::new();
    for source in ws.production().filter(|source| !stand_ins.contains(&source.path)) {
        let mut types = Types { found: Vec::new() };
        types.visit_file(&source.syntax);
        for (name, span) in types.found {
            let here = format!("{}:{}", source.path, start_line(span));
            let key = (source.package_folder(), name);
            if let Some(first) = seen.get(&key) {
                let message = format!("`{}` is a type in {first} already; name each after what it is", key.1);
                findings.push(source.finding(span, Rule::TypeName, message));
            } else {
                seen.insert(key, here);
            }
        }
    }
}

/// Files for systems on which the real ones do not compile: they declare the same types once more.
fn stand_ins(ws: &Workspace) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for source in ws.production() {
        for item in &source.syntax.items {
            if let Item::Mod(module) = item
                && module.attrs.iter().any(is_for_other_systems)
            {
                found.extend(child_files(module, &child_folder(source)));
            }
        }
    }
    found
}

fn is_for_other_systems(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else { return false };
    let condition = list.tokens.to_string().replace(' ', "");
    list.path.is_ident("cfg") && condition.starts_with("not(target_os=")
}

struct Types {
    found: Vec<(String, Span)>,
}

impl<'ast> Visit<'ast> for Types {
    #[expect(clippy::wildcard_enum_match_arm, reason = "a foreign enum that may grow: what is new declares no type")]
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name): (&[Attribute], _) = match item {
            Item::Struct(it) => (&it.attrs, Some(&it.ident)),
            Item::Enum(it) => (&it.attrs, Some(&it.ident)),
            Item::Union(it) => (&it.attrs, Some(&it.ident)),
            Item::Trait(it) => (&it.attrs, Some(&it.ident)),
            Item::Type(it) => (&it.attrs, Some(&it.ident)),
            Item::Mod(it) => (&it.attrs, None),
            Item::Fn(it) => (&it.attrs, None),
            Item::Impl(it) => (&it.attrs, None),
            _ => (&[], None),
        };
        if is_test_only(attributes) {
            return;
        }
        self.found.extend(name.map(|name| (name.to_string(), name.span())));
        visit::visit_item(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{member_files, printed};
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        printed(&member_files(files), check)
    }

    const LIBRARY: (&str, &str) = ("crates/a/src/lib.rs", "//! x\nmod b;\nstruct Line;\n");

    #[test]
    fn a_second_type_of_one_name_is_found_at_its_place() {
        for second in ["enum Line {}", "type Line = u8;", "trait Line {}", "fn f() { struct Line; }"] {
            let text = format!("//! x\n{second}\n");
            let lines = found(&[("crates/a/src/b.rs", &text), LIBRARY]);
            assert_eq!(lines.len(), 1, "{second}");
            assert!(lines[0].starts_with("crates/a/src/lib.rs:3: type-name: `Line` is a type in crates/a/src/b.rs:2"));
        }
    }

    #[test]
    fn other_crates_tests_and_associated_types_are_free() {
        let tests = "//! x\n#[cfg(test)]\nmod tests { struct Line; }\n";
        assert!(found(&[LIBRARY, ("crates/a/src/b.rs", tests)]).is_empty());
        assert!(found(&[LIBRARY, ("crates/c/src/lib.rs", "//! x\nstruct Line;\n")]).is_empty());
        let associated = "//! x\nimpl T for S { type Line = u8; }\n";
        assert!(found(&[LIBRARY, ("crates/a/src/b.rs", associated)]).is_empty());
    }

    #[test]
    fn a_stand_in_for_other_systems_declares_the_same_types() {
        let library = "//! x\n#[cfg(not(target_os = \"linux\"))]\nmod b;\nstruct Line;\n";
        assert!(found(&[("crates/a/src/lib.rs", library), ("crates/a/src/b.rs", "//! x\nstruct Line;\n")]).is_empty());
    }
}
