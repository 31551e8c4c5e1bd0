//! Files that are not there, remembered by a process that stays: while the mark of their folder stands, none of them can have come,
//! and one look at the folder spares one for each.

use super::kept_folder::KeptFolder;
use crate::geometry::wall_clock::WallClock;
use crate::mark::{FolderWatch, Names, stat};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::path::Path;
use tripwire_fs::file::FileError;

/// What a process that stays keeps between its looks at the controls. It proves nothing to another process.
#[derive(Debug, Default)]
pub struct ControlLooks {
    /// `.geometry/` itself.
    pub(super) folder: KeptFolder,
    /// Reports that are not in it.
    pub(super) reports: AbsentFiles,
    /// Files that the agent's client obeys and that are not in the workspace.
    pub(super) obeyed: AbsentFiles,
}

/// Files of a folder by their names, as they were when it was looked at.
#[derive(Debug, Default)]
pub(crate) struct AbsentFiles {
    folder: FolderWatch,
    absent: BTreeSet<OsString>,
    /// Folders in it that are there: what is in those is looked for itself.
    there: BTreeSet<OsString>,
}

impl AbsentFiles {
    /// A look begins: what was known is forgotten where a name may have come or gone since.
    pub(crate) fn begin(&mut self, folder: Option<&Metadata>, now: WallClock) {
        match self.folder.look(folder, now) {
            Names::Stood => {}
            Names::Moved => {
                self.absent.clear();
                self.there.clear();
            }
        }
    }

    /// Whether a file of the folder itself is known to be absent.
    pub(crate) fn knows(&self, name: &OsStr) -> bool {
        self.absent.contains(name)
    }

    /// A file of the folder itself was found to be absent.
    pub(crate) fn note(&mut self, name: &OsStr) {
        self.absent.insert(name.to_owned());
    }

    /// Looks at a file of the folder itself, as [`stat`] does.
    pub(super) fn stat(&mut self, path: &Path) -> Result<Option<Metadata>, FileError> {
        let name = path.file_name().unwrap_or(path.as_os_str());
        if self.knows(name) {
            return Ok(None);
        }
        let found = stat(path)?;
        if found.is_none() {
            self.note(name);
        }
        Ok(found)
    }

    /// Looks at a file anywhere below the folder: it is known to be absent with the first folder on the way to it.
    pub(super) fn stat_below(&mut self, root: &Path, name: &str) -> Result<Option<Metadata>, FileError> {
        let (first, below) = name.split_once('/').map_or((name, None), |(first, below)| (first, Some(below)));
        if self.knows(first.as_ref()) {
            return Ok(None);
        }
        if below.is_none() {
            return self.stat(&root.join(first));
        }
        if !self.there.contains(OsStr::new(first)) {
            if self.stat(&root.join(first))?.is_none() {
                return Ok(None);
            }
            self.there.insert(first.into());
        }
        stat(&root.join(name))
    }
}
