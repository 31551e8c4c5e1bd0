//! A pack: the objects of one snapshot in one file, with their list at its end. It gets its name when it is whole and synced.

use crate::binary::{Decoder, Encoder};
use crate::error::UndoError;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use tripwire_core::record::chain::Digest;
use tripwire_fs::file::{self, Draft, FileAction, FileError, FileMode};

const MAGIC: u64 = 0x3176_5f6f_646e_7574;
/// What stands behind the list: its place, its length in entries, and the mark of the format.
const TRAILER_BYTES: u64 = 24;
/// Bytes of one entry of the list.
const ENTRY_BYTES: u64 = 48;
/// What is gathered before it is written.
const BUFFER_BYTES: usize = 1 << 20;

/// Where an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// A pack under construction; dropped, it has never been.
#[derive(Debug)]
pub(crate) struct PackWriter {
    path: PathBuf,
    draft: Option<Draft>,
    buffer: Vec<u8>,
    written: u64,
    pub(crate) places: HashMap<Digest, Place>,
}

impl PackWriter {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, draft: None, buffer: Vec::new(), written: 0, places: HashMap::new() }
    }

    /// Adds an object, unless it is there.
    pub(crate) fn add(&mut self, digest: Digest, bytes: &[u8]) -> Result<(), FileError> {
        if self.places.contains_key(&digest) {
            return Ok(());
        }
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.places.insert(digest, Place { offset: self.written, length });
        self.written = self.written.saturating_add(length);
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), FileError> {
        let draft = match &mut self.draft {
            Some(draft) => draft,
            None => self.draft.insert(Draft::new(&self.path, FileMode::PRIVATE)?),
        };
        draft.write(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Puts the pack in its place, on the disk for certain; an empty one leaves nothing behind.
    pub(crate) fn publish(mut self) -> Result<(), FileError> {
        if self.places.is_empty() {
            return Ok(());
        }
        let mut list = Encoder(std::mem::take(&mut self.buffer));
        let mut sorted: Vec<(&Digest, &Place)> = self.places.iter().collect();
        sorted.sort();
        for (digest, place) in sorted {
            list.digest(digest);
            list.u64(place.offset);
            list.u64(place.length);
        }
        list.u64(self.written);
        list.u64(u64::try_from(self.places.len()).unwrap_or(u64::MAX));
        list.u64(MAGIC);
        self.buffer = list.0;
        self.flush()?;
        match self.draft.take() {
            Some(draft) => draft.publish(),
            None => Ok(()),
        }
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.offset, self.length).cmp(&(other.offset, other.length))
    }
}

/// A pack that is whole.
#[derive(Debug)]
pub(crate) struct Pack {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    file: File,
}

impl Pack {
    /// Opens a pack and reads its list.
    pub(crate) fn open(path: &Path) -> Result<(Self, Vec<(Digest, Place)>), UndoError> {
        let failed = || FileError::at(path, FileAction::Read);
        let file = file::open_plain(path).map_err(failed())?;
        let bytes = file.metadata().map_err(failed())?.len();
        let damaged = |what: &str| UndoError::Damaged { what: format!("`{}` {what}", path.display()) };
        let trailer = bytes.checked_sub(TRAILER_BYTES).ok_or_else(|| damaged("is cut off"))?;
        let mut tail = [0_u8; 24];
        file.read_exact_at(&mut tail, trailer).map_err(failed())?;
        let mut tail = Decoder(&tail);
        let (begin, count, magic) = (tail.u64(), tail.u64(), tail.u64());
        let (Some(begin), Some(count), Some(MAGIC)) = (begin, count, magic) else {
            return Err(damaged("is not a pack"));
        };
        let length = trailer.checked_sub(begin).filter(|length| count.checked_mul(ENTRY_BYTES) == Some(*length));
        let length = length.and_then(|length| usize::try_from(length).ok()).ok_or_else(|| damaged("has no list"))?;
        let mut list = vec![0_u8; length];
        file.read_exact_at(&mut list, begin).map_err(failed())?;
        let mut list = Decoder(&list);
        let mut places = Vec::new();
        while let (false, Some(digest), Some(offset), Some(length)) =
            (list.is_empty(), list.digest(), list.u64(), list.u64())
        {
            if offset.checked_add(length).is_none_or(|end| end > begin) {
                return Err(damaged("has a wrong list"));
            }
            places.push((digest, Place { offset, length }));
        }
        Ok((Self { path: path.to_owned(), bytes, file }, places))
    }

    /// The bytes at a place.
    pub(crate) fn read(&self, place: Place) -> Result<Vec<u8>, UndoError> {
        let length = usize::try_from(place.length).unwrap_or(usize::MAX);
        let mut bytes = vec![0_u8; length];
        self.file.read_exact_at(&mut bytes, place.offset).map_err(FileError::at(&self.path, FileAction::Read))?;
        Ok(bytes)
    }
}
