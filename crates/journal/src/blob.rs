//! Blobs: what is too large for a line, stored once under the digest of its bytes.
//!
//! A blob is durable before the record that points to it is written, and its bytes are checked whenever they are read:
//! a pointer never leads to something else than what was stored.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tripwire_core::record::canonical;
use tripwire_core::record::chain::Digest;

use super::error::JournalError;
use crate::storage::{self, OpenMode, Storage};

/// Larger bodies become pointers.
pub const INLINE_BYTES_MAX: usize = 64 << 10;

/// Larger things are refused, so that reading one cannot exhaust the memory.
pub const BLOB_BYTES_MAX: usize = 256 << 20;

/// How the body of a record begins that points to a blob; no other body may.
pub(crate) const POINTER_PREFIX: &str = "{\"$blob\":";

/// The blobs of a workspace.
#[derive(Debug, Clone)]
pub struct Blobs<S> {
    storage: S,
    dir: PathBuf,
}

/// Where a blob's bytes are, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobPointer {
    /// How many bytes.
    pub bytes: u64,
    /// Their digest, which is their address.
    pub sha256: Digest,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PointerBody {
    #[serde(rename = "$blob")]
    blob: BlobPointer,
}

impl BlobPointer {
    pub(crate) fn to_body(self) -> Result<String, JournalError> {
        Ok(canonical::to_string(&PointerBody { blob: self })?)
    }

    /// The pointer that a body is, if it is one.
    pub(crate) fn from_body(body: &str) -> Option<Self> {
        if !body.starts_with(POINTER_PREFIX) {
            return None;
        }
        serde_json::from_str(body).ok().map(|PointerBody { blob }| blob)
    }
}

impl<S: Storage> Blobs<S> {
    /// The blobs below a directory.
    pub const fn new(storage: S, dir: PathBuf) -> Self {
        Self { storage, dir }
    }

    /// Stores bytes durably and says where; bytes that are there already are not written again.
    ///
    /// # Errors
    /// I/O trouble, or more bytes than a blob may have.
    pub fn put(&self, bytes: &[u8]) -> Result<BlobPointer, JournalError> {
        let pointer = BlobPointer { bytes: storage::offset(bytes.len()), sha256: Digest::of(bytes) };
        if bytes.len() > BLOB_BYTES_MAX {
            return Err(refused(&pointer, "larger than 256 MiB"));
        }
        let path = self.path(&pointer.sha256);
        let dir = path.parent().unwrap_or(&self.dir).to_owned();
        if self.is_there(&path, bytes)? {
            // Another process may have stored it a moment ago: its name must last before a record points to it.
            self.sync_dir(&dir)?;
            return Ok(pointer);
        }
        self.storage.create_dir(&dir).map_err(|error| JournalError::io("create", &dir, error))?;
        let temporary = self.write_temporary(&path, bytes)?;
        self.storage.rename(&temporary, &path).map_err(|error| JournalError::io("rename", &temporary, error))?;
        self.sync_dir(&dir)?;
        Ok(pointer)
    }

    /// The bytes that a pointer names.
    ///
    /// # Errors
    /// The blob is missing or is not what was stored.
    pub fn get(&self, pointer: &BlobPointer) -> Result<Vec<u8>, JournalError> {
        let path = self.path(&pointer.sha256);
        let length = usize::try_from(pointer.bytes)
            .ok()
            .filter(|length| *length <= BLOB_BYTES_MAX)
            .ok_or_else(|| refused(pointer, "larger than 256 MiB"))?;
        let bytes = match self.storage.open(&path, OpenMode::Read) {
            Ok(file) => storage::read_range(&self.storage, &file, 0, length + 1),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(refused(pointer, "missing"));
            }
            Err(error) => Err(error),
        }
        .map_err(|error| JournalError::io("read", &path, error))?;
        if bytes.len() != length || Digest::of(&bytes) != pointer.sha256 {
            return Err(refused(pointer, "damaged"));
        }
        Ok(bytes)
    }

    /// A body as it was handed in: itself, or the bytes that it points to.
    pub(crate) fn resolve(&self, body: &str) -> Result<String, JournalError> {
        let Some(pointer) = BlobPointer::from_body(body) else {
            return Ok(body.to_owned());
        };
        String::from_utf8(self.get(&pointer)?).map_err(|_error| refused(&pointer, "not text"))
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        let name = digest.to_string();
        self.dir.join("sha256").join(name.get(..2).unwrap_or_default()).join(name)
    }

    /// Whether the very bytes are there; a damaged blob is replaced by what is being stored.
    fn is_there(&self, path: &Path, bytes: &[u8]) -> Result<bool, JournalError> {
        let file = match self.storage.open(path, OpenMode::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(JournalError::io("open", path, error)),
        };
        storage::read_range(&self.storage, &file, 0, bytes.len() + 1)
            .map(|found| found == bytes)
            .map_err(|error| JournalError::io("read", path, error))
    }

    /// Writes and syncs the bytes under a name of their own; leftovers of a crash are skipped, never reused.
    fn write_temporary(&self, path: &Path, bytes: &[u8]) -> Result<PathBuf, JournalError> {
        let mut attempt = 0;
        let (temporary, file) = loop {
            let temporary = path.with_extension(format!("{}-{attempt}.tmp", std::process::id()));
            match self.storage.open(&temporary, OpenMode::Create) {
                Ok(file) => break (temporary, file),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < ATTEMPTS_MAX => {
                    attempt += 1;
                }
                Err(error) => return Err(JournalError::io("create", &temporary, error)),
            }
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let written =
                self.storage.append(&file, rest).map_err(|error| JournalError::io("write", &temporary, error))?;
            if written == 0 {
                let error = io::ErrorKind::WriteZero.into();
                return Err(JournalError::io("write", &temporary, error));
            }
            rest = rest.get(written..).unwrap_or_default();
        }
        self.storage.sync(&file).map_err(|error| JournalError::io("sync", &temporary, error))?;
        Ok(temporary)
    }

    fn sync_dir(&self, dir: &Path) -> Result<(), JournalError> {
        self.storage.sync_dir(dir).map_err(|error| JournalError::io("sync", dir, error))
    }
}

