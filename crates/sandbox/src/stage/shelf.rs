//! The shelf: the folder in the workspace on which new and old files lie while changes are applied.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use tripwire_fs::beneath::{HeldFolder, leads_nowhere};

/// How the folders are called in which new and old files lie while changes are applied.
pub(crate) const SHELF_PREFIX: &str = ".tripwire-apply-";

/// Where new content lies on the shelf.
pub(crate) fn new_name(index: usize) -> PathBuf {
    PathBuf::from(format!("new-{index}"))
}

/// Where old files lie on the shelf.
pub(crate) fn old_name(index: usize) -> PathBuf {
    PathBuf::from(format!("old-{index}"))
}

/// Brings folders to the disk, each once; one that is gone went with a change in the folder above it.
pub(crate) fn sync_touched<'a>(
    top: &HeldFolder,
    folders: impl Iterator<Item = [Option<&'a Path>; 2]>,
) -> io::Result<()> {
    let folders: BTreeSet<&Path> = folders.flatten().flatten().collect();
    for folder in folders {
        match top.sync(folder) {
            Err(error) if !leads_nowhere(&error) => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}
