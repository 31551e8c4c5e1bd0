//! What the simulated disk keeps, what it only pretends to keep, and what a power cut makes of the difference.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::faults::Faults;
use super::random::Random;

/// The whole machine: every file as processes see it and as the disk has it.
#[derive(Debug)]
pub(super) struct World {
    random: Random,
    faults: Faults,
    operations: u64,
    bytes_read: u64,
    cut_at: Option<u64>,
    power: Power,
    inodes: Vec<Inode>,
    names: BTreeMap<PathBuf, usize>,
    names_durable: BTreeMap<PathBuf, usize>,
    dir_pending: Vec<DirChange>,
    dirs: BTreeSet<PathBuf>,
    locks: BTreeSet<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Power {
    On,
    Off,
}

/// A file: the bytes that can be read, the bytes that are on disk, and the changes between them.
#[derive(Debug, Default)]
struct Inode {
    cached: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
}

/// A change of a file that is not durable yet.
#[derive(Debug, Clone)]
pub(super) enum Change {
    /// Bytes at an offset.
    Write { offset: usize, bytes: Vec<u8> },
    /// A new, smaller size.
    Truncate { size: usize },
}

/// A change of a directory that is not durable yet.
#[derive(Debug, Clone)]
pub(super) enum DirChange {
    /// A new name for a new file.
    Link { path: PathBuf, inode: usize },
    /// A name that moved, atomically.
    Rename { from: PathBuf, to: PathBuf, inode: usize },
    /// A name that is gone.
    Unlink { path: PathBuf },
}

/// How a file's pending changes meet a power cut.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Kept,
    Lost,
    /// In order up to some byte.
    Prefix,
    /// The size grew, the bytes did not arrive.
    ZeroFilled,
    /// Each sector for itself.
    Scattered,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            faults: Faults::default(),
            operations: 0,
            bytes_read: 0,
            cut_at: None,
            power: Power::On,
            inodes: Vec::new(),
            names: BTreeMap::new(),
            names_durable: BTreeMap::new(),
            dir_pending: Vec::new(),
            dirs: BTreeSet::new(),
            locks: BTreeSet::new(),
        }
    }

    pub(super) fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
        self.cut_at = faults.power_cut_after.map(|after| self.operations.saturating_add(after));
    }

    pub(super) fn is_off(&self) -> bool {
        self.power == Power::Off
    }

    pub(super) const fn operations(&self) -> u64 {
        self.operations
    }

    pub(super) const fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Reads as much as fits, and counts it.
    pub(super) fn read_into(&mut self, inode: usize, start: usize, buffer: &mut [u8]) -> usize {
        let rest = self.inodes[inode].cached.get(start..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.bytes_read += u64::try_from(count).unwrap_or(0);
        count
    }

    /// Counts an operation that changes no file, and lets it fail if its time has come.
    pub(super) fn operate(&mut self) -> io::Result<()> {
        match self.fate()? {
            OperationFate::Done => Ok(()),
            OperationFate::CutBefore | OperationFate::CutAfter => Err(self.cut()),
        }
    }

    /// Applies a change to what processes see, and remembers that the disk does not have it yet.
    pub(super) fn change(&mut self, inode: usize, change: Change) -> io::Result<()> {
        let fate = self.fate()?;
        match fate {
            OperationFate::CutBefore => return Err(self.cut()),
            OperationFate::Done | OperationFate::CutAfter => {}
        }
        let file = &mut self.inodes[inode];
        apply(&mut file.cached, &change);
        file.pending.push(change);
        match fate {
            OperationFate::Done => Ok(()),
            OperationFate::CutBefore | OperationFate::CutAfter => Err(self.cut()),
        }
    }

    /// A write that may meet a full disk: then a part of it arrives, with or without an error code.
    pub(super) fn write(&mut self, inode: usize, offset: usize, bytes: &[u8]) -> io::Result<usize> {
        let is_full = self.random.chance(self.faults.full_per_mille);
        let written = if is_full { self.random.below(bytes.len()) } else { bytes.len() };
        self.change(inode, Change::Write { offset, bytes: bytes.get(..written).unwrap_or_default().to_vec() })?;
        if is_full && (written == 0 || self.random.chance(500)) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(written)
    }

    /// Makes the pending changes durable; a failure keeps some of them and forgets that the others are missing.
    pub(super) fn sync(&mut self, inode: usize) -> io::Result<()> {
        match self.fate() {
            Ok(OperationFate::Done) => {}
            Ok(OperationFate::CutBefore | OperationFate::CutAfter) => return Err(self.cut()),
            Err(error) => {
                if self.power == Power::On {
                    self.resolve(inode);
                }
                return Err(error);
            }
        }
        let file = &mut self.inodes[inode];
        for change in std::mem::take(&mut file.pending) {
            apply(&mut file.durable, &change);
        }
        Ok(())
    }

    pub(super) fn read(&self, inode: usize) -> &[u8] {
        &self.inodes[inode].cached
    }

    pub(super) fn find(&self, path: &Path) -> Option<usize> {
        self.names.get(path).copied()
    }

    pub(super) fn create_dir(&mut self, dir: &Path) {
        for ancestor in dir.ancestors() {
            self.dirs.insert(ancestor.to_owned());
        }
    }

    pub(super) fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        if !self.dirs.contains(dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(self
            .names
            .keys()
            .filter(|path| path.parent() == Some(dir))
            .filter_map(|path| path.file_name()?.to_str().map(str::to_owned))
            .collect())
    }

    /// Changes a name; the builder is given the number of a fresh file in case it needs one.
    pub(super) fn change_dir(&mut self, build: impl FnOnce(usize) -> DirChange) -> io::Result<usize> {
        if self.random.chance(self.faults.full_per_mille) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let fresh = self.inodes.len();
        let change = build(fresh);
        if matches!(change, DirChange::Link { .. }) {
            self.inodes.push(Inode::default());
        }
        apply_dir(&mut self.names, &change);
        self.dir_pending.push(change);
        Ok(fresh)
    }

    pub(super) fn sync_dir(&mut self, dir: &Path) {
        let pending = std::mem::take(&mut self.dir_pending);
        for change in pending {
            if change.path().parent() == Some(dir) {
                apply_dir(&mut self.names_durable, &change);
            } else {
                self.dir_pending.push(change);
            }
        }
    }

    pub(super) fn lock(&mut self, path: &Path) -> io::Result<()> {
        if self.locks.insert(path.to_owned()) {
            return Ok(());
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    pub(super) fn unlock(&mut self, path: &Path) {
        self.locks.remove(path);
    }

    pub(super) fn tamper(&mut self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let inode = self.find(path).ok_or(io::ErrorKind::NotFound)?;
        let file = &mut self.inodes[inode];
        change(&mut file.cached);
        file.durable.clone_from(&file.cached);
        file.pending.clear();
        Ok(())
    }

    pub(super) fn reboot(&mut self) {
        if self.power == Power::On {
            self.lose_power();
        }
        self.power = Power::On;
        self.set_faults(Faults::default());
    }

    fn fate(&mut self) -> io::Result<OperationFate> {
        if self.power == Power::Off {
            return Err(power_off());
        }
        self.operations += 1;
        if self.cut_at.is_some_and(|at| self.operations > at) {
            return Ok(if self.random.chance(500) { OperationFate::CutBefore } else { OperationFate::CutAfter });
        }
        if self.random.chance(self.faults.error_per_mille) {
            return Err(io::Error::other("simulated i/o error"));
        }
        Ok(OperationFate::Done)
    }

    fn cut(&mut self) -> io::Error {
        self.lose_power();
        power_off()
    }

    /// Forgets the caches and keeps of every pending change what chance leaves.
    fn lose_power(&mut self) {
        for inode in 0..self.inodes.len() {
            self.resolve(inode);
            let file = &mut self.inodes[inode];
            file.cached.clone_from(&file.durable);
        }
        // Names change in any order, but a change is applied whole or not at all.
        for change in std::mem::take(&mut self.dir_pending) {
            if self.random.chance(500) {
                apply_dir(&mut self.names_durable, &change);
            }
        }
        self.names.clone_from(&self.names_durable);
        self.locks.clear();
        self.power = Power::Off;
    }

    /// Lets chance decide what of a file's pending changes reaches the disk.
    fn resolve(&mut self, inode: usize) {
        let file = &mut self.inodes[inode];
        let pending = std::mem::take(&mut file.pending);
        if pending.is_empty() {
            return;
        }
        let fate = match self.random.below(6) {
            0 => Fate::Kept,
            1 => Fate::Lost,
            2 | 3 => Fate::Prefix,
            4 => Fate::ZeroFilled,
            _other => Fate::Scattered,
        };
        let stop = self.random.below(pending.len() + 1);
        for (position, change) in pending.iter().enumerate() {
            match (fate, change) {
                (Fate::Kept, _) => apply(&mut file.durable, change),
                (Fate::Lost, _) => {}
                (Fate::Prefix, _) if position < stop => apply(&mut file.durable, change),
                (Fate::Prefix, Change::Write { offset, bytes }) if position == stop => {
                    let torn = self.random.below(bytes.len() + 1);
                    let bytes = bytes.get(..torn).unwrap_or_default().to_vec();
                    apply(&mut file.durable, &Change::Write { offset: *offset, bytes });
                }
                (Fate::Prefix, _) => {}
                (Fate::ZeroFilled, Change::Write { offset, bytes }) => {
                    let end = self.random.below(bytes.len() + 1) + offset;
                    if end > file.durable.len() {
                        file.durable.resize(end, 0);
                    }
                }
                (Fate::Scattered, Change::Write { offset, bytes }) => {
                    for (sector, chunk) in bytes.chunks(SECTOR_BYTES).enumerate() {
                        if self.random.chance(600) {
                            let chunk = Change::Write { offset: offset + sector * SECTOR_BYTES, bytes: chunk.to_vec() };
                            apply(&mut file.durable, &chunk);
                        }
                    }
                }
                (Fate::ZeroFilled | Fate::Scattered, Change::Truncate { .. }) => {
                    if self.random.chance(500) {
                        apply(&mut file.durable, change);
                    }
                }
            }
        }
    }
}

/// What becomes of the operation at hand.
#[derive(Debug, Clone, Copy)]
enum OperationFate {
    Done,
    /// The power fails before it had any effect.
    CutBefore,
    /// The power fails after its effect reached the cache.
    CutAfter,
}

impl DirChange {
    /// The name whose directory must be synced for the change to last.
    fn path(&self) -> &Path {
        match self {
            Self::Link { path, .. } | Self::Unlink { path } => path,
            Self::Rename { to, .. } => to,
        }
    }
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { offset, bytes: written } => {
            let end = offset + written.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[*offset..end].copy_from_slice(written);
        }
        Change::Truncate { size } => bytes.truncate(*size),
    }
}

fn apply_dir(names: &mut BTreeMap<PathBuf, usize>, change: &DirChange) {
    match change {
        DirChange::Link { path, inode } => {
            names.insert(path.clone(), *inode);
        }
        DirChange::Rename { from, to, inode } => {
            names.remove(from);
            names.insert(to.clone(), *inode);
        }
        DirChange::Unlink { path } => {
            names.remove(path);
        }
    }
}

fn power_off() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the power is off")
}

/// Far smaller than a real sector, so that even short records are torn in many places.
const SECTOR_BYTES: usize = 48;
