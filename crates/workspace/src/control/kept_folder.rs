//! The folder of the control files, kept open by a process that stays: a file in it is then found by its name alone, and not along
//! the whole path. Each look begins with the path, which may lead to another folder by now.

use crate::geometry::wall_clock::WallClock;
use crate::mark::{Mark, stat};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags, fstat, open, statat};
use rustix::io::Errno;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use tripwire_fs::file::{FileAction, FileError};

/// The folder, once it was looked at twice.
#[derive(Debug, Default)]
pub(super) struct KeptFolder {
    /// Its device and its number there.
    known: Option<(u64, u64)>,
    open: Option<OwnedFd>,
}

impl KeptFolder {
    /// A look begins at the folder to which this path leads now.
    pub(super) fn begin(&mut self, path: &Path, found: &Metadata) {
        let number = (found.dev(), found.ino());
        if self.known != Some(number) {
            // A process that looks only once would open it for nothing.
            *self = Self { known: Some(number), open: None };
        } else if self.open.is_none() {
            self.open = opened(path, number);
        }
    }

    /// Looks at a file of the folder without following a link; a missing file is no error, everything else is.
    pub(super) fn mark(&self, path: &Path, now: WallClock) -> Result<Option<Mark>, FileError> {
        let (Some(folder), Some(name)) = (&self.open, path.file_name()) else {
            return Ok(stat(path)?.map(|metadata| Mark::of(&metadata, now)));
        };
        match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(Mark::of_stat(&found, now))),
            Err(Errno::NOENT) => Ok(None),
            Err(cause) => Err(FileError::at(path, FileAction::Inspect)(cause.into())),
        }
    }
}

/// Opens a folder, if the path still leads to the one that was seen.
fn opened(path: &Path, number: (u64, u64)) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = open(path, flags, Mode::empty()).ok()?;
    let found = fstat(&folder).ok()?;
    ((found.st_dev, found.st_ino) == number).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use std::fs;

    #[test]
    fn ctrl_1_a_file_of_a_folder_that_stays_open_is_seen_as_by_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("folder");
        fs::create_dir(&folder).unwrap();
        let file = folder.join("a");
        let mut kept = KeptFolder::default();
        let now = clock::now();
        let mut look = || {
            kept.begin(&folder, &folder.symlink_metadata().unwrap());
            let found = kept.mark(&file, now).unwrap();
            assert_eq!(found, stat(&file).unwrap().map(|metadata| Mark::of(&metadata, now)));
            (kept.open.is_some(), found.is_some())
        };
        assert_eq!((look(), look()), ((false, false), (true, false)), "a second look opens it");
        fs::write(&file, "x").unwrap();
        assert_eq!(look(), (true, true));
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("nowhere", &file).unwrap();
        assert_eq!(look(), (true, true), "a link is not followed");
        fs::remove_file(&file).unwrap();
        fs::rename(&folder, dir.path().join("away")).unwrap();
        fs::create_dir(&folder).unwrap();
        fs::write(&file, "y").unwrap();
        assert_eq!((look(), look()), ((false, true), (true, true)), "another folder came to its place");
    }
}
