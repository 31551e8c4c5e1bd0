//! The stat cache: what each name looked like at the last snapshot, so that only what moved is read again.
//!
//! As in git, a file that changed within the clock's grain before it was read may change again unseen by its times: it is
//! not settled, and is read again the next time. The cache can always be rebuilt.

use crate::binary::{Decoder, Encoder};
use crate::node::Node;
use rustix::fs::{FileType, Stat};
use std::collections::HashMap;
use std::sync::Arc;
use tripwire_core::record::chain::Digest;

const MAGIC: u64 = 0x3278_6469_6f64_6e75;
/// File times move in steps of at most this.
const GRAIN_NS: u64 = 50_000_000;

/// The listing of a folder whose look was cut short.
pub(crate) const NOT_KNOWN: Digest = Digest::from_bytes([0; 32]);

/// The bit of a mark that says that a file has several names; no mode has it.
const SHARED: u32 = 1 << 31;

fn is_shared(stat: &Stat) -> bool {
    stat.st_nlink > 1 && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// What moves when something is written to, moved, linked or given other rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    inode: u64,
    pub(crate) size: u64,
    modified_ns: u64,
    changed_ns: u64,
    mode: u32,
}

impl Mark {
    pub(crate) fn of(stat: &Stat) -> Self {
        let ns = |seconds: i64, ns: u64| {
            u64::try_from(seconds).unwrap_or(0).saturating_mul(1_000_000_000).saturating_add(ns)
        };
        Self {
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified_ns: ns(stat.st_mtime, stat.st_mtime_nsec),
            changed_ns: ns(stat.st_ctime, stat.st_ctime_nsec),
            mode: stat.st_mode | if is_shared(stat) { SHARED } else { 0 },
        }
    }

    /// Whether a later change must show in the mark.
    pub(crate) const fn is_settled(&self, now_ns: u64) -> bool {
        let newest = if self.modified_ns > self.changed_ns { self.modified_ns } else { self.changed_ns };
        newest.saturating_add(GRAIN_NS) < now_ns
    }

    /// The same file with the same contents; renaming it moves the time of its last change and nothing else.
    pub(crate) const fn is_same_file(&self, other: &Self) -> bool {
        self.inode == other.inode && self.size == other.size && self.modified_ns == other.modified_ns
    }

    /// Whether the file has other names: what is written by one of them is not told of the others.
    pub(crate) const fn is_shared(&self) -> bool {
        self.mode & SHARED != 0
    }

    /// The number of the file.
    pub(crate) const fn inode(&self) -> u64 {
        self.inode
    }

    /// One figure that moves with it.
    pub(crate) const fn figure(&self) -> u64 {
        self.inode.rotate_left(40) ^ self.size.rotate_left(20) ^ self.modified_ns
    }

    fn encode(&self, out: &mut Encoder) {
        [self.inode, self.size, self.modified_ns, self.changed_ns].into_iter().for_each(|figure| out.u64(figure));
        out.u32(self.mode);
    }

    fn decode(from: &mut Decoder<'_>) -> Option<Self> {
        Some(Self {
            inode: from.u64()?,
            size: from.u64()?,
            modified_ns: from.u64()?,
            changed_ns: from.u64()?,
            mode: from.u32()?,
        })
    }
}

/// Something that was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen<T> {
    pub(crate) mark: Mark,
    pub(crate) settled: bool,
    pub(crate) what: T,
}

/// A folder as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownFolder {
    pub(crate) mark: Mark,
    pub(crate) settled: bool,
    /// Sorted by name.
    pub(crate) names: Vec<(Vec<u8>, Seen<Node>)>,
    pub(crate) tree: Digest,
}

impl KnownFolder {
    /// Whether a file in it has other names.
    pub(crate) fn has_shared(&self) -> bool {
        self.names.iter().any(|(_, seen)| seen.mark.is_shared())
    }

    pub(crate) fn get(&self, name: &[u8]) -> Option<&Seen<Node>> {
        let at = self.names.binary_search_by(|(known, _)| known.as_slice().cmp(name)).ok()?;
        self.names.get(at).map(|(_, seen)| seen)
    }
}

/// All folders as they were, by their paths below the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Index {
    /// What was left out and how large a file may be: another choice needs another index.
    pub(crate) choice: Digest,
    pub(crate) folders: HashMap<Vec<u8>, Arc<KnownFolder>>,
}

impl Index {
    pub(crate) fn new(choice: Digest) -> Self {
        Self { choice, folders: HashMap::new() }
    }

    /// What was seen at a path.
    pub(crate) fn get(&self, path: &[u8]) -> Option<&Seen<Node>> {
        let (folder, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (&path[..0], path),
        };
        self.folders.get(folder)?.get(name)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        out.u64(MAGIC);
        out.digest(&self.choice);
        out.u64(u64::try_from(self.folders.len()).unwrap_or(u64::MAX));
        for (path, folder) in &self.folders {
            out.bytes(path);
            folder.mark.encode(&mut out);
            out.byte(u8::from(folder.settled));
            out.digest(&folder.tree);
            out.u32(u32::try_from(folder.names.len()).unwrap_or(u32::MAX));
            for (name, seen) in &folder.names {
                out.bytes(name);
                seen.mark.encode(&mut out);
                out.byte(u8::from(seen.settled));
                seen.what.encode(&mut out);
            }
        }
        out.u64(MAGIC);
        out.0
    }

    /// Reads an index; nothing if it is not whole or of another choice.
    pub(crate) fn decode(bytes: &[u8], choice: &Digest) -> Option<Self> {
        let mut from = Decoder(bytes);
        if from.u64()? != MAGIC || from.digest()? != *choice {
            return None;
        }
        let count = from.u64()?;
        let mut folders = HashMap::with_capacity(usize::try_from(count.min(1 << 20)).unwrap_or(0));
        for _ in 0..count {
            let path = from.bytes()?.to_vec();
            let (mark, settled, tree) = (Mark::decode(&mut from)?, from.byte()? == 1, from.digest()?);
            let count = from.u32()?;
            let mut names = Vec::with_capacity(usize::try_from(count.min(1 << 16)).unwrap_or(0));
            for _ in 0..count {
                let name = from.bytes()?.to_vec();
                let (mark, settled) = (Mark::decode(&mut from)?, from.byte()? == 1);
                names.push((name, Seen { mark, settled, what: Node::decode(&mut from)? }));
            }
            folders.insert(path, Arc::new(KnownFolder { mark, settled, names, tree }));
        }
        (from.u64()? == MAGIC && from.is_empty()).then_some(Self { choice: *choice, folders })
    }
}