fn refused(pointer: &BlobPointer, state: &'static str) -> JournalError {
    JournalError::Blob { digest: pointer.sha256.to_string(), state }
}

/// Leftover temporary names of crashed processes with our number; more than this many mean something else is wrong.
const ATTEMPTS_MAX: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::simulated::SimulatedDisk;

    fn blobs() -> (SimulatedDisk, Blobs<SimulatedDisk>) {
        let disk = SimulatedDisk::new(1);
        (disk.clone(), Blobs::new(disk, PathBuf::from("/g/blobs")))
    }

    #[test]
    fn mem_1_a_blob_comes_back_byte_for_byte_after_a_power_cut() {
        let (disk, blobs) = blobs();
        let pointer = blobs.put(&[0xff, 0, 7]).unwrap();
        disk.reboot();
        assert_eq!(blobs.get(&pointer).unwrap(), [0xff, 0, 7]);
        assert_eq!(blobs.put(&[0xff, 0, 7]).unwrap(), pointer);
    }

    #[test]
    fn a_damaged_blob_is_refused_and_healed_by_storing_it_again() {
        let (disk, blobs) = blobs();
        let pointer = blobs.put(b"some bytes").unwrap();
        let path = blobs.path(&pointer.sha256);
        disk.tamper(&path, |bytes| bytes[0] ^= 1).unwrap();
        assert!(matches!(blobs.get(&pointer), Err(JournalError::Blob { state: "damaged", .. })));
        disk.tamper(&path, |bytes| bytes.push(b'!')).unwrap();
        assert!(blobs.get(&pointer).is_err());
        blobs.put(b"some bytes").unwrap();
        assert_eq!(blobs.get(&pointer).unwrap(), b"some bytes");
    }

    #[test]
    fn a_blob_with_bytes_behind_it_is_refused_and_replaced() {
        let (disk, blobs) = blobs();
        let pointer = blobs.put(b"some bytes").unwrap();
        disk.tamper(&blobs.path(&pointer.sha256), |bytes| bytes.push(b'!')).unwrap();
        assert!(matches!(blobs.get(&pointer), Err(JournalError::Blob { state: "damaged", .. })));
        blobs.put(b"some bytes").unwrap();
        assert_eq!(blobs.get(&pointer).unwrap(), b"some bytes");
    }

    #[test]
    fn bytes_that_are_there_are_not_written_again() {
        use std::os::unix::fs::MetadataExt as _;
        let temp = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(storage::Disk, temp.path().to_owned());
        let pointer = blobs.put(b"some bytes").unwrap();
        let inode = || std::fs::metadata(blobs.path(&pointer.sha256)).unwrap().ino();
        let before = inode();
        blobs.put(b"some bytes").unwrap();
        assert_eq!(inode(), before);
    }

    #[test]
    fn a_blob_that_cannot_be_opened_is_an_error_and_is_not_replaced() {
        let temp = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(storage::Disk, temp.path().to_owned());
        let path = blobs.path(&blobs.put(b"some bytes").unwrap().sha256);
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&path, &path).unwrap();
        assert!(matches!(blobs.put(b"some bytes"), Err(JournalError::Io { .. })));
        assert!(path.is_symlink());
    }

    #[test]
    fn a_missing_blob_is_named() {
        let (_disk, blobs) = blobs();
        let pointer = BlobPointer { bytes: 1, sha256: Digest::of(b"x") };
        let error = blobs.get(&pointer).unwrap_err();
        assert_eq!(error.to_string(), format!("the blob `{}` is missing", pointer.sha256));
    }
}
