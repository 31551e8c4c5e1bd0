//! A disk that loses power on command, seeded so that every failure can be run again.
//!
//! It promises only what POSIX promises: a sync makes a file's bytes durable, a directory sync makes its names durable,
//! a rename is atomic. Everything else may be lost, torn, zero-filled or persisted out of order at a power cut. A failed
//! sync leaves bytes that can still be read but will never reach the disk by themselves, however often sync is called
//! again, as Linux does it.

use std::cell::RefCell;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use super::{OpenMode, Storage};

mod faults;
mod random;
mod world;

pub use faults::Faults;
pub use random::Random;
use world::{Change, DirChange, World};

/// A simulated disk; clones share it, as processes share a machine.
#[derive(Debug, Clone)]
pub struct SimulatedDisk(Rc<RefCell<World>>);

impl SimulatedDisk {
    /// An empty disk whose accidents all follow from the seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Rc::new(RefCell::new(World::new(seed))))
    }

    /// Sets what goes wrong from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.0.borrow_mut().set_faults(faults);
    }

    /// Whether the power is off: every operation fails until [`Self::reboot`].
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.0.borrow().is_off()
    }

    /// How many operations were asked for so far.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.0.borrow().operations()
    }

    /// How many bytes were read so far: how a test sees that something does not read everything.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.0.borrow().bytes_read()
    }

    /// Cuts the power if it is still on, and starts again with what the disk kept and without faults.
    pub fn reboot(&self) {
        self.0.borrow_mut().reboot();
    }

    /// Lets a test look at a file or damage it behind the journal's back, cache and disk alike.
    ///
    /// # Errors
    /// There is no such file.
    pub fn tamper(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.0.borrow_mut().tamper(path, change)
    }
}

/// An open file of the simulated disk.
#[derive(Debug, Clone, Copy)]
pub struct SimulatedFile {
    inode: usize,
}

/// A held lock of the simulated disk.
#[derive(Debug)]
pub struct SimulatedLock {
    world: Rc<RefCell<World>>,
    path: PathBuf,
    file: SimulatedFile,
}

impl Deref for SimulatedLock {
    type Target = SimulatedFile;

    fn deref(&self) -> &SimulatedFile {
        &self.file
    }
}

impl Drop for SimulatedLock {
    fn drop(&mut self) {
        self.world.borrow_mut().unlock(&self.path);
    }
}

impl Storage for SimulatedDisk {
    type File = SimulatedFile;
    type Lock = SimulatedLock;

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        world.operate()?;
        world.create_dir(dir);
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut world = self.0.borrow_mut();
        world.operate()?;
        world.list(dir)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<SimulatedFile> {
        let mut world = self.0.borrow_mut();
        world.operate()?;
        let found = world.find(path);
        let inode = match (mode, found) {
            (OpenMode::Create, Some(_inode)) => return Err(io::ErrorKind::AlreadyExists.into()),
            (OpenMode::Create, None) => world.change_dir(|inode| DirChange::Link { path: path.to_owned(), inode })?,
            (OpenMode::Read | OpenMode::Append | OpenMode::Update, Some(inode)) => inode,
            (OpenMode::Read | OpenMode::Append | OpenMode::Update, None) => {
                return Err(io::ErrorKind::NotFound.into());
            }
        };
        Ok(SimulatedFile { inode })
    }

    fn size(&self, file: &SimulatedFile) -> io::Result<u64> {
        let mut world = self.0.borrow_mut();
        world.operate()?;
        Ok(u64::try_from(world.read(file.inode).len()).unwrap_or(u64::MAX))
    }

    fn read_at(&self, file: &SimulatedFile, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut world = self.0.borrow_mut();
        world.operate()?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        Ok(world.read_into(file.inode, start, buffer))
    }

    fn append(&self, file: &SimulatedFile, bytes: &[u8]) -> io::Result<usize> {
        let mut world = self.0.borrow_mut();
        let offset = world.read(file.inode).len();
        world.write(file.inode, offset, bytes)
    }

    fn write_at(&self, file: &SimulatedFile, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let mut world = self.0.borrow_mut();
        if bytes.is_empty() {
            // Writing nothing beyond the end does not make a file longer, on a real disk either.
            return world.operate().map(|()| 0);
        }
        world.write(file.inode, offset, bytes)
    }

    fn truncate(&self, file: &SimulatedFile, size: u64) -> io::Result<()> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let mut world = self.0.borrow_mut();
        world.change(file.inode, Change::Truncate { size })
    }

    fn sync(&self, file: &SimulatedFile) -> io::Result<()> {
        self.0.borrow_mut().sync(file.inode)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        world.operate()?;
        let inode = world.find(from).ok_or(io::ErrorKind::NotFound)?;
        let change = DirChange::Rename { from: from.to_owned(), to: to.to_owned(), inode };
        world.change_dir(|_unused| change).map(|_inode| ())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        world.operate()?;
        world.find(path).ok_or(io::ErrorKind::NotFound)?;
        let change = DirChange::Unlink { path: path.to_owned() };
        world.change_dir(|_unused| change).map(|_inode| ())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        world.operate()?;
        world.sync_dir(dir);
        Ok(())
    }

    fn lock(&self, path: &Path, _wait: Duration) -> io::Result<SimulatedLock> {
        let mut world = self.0.borrow_mut();
        world.operate()?;
        let inode = match world.find(path) {
            Some(inode) => inode,
            None => world.change_dir(|inode| DirChange::Link { path: path.to_owned(), inode })?,
        };
        world.lock(path)?;
        Ok(SimulatedLock { world: Rc::clone(&self.0), path: path.to_owned(), file: SimulatedFile { inode } })
    }
}
