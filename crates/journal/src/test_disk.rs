//! The simulated disk with one thing changed: all other calls go through.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::storage::simulated::SimulatedDisk;
use crate::storage::{OpenMode, Storage};

type File = <SimulatedDisk as Storage>::File;

/// What differs from the simulated disk; by default nothing.
pub(crate) trait DiskChange {
    /// Called before a folder is listed.
    fn before_list(&self, _disk: &SimulatedDisk, _dir: &Path) {}

    /// The size that a file is really cut to.
    fn truncated_size(&self, size: u64) -> u64 {
        size
    }

    /// Syncs a file.
    fn sync(&self, disk: &SimulatedDisk, file: &File) -> io::Result<()> {
        disk.sync(file)
    }
}

/// The simulated disk under a change.
#[derive(Debug, Clone)]
pub(crate) struct TestDisk<C> {
    pub(crate) inner: SimulatedDisk,
    pub(crate) change: C,
}

impl<C: DiskChange> Storage for TestDisk<C> {
    type File = File;
    type Lock = <SimulatedDisk as Storage>::Lock;

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.create_dir(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.change.before_list(&self.inner, dir);
        self.inner.list(dir)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<File> {
        self.inner.open(path, mode)
    }

    fn size(&self, file: &File) -> io::Result<u64> {
        self.inner.size(file)
    }

    fn read_at(&self, file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read_at(file, offset, buffer)
    }

    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        self.inner.append(file, bytes)
    }

    fn write_at(&self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write_at(file, offset, bytes)
    }

    fn truncate(&self, file: &File, size: u64) -> io::Result<()> {
        self.inner.truncate(file, self.change.truncated_size(size))
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.change.sync(&self.inner, file)
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
