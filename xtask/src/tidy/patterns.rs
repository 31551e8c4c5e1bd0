//! Which names in a pattern are variants of our own enums, as far as the text of the file tells.
//!
//! There is no type checker here. A name counts as ours if the workspace declares an enum of that name and the file does
//! not import that name from a foreign crate; that errs only where two things share a name within one file.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the syntax enums of syn are non-exhaustive, so the compiler demands the arm"
)]

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{ItemEnum, ItemUse, Pat, Path, UseTree};

use super::rust::SourceFile;
use super::workspace::Workspace;

/// Crates that come with the compiler.
const BUILT_IN_CRATES: [&str; 3] = ["std", "core", "alloc"];

/// All enums that the workspace declares.
pub(crate) struct Enums {
    declared: BTreeMap<String, Vec<Declaration>>,
    foreign_crates: BTreeSet<String>,
}

struct Declaration {
    package: String,
    variants: BTreeSet<String>,
    growth: Growth,
}

/// Whether other crates are forced by the compiler to write a catch-all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Growth {
    Closed,
    NonExhaustive,
}

impl Enums {
    pub(crate) fn of(ws: &Workspace) -> Self {
        let mut declared = BTreeMap::new();
        for source in &ws.sources {
            let mut collector = Collector { package: source.package_folder(), declared: &mut declared };
            collector.visit_file(&source.syntax);
        }
        let mut foreign_crates: BTreeSet<String> = BUILT_IN_CRATES.iter().map(ToString::to_string).collect();
        for (name, entry) in super::walls::dependency_table(&ws.root) {
            if entry.get("path").is_none() {
                foreign_crates.insert(name.replace('-', "_"));
            }
        }
        Self { declared, foreign_crates }
    }

    /// The declarations of `name` whose catch-all is a choice and not a demand of the compiler.
    fn closed<'a>(&'a self, name: &str, package: &str) -> impl Iterator<Item = &'a Declaration> {
        let package = package.to_owned();
        self.declared
            .get(name)
            .into_iter()
            .flatten()
            .filter(move |found| found.growth == Growth::Closed || found.package == package)
    }
}

struct Collector<'a> {
    package: &'a str,
    declared: &'a mut BTreeMap<String, Vec<Declaration>>,
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        let open = item.attrs.iter().any(|attribute| attribute.path().is_ident("non_exhaustive"));
        let declaration = Declaration {
            package: self.package.to_owned(),
            variants: item.variants.iter().map(|variant| variant.ident.to_string()).collect(),
            growth: if open { Growth::NonExhaustive } else { Growth::Closed },
        };
        self.declared.entry(item.ident.to_string()).or_default().push(declaration);
    }
}

/// What the `use` lines of one file say about names in its patterns.
pub(crate) struct Scope<'a> {
    enums: &'a Enums,
    package: String,
    foreign_names: BTreeSet<String>,
    imported_variants: BTreeSet<String>,
}

impl<'a> Scope<'a> {
    pub(crate) fn of(source: &SourceFile, enums: &'a Enums) -> Self {
        let mut scope = Self {
            enums,
            package: source.package_folder().to_owned(),
            foreign_names: BTreeSet::new(),
            imported_variants: BTreeSet::new(),
        };
        let mut imports = Imports { found: Vec::new() };
        imports.visit_file(&source.syntax);
        for import in &imports.found {
            scope.learn(import);
        }
        scope
    }

    fn learn(&mut self, import: &Import) {
        let from_foreign = import.path.first().is_some_and(|root| self.enums.foreign_crates.contains(root));
        if from_foreign {
            self.foreign_names.insert(import.name.clone());
            return;
        }
        let mut from_the_end = import.path.iter().rev();
        let (Some(last), parent) = (from_the_end.next(), from_the_end.next()) else {
            return;
        };
        if import.name == "*" {
            for found in self.enums.closed(last, &self.package) {
                self.imported_variants.extend(found.variants.iter().cloned());
            }
        } else if let Some(parent) = parent {
            let is_variant = self.enums.closed(parent, &self.package).any(|found| found.variants.contains(last));
            if is_variant {
                self.imported_variants.insert(import.name.clone());
            }
        }
    }

    /// Whether `name` is an enum of ours in this file.
    pub(crate) fn is_enum(&self, name: &str) -> bool {
        !self.foreign_names.contains(name) && self.enums.closed(name, &self.package).next().is_some()
    }

    /// Whether a path in a pattern names a variant of ours; `self_enum` is what `Self` means there.
    fn is_variant(&self, path: &Path, self_enum: Option<&str>) -> bool {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        match names.as_slice() {
            [] => false,
            [only] => self.imported_variants.contains(only),
            [.., owner, _] if owner == "Self" => self_enum.is_some_and(|name| self.is_enum(name)),
            [root, ..] if self.is_foreign(root) => false,
            [.., owner, _] => self.is_enum(owner),
        }
    }

    fn is_foreign(&self, root: &str) -> bool {
        self.foreign_names.contains(root) || self.enums.foreign_crates.contains(root)
    }

