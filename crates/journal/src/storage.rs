//! What the journal needs from a disk, and nothing more: small enough that a simulated disk can do all of it wrongly.
//!
//! A method is one system call's worth of effect. Nothing here retries and nothing here hides a short write: what to do
//! about trouble is the journal's decision.

use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub mod disk;
pub mod kept;
pub mod simulated;

pub use disk::Disk;

/// A disk: the real one or a simulated one that crashes on command.
pub trait Storage {
    /// An open file.
    type File;
    /// An exclusive lock on a file, which is readable and writable through it and is released on drop.
    type Lock: Deref<Target = Self::File>;

    /// Makes a directory and its missing parents durable; a directory that exists is left alone.
    ///
    /// # Errors
    /// The directory cannot be made, or the path is a symbolic link.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;

    /// The names in a directory, sorted.
    ///
    /// # Errors
    /// The directory cannot be read.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;

    /// Opens a regular file; a symbolic link is refused.
    ///
    /// # Errors
    /// The file cannot be opened in this mode.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Self::File>;

    /// The size as every process sees it now, durable or not.
    ///
    /// # Errors
    /// The file cannot be examined.
    fn size(&self, file: &Self::File) -> io::Result<u64>;

    /// Reads at an offset; fewer bytes than asked for means the end of the file or an interruption.
    ///
    /// # Errors
    /// The bytes cannot be read.
    fn read_at(&self, file: &Self::File, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// One write at the end of a file that was opened with [`OpenMode::Append`]; it may be short.
    ///
    /// # Errors
    /// Nothing was written, as far as the disk knows.
    fn append(&self, file: &Self::File, bytes: &[u8]) -> io::Result<usize>;

    /// One write at an offset of a file that was opened with [`OpenMode::Update`] or is locked; it may be short.
    ///
    /// # Errors
    /// Nothing was written, as far as the disk knows.
    fn write_at(&self, file: &Self::File, offset: u64, bytes: &[u8]) -> io::Result<usize>;

    /// Cuts a file that was opened with [`OpenMode::Update`] to a size.
    ///
    /// # Errors
    /// The file was not cut, as far as the disk knows.
    fn truncate(&self, file: &Self::File, size: u64) -> io::Result<()>;

    /// Makes the file's bytes and size durable. After an error the bytes may be lost although they can still be read,
    /// so a second call proves nothing.
    ///
    /// # Errors
    /// Some bytes may not be durable.
    fn sync(&self, file: &Self::File) -> io::Result<()>;

    /// Gives a file another name, replacing what had it.
    ///
    /// # Errors
    /// The name was not changed.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// The file is still there.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// New or changed names may not be durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// Opens a file, creating it if it is missing, and waits for its exclusive lock.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if another process still holds the lock after `wait`.
    fn lock(&self, path: &Path, wait: Duration) -> io::Result<Self::Lock>;

    /// Which turn under the lock this is, where a lock may be kept from one turn to the next.
    fn turn_of(&self, _lock: &Self::Lock) -> Option<LockTurn> {
        None
    }
}

/// A number for each time that a lock was handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockTurn {
    /// Its own number; none is given twice.
    pub number: u64,
    /// The turn before it, if the lock was not free in between: its holder knows what is in the files.
    pub after: Option<u64>,
}

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Reading an existing file.
    Read,
    /// Reading and appending to an existing file.
    Append,
    /// Reading and changing an existing file in place.
    Update,
    /// Creating a file that must not exist yet, for appending.
    Create,
}

/// Reads from an offset up to a bound, looping over interruptions; the result is shorter only at the end of the file.
///
/// # Errors
/// The bytes cannot be read.
pub fn read_range<S: Storage>(storage: &S, file: &S::File, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let at = offset.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX));
        match storage.read_at(file, at, rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Sizes of things in memory are far below 2^64.
pub(crate) fn offset(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Puts new contents under a name at once: a reader finds the old or the new file, after any crash.
///
/// The caller must be the only writer of this name, for instance by holding the session's lock.
///
/// # Errors
/// The name may still have the old contents.
pub fn replace<S: Storage>(storage: &S, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (file, temporary) = draft(storage, path, bytes)?;
    storage.sync(&file)?;
    storage.rename(&temporary, path)?;
    storage.sync_dir(path.parent().unwrap_or_else(|| Path::new(".")))
}

/// The same for what can be made again: after a power cut the name may have no contents, or others.
///
/// # Errors
/// The name may still have the old contents.
pub fn replace_unsynced<S: Storage>(storage: &S, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (_file, temporary) = draft(storage, path, bytes)?;
    storage.rename(&temporary, path)
}

/// A new file beside a name, with what the name is to hold.
fn draft<S: Storage>(storage: &S, path: &Path, bytes: &[u8]) -> io::Result<(S::File, PathBuf)> {
    let temporary = path.with_extension("tmp");
    match storage.remove(&temporary) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let file = storage.open(&temporary, OpenMode::Create)?;
    if storage.append(&file, bytes)? != bytes.len() {
        return Err(io::ErrorKind::StorageFull.into());
    }
    Ok((file, temporary))
}

/// Reads a whole file up to a bound; a missing file is `None`, a larger one an error.
///
/// # Errors
/// The file cannot be read, or is larger than the bound.
pub fn read_file<S: Storage>(storage: &S, path: &Path, length_max: usize) -> io::Result<Option<Vec<u8>>> {
    let file = match storage.open(path, OpenMode::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let bytes = read_range(storage, &file, 0, length_max.saturating_add(1))?;
    if bytes.len() > length_max {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(Some(bytes))
}
