//! Following a journal without its lock, for a reader that must never make a writer wait.
//!
//! Each line is checked by itself; the chain between them is not, and a line that is not finished yet is simply not there yet.

use std::io;

use super::error::{Damage, DamageCause, JournalError};
use super::line;
use super::read::Record;
use super::segment;
use crate::blob::Blobs;
use crate::limits::PIECE_BYTES;
use crate::limits::SEGMENT_READ_MAX;
use crate::paths::SessionPaths;
use crate::storage::{self, OpenMode, Storage, offset};

/// A place in a journal that moves forward as records are read.
#[derive(Debug)]
pub struct Follower<S: Storage> {
    storage: S,
    paths: SessionPaths,
    blobs: Blobs<S>,
    segment: u64,
    end: u64,
}

impl<S: Storage + Clone> Follower<S> {
    /// Follows a journal from its first record on; it need not be there yet.
    #[must_use]
    pub fn from_start(storage: S, paths: SessionPaths) -> Self {
        Self { blobs: Blobs::new(storage.clone(), paths.blobs().to_owned()), storage, paths, segment: 1, end: 0 }
    }

    /// Follows a journal from where it ends now.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn from_end(storage: S, paths: SessionPaths) -> Result<Self, JournalError> {
        let mut follower = Self::from_start(storage, paths);
        let names = match follower.storage.list(follower.paths.dir()) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(follower),
            Err(error) => return Err(JournalError::io("list", follower.paths.dir(), error)),
        };
        follower.segment = segment::numbers(&names).unwrap_or(1).max(1);
        let bytes = follower.bytes(SEGMENT_READ_MAX)?.unwrap_or_default();
        follower.end = offset(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1));
        Ok(follower)
    }

    /// At most `limit` further records; none if there are none yet.
    ///
    /// # Errors
    /// A line that is finished does not hold, or the file cannot be read. The place stays before it.
    pub fn next(&mut self, limit: usize) -> Result<Vec<Record>, JournalError> {
        self.read_on(limit, |follower, text| follower.record(text))
    }

    /// At most `limit` further lines as they stand in the file, without their line feeds; none if there are none yet. Each is a
    /// whole record and is durable when this returns, so that a copy of it is never ahead of the disk.
    ///
    /// # Errors
    /// See [`Self::next`]; also when the disk does not confirm them. The place stays before them.
    pub fn next_lines(&mut self, limit: usize) -> Result<Vec<String>, JournalError> {
        let before = (self.segment, self.end);
        let taken = self.read_on(limit, |_follower, text| {
            line::parse(text).map_err(|fault| Damage::new(0, DamageCause::Line(fault)))?;
            // What parsed is text.
            Ok(String::from_utf8_lossy(text).into_owned())
        });
        let durable = taken.and_then(|lines| self.sync(before.0).map(|()| lines));
        if durable.is_err() {
            (self.segment, self.end) = before;
        }
        durable
    }

    /// Makes the segments from this one up to the place durable.
    fn sync(&self, first: u64) -> Result<(), JournalError> {
        for number in first..=self.segment {
            let path = self.paths.segment(number);
            let synced = match self.storage.open(&path, OpenMode::Read) {
                Ok(file) => self.storage.sync(&file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => Err(error),
            };
            synced.map_err(|error| JournalError::io("sync", &path, error))?;
        }
        Ok(())
    }

    fn read_on<T>(
        &mut self,
        limit: usize,
        mut take: impl FnMut(&Self, &[u8]) -> Result<T, JournalError>,
    ) -> Result<Vec<T>, JournalError> {
        let mut taken = Vec::new();
        while taken.len() < limit {
            let Some(bytes) = self.bytes(PIECE_BYTES)? else { break };
            let before = self.end;
            for raw in bytes.split_inclusive(|byte| *byte == b'\n') {
                let Some(text) = raw.strip_suffix(b"\n").filter(|_| taken.len() < limit) else { break };
                taken.push(take(self, text)?);
                self.end += offset(raw.len());
            }
            if self.end == before && !self.moved_on() {
                break;
            }
        }
        Ok(taken)
    }

    /// Leaves out everything that is there now, and says how many records that were.
    ///
    /// # Errors
    /// See [`Self::next`].
    pub fn skip(&mut self) -> Result<u64, JournalError> {
        let mut skipped = 0;
        loop {
            let bytes = self.bytes(SEGMENT_READ_MAX)?.unwrap_or_default();
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let lines = bytes.get(..whole).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count();
            skipped += offset(lines);
            self.end += offset(whole);
            if !self.moved_on() {
                return Ok(skipped);
            }
        }
    }

    fn record(&self, text: &[u8]) -> Result<Record, JournalError> {
        // The index of a line that cannot be read is not known.
        let line = line::parse(text).map_err(|fault| Damage::new(0, DamageCause::Line(fault)))?;
        let damage = |fault| Damage::new(line.index, DamageCause::Line(fault));
        Ok(Record {
            index: line.index,
            body: self.blobs.resolve(line.body)?,
            hash: line.hash,
            previous: line.previous,
            times: line.times().map_err(damage)?,
        })
    }

    /// The bytes behind the place; nothing where the file is not there yet.
    fn bytes(&self, length: usize) -> Result<Option<Vec<u8>>, JournalError> {
        let path = self.paths.segment(self.segment);
        let file = match self.storage.open(&path, OpenMode::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(JournalError::io("open", &path, error)),
        };
        let bytes = storage::read_range(&self.storage, &file, self.end, length);
        bytes.map(Some).map_err(|error| JournalError::io("read", &path, error))
    }

    /// Goes on to the next segment, if there is one: then this one is finished.
    fn moved_on(&mut self) -> bool {
        if self.storage.open(&self.paths.segment(self.segment + 1), OpenMode::Read).is_err() {
            return false;
        }
        self.segment += 1;
        self.end = 0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::simulated::SimulatedDisk;
    use crate::{Append, Batch, Durability, Entry, Journal, Options};
    use std::borrow::Cow;
    use std::collections::BTreeMap;
    use std::path::Path;

    fn paths() -> SessionPaths {
        SessionPaths::of_ledger(Path::new("/w/.geometry"))
    }

    fn add(journal: &mut Journal<SimulatedDisk>, count: usize) {
        for _ in 0..count {
            let body = format!("{{\"n\":{}}}", journal.records());
            let entry = Entry { body: Cow::Owned(body), durations_ms: BTreeMap::new(), wall_ms: 7 };
            let batch = Batch { entries: vec![entry], durability: Durability::Grouped, after: None };
            assert!(matches!(journal.append(&batch).unwrap(), Append::Ack(_)));
        }
    }

    #[test]
    fn a_follower_sees_every_record_once_over_segments_and_takes_no_lock() {
        let disk = SimulatedDisk::new(3);
        let mut follower = Follower::from_start(disk.clone(), paths());
        assert!(follower.next(10).unwrap().is_empty(), "there is no journal yet");
        let options = Options { segment_bytes: 600, ..Options::default() };
        let mut journal = Journal::open(disk.clone(), paths(), options).unwrap();
        let mut seen = Vec::new();
        for round in 0..10 {
            add(&mut journal, round);
            // A held lock makes no difference to a reader.
            let turn = journal.turn().unwrap();
            loop {
                let records = follower.next(4).unwrap();
                if records.is_empty() {
                    break;
                }
                seen.extend(records.iter().map(|record| record.index));
            }
            drop(turn);
        }
        assert_eq!(seen, (0..45).collect::<Vec<u64>>());
    }

    #[test]
    fn a_follower_from_the_end_sees_only_what_comes_later_and_skips_what_it_is_told_to() {
        let disk = SimulatedDisk::new(4);
        let options = Options { segment_bytes: 600, ..Options::default() };
        let mut journal = Journal::open(disk.clone(), paths(), options).unwrap();
        add(&mut journal, 9);
        let mut follower = Follower::from_end(disk, paths()).unwrap();
        assert!(follower.next(10).unwrap().is_empty());
        add(&mut journal, 2);
        assert_eq!(follower.next(10).unwrap().iter().map(|record| record.index).collect::<Vec<_>>(), [9, 10]);
        add(&mut journal, 7);
        assert_eq!(follower.skip().unwrap(), 7);
        add(&mut journal, 1);
        assert_eq!(follower.next(10).unwrap().first().map(|record| record.index), Some(18));
    }

    #[test]
    fn lines_are_those_of_the_file_and_survive_a_power_cut() {
        let disk = SimulatedDisk::new(6);
        let options = Options { segment_bytes: 600, ..Options::default() };
        let mut journal = Journal::open(disk.clone(), paths(), options).unwrap();
        add(&mut journal, 9);
        let mut follower = Follower::from_start(disk.clone(), paths());
        let mut lines = follower.next_lines(4).unwrap();
        lines.extend(follower.next_lines(100).unwrap());
        assert!(follower.next_lines(5).unwrap().is_empty());
        // Nothing was synced by the writer: what was handed out is there after the cut all the same.
        disk.reboot();
        let mut again = Follower::from_start(disk, paths());
        assert_eq!(again.next_lines(100).unwrap(), lines);
        assert_eq!(lines.len(), 9);
        let parsed = line::parse(lines[8].as_bytes()).unwrap();
        assert_eq!((parsed.before().index, parsed.tail().index), (8, 9));
        let previous = line::parse(lines[7].as_bytes()).unwrap();
        assert_eq!(parsed.before().hash, previous.tail().hash);
    }

    #[test]
    fn a_line_that_is_not_finished_is_not_there_and_one_that_does_not_hold_is_damage() {
        let disk = SimulatedDisk::new(5);
        let mut journal = Journal::open(disk.clone(), paths(), Options::default()).unwrap();
        add(&mut journal, 2);
        let mut follower = Follower::from_start(disk.clone(), paths());
        assert_eq!(follower.next(1).unwrap().len(), 1);
        let segment = paths().segment(1);
        let mut last = Vec::new();
        disk.tamper(&segment, |bytes| last.extend(bytes.pop())).unwrap();
        assert!(follower.next(5).unwrap().is_empty());
        disk.tamper(&segment, |bytes| bytes.append(&mut last)).unwrap();
        assert_eq!(follower.next(5).unwrap().len(), 1);
        add(&mut journal, 1);
        disk.tamper(&segment, |bytes| {
            let at = bytes.len() - 40;
            bytes[at] ^= 1;
        })
        .unwrap();
        assert!(follower.next(5).is_err());
    }
}
