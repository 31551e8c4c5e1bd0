//! A folder for one test.

use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A folder that no other test has, under its real path; gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    _held: tempfile::TempDir,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let held = tempfile::Builder::new().prefix("tripwire-test-").tempdir().expect("a folder");
        Self { path: std::fs::canonicalize(held.path()).expect("a path"), _held: held }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Deref for Scratch {
    type Target = PathBuf;

    fn deref(&self) -> &PathBuf {
        &self.path
    }
}
