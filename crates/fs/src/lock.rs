//! Locks between processes: a file that one of them holds at a time.

use crate::file::{self, FileAction, FileError};
use std::fs::{File, TryLockError};
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, mpsc};
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
        let folder = file::folder_of(path);
        let locked = File::open(folder).and_then(|folder| Self::on(folder, Wait::Forever));
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
}
