//! Whole-file writes that a crash cannot tear, bounded reads of files, and the one error type for everything that a file
//! system refuses.

mod draft;
mod error;
mod folder;
mod in_place;

pub use draft::{Accept, Draft, FileMode, Published, sweep_drafts};
pub use error::{FileAction, FileError, ReadError};
pub(crate) use folder::folder_of;
pub use folder::{Removed, make_folder, remove};
pub use in_place::{InPlaceFile, filled_up};

use crate::bounded::{self, BoundedError};
use folder::open_flags;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Reads a whole file of at most `limit` bytes, without following a symbolic link in its last component.
///
/// # Errors
/// When it cannot be read, is no regular file, or is larger.
pub fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let opened = OpenOptions::new().read(true).custom_flags(raw(open_flags())).open(path).and_then(regular);
    let (file, size) = opened.map_err(FileError::at(path, FileAction::Read))?;
    read_sized(&file, limit, size).map_err(|error| match error {
        BoundedError::Io(cause) => FileError::at(path, FileAction::Read)(cause).into(),
        BoundedError::TooBig { limit } => ReadError::TooBig { path: path.to_owned(), limit },
    })
}

/// Reads a regular file from its beginning. One that is as long as it was said to be takes one system call: a read that
/// reached that length and was not filled is the last.
fn read_sized(mut file: &File, limit: u64, size: u64) -> Result<Vec<u8>, BoundedError> {
    // What tells no size may hold something all the same.
    if size == 0 || size > SIZED_BYTES_MAX.min(limit) {
        return bounded::read_whole_sized(file, limit, size);
    }
    let size = usize::try_from(size).unwrap_or(0);
    let mut bytes = vec![0; size.saturating_add(1)];
    let mut length = 0;
    while let Some(space) = bytes.get_mut(length..).filter(|space| !space.is_empty()) {
        let wanted = space.len();
        match file.read(space) {
            Ok(0) => break,
            Ok(count) => {
                length += count;
                if length == size && count < wanted {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    bytes.truncate(length);
    if length <= size {
        return Ok(bytes);
    }
    // It grew meanwhile.
    let left = limit.saturating_sub(u64::try_from(length).unwrap_or(u64::MAX));
    match bounded::read_whole(file, left) {
        Ok(more) => bytes.extend(more),
        Err(BoundedError::TooBig { .. }) => return Err(BoundedError::TooBig { limit }),
        Err(error @ BoundedError::Io(_)) => return Err(error),
    }
    Ok(bytes)
}

/// Opens a regular file for reading, without following a symbolic link in its last component and without waiting.
///
/// # Errors
/// When it cannot be opened or is no regular file: a pipe or a device would read as empty or never end.
pub fn open_plain(path: &Path) -> io::Result<File> {
    Ok(regular(OpenOptions::new().read(true).custom_flags(raw(open_flags())).open(path)?)?.0)
}

/// Opens a file for reading through links, but only a real file and without waiting: an agent may put a named pipe in the
/// place of a file that others read.
///
/// # Errors
/// When it cannot be opened or is no regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(regular(OpenOptions::new().read(true).custom_flags(raw(flags)).open(path)?)?.0)
}

/// The file with its size, if it is a regular one.
fn regular(file: File) -> io::Result<(File, u64)> {
    let metadata = file.metadata()?;
    if metadata.is_file() {
        Ok((file, metadata.len()))
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

/// Opens an existing file for reading and writing, without following a symbolic link.
///
/// # Errors
/// When it cannot be opened.
pub fn open_read_write(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).custom_flags(raw(open_flags())).open(path)
}

/// Opens a file for reading and writing and makes it if it is missing, without following a symbolic link.
///
/// # Errors
/// When it cannot be opened or made.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE).custom_flags(raw(open_flags()));
    options.open(path)
}

/// Writes over a file's contents without waiting for the disk and without a new file, which costs a tenth of a replacement:
/// for contents that show by themselves whether they are whole, and can be rebuilt. What is no plain file is replaced.
///
/// # Errors
/// When the file system refuses.
pub fn write_in_place(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    put_in_place(path, bytes).map(drop)
}

/// The same; gives the file, unless it had to be replaced.
fn put_in_place(path: &Path, bytes: &[u8]) -> Result<Option<File>, FileError> {
    let opened = open_or_create(path).or_else(|error| {
        if error.kind() != io::ErrorKind::NotFound {
            return Err(error);
        }
        make_folder(folder_of(path)).map_err(|_| error)?;
        open_or_create(path)
    });
    let Ok((file, metadata)) = opened.and_then(|file| file.metadata().map(|metadata| (file, metadata))) else {
        return write_unsynced(path, bytes).map(|()| None);
    };
    // A name that stands for a file elsewhere must not be written through.
    if !metadata.is_file() || metadata.nlink() != 1 {
        return write_unsynced(path, bytes).map(|()| None);
    }
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let written = file.write_all_at(bytes, 0);
    let cut = if metadata.len() > length { file.set_len(length) } else { Ok(()) };
    written.and(cut).map_err(FileError::at(path, FileAction::Write))?;
    Ok(Some(file))
}

/// Writes a file over the one before without waiting for the disk: for what can be lost and rebuilt.
///
/// # Errors
/// When the file system refuses.
pub fn write_unsynced(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let mut draft = Draft::new(path, FileMode::PRIVATE)?;
    draft.write(bytes)?;
    draft.publish_unsynced()
}

/// Replaces a file as a whole: after a crash it holds either the old or the new contents, never a mixture.
///
/// # Errors
/// When the file system refuses; the old contents are there then.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    replace_with_mode(path, bytes, FileMode::PRIVATE)
}

/// As [`replace`], with explicit permission bits (the generated hook must be executable).
///
/// # Errors
/// As [`replace`].
pub fn replace_with_mode(path: &Path, bytes: &[u8], mode: FileMode) -> Result<(), FileError> {
    let mut draft = Draft::new(path, mode)?;
    draft.write(bytes)?;
    draft.publish()
}

/// Flags as the standard library takes them.
const fn raw(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

/// The longest file that is read in one piece.
const SIZED_BYTES_MAX: u64 = 64 * 1_024;

/// Files are readable by the user alone.
const FILE_MODE: u32 = 0o600;

#[cfg(test)]
mod tests;
