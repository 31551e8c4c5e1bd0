//! The files of a workspace as an agent's tools see them: nothing outside is reached, nothing protected is touched.
//!
//! A path is judged twice: as it was written (no way up and out, no protected name) and as the kernel resolved it, so
//! that a link neither leads out nor leads to a protected name under another one. Only plain files are read and written;
//! a named pipe or a device in a file's place is refused and never waited for.

mod access;
mod error;
mod path;
mod write;

pub use error::FilesError;
pub use path::WorkPath;
pub use write::{Change, Written};

use access::PathUse;
use std::fs::File;
use std::path::{Path, PathBuf};
use tripwire_fs::beneath::{EntryKind, HeldFolder};
use tripwire_fs::bounded::{self, BoundedError};
use tripwire_fs::file;

/// The largest file that is read whole.
pub const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// The tree that tools work on.
#[derive(Debug)]
pub struct Files {
    /// The workspace's paths, as given and as resolved.
    named: Vec<PathBuf>,
    /// Where its files really are: the workspace, or a staged copy of it.
    tree: PathBuf,
    folder: HeldFolder,
    /// Where `.geometry/` is; its two readable files may be outside of the workspace.
    records: PathBuf,
}

/// A file that was opened for reading.
#[derive(Debug)]
pub struct Opened {
    /// The file, positioned at its beginning.
    pub file: File,
    /// Its size when it was opened.
    pub bytes: u64,
}

impl Files {
    /// The files of a workspace; `records` is its `.geometry/` folder.
    ///
    /// # Errors
    /// If the workspace is no folder.
    pub fn of(workspace: &Path, records: &Path) -> Result<Self, FilesError> {
        let resolved = resolve(workspace)?;
        Self::over(vec![workspace.to_owned(), resolved.clone()], resolved, records)
    }

    /// The same paths, but the files of a staged copy: what is written stays there until it is applied.
    ///
    /// # Errors
    /// If one of the two is no folder.
    pub fn staged(workspace: &Path, copy: &Path, records: &Path) -> Result<Self, FilesError> {
        Self::over(vec![workspace.to_owned(), resolve(workspace)?], resolve(copy)?, records)
    }

    fn over(named: Vec<PathBuf>, tree: PathBuf, records: &Path) -> Result<Self, FilesError> {
        let folder = HeldFolder::open(&tree).map_err(FilesError::io(".", "open"))?;
        Ok(Self { named, tree, folder, records: records.to_owned() })
    }

    /// The names under which the workspace is known: texts for the model must not hold them.
    #[must_use]
    pub fn names(&self) -> &[PathBuf] {
        &self.named
    }

    /// The folder whose files are worked on, for walks; what a walk finds is opened through [`Files::open`].
    #[must_use]
    pub fn tree(&self) -> &Path {
        &self.tree
    }

    /// Reads a path as a tool got it: relative, or absolute inside the workspace.
    ///
    /// # Errors
    /// If it leads out of the workspace or is no path.
    pub fn path(&self, text: &str) -> Result<WorkPath, FilesError> {
        access::parse(text, &self.named)
    }

    /// Opens a plain file for reading.
    ///
    /// # Errors
    /// If it is missing, outside, hidden, or no plain file.
    pub fn open(&self, path: &WorkPath) -> Result<Opened, FilesError> {
        access::check(path, PathUse::Read)?;
        if let Some(name) = path.record_name() {
            return self.open_record(path, name);
        }
        let found = self.find(path, PathUse::Read)?;
        access::plain_file(path, found.file.kind())?;
        let file = found.file.open().map_err(FilesError::io(path.as_str(), "open"))?;
        Ok(Opened { file, bytes: found.file.size() })
    }

    /// Reads a plain file whole, within [`FILE_BYTES_MAX`].
    ///
    /// # Errors
    /// As [`Files::open`], or if it is larger.
    pub fn read(&self, path: &WorkPath) -> Result<Vec<u8>, FilesError> {
        let opened = self.open(path)?;
        let too_large = |bytes| FilesError::TooLarge { path: path.clone(), bytes, limit: FILE_BYTES_MAX };
        if opened.bytes > FILE_BYTES_MAX {
            return Err(too_large(opened.bytes));
        }
        bounded::read_whole_sized(opened.file, FILE_BYTES_MAX, opened.bytes).map_err(|error| match error {
            BoundedError::Io(cause) => FilesError::io(path.as_str(), "read")(cause),
            BoundedError::TooBig { limit } => too_large(limit.saturating_add(1)),
        })
    }

    /// Checks that a path is a folder that may be looked into.
    ///
    /// # Errors
    /// If it is missing, outside, hidden, or no folder.
    pub fn folder(&self, path: &WorkPath) -> Result<(), FilesError> {
        access::check(path, PathUse::Look)?;
        match self.find(path, PathUse::Look)?.file.kind() {
            EntryKind::Dir { .. } => Ok(()),
            EntryKind::Nothing | EntryKind::File { .. } | EntryKind::Link | EntryKind::Special(_) => {
                Err(FilesError::NotAFolder { path: path.clone() })
            }
        }
    }

    /// Whether something is at the path, whatever it is.
    #[must_use]
    pub fn exists(&self, path: &WorkPath) -> bool {
        self.find(path, PathUse::Look).is_ok()
    }

    /// Finds what a path means, and judges where it really is.
    fn find(&self, path: &WorkPath, wanted: PathUse) -> Result<access::Found, FilesError> {
        let found = access::find(&self.folder, &self.tree, path)?;
        access::check(&found.real, wanted).map_err(|_| FilesError::Disguised { path: path.clone() })?;
        Ok(found)
    }

    /// One of the two records that an agent may read; they are ours, plain files in a folder of ours.
    fn open_record(&self, path: &WorkPath, name: &str) -> Result<Opened, FilesError> {
        let opened = file::open_plain(&self.records.join(name)).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (bytes, file) = opened.map_err(|error| {
            if error.kind() == std::io::ErrorKind::NotFound {
                return FilesError::Missing { path: path.clone() };
            }
            FilesError::io(path.as_str(), "open")(error)
        })?;
        Ok(Opened { file, bytes })
    }
}

fn resolve(folder: &Path) -> Result<PathBuf, FilesError> {
    std::fs::canonicalize(folder).map_err(FilesError::io(".", "open"))
}

#[cfg(test)]
mod tests;
