//! `HEAD`: the lock of a session and the place up to which its journal is known to be durable.
//!
//! It is a hint that never claims too much: it is written after the sync that it speaks of, in two slots in turn, so
//! that a torn write leaves the other slot. A missing or unreadable `HEAD` costs a scan of the last segment, nothing
//! else. It is never renamed, because processes lock it.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tripwire_core::record::canonical;
use tripwire_core::record::chain::Digest;

use super::error::JournalError;
use super::line::{Cut, Tail};
use crate::storage::{self, Storage, offset};

/// What `HEAD` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// A torn tail was cut and no record says so yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cut: Option<Cut>,
    /// The durable end of the chain.
    pub(crate) place: Place,
    /// Counts the writes, so that the newer slot wins and a process notices that another one was here.
    pub(crate) sequence: u64,
    /// Whether a synced append was begun and not seen to end.
    pub(crate) state: State,
    /// The version of the form.
    pub(crate) version: u64,
}

/// A place in the journal that a later process can go on from without reading what is before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Where the last record ends in its segment.
    pub(crate) end: u64,
    /// Where the last record begins in its segment; equal to `end` if the segment has none.
    pub(crate) last: u64,
    /// The segment's number.
    pub(crate) segment: u64,
    /// The end of the chain there.
    pub(crate) tail: Tail,
}

impl Place {
    /// The hash of the last record before this place.
    #[must_use]
    pub const fn tail_hash(&self) -> Digest {
        self.tail.hash
    }

    /// How many records come before this place.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.tail.index
    }

    /// The start of a segment.
    pub(crate) const fn start_of(segment: u64, tail: Tail) -> Self {
        Self { end: 0, last: 0, segment, tail }
    }
}

/// Whether the bytes behind the durable place are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// No synced append is under way.
    Clean,
    /// A sync may have failed or may never have been asked for: what can be read there may not be on disk.
    Pending,
}

/// A slot as it is read: what it says, as it is written, and the seal over that.
#[derive(Deserialize)]
struct Sealed<'slot> {
    #[serde(borrow)]
    head: &'slot RawValue,
    whole: &'slot str,
}

/// What every form of a slot says.
#[derive(Deserialize)]
struct Versioned {
    version: u64,
}

/// The bytes of `HEAD` and what they say, so that a process that finds them as it read or wrote them need not read them again.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeadImage {
    bytes: Vec<u8>,
    head: Option<Head>,
}

impl HeadImage {
    /// Follows a write of one slot. Where the file was never read whole, there is nothing to follow.
    fn follow(&mut self, at: usize, slot: &str, head: Head) {
        let place = self.bytes.get_mut(at..).and_then(|rest| rest.get_mut(..slot.len()));
        if let Some(place) = place {
            place.copy_from_slice(slot.as_bytes());
            self.head = Some(head);
        }
    }
}

/// Reads the newer valid slot; neither slot being valid is not an error, because a power cut may do that.
pub(crate) fn read<S: Storage>(
    storage: &S,
    file: &S::File,
    path: &Path,
    known: &mut HeadImage,
) -> Result<Option<Head>, JournalError> {
    let bytes = storage::read_range(storage, file, 0, SLOTS * SLOT_BYTES)
        .map_err(|error| JournalError::io("read", path, error))?;
    if bytes != known.bytes {
        let head = parse(&bytes, path)?;
        *known = HeadImage { bytes, head };
    }
    Ok(known.head)
}

fn parse(bytes: &[u8], path: &Path) -> Result<Option<Head>, JournalError> {
    let mut newest: Option<Head> = None;
    for slot in bytes.chunks(SLOT_BYTES).filter_map(parse_slot) {
        match slot {
            Slot::Known(head) => newest = newest.into_iter().chain([head]).max_by_key(|head| head.sequence),
            Slot::Newer { version } => {
                return Err(JournalError::Newer { path: path.to_owned(), version, known: VERSION });
            }
        }
    }
    Ok(newest)
}

/// Writes the slot that the sequence number selects, in one write.
pub(crate) fn write<S: Storage>(
    storage: &S,
    file: &S::File,
    path: &Path,
    head: &Head,
    known: &mut HeadImage,
) -> Result<(), JournalError> {
    let slot = render_slot(head)?;
    let at = if head.sequence.is_multiple_of(SLOTS_U64) { 0 } else { SLOT_BYTES };
    let written =
        storage.write_at(file, offset(at), slot.as_bytes()).map_err(|error| JournalError::io("write", path, error))?;
    if written != slot.len() {
        return Err(JournalError::io("write", path, std::io::ErrorKind::WriteZero.into()));
    }
    known.follow(at, &slot, *head);
    Ok(())
}

impl Head {
    /// The next state of the file.
    pub(crate) const fn next(sequence: u64, place: Place, state: State, cut: Option<Cut>) -> Self {
        Self { cut, place, sequence: sequence + 1, state, version: VERSION }
    }
}

