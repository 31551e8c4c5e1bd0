//! Locks between processes: a file that one of them holds at a time.

use crate::file::{self, FileAction, FileError};
use std::fs::{File, TryLockError};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Instant;

/// How long to wait for another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    No,
    /// Until this moment.
    Until(Instant),
    /// For as long as it takes.
    Forever,
}

/// An exclusive lock on a file, which is readable and writable through it. The lock ends with this value, even where a
/// child that was just forked still has the file open.
#[derive(Debug)]
pub struct FileLock(Arc<File>);

impl FileLock {
    /// Locks the file at a path, which is made if it is missing.
    ///
    /// # Errors
    /// When the file cannot be opened, or another process still holds it ([`io::ErrorKind::WouldBlock`]).
    pub fn take(path: &Path, wait: Wait) -> Result<Self, FileError> {
        let file = file::open_or_create(path).map_err(FileError::at(path, FileAction::Create))?;
        Self::on(file, wait).map_err(FileError::at(path, FileAction::Lock))
    }

    /// Locks the folder that holds a path: keeps our processes apart while one of them changes a file that is replaced as a
    /// whole, and so cannot carry the lock itself.
    ///
    /// # Errors
    /// When the folder cannot be opened or locked.
    pub fn folder_of(path: &Path) -> Result<Self, FileError> {
        Self::folder(file::folder_of(path), Wait::Forever)
    }

    /// Locks a folder.
    ///
    /// # Errors
    /// When it cannot be opened, or another process still holds it ([`io::ErrorKind::WouldBlock`]).
    pub fn folder(folder: &Path, wait: Wait) -> Result<Self, FileError> {
        let locked = File::open(folder).and_then(|folder| Self::on(folder, wait));
        locked.map_err(FileError::at(folder, FileAction::Lock))
    }

    /// Locks an open file or folder.
    ///
    /// # Errors
    /// When that fails, or another process still holds it ([`io::ErrorKind::WouldBlock`]).
    pub fn on(file: impl Into<Arc<File>>, wait: Wait) -> io::Result<Self> {
        let file = file.into();
        match file.try_lock() {
            Ok(()) => return Ok(Self(file)),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        match wait {
            Wait::No => Err(held()),
            Wait::Forever => lock_in_queue(file).map(Self),
            // A caller that does not want to wait leaves no waiter behind, which would hold the lock for a moment later on.
            Wait::Until(deadline) if Instant::now() >= deadline => Err(held()),
            Wait::Until(deadline) => wait_until(file, deadline).map(Self),
        }
    }

    /// The file, for a caller that will lock it again and keeps it open until then.
    #[must_use]
    pub fn shared(&self) -> Arc<File> {
        Arc::clone(&self.0)
    }
}

impl Deref for FileLock {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        self.0.unlock().ok();
    }
}

/// A lock file that stays open between two locks, so that the next one need not open it again. A caller that locks it while it is in
/// use opens it again: two locks never share one open file, because the system would give both.
#[derive(Debug)]
pub struct KeptLockFile {
    path: PathBuf,
    unused: Arc<Mutex<Option<NumberedFile>>>,
}

/// An open file with its number, which never changes while it is open.
#[derive(Debug, Clone)]
struct NumberedFile {
    file: Arc<File>,
    device: u64,
    inode: u64,
}

/// A lock on a [`KeptLockFile`]; the lock ends with this value, and the file stays open.
#[derive(Debug)]
pub struct KeptFileLock {
    lock: Option<FileLock>,
    opened: NumberedFile,
    unused: Arc<Mutex<Option<NumberedFile>>>,
}

impl NumberedFile {
    fn of(file: Arc<File>) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self { file, device: metadata.dev(), inode: metadata.ino() })
    }

    /// Whether a name leads to it.
    fn is_named(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok_and(|named| (named.dev(), named.ino()) == (self.device, self.inode))
    }
}

