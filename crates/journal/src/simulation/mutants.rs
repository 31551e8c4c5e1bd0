//! Four ways to get the journal wrong. Three live in the disk that it trusts, one in the rule by which it reads lines,
//! so none of them needs a switch in the journal itself.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::super::line::{self, Line, LineFault, Tail};
use crate::storage::simulated::SimulatedDisk;
use crate::storage::{OpenMode, Storage};

/// What is broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mutant {
    None,
    SyncRemoved,
    CutTooMuch,
    ChainUnchecked,
    SyncRetried,
}

/// The simulated disk with three of the mutants in it.
#[derive(Debug, Clone)]
pub(super) struct TestDisk {
    pub(super) inner: SimulatedDisk,
    pub(super) mutant: Mutant,
}

impl Storage for TestDisk {
    type File = <SimulatedDisk as Storage>::File;
    type Lock = <SimulatedDisk as Storage>::Lock;

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.create_dir(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.inner.list(dir)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Self::File> {
        self.inner.open(path, mode)
    }

    fn size(&self, file: &Self::File) -> io::Result<u64> {
        self.inner.size(file)
    }

    fn read_at(&self, file: &Self::File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read_at(file, offset, buffer)
    }

    fn append(&self, file: &Self::File, bytes: &[u8]) -> io::Result<usize> {
        self.inner.append(file, bytes)
    }

    fn write_at(&self, file: &Self::File, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write_at(file, offset, bytes)
    }

    fn truncate(&self, file: &Self::File, size: u64) -> io::Result<()> {
        let size = match self.mutant {
            Mutant::CutTooMuch => size.saturating_sub(1),
            Mutant::None | Mutant::SyncRemoved | Mutant::ChainUnchecked | Mutant::SyncRetried => size,
        };
        self.inner.truncate(file, size)
    }

    fn sync(&self, file: &Self::File) -> io::Result<()> {
        match self.mutant {
            Mutant::SyncRemoved => Ok(()),
            Mutant::SyncRetried => self.inner.sync(file).or_else(|_error| self.inner.sync(file)),
            Mutant::None | Mutant::CutTooMuch | Mutant::ChainUnchecked => self.inner.sync(file),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.sync_dir(dir)
    }

    fn lock(&self, path: &Path, wait: Duration) -> io::Result<Self::Lock> {
        self.inner.lock(path, wait)
    }
}

/// The fourth mutant: it believes every line that looks like one.
pub(super) fn unchecked<'text>(bytes: &'text [u8], _tail: &Tail) -> Result<Line<'text>, LineFault> {
    let text = std::str::from_utf8(bytes).map_err(|_error| LineFault::NotText)?;
    let parts = line::take_apart(text).ok_or(LineFault::Shape)?;
    Ok(Line {
        body: parts.body,
        hash: parts.hash.parse().map_err(|_error| LineFault::Shape)?,
        index: parts.index,
        previous: parts.previous.parse().map_err(|_error| LineFault::Shape)?,
        times: parts.times,
    })
}
