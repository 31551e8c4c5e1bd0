//! A folder for one look at a client, removed afterwards: what a client writes at home must not land in the person's.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder that goes when this does.
#[derive(Debug)]
pub(crate) struct TempFolder(PathBuf);

impl TempFolder {
    /// Makes a new folder where temporary files belong.
    ///
    /// # Errors
    /// When it cannot be made; one that is there already belongs to someone else and is never used.
    pub(crate) fn make(purpose: &str) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let base = std::env::temp_dir().canonicalize()?;
        let root = base.join(format!("tripwire-{purpose}-{}-{number}", std::process::id()));
        std::fs::create_dir(&root)?;
        Ok(Self(root))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // What cannot be removed stays among the temporary files, which others clean up.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_folder_is_new_and_goes_with_all_that_is_in_it() {
        let (one, other) = (TempFolder::make("test").unwrap(), TempFolder::make("test").unwrap());
        assert_ne!(one.path(), other.path());
        let path = one.path().to_owned();
        std::fs::create_dir(path.join("a")).unwrap();
        std::fs::write(path.join("a/b"), "x").unwrap();
        drop(one);
        assert!(!path.exists() && other.path().is_dir());
    }
}
