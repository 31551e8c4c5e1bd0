//! The public items of a library, one line each: what is reachable from its root, under the path by which others name it.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the syntax enums of syn are non-exhaustive, so the compiler demands the arm"
)]

use std::collections::{BTreeMap, BTreeSet};

use syn::spanned::Spanned;
use syn::{Attribute, Fields, ImplItem, Item, ItemImpl, Meta, TraitItem, Type, UseTree, Visibility};

use super::source::{Crate, attributes};

/// Re-exports that lead to each other are followed no further.
const DEPTH_MAX: usize = 16;

/// The lines, sorted.
pub(crate) fn lines(library: &Crate) -> Vec<String> {
    let mut listing = Listing { library, lines: BTreeSet::new(), types: BTreeMap::new() };
    listing.module(&[], &[], 0);
    listing.implementations();
    listing.lines.into_iter().collect()
}

struct Listing<'a> {
    library: &'a Crate,
    lines: BTreeSet<String>,
    /// Types by their name, which is used once per crate, with the path that others use.
    types: BTreeMap<String, String>,
}

impl Listing<'_> {
    /// What a module offers, under the path that others use for it.
    fn module(&mut self, module: &[String], public: &[String], depth: usize) {
        let library = self.library;
        let Some(items) = library.modules.get(module).filter(|_| depth < DEPTH_MAX) else { return };
        for item in items {
            match item {
                Item::Mod(inner) if is_public(&inner.vis) => {
                    let name = inner.ident.to_string();
                    self.module(&with(module, &name), &with(public, &name), depth + 1);
                }
                Item::Use(line) if is_public(&line.vis) => {
                    for leaf in leaves(&line.tree, &[]) {
                        self.exported(module, &leaf, Outside { public, depth });
                    }
                }
                _ => self.item(item, public, None),
            }
        }
    }

    /// A name that a `pub use` line brings out.
    fn exported(&mut self, module: &[String], leaf: &Leaf, outside: Outside<'_>) {
        let (library, Outside { public, depth }) = (self.library, outside);
        let Some(path) = resolve(module, &leaf.path, library) else {
            self.lines.insert(format!("{}: pub use {}", shown(public, &leaf.name), leaf.path.join("::")));
            return;
        };
        if leaf.name == "*" {
            return self.module(&path, public, depth + 1);
        }
        if library.modules.contains_key(&path) {
            return self.module(&path, &with(public, &leaf.name), depth + 1);
        }
        let Some((name, parent)) = path.split_last() else { return };
        let items = library.modules.get(parent).map(Vec::as_slice).unwrap_or_default();
        let found: Vec<&Item> = items.iter().filter(|item| declared(item).as_ref() == Some(name)).collect();
        let passed_on = || imported(items, name).filter(|_| found.is_empty() && depth < DEPTH_MAX);
        if let Some(inner) = passed_on() {
            let leaf = Leaf { path: inner.path, name: leaf.name.clone() };
            return self.exported(parent, &leaf, Outside { public, depth: depth + 1 });
        }
        if found.is_empty() {
            self.types.insert(name.clone(), shown(public, &leaf.name));
            self.lines.insert(format!("{}: made by a macro in {}", shown(public, &leaf.name), parent.join("::")));
        }
        for item in found {
            self.item(item, public, Some(&leaf.name));
        }
    }

    /// A line for an item, and for each of its public parts.
    fn item(&mut self, item: &Item, public: &[String], alias: Option<&str>) {
        let Some(name) = declared(item).filter(|_| visibility(item).is_some_and(is_public)) else { return };
        let path = shown(public, alias.unwrap_or(&name));
        match item {
            Item::Fn(item) => self.line(&path, &source(&item.sig)),
            Item::Const(item) => self.line(&path, &format!("const {}", source(&item.ty))),
            Item::Static(item) => self.line(&path, &format!("static {}", source(&item.ty))),
            Item::Type(item) => self.line(&path, &format!("type{} = {}", source(&item.generics), source(&item.ty))),
            Item::Struct(item) => {
                self.line(&path, &format!("struct{}{}", source(&item.generics), hidden_fields(&item.fields)));
                self.fields(&path, &item.fields, Parts::Public);
            }
            Item::Enum(item) => {
                let open = if has(&item.attrs, "non_exhaustive") { "non-exhaustive " } else { "" };
                self.line(&path, &format!("{open}enum{}", source(&item.generics)));
                for variant in &item.variants {
                    let inner = format!("{path}::{}", variant.ident);
                    self.line(&inner, "variant");
                    self.fields(&inner, &variant.fields, Parts::All);
                }
            }
            Item::Trait(item) => {
                self.line(&path, &format!("trait{}", source(&item.generics)));
                for part in &item.items {
                    if let TraitItem::Fn(function) = part {
                        self.line(&format!("{path}::{}", function.sig.ident), &source(&function.sig));
                    }
                }
            }
            _ => return,
        }
        let derived = derives(attributes(item));
        if !derived.is_empty() {
            self.line(&path, &format!("derives {}", derived.join(", ")));
        }
        self.types.insert(name, path);
    }

    fn fields(&mut self, path: &str, fields: &Fields, parts: Parts) {
        for (number, field) in fields.iter().enumerate() {
            if parts == Parts::Public && !is_public(&field.vis) {
                continue;
            }
            let name = field.ident.as_ref().map_or_else(|| number.to_string(), ToString::to_string);
            self.line(&format!("{path}.{name}"), &source(&field.ty));
        }
    }

    fn implementations(&mut self) {
        let library = self.library;
        for item in library.modules.values().flatten() {
            let Item::Impl(block) = item else { continue };
            let Some(path) = self_type(block).and_then(|name| self.types.get(&name)).cloned() else { continue };
            if let Some((implemented, _)) = &block.trait_ {
                let generics = source(&block.generics);
                self.line(&path, &format!("impl{generics} {} for {}", source(implemented), source(&block.self_ty)));
                continue;
            }
            for part in &block.items {
                match part {
                    ImplItem::Fn(function) if is_public(&function.vis) => {
                        self.line(&format!("{path}::{}", function.sig.ident), &source(&function.sig));
                    }
                    ImplItem::Const(constant) if is_public(&constant.vis) => {
                        self.line(&format!("{path}::{}", constant.ident), &format!("const {}", source(&constant.ty)));
                    }
                    _ => {}
                }
            }
        }
    }

    fn line(&mut self, path: &str, what: &str) {
        self.lines.insert(format!("{path}: {what}"));
    }
}

