//! A look at a journal that changes nothing: no lock, no recovery, no new file. Others may be writing meanwhile.
//!
//! The end is the last record that continues the chain in the last segment. What comes before it is checked when it is
//! read; that all of it verifies is for [`crate::verify::verify`] or a reading from the beginning to say.

use std::convert::Infallible;
use std::io;

use crate::batch::Options;
use crate::blob::Blobs;
use crate::error::{Damage, DamageCause, JournalError};
use crate::head::{HeadImage, Place};
use crate::journal::{Health, Journal};
use crate::limits::SEGMENT_READ_MAX;
use crate::line::{self, Tail};
use crate::paths::SessionPaths;
use crate::recover::{Recovery, View};
use crate::segment;
use crate::storage::Storage;

impl<S: Storage + Clone> Journal<S> {
    /// Opens a session's journal for reading only: every write through it is refused. A journal that is damaged at its end, or
    /// whose `HEAD` is of a newer form, opens up to the last record that can be trusted; the damage is told beside it.
    ///
    /// # Errors
    /// There is no such session, or its files cannot be read.
    pub fn look(storage: S, paths: SessionPaths) -> Result<(Self, Option<Damage>), JournalError> {
        let start = Place::start_of(1, Tail::genesis());
        let view = View { place: start, durable: start, sequence: 0, cut: None };
        let blobs = Blobs::new(storage.clone(), paths.blobs().to_owned());
        let mut journal = Self {
            storage,
            paths,
            options: Options::default(),
            check: line::check,
            blobs,
            view,
            image: HeadImage::default(),
            grown: None,
            health: Health::ReadOnly,
            last_turn: None,
        };
        let damage = journal.find_end(None)?;
        Ok((journal, damage))
    }

    /// Looks how far the journal reaches by now. Only for one that was opened by [`Self::look`].
    ///
    /// # Errors
    /// Its files cannot be read.
    pub fn look_again(&mut self) -> Result<Option<Damage>, JournalError> {
        let known = Some(self.view.place).filter(|place| place.records() > 0);
        self.find_end(known)
    }

    /// Ends the view before a record that cannot be trusted.
    ///
    /// # Errors
    /// What comes before it cannot be read.
    pub fn end_before(&mut self, index: u64) -> Result<(), JournalError> {
        self.view.place = self.find(index)?;
        Ok(())
    }

    fn find_end(&mut self, known: Option<Place>) -> Result<Option<Damage>, JournalError> {
        let none = || JournalError::NoSession(self.paths.session().to_string());
        let names = match self.storage.list(self.paths.dir()) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(none()),
            Err(error) => return Err(JournalError::io("list", self.paths.dir(), error)),
        };
        let (last, missing) = match segment::numbers(&names) {
            Ok(0) => return Err(none()),
            Ok(last) => (last, None),
            Err(name) => (segment::before(&name), Some(name)),
        };
        let recovery = Recovery { storage: &self.storage, paths: &self.paths, check: self.check };
        let grown = known
            .filter(|place| place.segment <= last && recovery.size(place.segment).is_ok_and(|size| size >= place.end));
        let start = match grown.map_or_else(|| recovery.start_of_segment(last.max(1)), Ok) {
            Ok(place) => place,
            // The record before the last segment is damaged: only a walk from the beginning finds the last good one.
            Err(JournalError::Damaged(_)) => Place::start_of(1, Tail::genesis()),
            Err(error) => return Err(error),
        };
        let (place, damage) = walk(&recovery, start, last)?;
        self.view.place = place;
        let hole = missing.map(|name| Damage::new(place.records(), DamageCause::SegmentMissing { name }));
        Ok(damage.or(hole))
    }
}

