//! Linux: descriptors, and `openat2` for the way to them.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::Standing;

/// A folder held open; everything is found from here.
#[derive(Debug)]
pub(crate) struct Top(OwnedFd);

impl Top {
    /// Opens the folder itself; its own path may be trusted, what is below it may not.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::openat(CWD, path, folder_flags() | OFlags::NOFOLLOW, Mode::empty())?))
    }

    /// A folder below, as a top of its own.
    pub(crate) fn folder(&self, path: &Path) -> io::Result<Self> {
        self.open_beneath(path).map(Self)
    }

    /// The names in this folder, sorted.
    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::openat(&self.0, ".", flags, Mode::empty())?;
        let entries = rustix::fs::Dir::new(dir)?.collect::<Result<Vec<_>, Errno>>()?;
        let names = entries.into_iter().map(|entry| OsString::from_vec(entry.file_name().to_bytes().to_vec()));
        let mut names: Vec<OsString> = names.filter(|name| name != "." && name != "..").collect();
        names.sort();
        Ok(names)
    }

    /// Brings the names in a folder below to the disk; an empty path is the folder itself.
    pub(crate) fn sync(&self, path: &Path) -> io::Result<()> {
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

    /// The place of a path: the folder it is in, opened now.
    pub(crate) fn place(&self, path: &Path) -> io::Result<Place> {
        let name = path.file_name().ok_or_else(|| io::Error::from(Errno::INVAL))?;
        let dir = self.open_beneath(path.parent().unwrap_or(Path::new("")))?;
        Ok(Place { dir, name: name.to_os_string() })
    }

    fn open_beneath(&self, path: &Path) -> io::Result<OwnedFd> {
        let path = if path == Path::new("") { Path::new(".") } else { path };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        loop {
            match rustix::fs::openat2(&self.0, path, folder_flags(), Mode::empty(), resolve) {
                // Somebody renamed something meanwhile and the kernel could not be sure; it asks to be asked again.
                Err(Errno::AGAIN | Errno::INTR) => {}
                result => return Ok(result?),
            }
        }
    }
}

/// A name in an open folder.
#[derive(Debug)]
pub(crate) struct Place {
    dir: OwnedFd,
    name: OsString,
}

impl Place {
    pub(crate) fn standing(&self) -> io::Result<Standing> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.dir, &self.name, flags, Mode::empty()) {
            Ok(fd) => Ok(Standing::of(&fs::File::from(fd).metadata()?)),
            Err(Errno::NOENT) => Ok(Standing::Nothing),
            Err(errno) => Err(errno.into()),
        }
    }

    pub(crate) fn link_target(&self) -> io::Result<PathBuf> {
        let target = rustix::fs::readlinkat(&self.dir, &self.name, Vec::new())?;
        Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
    }

    /// Opens a regular file for reading; a link is refused and a pipe cannot make us wait.
    pub(crate) fn open_file(&self) -> io::Result<fs::File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = fs::File::from(rustix::fs::openat(&self.dir, &self.name, flags, Mode::empty())?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(Errno::INVAL.into()) }
    }

    /// Makes a new file, open for writing and closed to others until its mode is set.
    pub(crate) fn create_file(&self) -> io::Result<fs::File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(fs::File::from(rustix::fs::openat(&self.dir, &self.name, flags, Mode::from_raw_mode(0o600))?))
    }

    pub(crate) fn make_link(&self, target: &Path) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.dir, &self.name)?)
    }

    pub(crate) fn make_dir(&self) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.dir, &self.name, Mode::from_raw_mode(0o755))?)
    }

    pub(crate) fn remove_file(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.dir, &self.name, AtFlags::empty())?)
    }

    pub(crate) fn remove_dir(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.dir, &self.name, AtFlags::REMOVEDIR)?)
    }

    pub(crate) fn move_to(&self, to: &Self) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.dir, &self.name, &to.dir, &to.name)?)
    }

    /// Sets the mode of a folder, also of one that is closed to us.
    pub(crate) fn set_dir_mode(&self, mode: u32) -> io::Result<()> {
        let fd = rustix::fs::openat(&self.dir, &self.name, folder_flags() | OFlags::NOFOLLOW, Mode::empty())?;
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        Ok(rustix::fs::chmodat(CWD, OsStr::new(&path), Mode::from_raw_mode(mode), AtFlags::empty())?)
    }
}

fn folder_flags() -> OFlags {
    OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC
}
