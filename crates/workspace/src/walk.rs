//! The contents of files as digests, within bounds: what a workspace hash is made of.

use super::own_outputs::{FileId, own_outputs};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Bounds of one hash; what lies beyond them counts with its size only, and the hash says that it is capped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Caps {
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) depth: u32,
}

/// A digest that grows file by file.
pub(super) struct Contents {
    hasher: Sha256,
    caps: Caps,
    capped: u64,
    /// Files that this process writes itself.
    own: Vec<FileId>,
}

impl Contents {
    /// Starts a digest for one method, so that two methods never give the same hash by accident.
    pub(super) fn new(method: &str, caps: Caps) -> Self {
        let mut contents = Self { hasher: Sha256::new(), caps, capped: 0, own: own_outputs() };
        contents.field(b"tripwire workspace hash v1");
        contents.field(method.as_bytes());
        contents
    }

    /// Adds bytes with their length in front, so that fields cannot run into each other.
    pub(super) fn field(&mut self, bytes: &[u8]) {
        self.hasher.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
        self.hasher.update(bytes);
    }

    /// Adds one path below `root`: kind, executable bit, and contents or link target.
    pub(super) fn path(&mut self, root: &Path, path: &Path) {
        let full = root.join(path);
        let metadata = full.symlink_metadata();
        if metadata.as_ref().is_ok_and(|metadata| self.own.contains(&(metadata.dev(), metadata.ino()))) {
            return;
        }
        self.field(path.as_os_str().as_bytes());
        let Ok(metadata) = metadata else { return self.field(b"missing") };
        if metadata.is_symlink() {
            self.field(b"link");
            let target = std::fs::read_link(&full).unwrap_or_default();
            return self.field(target.as_os_str().as_bytes());
        }
        if !metadata.is_file() {
            return self.field(b"other");
        }
        self.field(if metadata.mode() & 0o100 == 0 { b"file" } else { b"program" });
        let size = metadata.len();
        if self.caps.files == 0 || self.caps.bytes < size {
            self.capped = self.capped.saturating_add(1);
            return self.field(&size.to_be_bytes());
        }
        self.caps.files = self.caps.files.saturating_sub(1);
        self.caps.bytes = self.caps.bytes.saturating_sub(size);
        match digest_of(&full) {
            Some(digest) => self.field(&digest),
            None => self.field(b"unreadable"),
        }
    }

    /// Adds every file below a folder, in the order of their paths.
    pub(super) fn tree(&mut self, root: &Path) {
        let mut open = vec![(PathBuf::new(), 0_u32)];
        while let Some((folder, depth)) = open.pop() {
            let names: BTreeSet<_> = std::fs::read_dir(root.join(&folder))
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| (entry.file_name(), entry.file_type().is_ok_and(|kind| kind.is_dir())))
                .filter(|(name, _)| !SKIPPED.iter().any(|skipped| name == skipped))
                .take(FOLDER_ENTRIES_MAX)
                .collect();
            // Folders are taken from the end of the list, so the last name is put there first.
            for (name, is_folder) in names.iter().rev() {
                if *is_folder && depth < self.caps.depth {
                    open.push((folder.join(name), depth.saturating_add(1)));
                }
            }
            for (name, is_folder) in &names {
                if !is_folder {
                    self.path(root, &folder.join(name));
                } else if depth >= self.caps.depth {
                    self.capped = self.capped.saturating_add(1);
                }
            }
            if self.caps.files == 0 && !open.is_empty() {
                self.capped = self.capped.saturating_add(1);
                return;
            }
        }
    }

    /// How many files or folders were counted by size only or not at all.
    pub(super) const fn capped(&self) -> u64 {
        self.capped
    }

    /// The digest in hexadecimal.
    pub(super) fn finish(self) -> String {
        self.hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The digest of one file's contents; a file that cannot be read has none.
fn digest_of(path: &Path) -> Option<[u8; 32]> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut file: File = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path).ok()?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0_u8; 64 * 1024];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(hasher.finalize().into()),
            length => hasher.update(buffer.get(..length)?),
        }
    }
}

/// Never part of a workspace: our own records, and git's.
const SKIPPED: [&str; 2] = [crate::geometry::layout::FOLDER, ".git"];
/// Most entries of one folder.
const FOLDER_ENTRIES_MAX: usize = 100_000;
