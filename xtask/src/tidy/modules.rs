//! The modules of one target, and which file defines a name: `crate::`, `super::`, imports, globs and re-exports are
//! followed to the place where the thing is written.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Item, ItemMod, UseTree};

use super::reach::{child_files, child_folder};
use super::rust::{SourceFile, is_test_only};

/// Imports that lead to each other are followed no further than this.
const DEPTH_MAX: usize = 24;

/// All modules that one root file reaches, tests left out.
pub(crate) struct Modules<'a> {
    all: Vec<Module<'a>>,
}

/// One module: a file, or a part of a file in braces.
pub(crate) struct Module<'a> {
    /// The file that holds it.
    pub(crate) file: &'a str,
    /// What it declares.
    pub(crate) content: Vec<&'a Item>,
    parent: Option<usize>,
    children: BTreeMap<String, Vec<usize>>,
    names: BTreeSet<String>,
    imports: Vec<Import>,
}

/// One name that a `use` line brings into a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// From where.
    pub(crate) path: Vec<String>,
    /// Under which name; `*` for everything.
    pub(crate) name: String,
}

/// What a path leads to.
#[derive(Clone, Copy)]
enum Place<'a> {
    Module(usize),
    Defined(&'a str),
}

impl<'a> Modules<'a> {
    /// The modules below a root file such as `src/lib.rs`.
    pub(crate) fn below(root: &'a SourceFile, by_path: &BTreeMap<&str, &'a SourceFile>) -> Self {
        let mut modules = Self { all: Vec::new() };
        modules.add(Body { file: root, items: &root.syntax.items, folder: child_folder(root) }, None, by_path);
        modules
    }

    /// Every module with its number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Module<'a>)> {
        self.all.iter().enumerate()
    }

    /// The files that define what a path in module `from` names; none for a foreign thing or a local variable.
    pub(crate) fn definers(&self, from: usize, path: &[String]) -> BTreeSet<&'a str> {
        let places = self.resolve(from, path, 0).unwrap_or_default();
        let files = places.into_iter().filter_map(|place| match place {
            Place::Defined(file) => Some(file),
            Place::Module(_) => None,
        });
        files.collect()
    }

    fn add(&mut self, body: Body<'a>, parent: Option<usize>, by_path: &BTreeMap<&str, &'a SourceFile>) -> usize {
        let index = self.all.len();
        self.all.push(Module {
            file: &body.file.path,
            content: body.items.iter().filter(|item| !matches!(item, Item::Mod(_))).collect(),
            parent,
            children: BTreeMap::new(),
            names: body.items.iter().filter_map(declared_name).collect(),
            imports: imports(body.items),
        });
        for item in body.items {
            let Item::Mod(module) = item else { continue };
            if is_test_only(&module.attrs) {
                continue;
            }
            for child in body.children(module, by_path) {
                let child = self.add(child, Some(index), by_path);
                if let Some(this) = self.all.get_mut(index) {
                    this.children.entry(module.ident.to_string()).or_default().push(child);
                }
            }
        }
        index
    }

    /// Nothing if the first name is not known here at all.
    fn resolve(&self, from: usize, path: &[String], depth: usize) -> Option<Vec<Place<'a>>> {
        let (first, mut rest) = path.split_first()?;
        let mut places = match first.as_str() {
            "crate" => vec![Place::Module(0)],
            "self" => vec![Place::Module(from)],
            "super" => vec![Place::Module(self.all.get(from)?.parent?)],
            name => self.lookup(from, name, depth)?,
        };
        while let Some((name, behind)) = rest.split_first() {
            places = places.into_iter().flat_map(|place| self.descend(place, name, depth)).collect();
            rest = behind;
        }
        Some(places)
    }

    fn descend(&self, place: Place<'a>, name: &str, depth: usize) -> Vec<Place<'a>> {
        let Place::Module(index) = place else {
            // A variant, a method, an associated type: the definition is found already.
            return vec![place];
        };
        let Some(module) = self.all.get(index) else { return Vec::new() };
        if name == "super" {
            return module.parent.map(Place::Module).into_iter().collect();
        }
        if name == "self" || name == "*" {
            return vec![place];
        }
        // A name that is not written there comes from a macro that is called there.
        self.lookup(index, name, depth).unwrap_or_else(|| vec![Place::Defined(module.file)])
    }

    /// A name in a module: declared, a child, imported, or behind a glob. Nothing if the module does not know it; an
    /// empty list if it is foreign.
    fn lookup(&self, index: usize, name: &str, depth: usize) -> Option<Vec<Place<'a>>> {
        let module = self.all.get(index)?;
        if depth > DEPTH_MAX {
            return None;
        }
        let mut found = Vec::new();
        if module.names.contains(name) {
            found.push(Place::Defined(module.file));
        }
        found.extend(module.children.get(name).into_iter().flatten().map(|child| Place::Module(*child)));
        if !found.is_empty() {
            return Some(found);
        }
        let mut imported = module.imports.iter().filter(|import| import.name == name).peekable();
        if imported.peek().is_some() {
            let leads = |import: &Import| self.resolve(index, &import.path, depth + 1).unwrap_or_default();
            return Some(imported.flat_map(leads).collect());
        }
        let globs = module.imports.iter().filter(|import| import.name == "*");
        globs.filter_map(|import| self.behind_glob(index, import, name, depth + 1)).next()
    }

    fn behind_glob(&self, index: usize, import: &Import, name: &str, depth: usize) -> Option<Vec<Place<'a>>> {
        let places = self.resolve(index, &import.path, depth)?;
        places.into_iter().find_map(|place| match place {
            Place::Module(target) if target != index => self.lookup(target, name, depth),
            Place::Module(_) | Place::Defined(_) => None,
        })
    }
}

