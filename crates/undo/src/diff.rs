//! What differs between two snapshots: only folders whose listings differ are read.

use crate::error::UndoError;
use crate::node::{Entry, Node, Tree};
use crate::objects::Objects;
use crate::paths::{joined, path_of};
use std::path::PathBuf;
use tripwire_core::record::chain::Digest;

/// One name that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Delta {
    pub(crate) path: Vec<u8>,
    pub(crate) old: Option<Node>,
    pub(crate) new: Option<Node>,
}

/// What kind of change a path has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownKind {
    /// It was made.
    Added,
    /// It was removed.
    Removed,
    /// It holds something else.
    Changed,
    /// Only its rights or attributes are others.
    Rights,
}

/// A path that differs, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Where, below the root.
    pub path: PathBuf,
    /// How.
    pub kind: ShownKind,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// The old contents, where they are small and kept.
    pub(crate) old: Option<Digest>,
    /// The new contents, likewise.
    pub(crate) new: Option<Digest>,
}

impl Difference {
    pub(crate) fn of(delta: &Delta) -> Self {
        let kind = match (&delta.old, &delta.new) {
            (None, _) => ShownKind::Added,
            (Some(_), None) => ShownKind::Removed,
            (Some(old), Some(new)) if old.entry == new.entry => ShownKind::Rights,
            (Some(_), Some(_)) => ShownKind::Changed,
        };
        let contents = |node: &Option<Node>| match node.as_ref().map(|node| node.entry) {
            Some(Entry::File { contents, .. }) => Some(contents),
            Some(Entry::Link { target }) => Some(target),
            Some(Entry::Folder | Entry::Unsaved { .. }) | None => None,
        };
        let is_folder = delta.new.as_ref().or(delta.old.as_ref()).is_some_and(Node::is_folder);
        Self { path: path_of(&delta.path), kind, is_folder, old: contents(&delta.old), new: contents(&delta.new) }
    }
}

/// What differs between two folders, sorted by path.
pub(crate) fn between(objects: &Objects, old: &Digest, new: &Digest) -> Result<Vec<Delta>, UndoError> {
    let mut deltas = Vec::new();
    if old != new {
        compare(objects, &[], (Some(*old), Some(*new)), &mut deltas)?;
    }
    Ok(deltas)
}

fn listing(objects: &Objects, tree: Option<Digest>) -> Result<Tree, UndoError> {
    tree.map_or_else(|| Ok(Tree::default()), |tree| objects.tree(&tree))
}

fn compare(
    objects: &Objects,
    path: &[u8],
    (old, new): (Option<Digest>, Option<Digest>),
    deltas: &mut Vec<Delta>,
) -> Result<(), UndoError> {
    if old == new {
        return Ok(());
    }
    let (old, new) = (listing(objects, old)?, listing(objects, new)?);
    let mut names: Vec<&[u8]> = old.0.iter().chain(&new.0).map(|(name, _)| name.as_slice()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let (old, new) = (old.get(name).copied(), new.get(name).copied());
        if old == new {
            continue;
        }
        let below = joined(path, name);
        let (alone_old, alone_new) = (old.map(Node::alone), new.map(Node::alone));
        if alone_old != alone_new {
            deltas.push(Delta { path: below.clone(), old: alone_old, new: alone_new });
        }
        compare(objects, &below, (old.and_then(|node| node.tree), new.and_then(|node| node.tree)), deltas)?;
    }
    Ok(())
}

/// What a snapshot has at a path.
pub(crate) fn lookup(objects: &Objects, root: &Digest, path: &[u8]) -> Result<Option<Node>, UndoError> {
    let mut tree = Some(*root);
    let mut found = None;
    for name in path.split(|byte| *byte == b'/') {
        let Some(digest) = tree else { return Ok(None) };
        let Some(node) = objects.tree(&digest)?.get(name).copied() else { return Ok(None) };
        tree = node.tree;
        found = Some(node);
    }
    Ok(found)
}
