//! Writing files of the workspace: all new contents are on the disk before the first name changes.
//!
//! Each file is written beside its place and renamed over it, so that half of one is never seen. Several changes are
//! first judged and written aside together; only when every one of them is possible are they put in place.

use super::Files;
use super::access::{self, PathUse};
use super::error::FilesError;
use super::path::WorkPath;
use rustix::fs::{AtFlags, Mode};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use tripwire_fs::beneath::EntryKind;
use tripwire_fs::file::{Draft, FileError, FileMode};

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
    Put { draft: Draft, written: Written },
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
        // A new file gets what the user's mask leaves; one that replaces another keeps its bits, but never a set-id bit.
        let (mode, written) = match place.mode {
            Some(bits) => (FileMode::Exact(bits & 0o777), Written::Replaced),
            None => (FileMode::Masked(0o666), Written::Created),
        };
        let draft = Draft::in_folder(folder, Path::new(&place.name), mode).and_then(|mut draft| {
            draft.write(bytes)?;
            draft.sync()?;
            Ok(draft)
        });
        let draft = draft.map_err(FileError::into_cause).map_err(FilesError::io(path.as_str(), "write"))?;
        Ok(Ready::Put { draft, written })
    }

    fn prepare_removal(&self, path: &WorkPath) -> Result<Ready, FilesError> {
        let place = self.place(path)?;
        if place.mode.is_none() {
            return Err(FilesError::Missing { path: path.clone() });
        }
        let folder = self.folder.readable(Path::new(place.folder.as_str()));
        let folder = folder.map_err(FilesError::io(path.as_str(), "open the folder of"))?;
        Ok(Ready::Take { folder, name: place.name })
    }

    /// Where a file is to be written, after all links: an existing file at its real place, a new one below real folders.
    fn place(&self, path: &WorkPath) -> Result<Place, FilesError> {
        access::check(path, PathUse::Write)?;
        let (folder, name) = path.split().ok_or_else(|| FilesError::IsFolder { path: path.clone() })?;
        let place = match access::find(&self.folder, &self.tree, path) {
            Ok(found) => {
                access::plain_file(path, found.file.kind())?;
                let (folder, name) = found.real.split().ok_or_else(|| FilesError::IsFolder { path: path.clone() })?;
                let mode = match found.file.kind() {
                    EntryKind::File { mode } => Some(mode),
                    EntryKind::Nothing | EntryKind::Dir { .. } | EntryKind::Link | EntryKind::Special(_) => None,
                };
                Place { folder, name: name.to_owned(), mode }
            }
            Err(FilesError::Missing { .. }) => {
                Place { folder: self.real_folder(&folder)?, name: name.to_owned(), mode: None }
            }
            Err(error) => return Err(error),
        };
        let real = place.folder.below(&[&place.name]);
        access::check(&real, PathUse::Write).map_err(|_| FilesError::Disguised { path: path.clone() })?;
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
            match access::find(&self.folder, &self.tree, &path) {
                Ok(found) if found.file.kind().is_dir() => {
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
            let is_link = self
                .folder
                .entry(Path::new(&part))
                .is_ok_and(|entry| entry.kind().is_ok_and(|kind| kind == EntryKind::Link));
            if is_link {
                return Err(FilesError::NotAFile { path: path.clone(), kind: "a link that leads nowhere" });
            }
        }
        Ok(())
    }

    /// Opens a real folder, making what is missing of it.
    fn make_folders(&self, folder: &WorkPath) -> io::Result<OwnedFd> {
        let parts: Vec<&str> = folder.parts().collect();
        let mut open = self.folder.readable(Path::new(""))?;
        for length in 1..=parts.len() {
            let below = parts.get(..length).unwrap_or_default();
            match rustix::fs::mkdirat(&open, below.last().copied().unwrap_or_default(), Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            open = self.folder.readable(Path::new(&below.join("/")))?;
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
            Self::Put { draft, written } => draft.publish().map(|()| written).map_err(FileError::into_cause),
            Self::Take { folder, name } => {
                rustix::fs::unlinkat(&folder, name.as_str(), AtFlags::empty())?;
                rustix::fs::fsync(&folder)?;
                Ok(Written::Removed)
            }
        }
    }
}