impl KeptLockFile {
    /// The lock file at a path; it is opened when it is first locked.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), unused: Arc::default() }
    }

    /// Locks it, under the name that it has now.
    ///
    /// # Errors
    /// See [`FileLock::take`].
    pub fn take(&self, wait: Wait) -> Result<KeptFileLock, FileError> {
        if let Some(lock) = self.relock(wait)? {
            return Ok(lock);
        }
        let lock = FileLock::take(&self.path, wait)?;
        let opened = NumberedFile::of(lock.shared()).map_err(FileError::at(&self.path, FileAction::Inspect))?;
        Ok(KeptFileLock { opened, lock: Some(lock), unused: Arc::clone(&self.unused) })
    }

    /// Locks the file that is still open; nothing where there is none, or its name leads elsewhere by now. That lock would
    /// protect nothing: the next process would lock another file.
    ///
    /// # Errors
    /// When another process holds it.
    pub fn relock(&self, wait: Wait) -> Result<Option<KeptFileLock>, FileError> {
        let unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(opened) = unused else { return Ok(None) };
        let locked = FileLock::on(Arc::clone(&opened.file), wait);
        let lock = locked.map_err(FileError::at(&self.path, FileAction::Lock))?;
        let is_named = opened.is_named(&self.path);
        Ok(is_named.then(|| KeptFileLock { lock: Some(lock), opened, unused: Arc::clone(&self.unused) }))
    }
}

impl Deref for KeptFileLock {
    type Target = File;

    fn deref(&self) -> &File {
        &self.opened.file
    }
}

impl Drop for KeptFileLock {
    fn drop(&mut self) {
        // Free before anyone else here may lock the same open file.
        drop(self.lock.take());
        *self.unused.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.opened.clone());
    }
}

/// Waits in the system's own queue, first come, first served: polling would leave some process waiting for ever in a
/// storm. A thread waits, because the wait must end; if it gets the lock too late, the lock goes with its message.
fn wait_until(file: Arc<File>, deadline: Instant) -> io::Result<Arc<File>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::Builder::new().name("file-lock".to_owned()).spawn(move || {
        sender.send(lock_in_queue(file)).ok();
    })?;
    let left = deadline.saturating_duration_since(Instant::now());
    receiver.recv_timeout(left).unwrap_or_else(|_late| Err(held()))
}

fn held() -> io::Error {
    io::Error::new(io::ErrorKind::WouldBlock, "another process holds it")
}

fn lock_in_queue(file: Arc<File>) -> io::Result<Arc<File>> {
    loop {
        match file.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(()) => return Ok(file),
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tripwire_testing::TestDir;

    #[test]
    fn the_second_waits_until_the_first_is_gone() {
        let dir = TestDir::new();
        let path = dir.path().join("lock");
        let first = FileLock::take(&path, Wait::No).unwrap();
        assert_eq!(FileLock::take(&path, Wait::No).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let soon = Instant::now() + Duration::from_millis(20);
        assert_eq!(FileLock::take(&path, Wait::Until(soon)).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        // As a child has it that another thread forked just now.
        let _inherited = first.try_clone().unwrap();
        let later = Instant::now() + Duration::from_secs(60);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| FileLock::take(&path, Wait::Until(later)).map(drop));
            drop(first);
            waiting.join().unwrap().unwrap();
        });
        FileLock::take(&path, Wait::Forever).unwrap();
    }

    #[test]
    fn a_lock_file_that_stays_open_is_locked_for_others_and_for_other_threads_alike() {
        let dir = TestDir::new();
        let path = dir.path().join("lock");
        let kept = KeptLockFile::at(&path);
        for _ in 0..3 {
            let held = kept.take(Wait::No).unwrap();
            assert!(FileLock::take(&path, Wait::No).is_err() && kept.take(Wait::No).is_err());
            drop(held);
            drop(FileLock::take(&path, Wait::No).unwrap());
        }
        let first = kept.take(Wait::No).unwrap();
        let later = Wait::Until(Instant::now() + Duration::from_secs(60));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| kept.take(later).map(drop));
            drop(first);
            waiting.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_lock_file_in_the_place_of_the_one_that_is_open_is_the_one_that_is_locked() {
        let dir = TestDir::new();
        let path = dir.path().join("lock");
        let kept = KeptLockFile::at(&path);
        drop(kept.take(Wait::No).unwrap());
        std::fs::rename(&path, dir.path().join("away")).unwrap();
        assert!(kept.relock(Wait::No).unwrap().is_none(), "there is none");
        let held = kept.take(Wait::No).unwrap();
        assert!(FileLock::take(&path, Wait::No).is_err());
        drop(held);
        assert!(kept.relock(Wait::No).unwrap().is_some());
    }
}
