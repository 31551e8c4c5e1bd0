//! Opening beneath one folder: the kernel itself refuses every way out.

use super::error::FilesError;
use super::path::WorkPath;
use rustix::fs::{FileType, Mode, OFlags};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Pipe,
    Device,
    Socket,
    Link,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::File => "a plain file",
            Self::Folder => "a folder",
            Self::Pipe => "a named pipe",
            Self::Device => "a device",
            Self::Socket => "a socket",
            Self::Link => "a link",
        }
    }
}

/// Something that was found beneath the folder, held without being opened.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) handle: OwnedFd,
    pub(super) kind: Kind,
    pub(super) bytes: u64,
    /// Its permission bits.
    pub(super) mode: u32,
    /// Where it really is, links followed.
    pub(super) real: WorkPath,
}

/// A handle on the folder beneath which everything is found.
pub(super) fn open_root(tree: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(rustix::fs::CWD, tree, flags, Mode::empty())?)
}

/// Finds a path beneath the folder; links may be followed as long as they stay inside.
pub(super) fn find(folder: BorrowedFd<'_>, tree: &Path, path: &WorkPath) -> Result<Found, FilesError> {
    let handle = hold(folder, path.as_str(), Links::Inside).map_err(|error| refused(path, error))?;
    let stat = rustix::fs::fstat(&handle).map_err(|errno| FilesError::io(path.as_str(), "look at")(errno.into()))?;
    let real = real_path(&handle, tree).ok_or_else(|| FilesError::LeadsOut { path: path.clone() })?;
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        FileType::Fifo => Kind::Pipe,
        FileType::Socket => Kind::Socket,
        FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => Kind::Device,
    };
    let bytes = u64::try_from(stat.st_size).unwrap_or_default();
    Ok(Found { handle, kind, bytes, mode: stat.st_mode & 0o7777, real })
}

/// Opens what was found for reading: the very same file, whatever has come to its place since.
pub(super) fn reopen(found: &Found) -> io::Result<File> {
    open_by_number(&found.handle, OFlags::RDONLY | OFlags::NOCTTY)
}

/// Opens a folder beneath the tree for changes in it; its path is real, so no link may be on the way.
pub(super) fn open_folder(folder: BorrowedFd<'_>, path: &str) -> io::Result<OwnedFd> {
    let handle = hold(folder, path, Links::None)?;
    Ok(open_by_number(&handle, OFlags::RDONLY | OFlags::DIRECTORY)?.into())
}

/// Opens one of our own files: no link, and no waiting for a pipe in its place.
pub(super) fn open_plain(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(rustix::fs::CWD, path, flags, Mode::empty())?.into())
}

/// Which links may be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Links {
    Inside,
    None,
}

#[cfg(target_os = "linux")]
fn hold(folder: BorrowedFd<'_>, path: &str, links: Links) -> io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_MAGICLINKS
        | match links {
            Links::Inside => ResolveFlags::empty(),
            Links::None => ResolveFlags::NO_SYMLINKS,
        };
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    // The kernel answers EAGAIN when something was renamed meanwhile; that passes.
    for _ in 0..RESOLVE_TRIES {
        match rustix::fs::openat2(folder, path, flags, Mode::empty(), resolve) {
            Err(rustix::io::Errno::AGAIN) => {}
            answer => return Ok(answer?),
        }
    }
    Err(rustix::io::Errno::AGAIN.into())
}

#[cfg(not(target_os = "linux"))]
fn hold(_folder: BorrowedFd<'_>, _path: &str, _links: Links) -> io::Result<OwnedFd> {
    // Without the kernel's help a link could lead out between the look and the use.
    Err(io::ErrorKind::Unsupported.into())
}

/// How often a path is looked up anew when something moves on the way.
#[cfg(target_os = "linux")]
const RESOLVE_TRIES: u32 = 16;

fn open_by_number(handle: &OwnedFd, flags: OFlags) -> io::Result<File> {
    let number = format!("/proc/self/fd/{}", handle.as_raw_fd());
    Ok(rustix::fs::openat(rustix::fs::CWD, number, flags | OFlags::CLOEXEC, Mode::empty())?.into())
}

/// Where a handle really is, relative to the tree; none if it is outside or its name is no UTF-8.
fn real_path(handle: &OwnedFd, tree: &Path) -> Option<WorkPath> {
    let number = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let real = std::fs::read_link(number).ok()?;
    WorkPath::found(real.strip_prefix(tree).ok()?)
}

fn refused(path: &WorkPath, error: io::Error) -> FilesError {
    match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::XDEV) => FilesError::LeadsOut { path: path.clone() },
        Some(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => FilesError::Missing { path: path.clone() },
        Some(_) | None => FilesError::io(path.as_str(), "open")(error),
    }
}