/// Goes from a place to the last record that continues the chain. An unfinished end of the last segment is a write under way or
/// a torn one, and no damage.
fn walk<S: Storage>(
    recovery: &Recovery<'_, S>,
    start: Place,
    last: u64,
) -> Result<(Place, Option<Damage>), JournalError> {
    let mut place = start;
    loop {
        let size = recovery.size(place.segment)?;
        let length = usize::try_from(size.saturating_sub(place.end)).unwrap_or(usize::MAX).min(SEGMENT_READ_MAX);
        let bytes = recovery.read(place.segment, place.end, length)?;
        let Ok(scan) = segment::scan(&bytes, place.tail, recovery.check, |_line, _raw| Ok::<(), Infallible>(()));
        let reached = scan.reached(&place);
        let rest = bytes.get(scan.valid..).unwrap_or_default();
        match scan.fault {
            None if place.segment < last => place = Place::start_of(place.segment + 1, scan.tail),
            None => return Ok((reached, None)),
            Some(fault) if place.segment < last => {
                return Ok((reached, Some(Damage::new(scan.tail.index, DamageCause::Line(fault)))));
            }
            Some(fault) => return Ok((reached, segment::judge(rest, scan.tail.index, fault).err())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{Batch, Durability, Entry};
    use crate::storage::Disk;
    use crate::storage::simulated::SimulatedDisk;
    use crate::wall_clock::WallClock;
    use crate::{Append, SessionId};
    use std::path::Path;

    fn paths() -> SessionPaths {
        SessionPaths::new(Path::new("/g"), &SessionId::first(WallClock::from_epoch_ms(0)))
    }

    fn append(journal: &mut Journal<SimulatedDisk>, count: usize) {
        for _ in 0..count {
            let entry = Entry { body: "{\"a\":1}".into(), durations_ms: [].into(), wall_ms: 1 };
            let batch = Batch { entries: vec![entry], durability: Durability::Synced, after: None };
            assert!(matches!(journal.append(&batch), Ok(Append::Ack(_))));
        }
    }

    #[test]
    fn a_look_sees_all_records_follows_the_writer_and_writes_nothing() {
        let disk = SimulatedDisk::new(0);
        let mut writer = Journal::open(disk.clone(), paths(), Options::default()).unwrap();
        append(&mut writer, 3);
        let (mut look, damage) = Journal::look(disk.clone(), paths()).unwrap();
        assert_eq!((look.records(), damage), (3, None));
        append(&mut writer, 2);
        assert_eq!((look.look_again().unwrap(), look.records()), (None, 5));
        assert_eq!(look.read(look.beginning(), 9).unwrap().records.len(), 5);
        assert!(matches!(look.turn(), Err(JournalError::ReadOnly)));
        look.end_before(2).unwrap();
        assert_eq!(look.read(look.beginning(), 9).unwrap().records.len(), 2);
        assert!(matches!(
            Journal::look(SimulatedDisk::new(0), paths()),
            Err(JournalError::NoSession(_) | JournalError::Io { .. })
        ));
    }

    #[test]
    fn a_session_that_is_not_there_is_told_apart_from_one_that_cannot_be_listed() {
        let temp = tempfile::tempdir().unwrap();
        let paths = SessionPaths::new(temp.path(), &SessionId::first(WallClock::from_epoch_ms(0)));
        let look = || Journal::look(Disk, paths.clone()).err();
        assert!(matches!(look(), Some(JournalError::NoSession(_))));
        std::fs::create_dir_all(paths.dir()).unwrap();
        assert!(matches!(look(), Some(JournalError::NoSession(_))), "a folder without a record");
        std::fs::remove_dir(paths.dir()).unwrap();
        std::fs::write(paths.dir(), "a file").unwrap();
        assert!(matches!(look(), Some(JournalError::Io { action: "list", .. })));
    }

    #[test]
    fn a_second_look_reads_what_is_new_and_believes_nothing_that_is_gone() {
        let disk = SimulatedDisk::new(0);
        let mut writer = Journal::open(disk.clone(), paths(), Options::default()).unwrap();
        append(&mut writer, 100);
        let (mut look, _none) = Journal::look(disk.clone(), paths()).unwrap();
        append(&mut writer, 1);
        let before = disk.bytes_read();
        assert_eq!((look.look_again().unwrap(), look.records()), (None, 101));
        let line = writer.place().end / 101;
        assert!(disk.bytes_read() - before < 10 * line, "{} bytes for one line", disk.bytes_read() - before);
        // The file is shorter than before: what was seen behind its end is not there any more.
        let kept = usize::try_from(writer.place().last).unwrap();
        disk.tamper(&paths().segment(1), |bytes| bytes.truncate(kept)).unwrap();
        assert_eq!((look.look_again().unwrap(), look.records()), (None, 100));
    }

    #[test]
    fn a_torn_end_is_damage_wherever_records_follow_it() {
        let disk = SimulatedDisk::new(0);
        let options = Options { segment_bytes: 1_000, ..Options::default() };
        let mut writer = Journal::open(disk.clone(), paths(), options).unwrap();
        append(&mut writer, 12);
        let last = writer.place().segment;
        assert!(last > 2, "{last}");
        // What the last segment follows was cut in the middle of its last line.
        let mut lines = 0;
        for number in 1..last {
            disk.tamper(&paths().segment(number), |bytes| {
                lines += bytes.split(|byte| *byte == b'\n').count() - 1;
                if number + 1 == last {
                    bytes.truncate(bytes.len() - 20);
                }
            })
            .unwrap();
        }
        let (look, damage) = Journal::look(disk, paths()).unwrap();
        let first_bad = u64::try_from(lines - 1).unwrap();
        assert_eq!((look.records(), damage.map(|damage| damage.index())), (first_bad, Some(first_bad)));
    }

    #[test]
    fn a_look_ends_before_the_damage_and_keeps_a_torn_end_where_it_is() {
        let disk = SimulatedDisk::new(0);
        let mut writer = Journal::open(disk.clone(), paths(), Options::default()).unwrap();
        append(&mut writer, 4);
        let segment = paths().segment(1);
        let mut length = 0;
        disk.tamper(&segment, |bytes| {
            bytes.extend_from_slice(b"{\"b\":torn");
            length = bytes.len();
        })
        .unwrap();
        let (look, damage) = Journal::look(disk.clone(), paths()).unwrap();
        assert_eq!((look.records(), damage), (4, None));
        disk.tamper(&segment, |bytes| {
            assert_eq!(bytes.len(), length, "a look cuts nothing");
            bytes[10] ^= 1;
        })
        .unwrap();
        let (look, damage) = Journal::look(disk, paths()).unwrap();
        assert_eq!((look.records(), damage.map(|damage| damage.index())), (0, Some(0)));
    }
}