/// A module that is about to be added.
struct Body<'a> {
    file: &'a SourceFile,
    items: &'a [Item],
    folder: String,
}

impl<'a> Body<'a> {
    fn children(&self, module: &'a ItemMod, by_path: &BTreeMap<&str, &'a SourceFile>) -> Vec<Self> {
        if let Some((_, items)) = &module.content {
            return vec![Self { file: self.file, items, folder: format!("{}/{}", self.folder, module.ident) }];
        }
        let files = child_files(module, &self.folder);
        let files = files.iter().filter_map(|path| by_path.get(path.as_str()).copied());
        files.map(|file| Self { file, items: &file.syntax.items, folder: child_folder(file) }).collect()
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a foreign enum that may grow: what is new declares no name that paths use"
)]
fn declared_name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(it) => &it.ident,
        Item::Enum(it) => &it.ident,
        Item::Fn(it) => &it.sig.ident,
        Item::Macro(it) => it.ident.as_ref()?,
        Item::Static(it) => &it.ident,
        Item::Struct(it) => &it.ident,
        Item::Trait(it) => &it.ident,
        Item::TraitAlias(it) => &it.ident,
        Item::Type(it) => &it.ident,
        Item::Union(it) => &it.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// Imports of a module, those inside its functions included.
fn imports(items: &[Item]) -> Vec<Import> {
    use syn::visit::Visit;
    struct Found(Vec<Import>);
    impl<'ast> Visit<'ast> for Found {
        fn visit_item_mod(&mut self, _: &'ast ItemMod) {}

        fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
            if !is_test_only(&item.attrs) {
                self.0.extend(flattened(&item.tree));
            }
        }
    }
    let mut found = Found(Vec::new());
    for item in items {
        found.visit_item(item);
    }
    found.0
}

/// Every name of a `use` line with its whole path.
pub(crate) fn flattened(tree: &UseTree) -> Vec<Import> {
    let mut found = Vec::new();
    flatten(&[], tree, &mut found);
    found
}

fn flatten(prefix: &[String], tree: &UseTree, found: &mut Vec<Import>) {
    let with = |name: &syn::Ident| [prefix, &[name.to_string()]].concat();
    match tree {
        UseTree::Path(path) => flatten(&with(&path.ident), &path.tree, found),
        UseTree::Group(group) => {
            for item in &group.items {
                flatten(prefix, item, found);
            }
        }
        UseTree::Name(name) if name.ident == "self" => {
            found.push(Import { path: prefix.to_vec(), name: prefix.last().cloned().unwrap_or_default() });
        }
        UseTree::Name(name) => found.push(Import { path: with(&name.ident), name: name.ident.to_string() }),
        UseTree::Rename(rename) => {
            found.push(Import { path: with(&rename.ident), name: rename.rename.to_string() });
        }
        UseTree::Glob(_) => found.push(Import { path: prefix.to_vec(), name: "*".to_owned() }),
    }
}
