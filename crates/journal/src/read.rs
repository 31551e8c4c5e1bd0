//! Reading records back, from an index or from a remembered place, in bounded pieces.

use tripwire_core::record::chain::Digest;

use super::error::{Damage, DamageCause, JournalError};
use super::head::Place;
use super::journal::Journal;
use super::limits::PIECE_BYTES;
use super::line::{self, Line, Tail, Times};
use super::names;
use crate::storage::{self, OpenMode, Storage, offset};

/// A record as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its number.
    pub index: u64,
    /// Its body, fetched from its blob if it was too large for a line.
    pub body: String,
    /// Its hash.
    pub hash: Digest,
    /// The hash of the record before it.
    pub previous: Digest,
    /// What the line says outside its hash.
    pub times: Times,
}

/// Some records, and where the next ones are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The records, in order.
    pub records: Vec<Record>,
    /// Where to read on.
    pub next: Place,
}

impl<S: Storage> Journal<S> {
    /// The place before the first record.
    #[must_use]
    pub fn beginning(&self) -> Place {
        Place::start_of(1, Tail::genesis())
    }

    /// The place before a record, found through the first records of the segments.
    ///
    /// # Errors
    /// Damage or I/O trouble. An index beyond the end gives the end.
    pub fn find(&self, index: u64) -> Result<Place, JournalError> {
        let end = self.view.place;
        if index >= end.tail.index {
            return Ok(end);
        }
        let (mut low, mut high) = (1, end.segment);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            match self.first_of(middle)? {
                Some(tail) if tail.index <= index => low = middle,
                Some(_) | None => high = middle - 1,
            }
        }
        let tail = self.first_of(low)?.unwrap_or(end.tail);
        let mut place = Place::start_of(low, tail);
        let wanted = usize::try_from(index.saturating_sub(tail.index)).unwrap_or(usize::MAX);
        self.visit(&mut place, wanted, |_line, _raw| Ok(()))?;
        Ok(place)
    }

    /// The place before a record, found from a place before it that is known.
    ///
    /// # Errors
    /// See [`Self::find`].
    pub fn find_after(&self, known: Place, index: u64) -> Result<Place, JournalError> {
        if index < known.tail.index {
            return self.find(index);
        }
        let mut place = known;
        let wanted = usize::try_from(index - known.tail.index).unwrap_or(usize::MAX);
        self.visit(&mut place, wanted, |_line, _raw| Ok(()))?;
        Ok(place)
    }

    /// Reads at most `limit` records from a place on, as far as this handle has looked.
    ///
    /// # Errors
    /// Damage, a missing blob, or I/O trouble.
    pub fn read(&self, from: Place, limit: usize) -> Result<Page, JournalError> {
        let mut records = Vec::new();
        let mut next = from;
        self.visit(&mut next, limit, |line, _raw| {
            records.push(self.record(line)?);
            Ok(())
        })?;
        Ok(Page { records, next })
    }

    fn record(&self, line: &Line<'_>) -> Result<Record, JournalError> {
        let damage = |fault| Damage::new(line.index, DamageCause::Line(fault));
        Ok(Record {
            index: line.index,
            body: self.blobs().resolve(line.body)?,
            hash: line.hash,
            previous: line.previous,
            times: line.times().map_err(damage)?,
        })
    }

    /// Walks over lines from a place, and moves it behind the last one shown.
    pub(super) fn visit(
        &self,
        place: &mut Place,
        limit: usize,
        mut show: impl FnMut(&Line<'_>, &[u8]) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let end = self.view.place;
        let mut left = limit;
        // A hook reads one line, the head: it must not pay for what only a long reader uses.
        let mut room = if limit > 1 { PIECE_BYTES } else { ONE_LINE_BYTES };
        while left > 0 && place.tail.index < end.tail.index {
            let bytes = self.piece(place, room)?;
            let mut consumed = 0;
            for raw in bytes.split_inclusive(|byte| *byte == b'\n') {
                let Some(text) = raw.strip_suffix(b"\n") else {
                    break;
                };
                if left == 0 || place.tail.index == end.tail.index {
                    return Ok(());
                }
                let line = (self.check)(text, &place.tail)
                    .map_err(|fault| Damage::new(place.tail.index, DamageCause::Line(fault)))?;
                show(&line, text)?;
                consumed += raw.len();
                left -= 1;
                *place = Place {
                    end: place.end + offset(raw.len()),
                    last: place.end,
                    segment: place.segment,
                    tail: Tail { hash: line.hash, index: line.index + 1 },
                };
            }
            if consumed > 0 {
                continue;
            }
            if room < PIECE_BYTES {
                // Not one whole line: it is longer than most, or the segment ends here.
                room = PIECE_BYTES;
                continue;
            }
            if place.segment == end.segment || !bytes.is_empty() {
                let fault = line::LineFault::Unfinished;
                return Err(Damage::new(place.tail.index, DamageCause::Line(fault)).into());
            }
            *place = Place::start_of(place.segment + 1, place.tail);
        }
        Ok(())
    }

    /// The next bytes from a place on, at most `room`; with [`PIECE_BYTES`] at least one whole line unless the segment ends
    /// there.
    fn piece(&self, place: &Place, room: usize) -> Result<Vec<u8>, JournalError> {
        let path = self.paths.segment(place.segment);
        self.storage
            .open(&path, OpenMode::Read)
            .and_then(|file| {
                let left = self.storage.size(&file)?.saturating_sub(place.end);
                let length = usize::try_from(left).unwrap_or(room).min(room);
                storage::read_range(&self.storage, &file, place.end, length)
            })
            .map_err(|error| JournalError::io("read", &path, error))
    }

    /// The tail before a segment's first record, by that record's own word; the reading that follows checks it.
    fn first_of(&self, number: u64) -> Result<Option<Tail>, JournalError> {
        let bytes = self.piece(&Place::start_of(number, Tail::genesis()), PIECE_BYTES)?;
        let first = bytes.split(|byte| *byte == b'\n').next();
        let first = first.unwrap_or_default();
        if first.is_empty() {
            return Ok(None);
        }
        let line = line::parse(first).map_err(|_fault| {
            let name = names::segment(number);
            JournalError::io("read", &self.paths.dir().join(name), std::io::ErrorKind::InvalidData.into())
        })?;
        Ok(Some(Tail { hash: line.previous, index: line.index }))
    }
}

/// Enough for nearly every single line.
const ONE_LINE_BYTES: usize = 16 << 10;
