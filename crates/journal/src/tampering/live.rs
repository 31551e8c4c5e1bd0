//! A disk on which a session goes on while somebody looks at it.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use crate::storage::simulated::SimulatedDisk;
use crate::storage::{OpenMode, Storage};

type Act = Box<dyn FnOnce(&SimulatedDisk)>;

/// The simulated disk; what the session does happens right before a folder is listed for the first time.
#[derive(Clone)]
pub(super) struct LiveDisk {
    inner: SimulatedDisk,
    folder: PathBuf,
    act: Rc<RefCell<Option<Act>>>,
}

impl LiveDisk {
    pub(super) fn new(inner: SimulatedDisk, folder: PathBuf, act: impl FnOnce(&SimulatedDisk) + 'static) -> Self {
        Self { inner, folder, act: Rc::new(RefCell::new(Some(Box::new(act)))) }
    }
}

impl Storage for LiveDisk {
    type File = <SimulatedDisk as Storage>::File;
    type Lock = <SimulatedDisk as Storage>::Lock;

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.create_dir(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        if dir == self.folder
            && let Some(act) = self.act.borrow_mut().take()
        {
            act(&self.inner);
        }
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
        self.inner.truncate(file, size)
    }

    fn sync(&self, file: &Self::File) -> io::Result<()> {
        self.inner.sync(file)
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
