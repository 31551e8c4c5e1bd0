//! A new variant of our own enum must break the build wherever it matters, so no arm may swallow it.
//!
//! A match is on our enum if one of its arms names a variant of it, directly or one layer down, in a tuple or in a
//! wrapper such as `Some`. An arm with a guard is not a catch-all, because it lets the compiler complain about what it
//! leaves over; `if let`, `let else` and `matches!` ask about one case and are free. Inside a wrapper a named rest, as in
//! `Err(other) => return Err(other)`, is passed on and not swallowed, so only `_` counts there.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the syntax enums of syn are non-exhaustive, so the compiler demands the arm"
)]

use std::collections::BTreeMap;

use syn::visit::{self, Visit};
use syn::{ExprMatch, ItemEnum, ItemImpl, Pat, Type};

use super::finding::{Finding, Rule};
use super::patterns::{Enums, Scope, alternatives, is_catch_all, is_discard, wrapped};
use super::rust::SourceFile;
use super::workspace::Workspace;

pub(crate) fn check(ws: &Workspace, findings: &mut Vec<Finding>) {
    let enums = Enums::of(ws);
    for source in &ws.sources {
        let mut matches = Matches { source, scope: Scope::of(source, &enums), self_type: None, findings };
        matches.visit_file(&source.syntax);
    }
}

struct Matches<'a> {
    source: &'a SourceFile,
    scope: Scope<'a>,
    self_type: Option<String>,
    findings: &'a mut Vec<Finding>,
}

/// One alternative of one arm.
#[derive(Clone, Copy)]
struct Row<'p> {
    pattern: &'p Pat,
    reach: Reach,
}

/// Whether an arm takes everything its pattern matches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Whole,
    Guarded,
}

/// Where the patterns that are compared stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// They are the arms themselves.
    Arms,
    /// They stand inside the same wrapper of several arms.
    Wrapper,
}

impl Matches<'_> {
    fn judge(&mut self, rows: &[Row<'_>], place: Place) {
        let (layers, swallows): (u8, fn(&Pat) -> bool) = match place {
            Place::Arms => (1, is_catch_all),
            Place::Wrapper => (0, is_discard),
        };
        let self_type = self.self_type.as_deref();
        let on_our_enum = rows.iter().any(|row| self.scope.looks_at_variant(row.pattern, layers, self_type));
        if !on_our_enum {
            return;
        }
        for row in rows {
            if row.reach == Reach::Whole && swallows(row.pattern) {
                self.findings.push(self.source.finding(
                    syn::spanned::Spanned::span(row.pattern),
                    Rule::WildcardArm,
                    "a catch-all arm in a match on our own enum; name the variants, so that a new one breaks the build",
                ));
            }
        }
        let mut groups: BTreeMap<String, Vec<Row<'_>>> = BTreeMap::new();
        for row in rows {
            if let Some((name, inner)) = wrapped(row.pattern) {
                let group = groups.entry(name).or_default();
                group.extend(alternatives(inner).into_iter().map(|pattern| Row { pattern, reach: row.reach }));
            }
        }
        for group in groups.values() {
            self.judge(group, Place::Wrapper);
        }
    }
}

