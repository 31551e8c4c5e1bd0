//! The modules of a library as they are written: from `lib.rs` along its `mod` lines, tests left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Item, ItemMod, Meta};

/// A module: what is written in it.
pub(crate) type Items = Vec<Item>;

/// A library by the paths of its modules; the root has the empty one.
pub(crate) struct Crate {
    pub(crate) modules: BTreeMap<Vec<String>, Items>,
}

/// Why a library could not be read.
#[derive(Debug)]
pub(crate) enum SourceError {
    Io(PathBuf, std::io::Error),
    Rust(PathBuf, syn::Error),
}

impl Crate {
    /// Reads the library of this root file.
    pub(crate) fn read(root: &Path) -> Result<Self, SourceError> {
        let mut all = Self { modules: BTreeMap::new() };
        let folder = root.parent().unwrap_or(root).to_owned();
        let items = parse(root)?;
        all.add(Vec::new(), items, &folder)?;
        Ok(all)
    }

    #[cfg(test)]
    pub(crate) fn of(text: &str) -> Self {
        let mut all = Self { modules: BTreeMap::new() };
        let items = syn::parse_file(text).unwrap().items;
        all.add(Vec::new(), items, Path::new("")).unwrap();
        all
    }

    fn add(&mut self, path: Vec<String>, items: Items, folder: &Path) -> Result<(), SourceError> {
        let items: Items = items.into_iter().filter(|item| !is_test(attributes(item))).collect();
        for module in items.iter().filter_map(as_module) {
            let name = module.ident.to_string();
            let mut inner = path.clone();
            inner.push(name.clone());
            let below = folder.join(&name);
            let content = match &module.content {
                Some((_, items)) => items.clone(),
                None => {
                    let beside = folder.join(format!("{name}.rs"));
                    parse(if beside.exists() { &beside } else { &below })?
                }
            };
            self.add(inner, content, &below)?;
        }
        self.modules.insert(path, items);
        Ok(())
    }
}

fn parse(path: &Path) -> Result<Items, SourceError> {
    let text = fs::read_to_string(path).map_err(|cause| SourceError::Io(path.to_owned(), cause))?;
    let file = syn::parse_file(&text).map_err(|cause| SourceError::Rust(path.to_owned(), cause))?;
    Ok(file.items)
}

fn as_module(item: &Item) -> Option<&ItemMod> {
    if let Item::Mod(module) = item { Some(module) } else { None }
}

/// The attributes of the items that the list knows.
#[expect(clippy::wildcard_enum_match_arm, reason = "the syntax enums of syn are non-exhaustive")]
pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        Meta::NameValue(_) => false,
    })
}