/// Where a name is brought out: the path that others use, and how many re-exports led there.
#[derive(Clone, Copy)]
struct Outside<'a> {
    public: &'a [String],
    depth: usize,
}

/// A name that a module itself has from another one.
fn imported(items: &[Item], name: &str) -> Option<Leaf> {
    items.iter().find_map(|item| match item {
        Item::Use(line) => leaves(&line.tree, &[]).into_iter().find(|inner| inner.name == name),
        _ => None,
    })
}

/// Whose parts are public by themselves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parts {
    All,
    Public,
}

/// One name of a `use` line.
struct Leaf {
    path: Vec<String>,
    name: String,
}

fn leaves(tree: &UseTree, above: &[String]) -> Vec<Leaf> {
    match tree {
        UseTree::Path(path) => leaves(&path.tree, &with(above, &path.ident.to_string())),
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            let is_self = name == "self";
            let path = if is_self { above.to_vec() } else { with(above, &name) };
            vec![Leaf { name: path.last().cloned().unwrap_or(name), path }]
        }
        UseTree::Rename(rename) => {
            vec![Leaf { path: with(above, &rename.ident.to_string()), name: rename.rename.to_string() }]
        }
        UseTree::Glob(_) => vec![Leaf { path: above.to_vec(), name: "*".to_owned() }],
        UseTree::Group(group) => group.items.iter().flat_map(|tree| leaves(tree, above)).collect(),
    }
}

