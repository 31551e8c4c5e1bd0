//! Retention: snapshots that are too old, or too many for the room, go; what no snapshot names any more goes with them.

use crate::error::UndoError;
use crate::log::{self, Record};
use crate::node::{Entry, Node};
use crate::objects::Objects;
use crate::pack::PackWriter;
use crate::store::{Held, UndoStore};
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;
use tripwire_core::record::chain::Digest;
use tripwire_fs::file::{self, FileAction, FileError};
use tripwire_workspace::clock;

/// Packs from which small ones are put together.
const PACKS_MAX: usize = 64;
/// A pack below this is small.
const SMALL_BYTES: u64 = 8 << 20;
/// Drafts that are older were left behind by a process that was killed.
const DRAFT_AGE: Duration = Duration::from_secs(3_600);

/// What retention did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Collected {
    /// Snapshots that went.
    pub dropped: usize,
    /// Snapshots that are kept.
    pub kept: usize,
    /// Bytes of the store before.
    pub bytes_before: u64,
    /// Bytes of the store now.
    pub bytes_after: u64,
}

impl UndoStore {
    /// Drops what is too old or too much.
    ///
    /// # Errors
    /// When the store cannot be read or written; nothing that a kept snapshot needs is lost then.
    pub fn collect(&self) -> Result<Collected, UndoError> {
        let held = self.hold(None)?;
        self.collect_held(&held)
    }

    /// The same at the beginning of a session, where it is due.
    pub(crate) fn collect_if_due(&self, held: &Held) -> Result<(), UndoError> {
        let packs = self.paths().list()?.len();
        let oldest = clock::now().epoch_ms().saturating_sub(self.settings().keep_ms);
        let is_old = self.records(held)?.first().is_some_and(|record| record.at_ms < oldest);
        if is_old || packs > PACKS_MAX || self.bytes() > self.settings().store_bytes_max {
            self.collect_held(held)?;
        }
        Ok(())
    }

    /// What the store takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let paths = self.paths();
        size_of(&paths.packs).saturating_add(size_of(&paths.large))
    }

    fn collect_held(&self, held: &Held) -> Result<Collected, UndoError> {
        let bytes_before = self.bytes();
        let records = self.records(held)?;
        let oldest = clock::now().epoch_ms().saturating_sub(self.settings().keep_ms);
        let mut first = records.iter().position(|record| record.at_ms >= oldest).unwrap_or(records.len());
        // The newest snapshot always stays: the next one builds on it.
        first = first.min(records.len().saturating_sub(1));
        let objects = self.objects()?;
        let mut live = self.live(held, &objects, records.get(first..).unwrap_or_default())?;
        while live.bytes(&objects) > self.settings().store_bytes_max && first + 1 < records.len() {
            first += (records.len() - first).div_ceil(4).max(1);
            first = first.min(records.len() - 1);
            live = self.live(held, &objects, records.get(first..).unwrap_or_default())?;
        }
        if first > 0 {
            log::replace(&self.log(), records.get(first..).unwrap_or_default())?;
        }
        self.repack(&objects, &live)?;
        self.sweep(&live)?;
        Ok(Collected { dropped: first, kept: records.len() - first, bytes_before, bytes_after: self.bytes() })
    }

    /// Everything that these snapshots and the index need. An index that names what is gone is forgotten.
    fn live(&self, held: &Held, objects: &Objects, records: &[Record]) -> Result<Live, UndoError> {
        let mut live = Live::default();
        for tree in records.iter().filter_map(|record| record.tree) {
            // A damaged snapshot is no reason to keep or to lose others.
            live.add_tree(objects, &tree).ok();
        }
        let newest = records.iter().rev().find_map(|record| record.tree);
        let known = self.index(held).ok();
        let root = known.as_ref().and_then(|index| index.folders.get(&Vec::new()[..])).map(|folder| folder.tree);
        if root.is_none() || root != newest {
            self.forget_index(held)?;
        }
        Ok(live)
    }

    /// Packs in which too little is alive, and small ones where there are many, are rewritten as one.
    fn repack(&self, objects: &Objects, live: &Live) -> Result<(), UndoError> {
        let mut alive = vec![(0_u64, Vec::new()); objects.packs.len()];
        for digest in &live.objects {
            if let Some((pack, length)) = objects.place(digest)
                && let Some((bytes, digests)) = alive.get_mut(pack)
            {
                *bytes = bytes.saturating_add(length);
                digests.push(*digest);
            }
        }
        let many = objects.packs.len() > PACKS_MAX;
        let goes: Vec<usize> = objects
            .packs
            .iter()
            .enumerate()
            .filter(|(at, pack)| alive[*at].0 < pack.bytes / 2 || (many && pack.bytes < SMALL_BYTES))
            .map(|(at, _)| at)
            .collect();
        let mut writer = PackWriter::new(objects.paths.next()?);
        for at in &goes {
            for digest in &alive[*at].1 {
                writer.add(*digest, &objects.raw(digest)?)?;
            }
        }
        writer.publish()?;
        for at in goes {
            file::remove(&objects.packs[at].path)?;
        }
        Ok(())
    }

    /// Large contents that nothing names, and drafts that were left behind.
    fn sweep(&self, live: &Live) -> Result<(), UndoError> {
        let paths = self.paths();
        for entry in std::fs::read_dir(&paths.large).map_err(FileError::at(&paths.large, FileAction::Read))?.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let named = name.parse::<Digest>().is_ok_and(|digest| live.objects.contains(&digest));
            let young = entry
                .metadata()
                .and_then(|meta| meta.modified())
                .is_ok_and(|time| time.elapsed().is_ok_and(|age| age < DRAFT_AGE));
            let is_draft = name.starts_with('.') && young;
            if !named && !is_draft {
                file::remove(&entry.path())?;
            }
        }
        file::sweep_drafts(&paths.packs)?;
        file::sweep_drafts(self.folder())?;
        Ok(())
    }
}

/// What is needed.
#[derive(Debug, Default)]
struct Live {
    objects: HashSet<Digest>,
}

impl Live {
    fn add_tree(&mut self, objects: &Objects, tree: &Digest) -> Result<(), UndoError> {
        if !self.objects.insert(*tree) {
            return Ok(());
        }
        for (_, node) in objects.tree(tree)?.0 {
            self.add_node(&node);
            if let Some(tree) = &node.tree {
                self.add_tree(objects, tree)?;
            }
        }
        Ok(())
    }

    fn add_node(&mut self, node: &Node) {
        match node.entry {
            Entry::File { contents, .. } => {
                self.objects.insert(contents);
            }
            Entry::Link { target } => {
                self.objects.insert(target);
            }
            Entry::Folder | Entry::Unsaved { .. } => {}
        }
        self.objects.extend(node.attributes);
    }

    fn bytes(&self, objects: &Objects) -> u64 {
        let size = |digest: &Digest| match objects.place(digest) {
            Some((_, length)) => length,
            None => objects.paths.large(digest).metadata().map_or(0, |meta| meta.len()),
        };
        self.objects.iter().map(size).sum()
    }
}

fn size_of(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|meta| meta.len()).sum()
}