fn render_slot(head: &Head) -> Result<String, JournalError> {
    let inner = canonical::to_string(head)?;
    let mut slot = format!(r#"{{"head":{inner},"whole":"{}"}}"#, seal(&inner));
    while slot.len() < SLOT_BYTES - 1 {
        slot.push(' ');
    }
    slot.push('\n');
    Ok(slot)
}

/// The seal is checked on what is there, not on what this version understands of it, so that a newer form is noticed
/// instead of being taken for a torn one.
fn parse_slot(bytes: &[u8]) -> Option<Slot> {
    let Sealed { head, whole } = serde_json::from_slice(bytes).ok()?;
    if seal(head.get()) != whole {
        return None;
    }
    let Versioned { version } = serde_json::from_str(head.get()).ok()?;
    if version > VERSION {
        return Some(Slot::Newer { version });
    }
    serde_json::from_str(head.get()).ok().map(Slot::Known)
}

/// The beginning of the digest of what a slot says.
fn seal(inner: &str) -> String {
    let mut seal = Digest::of(inner.as_bytes()).to_string();
    seal.truncate(SEAL_LENGTH);
    seal
}

/// A valid slot.
enum Slot {
    Known(Head),
    Newer { version: u64 },
}

/// The form that this program writes.
pub(crate) const VERSION: u64 = 1;

const SLOTS: usize = 2;
const SLOTS_U64: u64 = 2;
const SLOT_BYTES: usize = 512;
const SEAL_LENGTH: usize = 16;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::storage::simulated::SimulatedDisk;

    fn head(sequence: u64) -> Head {
        let place = Place {
            end: u64::MAX >> 11,
            last: u64::MAX >> 11,
            segment: u64::MAX >> 11,
            tail: Tail { index: u64::MAX >> 11, ..Tail::genesis() },
        };
        let cut = Cut { bytes: u64::MAX >> 11, sha256: Digest::of(b"") };
        Head::next(sequence, place, State::Pending, Some(cut))
    }

    #[test]
    fn the_largest_head_fits_its_slot() {
        assert_eq!(render_slot(&head((1 << 53) - 2)).unwrap().len(), SLOT_BYTES);
    }

    #[test]
    fn the_newer_slot_wins_and_a_torn_one_leaves_the_other() {
        let disk = SimulatedDisk::new(0);
        let path = Path::new("/s/HEAD");
        let lock = disk.lock(path, Duration::ZERO).unwrap();
        assert_eq!(read(&disk, &lock, path, &mut HeadImage::default()).unwrap(), None);
        write(&disk, &lock, path, &head(6), &mut HeadImage::default()).unwrap();
        write(&disk, &lock, path, &head(7), &mut HeadImage::default()).unwrap();
        assert_eq!(read(&disk, &lock, path, &mut HeadImage::default()).unwrap(), Some(head(7)));
        disk.tamper(path, |bytes| bytes[30] ^= 1).unwrap();
        assert_eq!(read(&disk, &lock, path, &mut HeadImage::default()).unwrap(), Some(head(6)));
        disk.tamper(path, |bytes| bytes[SLOT_BYTES + 30] ^= 1).unwrap();
        assert_eq!(read(&disk, &lock, path, &mut HeadImage::default()).unwrap(), None);
    }

    #[test]
    fn an_image_follows_its_own_writes_and_notices_those_of_others() {
        let disk = SimulatedDisk::new(0);
        let path = Path::new("/s/HEAD");
        let lock = disk.lock(path, Duration::ZERO).unwrap();
        let mut unread = HeadImage::default();
        write(&disk, &lock, path, &head(6), &mut unread).unwrap();
        assert_eq!((unread.bytes.len(), unread.head), (0, None), "nothing is known of the other slot");
        write(&disk, &lock, path, &head(7), &mut unread).unwrap();
        let mut image = HeadImage::default();
        assert_eq!(read(&disk, &lock, path, &mut image).unwrap(), Some(head(7)));
        for sequence in [8, 9] {
            write(&disk, &lock, path, &head(sequence), &mut image).unwrap();
            assert_eq!(image.head, Some(head(sequence)));
            let mut fresh = HeadImage::default();
            assert_eq!(read(&disk, &lock, path, &mut fresh).unwrap(), Some(head(sequence)));
            assert_eq!(image.bytes, fresh.bytes, "what was written is what is there");
        }
        write(&disk, &lock, path, &head(10), &mut HeadImage::default()).unwrap();
        assert_eq!(read(&disk, &lock, path, &mut image).unwrap(), Some(head(10)), "another process wrote");
    }

    #[test]
    fn a_newer_version_is_refused_and_not_guessed() {
        let disk = SimulatedDisk::new(0);
        let path = Path::new("/s/HEAD");
        let lock = disk.lock(path, Duration::ZERO).unwrap();
        let newer = Head { version: VERSION + 1, ..head(6) };
        write(&disk, &lock, path, &newer, &mut HeadImage::default()).unwrap();
        assert!(matches!(
            read(&disk, &lock, path, &mut HeadImage::default()),
            Err(JournalError::Newer { version: 2, .. })
        ));
    }
}