/// The path in the crate that a name in a module leads to; nothing for another crate.
fn resolve(module: &[String], path: &[String], library: &Crate) -> Option<Vec<String>> {
    let (first, rest) = path.split_first()?;
    let mut at = match first.as_str() {
        "crate" => Vec::new(),
        "self" => module.to_vec(),
        "super" => module.split_last()?.1.to_vec(),
        name if library.modules.contains_key(&with(module, name)) => with(module, name),
        _ => return None,
    };
    for part in rest {
        if part == "super" {
            at.pop();
        } else {
            at.push(part.clone());
        }
    }
    Some(at)
}

fn declared(item: &Item) -> Option<String> {
    let name = match item {
        Item::Fn(item) => &item.sig.ident,
        Item::Const(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn visibility(item: &Item) -> Option<&Visibility> {
    match item {
        Item::Fn(item) => Some(&item.vis),
        Item::Const(item) => Some(&item.vis),
        Item::Static(item) => Some(&item.vis),
        Item::Type(item) => Some(&item.vis),
        Item::Struct(item) => Some(&item.vis),
        Item::Enum(item) => Some(&item.vis),
        Item::Trait(item) => Some(&item.vis),
        _ => None,
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// A struct that others can make by its fields is another promise than one that they cannot.
fn hidden_fields(fields: &Fields) -> &'static str {
    if fields.iter().all(|field| is_public(&field.vis)) { "" } else { " with private fields" }
}

fn self_type(block: &ItemImpl) -> Option<String> {
    let Type::Path(path) = &*block.self_ty else { return None };
    path.path.segments.last().map(|segment| segment.ident.to_string())
}

fn has(attributes: &[Attribute], name: &str) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident(name))
}

fn derives(attributes: &[Attribute]) -> Vec<String> {
    let lists = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("derive") => Some(list.tokens.to_string()),
        _ => None,
    });
    let lists: Vec<String> = lists.collect();
    let names = lists.iter().flat_map(|list| list.split(',')).map(|name| name.replace(' ', ""));
    let names: BTreeSet<String> = names.filter(|name| !name.is_empty()).collect();
    names.into_iter().collect()
}

/// A part of the source as it is written, in one line.
fn source(part: &impl Spanned) -> String {
    let text = part.span().source_text().unwrap_or_default();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.replace("( ", "(").replace(", )", ")").replace(" )", ")")
}

fn with(path: &[String], name: &str) -> Vec<String> {
    let mut path = path.to_vec();
    path.push(name.to_owned());
    path
}

fn shown(public: &[String], name: &str) -> String {
    with(public, name).join("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_can_name_is_listed_and_nothing_else() {
        let found = lines(&Crate::of(
            "mod inner {\n\
                 #[derive(Debug, Clone)] pub struct Point { pub x: u8, y: u8 }\n\
                 impl Point { pub fn new(\n x: u8,\n ) -> Self { todo!() } fn hidden() {} }\n\
                 impl Default for Point { fn default() -> Self { todo!() } }\n\
                 pub struct Unseen;\n\
                 settings! { made }\n\
             }\n\
             pub mod shapes { pub enum Shape { Round(u8), Flat { wide: u8 } } pub(crate) fn secret() {} }\n\
             pub use inner::{Point, Made};\n\
             pub const MAX: usize = 3;\n\
             #[cfg(test)] pub fn of_tests() {}\n",
        ));
        assert_eq!(
            found,
            [
                "MAX: const usize",
                "Made: made by a macro in inner",
                "Point.x: u8",
                "Point: derives Clone, Debug",
                "Point: impl Default for Point",
                "Point: struct with private fields",
                "Point::new: fn new(x: u8) -> Self",
                "shapes::Shape: enum",
                "shapes::Shape::Flat.wide: u8",
                "shapes::Shape::Flat: variant",
                "shapes::Shape::Round.0: u8",
                "shapes::Shape::Round: variant",
            ]
        );
    }
}
