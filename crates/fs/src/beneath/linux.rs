//! Linux: descriptors, and `openat2` for the way to them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::entry::EntryKind;

/// A folder held open; everything is found from here.
#[derive(Debug)]
pub struct HeldFolder(OwnedFd);

impl HeldFolder {
    /// Opens the folder itself; its own path may be trusted, what is below it may not.
    ///
    /// # Errors
    /// When it is no folder.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::openat(CWD, path, folder_flags() | OFlags::NOFOLLOW, Mode::empty())?))
    }

    /// A folder below, held on its own.
    ///
    /// # Errors
    /// When it is missing or a link is on the way.
    pub fn folder(&self, path: &Path) -> io::Result<Self> {
        self.open_beneath(path).map(Self)
    }

    /// The names in this folder, sorted.
    ///
    /// # Errors
    /// When it may not be read.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::openat(&self.0, ".", flags, Mode::empty())?;
        let entries = rustix::fs::Dir::new(dir)?.collect::<Result<Vec<_>, Errno>>()?;
        let names = entries.into_iter().map(|entry| OsString::from_vec(entry.file_name().to_bytes().to_vec()));
        let mut names: Vec<OsString> = names.filter(|name| name != "." && name != "..").collect();
        names.sort();
        Ok(names)
    }

    /// Brings the names in a folder below to the disk; an empty path is the folder itself.
    ///
    /// # Errors
    /// When they may not be on the disk.
    pub fn sync(&self, path: &Path) -> io::Result<()> {
        let dir = self.open_beneath(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let synced = match rustix::fs::openat(&dir, ".", flags, Mode::empty()) {
            Ok(fd) => rustix::fs::fsync(fd),
            // A folder that may not be read: its file system is brought to the disk as a whole.
            Err(Errno::ACCESS) => rustix::fs::openat(&self.0, ".", flags, Mode::empty()).and_then(rustix::fs::syncfs),
            Err(errno) => Err(errno),
        };
        match synced {
            // Some file systems know no such wish for folders.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The entry at a path: the folder it is in is opened now.
    ///
    /// # Errors
    /// When that folder is missing or a link is on the way.
    pub fn entry(&self, path: &Path) -> io::Result<FolderEntry> {
        let name = path.file_name().ok_or_else(|| io::Error::from(Errno::INVAL))?;
        let dir = self.open_beneath(path.parent().unwrap_or(Path::new("")))?;
        Ok(FolderEntry { dir, name: name.to_os_string() })
    }

    /// Finds what a path means; links are followed as long as they stay inside.
    ///
    /// # Errors
    /// When it is missing, or a link on the way leads out (`EXDEV`).
    pub fn find(&self, path: &Path) -> io::Result<FoundFile> {
        let fd = self.resolve(path, OFlags::PATH | OFlags::CLOEXEC, ResolveFlags::empty())?;
        let handle = fs::File::from(fd);
        let metadata = handle.metadata()?;
        Ok(FoundFile { handle, metadata })
    }

    /// A folder below, open for reading its names, for acts in it, and for syncing it.
    ///
    /// # Errors
    /// When it is missing, a link is on the way, or it may not be read.
    pub fn readable(&self, path: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        self.resolve(path, flags, ResolveFlags::NO_SYMLINKS)
    }

    fn open_beneath(&self, path: &Path) -> io::Result<OwnedFd> {
        self.resolve(path, folder_flags(), ResolveFlags::NO_SYMLINKS)
    }

    fn resolve(&self, path: &Path, flags: OFlags, links: ResolveFlags) -> io::Result<OwnedFd> {
        let path = if path == Path::new("") { Path::new(".") } else { path };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | links;
        for _ in 0..RESOLVE_TRIES {
            match rustix::fs::openat2(&self.0, path, flags, Mode::empty(), resolve) {
                // Something was renamed meanwhile and the kernel could not be sure; it asks to be asked again.
                Err(Errno::AGAIN | Errno::INTR) => {}
                result => return Ok(result?),
            }
        }
        Err(Errno::AGAIN.into())
    }
}

/// Something that was found below a folder, held without being opened.
#[derive(Debug)]
pub struct FoundFile {
    handle: fs::File,
    metadata: fs::Metadata,
}

impl FoundFile {
    /// What it is.
    #[must_use]
    pub fn kind(&self) -> EntryKind {
        EntryKind::of(&self.metadata)
    }

    /// Its size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.metadata.len()
    }

    /// Where it really is, links followed.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn real_path(&self) -> io::Result<PathBuf> {
        fs::read_link(self.own_path())
    }

    /// Opens it for reading: the very same file, whatever has come to its place since.
    ///
    /// # Errors
    /// When it may not be read.
    pub fn open(&self) -> io::Result<fs::File> {
        let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(CWD, self.own_path(), flags, Mode::empty())?.into())
    }

    fn own_path(&self) -> PathBuf {
        own_path(&self.handle)
    }
}

/// The path under which a process reaches what it holds.
fn own_path(handle: &impl std::os::fd::AsRawFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()))
}

/// How often a path is looked up again when something moves on the way.
const RESOLVE_TRIES: u32 = 1_000;

/// A name in an open folder.
#[derive(Debug)]
pub struct FolderEntry {
    dir: OwnedFd,
    name: OsString,
}

impl FolderEntry {
    /// What has this name now.
    ///
    /// # Errors
    /// When it cannot be looked at.
    pub fn kind(&self) -> io::Result<EntryKind> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.dir, &self.name, flags, Mode::empty()) {
            Ok(fd) => Ok(EntryKind::of(&fs::File::from(fd).metadata()?)),
            Err(Errno::NOENT) => Ok(EntryKind::Nothing),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Where a link points.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn link_target(&self) -> io::Result<PathBuf> {
        let target = rustix::fs::readlinkat(&self.dir, &self.name, Vec::new())?;
        Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
    }

    /// Opens a regular file for reading; a link is refused and a pipe cannot make us wait.
    ///
    /// # Errors
    /// When it cannot be opened or is no regular file.
    pub fn open_file(&self) -> io::Result<fs::File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = fs::File::from(rustix::fs::openat(&self.dir, &self.name, flags, Mode::empty())?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(Errno::INVAL.into()) }
    }

    /// Makes a new file, open for writing and closed to others until its mode is set.
    ///
    /// # Errors
    /// When the name is taken or the folder cannot be written.
    pub fn create_file(&self) -> io::Result<fs::File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(fs::File::from(rustix::fs::openat(&self.dir, &self.name, flags, Mode::from_raw_mode(0o600))?))
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn make_link(&self, target: &Path) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.dir, &self.name)?)
    }

    /// Makes a folder.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn make_dir(&self) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.dir, &self.name, Mode::from_raw_mode(0o755))?)
    }

    /// Removes a file or a link.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn remove_file(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.dir, &self.name, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn remove_dir(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.dir, &self.name, AtFlags::REMOVEDIR)?)
    }

    /// Moves it to another place, replacing what is there.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn move_to(&self, to: &Self) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.dir, &self.name, &to.dir, &to.name)?)
    }

    /// Sets the mode of a folder, also of one that is closed to us.
    ///
    /// # Errors
    /// When it is no folder or not ours.
    pub fn set_dir_mode(&self, mode: u32) -> io::Result<()> {
        let fd = rustix::fs::openat(&self.dir, &self.name, folder_flags() | OFlags::NOFOLLOW, Mode::empty())?;
        Ok(rustix::fs::chmodat(CWD, own_path(&fd), Mode::from_raw_mode(mode), AtFlags::empty())?)
    }
}

fn folder_flags() -> OFlags {
    OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC
}
