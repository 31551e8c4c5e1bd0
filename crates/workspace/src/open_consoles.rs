//! Consoles that somebody has open: pages and terminal views that show what waits, so that a held call may wait for its
//! answer. Each holds a lock on a file in the person's state folder for as long as it lives; a process that dies lets go of it.

use crate::clock;
use crate::mark::{FolderWatch, Names};
use std::path::{Path, PathBuf};
use tripwire_fs::file::{self, FileError};
use tripwire_fs::lock::{FileLock, Wait};

/// A console that is open until this is dropped.
#[derive(Debug)]
pub struct OpenConsole {
    _lock: FileLock,
    path: PathBuf,
}

impl OpenConsole {
    /// Says that this process shows a console to the person whose state is in this folder.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn open(state: &Path) -> Result<Self, FileError> {
        let folder = folder(state);
        file::make_folder(&folder)?;
        let path = folder.join(std::process::id().to_string());
        loop {
            let lock = FileLock::take(&path, Wait::Forever)?;
            // Somebody who looked between its making and its locking took it for a left-over.
            if path.exists() {
                return Ok(Self { _lock: lock, path });
            }
        }
    }

    /// Whether any process shows one. What a process left behind that died is removed.
    #[must_use]
    pub fn is_any(state: &Path) -> bool {
        let files = std::fs::read_dir(folder(state)).into_iter().flatten().filter_map(Result::ok);
        files.take(CONSOLES_MAX).any(|file| match FileLock::take(&file.path(), Wait::No) {
            Ok(_gone) => {
                std::fs::remove_file(file.path()).ok();
                false
            }
            Err(_) => true,
        })
    }
}

/// What a process that stays knows of the open consoles: while the folder of their files stands without any, there is none.
#[derive(Debug, Default)]
pub struct KnownConsoles {
    folder: FolderWatch,
    found: Found,
}

/// What the last look at the folder found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Found {
    /// Files, or it was not looked at yet.
    #[default]
    Some,
    Nothing,
}

impl KnownConsoles {
    /// Whether any process shows one, as [`OpenConsole::is_any`] finds it.
    #[must_use]
    pub fn is_any(&mut self, state: &Path) -> bool {
        let found = folder(state).metadata().ok();
        let names = self.folder.look(found.as_ref(), clock::now());
        if found.is_none() {
            return false;
        }
        if (names, self.found) == (Names::Stood, Found::Nothing) {
            return false;
        }
        let has_files = std::fs::read_dir(folder(state)).is_ok_and(|mut files| files.next().is_some());
        self.found = if has_files { Found::Some } else { Found::Nothing };
        has_files && OpenConsole::is_any(state)
    }
}

impl Drop for OpenConsole {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).ok();
    }
}

/// Files that are looked at.
const CONSOLES_MAX: usize = 64;

fn folder(state: &Path) -> PathBuf {
    state.join("tripwire").join("consoles")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_console_is_open_for_as_long_as_it_lives_and_a_left_over_file_is_none() {
        let state = tempfile::tempdir().unwrap();
        let mut known = KnownConsoles::default();
        let mut is_any = || {
            let is_any = OpenConsole::is_any(state.path());
            assert_eq!((known.is_any(state.path()), known.is_any(state.path())), (is_any, is_any));
            is_any
        };
        let settle = || std::thread::sleep(std::time::Duration::from_millis(70));
        assert!(!is_any());
        let console = OpenConsole::open(state.path()).unwrap();
        assert!(is_any());
        drop(console);
        assert!(!is_any());
        settle();
        assert!(!is_any());
        let console = OpenConsole::open(state.path()).unwrap();
        assert!(is_any());
        settle();
        assert!(is_any());
        drop(console);
        std::fs::write(folder(state.path()).join("4711"), "").unwrap();
        assert!(!is_any());
        assert_eq!(std::fs::read_dir(folder(state.path())).unwrap().count(), 0, "it is removed");
    }
}
