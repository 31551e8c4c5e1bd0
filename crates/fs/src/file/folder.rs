//! Folders: making them, opening them, and removing a name in one durably.

use super::error::{FileAction, FileError};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Removes a file; a file that is not there is no error, because both sides of a race want the same end.
///
/// # Errors
/// When the file is still there.
pub fn remove(path: &Path) -> Result<Removed, FileError> {
    match std::fs::remove_file(path) {
        Ok(()) => sync_folder_of(path).map(|()| Removed::Now),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Removed::NotThere),
        Err(cause) => Err(FileError::at(path, FileAction::Remove)(cause)),
    }
}

/// Whether a removal found something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// The file was there and is gone.
    Now,
    /// There was nothing to remove.
    NotThere,
}

/// Makes a folder and its parents, private to the user: transcripts and private memories live below.
///
/// # Errors
/// When it cannot be made.
pub fn make_folder(path: &Path) -> Result<(), FileError> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(path)
        .map_err(FileError::at(path, FileAction::Create))
}

/// The folder that holds a path.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A handle on a folder, for acts in it and for syncing it.
pub(super) fn open_folder(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(rustix::fs::CWD, folder, flags, Mode::empty())?)
}

/// Flags for every open: no symbolic link, and no waiting on a named pipe in a file's place.
pub(super) fn open_flags() -> OFlags {
    OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC
}

/// Makes a removal durable.
fn sync_folder_of(path: &Path) -> Result<(), FileError> {
    let folder = folder_of(path);
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(FileError::at(folder, FileAction::Sync))
}

/// Folders are open to the user alone.
const FOLDER_MODE: u32 = 0o700;