    /// Whether a pattern looks at a variant of ours, itself or so many layers down; a layer is a tuple or a wrapper such
    /// as `Some`.
    pub(crate) fn looks_at_variant(&self, pattern: &Pat, layers: u8, self_enum: Option<&str>) -> bool {
        let pattern = stripped(pattern);
        if path_of(pattern).is_some_and(|path| self.is_variant(&path, self_enum)) {
            return true;
        }
        if let Pat::Or(or) = pattern {
            return or.cases.iter().any(|case| self.looks_at_variant(case, layers, self_enum));
        }
        let Some(below) = layers.checked_sub(1) else {
            return false;
        };
        if let Some((_, inner)) = wrapped(pattern) {
            return self.looks_at_variant(inner, below, self_enum);
        }
        let Pat::Tuple(tuple) = pattern else {
            return false;
        };
        tuple.elems.iter().any(|element| self.looks_at_variant(element, below, self_enum))
    }
}

/// A pattern that takes whatever is left: `_`, a bare name, or a tuple of nothing else.
pub(crate) fn is_catch_all(pattern: &Pat) -> bool {
    match stripped(pattern) {
        Pat::Wild(_) | Pat::Rest(_) => true,
        Pat::Ident(ident) => ident.subpat.is_none() && !is_constant_name(&ident.ident),
        Pat::Tuple(tuple) => tuple.elems.iter().all(is_catch_all),
        _ => false,
    }
}

/// A pattern that takes whatever is left and throws it away: `_`, or a name that says so.
pub(crate) fn is_discard(pattern: &Pat) -> bool {
    match stripped(pattern) {
        Pat::Wild(_) | Pat::Rest(_) => true,
        Pat::Ident(ident) => ident.subpat.is_none() && ident.ident.to_string().starts_with('_'),
        Pat::Tuple(tuple) => tuple.elems.iter().all(is_discard),
        _ => false,
    }
}

/// The pattern and its alternatives, each on its own.
pub(crate) fn alternatives(pattern: &Pat) -> Vec<&Pat> {
    match stripped(pattern) {
        Pat::Or(or) => or.cases.iter().flat_map(alternatives).collect(),
        other => vec![other],
    }
}

/// A pattern with exactly one inner pattern, as in `Some(x)`, with the wrapper's name.
pub(crate) fn wrapped(pattern: &Pat) -> Option<(String, &Pat)> {
    let Pat::TupleStruct(wrapper) = stripped(pattern) else {
        return None;
    };
    let name = wrapper.path.segments.last()?.ident.to_string();
    match (wrapper.elems.len(), wrapper.elems.first()) {
        (1, Some(inner)) => Some((name, inner)),
        _ => None,
    }
}

/// Without parentheses, references, and the name in `name @ pattern`.
fn stripped(pattern: &Pat) -> &Pat {
    match pattern {
        Pat::Paren(paren) => stripped(&paren.pat),
        Pat::Reference(reference) => stripped(&reference.pat),
        Pat::Ident(ident) => match &ident.subpat {
            Some((_, inner)) => stripped(inner),
            None => pattern,
        },
        _ => pattern,
    }
}

fn path_of(pattern: &Pat) -> Option<Path> {
    match pattern {
        Pat::Path(path) => Some(path.path.clone()),
        Pat::TupleStruct(tuple) => Some(tuple.path.clone()),
        Pat::Struct(fields) => Some(fields.path.clone()),
        Pat::Ident(ident) if is_constant_name(&ident.ident) => Some(Path::from(ident.ident.clone())),
        _ => None,
    }
}

/// Rust itself cannot tell a binding from a constant by its look, but our lints keep bindings in lower case.
fn is_constant_name(name: &syn::Ident) -> bool {
    name.to_string().starts_with(|first: char| first.is_uppercase())
}

struct Import {
    path: Vec<String>,
    name: String,
}

struct Imports {
    found: Vec<Import>,
}

impl<'ast> Visit<'ast> for Imports {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.flatten(&[], &item.tree);
        visit::visit_item_use(self, item);
    }
}

impl Imports {
    fn flatten(&mut self, prefix: &[String], tree: &UseTree) {
        let with = |name: &syn::Ident| [prefix, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.flatten(&with(&path.ident), &path.tree),
            UseTree::Group(group) => {
                for item in &group.items {
                    self.flatten(prefix, item);
                }
            }
            UseTree::Name(name) if name.ident == "self" => {
                self.found.push(Import { path: prefix.to_vec(), name: prefix.last().cloned().unwrap_or_default() })
            }
            UseTree::Name(name) => self.found.push(Import { path: with(&name.ident), name: name.ident.to_string() }),
            UseTree::Rename(rename) => {
                self.found.push(Import { path: with(&rename.ident), name: rename.rename.to_string() })
            }
            UseTree::Glob(_) => self.found.push(Import { path: prefix.to_vec(), name: "*".to_owned() }),
        }
    }
}
