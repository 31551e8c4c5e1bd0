//! A snapshot: look, put the listings of folders together from below, and let the pack become visible.

use crate::error::UndoError;
use crate::index::{Index, KnownFolder, NOT_KNOWN};
use crate::node::{Tree, Uncovered};
use crate::objects::{ObjectPaths, tree_digest};
use crate::paths::joined;
use crate::scan::{Scan, Scanned, Sink};
use crate::settings::Settings;
use crate::watch::Still;
use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tripwire_core::record::chain::Digest;
use tripwire_fs::beneath::HeldFolder;
use tripwire_workspace::clock;

/// A snapshot that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// The listing of the folder.
    pub tree: Digest,
    /// Its number in the store.
    pub number: u64,
}

/// Something in the folder that no snapshot keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// Where, below the root.
    pub path: PathBuf,
    /// Why.
    pub why: Uncovered,
}

/// What one look needs to know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look<'a> {
    pub(crate) root: &'a Path,
    pub(crate) folder: &'a Path,
    pub(crate) settings: &'a Settings,
    pub(crate) paths: &'a ObjectPaths,
    pub(crate) deadline: Option<Instant>,
    /// What need not be looked at.
    pub(crate) still: Option<Still<'a>>,
}

/// What a look gave; the objects are on the disk.
#[derive(Debug)]
pub(crate) struct Looked {
    pub(crate) tree: Digest,
    pub(crate) index: Index,
    /// Whether the index has changed.
    pub(crate) moved: bool,
}

/// Why a look gave nothing, and how far it came.
pub(crate) struct LookFailure {
    pub(crate) error: UndoError,
    /// What was read before the time was over.
    pub(crate) index: Option<Box<Index>>,
}

impl<E: Into<UndoError>> From<E> for LookFailure {
    fn from(error: E) -> Self {
        Self { error: error.into(), index: None }
    }
}

/// Looks at the folder, after an earlier look.
pub(crate) fn look(whole: Look<'_>, index: &Index) -> Result<Looked, LookFailure> {
    let Look { root, folder, settings, paths, deadline, still } = whole;
    let held = HeldFolder::open(root).map_err(UndoError::folder("open", root))?;
    let own = held.readable(Path::new("")).map_err(UndoError::folder("open", root))?;
    let stat = rustix::fs::fstat(&own).map_err(|errno| UndoError::folder("look at", root)(errno.into()))?;
    let scan = Scan {
        root: &held,
        device: stat.st_dev,
        settings,
        store: folder.strip_prefix(root).ok().map(|below| below.as_os_str().as_bytes().to_vec()),
        index,
        paths,
        sink: Mutex::new(Sink::new(paths.clone(), settings.store_bytes_max)?),
        deadline,
        now_ns: clock::now_of_files().epoch_ms().saturating_mul(1_000_000),
        entries: AtomicUsize::new(0),
    };
    let mut scanned: HashMap<Vec<u8>, Scanned> = HashMap::with_capacity(index.folders.len());
    let mut asked: HashSet<Vec<u8>> = index.folders.keys().cloned().collect();
    asked.insert(Vec::new());
    let mut front: Vec<Vec<u8>> = Vec::new();
    for path in &asked {
        let is_still =
            |known: &&Arc<KnownFolder>| still.is_some_and(|still| still.is_still(path)) && !known.has_shared();
        match index.folders.get(path).filter(is_still) {
            Some(known) => drop(scanned.insert(path.clone(), Scanned { folder: Arc::clone(known), same: true })),
            None => front.push(path.clone()),
        }
    }
    // Neighbours share what the system keeps of the way to them.
    front.sort_unstable();
    while !front.is_empty() {
        let mut next = Vec::new();
        for (path, found) in scan.folders(&front)? {
            if still.is_some()
                && found.folder.has_shared()
                && !index.folders.get(&path).is_some_and(|known| known.has_shared())
            {
                // A file got another name: where its other names are, nothing was told.
                return look(Look { still: None, ..whole }, index);
            }
            for (name, seen) in &found.folder.names {
                if !seen.what.is_folder() {
                    continue;
                }
                let below = joined(&path, name);
                // Another folder may have come to a place that was not told to have moved.
                let another = scanned.get(&below).is_some_and(|known| known.folder.mark.inode() != seen.mark.inode());
                if another || !asked.contains(&below) {
                    scanned.remove(&below);
                    asked.insert(below.clone());
                    next.push(below);
                }
            }
            scanned.insert(path, found);
        }
        if scan.is_late() {
            return Err(cut_short(scan, scanned, index));
        }
        front = next;
    }
    let mut builder = Builder { scan: &scan, scanned, index, built: HashMap::with_capacity(asked.len()), moved: false };
    let tree = builder.build(&[])?.ok_or_else(|| gone(root))?;
    let Builder { built, mut moved, .. } = builder;
    moved = moved || built.len() != index.folders.len();
    scan.sink.into_inner().unwrap_or_else(PoisonError::into_inner).writer.publish()?;
    Ok(Looked { tree, index: Index { choice: index.choice, folders: built }, moved })
}

