//! Writing files of the workspace: all new contents are on the disk before the first name changes.
//!
//! Each file is written beside its place and renamed over it, so that nobody ever sees half of one. Several changes are
//! first judged and written aside together; only when every one of them is possible are they put in place.

use super::Files;
use super::beneath::{self, Kind};
use super::error::FilesError;
use super::path::{Intent, WorkPath};
use rustix::fs::{AtFlags, Mode, OFlags};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// One change of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change<'a> {
    /// The file has these contents afterwards; folders on the way are made.
    Write {
        /// The file.
        path: WorkPath,
        /// Its contents.
        bytes: &'a [u8],
    },
    /// The file is gone afterwards.
    Remove {
        /// The file.
        path: WorkPath,
    },
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// It is new.
    Created,
    /// It was there before; its permissions are kept.
    Replaced,
    /// It is gone.
    Removed,
}

/// A change that is ready to be put in place.
enum Ready {
    Put { folder: OwnedFd, draft: Draft, name: String, written: Written },
    Take { folder: OwnedFd, name: String },
}

impl Files {
    /// Makes the changes. If one of them is refused or cannot be written aside, none is made.
    ///
    /// # Errors
    /// If a path may not be written or the file system refuses.
    pub fn change(&self, changes: &[Change<'_>]) -> Result<Vec<Written>, FilesError> {
        // All are judged before anything is made, folders included.
        for change in changes {
            self.may_write(change.path())?;
        }
        let mut ready = Vec::with_capacity(changes.len());
        for change in changes {
            ready.push(match change {
                Change::Write { path, bytes } => self.prepare(path, bytes)?,
                Change::Remove { path } => self.prepare_removal(path)?,
            });
        }
        let mut written = Vec::with_capacity(ready.len());
        for (change, step) in changes.iter().zip(ready) {
            written.push(step.finish().map_err(FilesError::io(change.path().as_str(), "write"))?);
        }
        Ok(written)
    }

    /// Judges a path that is to be written, without writing.
    ///
    /// # Errors
    /// If it may not be written.
    pub fn may_write(&self, path: &WorkPath) -> Result<(), FilesError> {
        self.place(path).map(drop)
    }

    fn prepare(&self, path: &WorkPath, bytes: &[u8]) -> Result<Ready, FilesError> {
        let place = self.place(path)?;
        let folder = self.make_folders(&place.folder).map_err(FilesError::io(path.as_str(), "make the folder of"))?;
        let write = || FilesError::io(path.as_str(), "write");
        let mut draft = Draft::new(&folder, place.mode).map_err(write())?;
        draft.write(bytes, place.mode).map_err(write())?;
        let written = if place.mode.is_some() { Written::Replaced } else { Written::Created };
        Ok(Ready::Put { folder, draft, name: place.name, written })
    }

    fn prepare_removal(&self, path: &WorkPath) -> Result<Ready, FilesError> {
        let place = self.place(path)?;
        if place.mode.is_none() {
            return Err(FilesError::Missing { path: path.clone() });
        }
        let folder = beneath::open_folder(self.folder.as_fd(), place.folder.as_str())
            .map_err(FilesError::io(path.as_str(), "open the folder of"))?;
        Ok(Ready::Take { folder, name: place.name })
    }

    /// Where a file is to be written, after all links: an existing file at its real place, a new one below real folders.
    fn place(&self, path: &WorkPath) -> Result<Place, FilesError> {
        path.check(Intent::Write)?;
        let (folder, name) = path.split().ok_or_else(|| FilesError::IsFolder { path: path.clone() })?;
        let place = match beneath::find(self.folder.as_fd(), &self.tree, path) {
            Ok(found) => {
                match found.kind {
                    Kind::File => {}
                    Kind::Folder => return Err(FilesError::IsFolder { path: path.clone() }),
                    Kind::Pipe | Kind::Device | Kind::Socket | Kind::Link => {
                        return Err(FilesError::NotAFile { path: path.clone(), kind: found.kind.name() });
                    }
                }
                let (folder, name) = found.real.split().ok_or_else(|| FilesError::IsFolder { path: path.clone() })?;
                Place { folder, name: name.to_owned(), mode: Some(found.mode) }
            }
            Err(FilesError::Missing { .. }) => {
                Place { folder: self.real_folder(&folder)?, name: name.to_owned(), mode: None }
            }
            Err(error) => return Err(error),
        };
        let real = place.folder.below(&[&place.name]);
        real.check(Intent::Write).map_err(|_| FilesError::Disguised { path: path.clone() })?;
        self.refuse_dangling(path, &place)?;
        Ok(place)
    }

    /// The real place of a folder of which only the beginning may exist.
    fn real_folder(&self, folder: &WorkPath) -> Result<WorkPath, FilesError> {
        let mut missing: Vec<&str> = Vec::new();
        let parts: Vec<&str> = folder.parts().collect();
        for length in (0..=parts.len()).rev() {
            let (there, rest) = parts.split_at(length);
            let path = WorkPath::root().below(there);
            match beneath::find(self.folder.as_fd(), &self.tree, &path) {
                Ok(found) if found.kind == Kind::Folder => {
                    missing.extend(rest);
                    return Ok(found.real.below(&missing));
                }
                Ok(_) => return Err(FilesError::NotAFolder { path }),
                Err(FilesError::Missing { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(FilesError::Missing { path: folder.clone() })
    }

    /// A link that leads nowhere yet would be followed by others once the file is there: it is refused.
    fn refuse_dangling(&self, path: &WorkPath, place: &Place) -> Result<(), FilesError> {
        let real = place.folder.below(&[&place.name]);
        let parts: Vec<&str> = real.parts().collect();
        for length in 1..=parts.len() {
            let part = parts.get(..length).unwrap_or_default().join("/");
            let stat = rustix::fs::statat(&self.folder, part.as_str(), AtFlags::SYMLINK_NOFOLLOW);
            let is_link = stat
                .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Symlink);
            if is_link {
                return Err(FilesError::NotAFile { path: path.clone(), kind: "a link that leads nowhere" });
            }
        }
        Ok(())
    }

    /// Opens a real folder, making what is missing of it.
    fn make_folders(&self, folder: &WorkPath) -> io::Result<OwnedFd> {
        let mut open = beneath::open_folder(self.folder.as_fd(), ".")?;
        for part in folder.parts() {
            match rustix::fs::mkdirat(&open, part, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            open = beneath::open_folder(open.as_fd(), part)?;
        }
        Ok(open)
    }
}

/// Where a file is written.
struct Place {
    folder: WorkPath,
    name: String,
    /// The permission bits of the file that is there.
    mode: Option<u32>,
}

impl Change<'_> {
    /// The file that is changed.
    #[must_use]
    pub const fn path(&self) -> &WorkPath {
        match self {
            Change::Write { path, .. } | Change::Remove { path } => path,
        }
    }
}

impl Ready {
    /// One rename or one removal, made durable.
    fn finish(self) -> io::Result<Written> {
        match self {
            Self::Put { folder, mut draft, name, written } => {
                rustix::fs::renameat(&folder, draft.name.as_str(), &folder, name.as_str())?;
                draft.published = true;
                rustix::fs::fsync(&folder)?;
                Ok(written)
            }
            Self::Take { folder, name } => {
                rustix::fs::unlinkat(&folder, name.as_str(), AtFlags::empty())?;
                rustix::fs::fsync(&folder)?;
                Ok(Written::Removed)
            }
        }
    }
}

/// A file under construction beside its place; dropped unpublished it is removed.
struct Draft {
    folder: OwnedFd,
    file: File,
    name: String,
    published: bool,
}

impl Draft {
    fn new(folder: &OwnedFd, mode: Option<u32>) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A new file gets what the user's mask leaves; one that replaces another stays closed until it has its mode.
        let bits = if mode.is_some() { 0o600 } else { 0o666 };
        for _ in 0..DRAFT_NAMES_MAX {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".tripwire-draft-{}-{number}", std::process::id());
            match rustix::fs::openat(folder, name.as_str(), flags, Mode::from_raw_mode(bits)) {
                Ok(fd) => return Ok(Self { folder: folder.try_clone()?, file: fd.into(), name, published: false }),
                Err(rustix::io::Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn write(&mut self, bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
        self.file.write_all(bytes)?;
        if let Some(mode) = mode {
            // Set-id bits do not survive a write by an agent.
            rustix::fs::fchmod(&self.file, Mode::from_raw_mode(mode & 0o777))?;
        }
        self.file.sync_all()
    }
}

impl Drop for Draft {
    /// What cannot be removed is an odd file beside the others, which harms nobody.
    fn drop(&mut self) {
        if !self.published {
            rustix::fs::unlinkat(&self.folder, self.name.as_str(), AtFlags::empty()).ok();
        }
    }
}

/// How many names of leftover drafts are passed over.
const DRAFT_NAMES_MAX: u32 = 64;