impl<'ast> Visit<'ast> for Matches<'_> {
    fn visit_expr_match(&mut self, expression: &'ast ExprMatch) {
        let mut rows = Vec::new();
        for arm in &expression.arms {
            let (pattern, reach) = match &arm.pat {
                Pat::Guard(guard) => (&*guard.pat, Reach::Guarded),
                other => (other, Reach::Whole),
            };
            rows.extend(alternatives(pattern).into_iter().map(|pattern| Row { pattern, reach }));
        }
        self.judge(&rows, Place::Arms);
        visit::visit_expr_match(self, expression);
    }

    fn visit_item_impl(&mut self, block: &'ast ItemImpl) {
        let name = match &*block.self_ty {
            Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        let outer = std::mem::replace(&mut self.self_type, name);
        visit::visit_item_impl(self, block);
        self.self_type = outer;
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        let outer = self.self_type.replace(item.ident.to_string());
        visit::visit_item_enum(self, item);
        self.self_type = outer;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{library, member_files, printed, workspace};
    use super::*;

    const KIND: &str = "enum Kind { A, B(u8), C { x: u8 } }\n";

    fn found(body: &str) -> usize {
        printed(&library(&format!("{KIND}{body}\n")), check).len()
    }

    fn arms(arms: &str) -> usize {
        found(&format!("fn f(k: Kind) {{ match k {{ {arms} }} }}"))
    }

    #[test]
    fn a_catch_all_beside_our_variants_is_found() {
        assert_eq!(arms("Kind::A => 1, _ => 2"), 1);
        assert_eq!(arms("Kind::B(_) => 1, other => 2"), 1);
        assert_eq!(arms("Kind::C { .. } => 1, ref rest => 2"), 1);
        assert_eq!(arms("crate::Kind::A => 1, _ => 2"), 1);
        assert_eq!(arms("&Kind::A => 1, &_ => 2"), 1);
        assert_eq!(arms("Kind::A | _ => 2"), 1);
        assert_eq!(arms("Kind::A => 1, whole @ _ => 2"), 1);
    }

    #[test]
    fn the_finding_stands_at_the_arm() {
        let text =
            format!("{KIND}fn f(k: Kind) {{\n    match k {{\n        Kind::A => 1,\n        _ => 2,\n    }}\n}}\n");
        let lines = printed(&library(&text), check);
        assert!(lines[0].starts_with("crates/a/src/lib.rs:5: wildcard-arm:"), "{lines:?}");
    }

    #[test]
    fn a_match_that_names_every_variant_is_fine() {
        assert_eq!(arms("Kind::A => 1, Kind::B(_) | Kind::C { .. } => 2"), 0);
        assert_eq!(arms("Kind::A => 1, Kind::B(n) => n, Kind::C { x } => x"), 0);
    }

    #[test]
    fn a_guarded_arm_is_no_catch_all() {
        assert_eq!(arms("k if k.odd() => 0, Kind::A | Kind::B(_) | Kind::C { .. } => 1"), 0);
    }

    #[test]
    fn tuples_may_leave_places_open_but_not_the_whole_row() {
        assert_eq!(arms("(Kind::A, _) => 1, (_, Kind::A) => 2, (Kind::B(_), Kind::B(_)) => 3"), 0);
        assert_eq!(arms("(Kind::A, 1) => 1, (_, _) => 2"), 1);
        assert_eq!(arms("(Kind::A, 1) => 1, _ => 2"), 1);
        assert_eq!(arms("(Kind::A, 1) => 1, (..) => 2"), 1);
    }

    #[test]
    fn wrappers_do_not_hide_a_catch_all() {
        assert_eq!(arms("Some(Kind::A) => 1, Some(_) => 2, None => 3"), 1);
        assert_eq!(arms("Some(Kind::A) => 1, _ => 2"), 1);
        assert_eq!(arms("Ok(Kind::A | Kind::B(_)) => 1, Ok(Kind::C { .. }) => 2, Err(_) => 3"), 0);
        assert_eq!(arms("Some(n) => 1, _ => 2"), 0);
        assert_eq!(arms("Ok(n) => n, Err(Kind::A) => 1, Err(_other) => 2"), 1);
    }

    #[test]
    fn a_named_rest_inside_a_wrapper_is_passed_on() {
        assert_eq!(arms("Ok(n) => n, Err(Kind::A) => 1, Err(other) => pass(other)"), 0);
    }

    #[test]
    fn variants_deeper_than_one_layer_do_not_make_it_a_match_on_the_enum() {
        assert_eq!(arms("(Some((Kind::A, n)), _) => n, _ => 2"), 0);
        assert_eq!(arms("Ok(Some(Kind::A)) => 1, Ok(_) => 2, Err(e) => 3"), 0);
    }

    #[test]
    fn self_and_imported_variants_are_ours() {
        assert_eq!(found("impl Kind { fn f(self) { match self { Self::A => 1, _ => 2 } } }"), 1);
        assert_eq!(found("impl Other { fn f(self) { match self { Self::A => 1, _ => 2 } } }"), 0);
        assert_eq!(found("use Kind::{A, B};\nfn f(k: Kind) { match k { A => 1, _ => 2 } }"), 1);
        assert_eq!(found("use Kind::*;\nfn f(k: Kind) { match k { B(_) => 1, _ => 2 } }"), 1);
        assert_eq!(found("use Kind::A as First;\nfn f(k: Kind) { match k { First => 1, _ => 2 } }"), 1);
        assert_eq!(found("fn f(k: u8) { match k { LIMIT => 1, _ => 2 } }"), 0);
    }

    #[test]
    fn foreign_enums_and_plain_values_may_have_a_catch_all() {
        assert_eq!(found("fn f(o: Ordering) { match o { Ordering::Less => 1, _ => 2 } }"), 0);
        assert_eq!(found("fn f(n: &str) { match n { \"a\" => 1, _ => 2 } }"), 0);
        assert_eq!(found("fn f(k: Kind) -> bool { matches!(k, Kind::A) }"), 0);
        assert_eq!(found("fn f(k: Kind) { if let Kind::A = k {} else {} }"), 0);
    }

    #[test]
    fn a_foreign_enum_that_shares_a_name_is_not_ours() {
        let root = "[workspace.dependencies]\nserde_json = \"1\"\n";
        let ours = "//! x\npub enum Value { A }\npub enum ErrorKind { NotFound }\n";
        for theirs in [
            "use serde_json::Value;\nfn f(v: Value) { match v { Value::Null => 1, _ => 2 } }\n",
            "fn f(v: V) { match v { serde_json::Value::Null => 1, _ => 2 } }\n",
            "use std::io::{self, Read};\nfn f(e: E) { match e { io::ErrorKind::NotFound => 1, _ => 2 } }\n",
        ] {
            let ws = workspace(&[("Cargo.toml", root), ("crates/a/src/lib.rs", ours), ("crates/b/src/lib.rs", theirs)]);
            assert!(printed(&ws, check).is_empty(), "{theirs}");
        }
    }

    #[test]
    fn an_enum_of_another_crate_of_ours_is_ours_unless_the_compiler_demands_the_catch_all() {
        let user = "use tripwire_a::Kind;\nfn f(k: Kind) { match k { Kind::A => 1, _ => 2 } }\n";
        for (declaration, expected) in [("pub enum Kind { A, B }", 1), ("#[non_exhaustive]\npub enum Kind { A, B }", 0)]
        {
            let ws = member_files(&[("crates/a/src/lib.rs", declaration), ("crates/b/src/lib.rs", user)]);
            assert_eq!(printed(&ws, check).len(), expected, "{declaration}");
        }
        let at_home = "#[non_exhaustive]\nenum Open { A, B }\nfn f(k: Open) { match k { Open::A => 1, _ => 2 } }";
        assert_eq!(found(at_home), 1);
    }
}
