//! Files that are not there, remembered by a process that stays: while the mark of their folder stands, none of them can have come,
//! and one look at the folder spares one for each.

use crate::geometry::wall_clock::WallClock;
use crate::mark::{FolderWatch, Names, stat};
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use tripwire_fs::file::FileError;

/// What is known to be absent of the files that a look at the controls looks for. It proves nothing to another process.
#[derive(Debug, Default)]
pub struct KnownAbsent {
    /// Reports, in `.geometry/`.
    pub(super) reports: AbsentFiles,
    /// Files that the agent's client obeys, in the workspace.
    pub(super) obeyed: AbsentFiles,
}

/// Files of a folder, as they were when it was looked at.
#[derive(Debug, Default)]
pub(super) struct AbsentFiles {
    folder: FolderWatch,
    absent: BTreeSet<PathBuf>,
    /// Folders in it that are there: what is in those is looked for itself.
    there: BTreeSet<PathBuf>,
}

impl AbsentFiles {
    /// A look begins: what was known is forgotten where a name may have come or gone since.
    pub(super) fn begin(&mut self, folder: Option<&Metadata>, now: WallClock) {
        match self.folder.look(folder, now) {
            Names::Stood => {}
            Names::Moved => {
                self.absent.clear();
                self.there.clear();
            }
        }
    }

    /// Looks at a file of the folder itself, as [`stat`] does.
    pub(super) fn stat(&mut self, path: &Path) -> Result<Option<Metadata>, FileError> {
        if self.absent.contains(path) {
            return Ok(None);
        }
        let found = stat(path)?;
        if found.is_none() {
            self.absent.insert(path.to_owned());
        }
        Ok(found)
    }

    /// Looks at a file anywhere below the folder: it is known to be absent with the first folder on the way to it.
    pub(super) fn stat_below(&mut self, root: &Path, name: &str) -> Result<Option<Metadata>, FileError> {
        let Some((first, _)) = name.split_once('/') else { return self.stat(&root.join(name)) };
        let first = root.join(first);
        if !self.there.contains(&first) {
            if self.stat(&first)?.is_none() {
                return Ok(None);
            }
            self.there.insert(first);
        }
        stat(&root.join(name))
    }
}