fn gone(root: &Path) -> UndoError {
    UndoError::folder("look at", root)(std::io::ErrorKind::NotFound.into())
}

/// The time is over: what was read is kept, so that the next look has less to do. Nothing names these objects yet.
fn cut_short(scan: Scan<'_>, scanned: HashMap<Vec<u8>, Scanned>, index: &Index) -> LookFailure {
    let Scan { sink, .. } = scan;
    let published = sink.into_inner().unwrap_or_else(PoisonError::into_inner).writer.publish();
    let index = published.is_ok().then(|| {
        let folders = scanned.into_iter().map(|(path, scanned)| {
            let folder = KnownFolder { tree: NOT_KNOWN, ..(*scanned.folder).clone() };
            (path, Arc::new(folder))
        });
        Box::new(Index { choice: index.choice, folders: folders.collect() })
    });
    LookFailure { error: UndoError::TimeOver, index }
}

/// Puts listings together.
struct Builder<'a, 's> {
    scan: &'a Scan<'s>,
    scanned: HashMap<Vec<u8>, Scanned>,
    index: &'a Index,
    built: HashMap<Vec<u8>, Arc<KnownFolder>>,
    moved: bool,
}

impl Builder<'_, '_> {
    /// The listing of a folder; nothing if it vanished while it was looked at.
    fn build(&mut self, path: &[u8]) -> Result<Option<Digest>, UndoError> {
        let Some(Scanned { folder, same }) = self.scanned.remove(path) else { return Ok(None) };
        let known = self.index.folders.get(path);
        let mut trees = Vec::new();
        let mut changed = !same || known.is_some_and(|known| known.tree == NOT_KNOWN);
        for (at, (name, seen)) in folder.names.iter().enumerate() {
            if !seen.what.is_folder() {
                continue;
            }
            let tree = self.build(&joined(path, name))?;
            let before = known.and_then(|known| known.get(name)).and_then(|seen| seen.what.tree);
            changed = changed || tree.is_none() || tree != before;
            trees.push((at, tree));
        }
        let stale = known.is_none_or(|known| !is_equal(known, &folder));
        if !changed && let Some(known) = known {
            let kept = if stale {
                self.moved = true;
                let mut names = folder.names.clone();
                for (at, tree) in trees {
                    names[at].1.what.tree = tree;
                }
                Arc::new(KnownFolder { names, tree: known.tree, ..(*folder).clone() })
            } else {
                Arc::clone(known)
            };
            let tree = kept.tree;
            self.built.insert(path.to_vec(), kept);
            return Ok(Some(tree));
        }
        self.moved = true;
        let mut names = folder.names.clone();
        for (at, tree) in &trees {
            names[*at].1.what.tree = *tree;
        }
        // A folder that vanished meanwhile has no listing.
        names.retain(|(_, seen)| !seen.what.is_folder() || seen.what.tree.is_some());
        let listing = Tree(names.iter().map(|(name, seen)| (name.clone(), seen.what)).collect()).encode();
        let tree = tree_digest(&listing);
        self.scan.sink().add(tree, &listing)?;
        let vanished = names.len() != folder.names.len();
        let settled = folder.settled && !vanished;
        self.built.insert(path.to_vec(), Arc::new(KnownFolder { names, tree, settled, ..(*folder).clone() }));
        Ok(Some(tree))
    }
}

/// Whether the index needs no new word about a folder.
fn is_equal(known: &KnownFolder, now: &KnownFolder) -> bool {
    known.mark == now.mark
        && known.settled == now.settled
        && known
            .names
            .iter()
            .zip(&now.names)
            .all(|((_, one), (_, two))| one.mark == two.mark && one.settled == two.settled)
}
