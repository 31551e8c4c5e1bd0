//! The workspaces in which tripwire was used: a list of paths in the person's state folder, so that one command can show all
//! sessions without searching the disk. It is written at the first use of a workspace and at most once per session.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use tripwire_fs::file::{self, FileError};
use tripwire_fs::lock::FileLock;

/// The list of one person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownWorkspaces(PathBuf);

/// The most that are kept; the ones that were added first go first.
const KNOWN_MAX: usize = 1_000;
/// More bytes than the longest list has.
const BYTES_MAX: u64 = 8 << 20;

impl KnownWorkspaces {
    /// The list of a person whose state is in this folder.
    #[must_use]
    pub fn of_person(state: &Path) -> Self {
        Self(state.join("tripwire").join("workspaces"))
    }

    /// The file: one path per line.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The workspaces that are still there, in the order in which they were added. A list that cannot be read is empty.
    #[must_use]
    pub fn list(&self) -> Vec<PathBuf> {
        let mut known = self.written();
        known.retain(|root| root.is_dir());
        known
    }

    /// Adds a workspace, if it is not in the list; those that are gone leave it on the way.
    ///
    /// # Errors
    /// When the list cannot be written.
    pub fn add(&self, root: &Path) -> Result<(), FileError> {
        // A name with a line break cannot stand in a list of lines; such a workspace is looked at where it is.
        if root.as_os_str().as_bytes().contains(&b'\n') || self.written().iter().any(|known| known == root) {
            return Ok(());
        }
        if let Some(folder) = self.0.parent() {
            file::make_folder(folder)?;
        }
        let _lock = FileLock::folder_of(&self.0)?;
        let mut known = self.list();
        known.retain(|other| other != root);
        known.push(root.to_owned());
        let mut text = Vec::new();
        for path in known.iter().skip(known.len().saturating_sub(KNOWN_MAX)) {
            text.extend_from_slice(path.as_os_str().as_bytes());
            text.push(b'\n');
        }
        file::replace(&self.0, &text)
    }

    fn written(&self) -> Vec<PathBuf> {
        let bytes = file::read_bounded(&self.0, BYTES_MAX).unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"/"));
        lines.map(|line| PathBuf::from(OsString::from_vec(line.to_vec()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_testing::TestDir;

    #[test]
    fn a_workspace_is_listed_once_and_dropped_when_it_is_gone() {
        let (state, one, two) = (TestDir::new(), TestDir::new(), TestDir::new());
        let known = KnownWorkspaces::of_person(state.path());
        assert!(known.list().is_empty());
        for root in [one.path(), two.path(), one.path()] {
            known.add(root).unwrap();
        }
        assert_eq!(known.list(), [one.path(), two.path()]);
        let gone = one.path().to_owned();
        drop(one);
        assert_eq!(known.list(), [two.path()]);
        let three = TestDir::new();
        known.add(three.path()).unwrap();
        let text = std::fs::read_to_string(known.path()).unwrap();
        assert!(!text.contains(gone.to_str().unwrap()), "{text}");
    }

    #[test]
    fn a_second_use_writes_nothing_and_a_damaged_list_is_no_harm() {
        let (state, root) = (TestDir::new(), TestDir::new());
        let known = KnownWorkspaces::of_person(state.path());
        known.add(root.path()).unwrap();
        let written = std::fs::metadata(known.path()).unwrap().modified().unwrap();
        known.add(root.path()).unwrap();
        assert_eq!(std::fs::metadata(known.path()).unwrap().modified().unwrap(), written);
        std::fs::write(known.path(), b"relative\n\xff\xfe\n\n").unwrap();
        assert!(known.list().is_empty());
        known.add(root.path()).unwrap();
        assert_eq!(known.list(), [root.path()]);
        known.add(Path::new("/a\nb")).unwrap();
        assert_eq!(known.list(), [root.path()]);
    }
}
