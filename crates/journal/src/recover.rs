//! What a process does when it takes the lock: finds the end of the journal, and repairs what a crash left there.
//!
//! There are three cases. Valid records behind the durable place are kept. An invalid end that nothing proves to
//! have been durable is torn and is cut. Everything else is damage and is refused. If a synced append was begun and not
//! seen to end, the bytes behind the durable place are written again in place before they are trusted: after a failed
//! sync they can be read and yet may never reach the disk, and cutting them could lose what was acknowledged.

use std::convert::Infallible;
use std::io;

use tripwire_core::record::chain::Digest;

use super::error::{Damage, DamageCause, JournalError};
use super::head::{self, Head, HeadImage, Place, State};
use super::line::{self, Cut, Tail};
use super::segment::{self, LineCheck, Scan};
use crate::limits::{LINE_BYTES_MAX, SEGMENT_BYTES, SEGMENT_READ_MAX};
use crate::names;
use crate::paths::SessionPaths;
use crate::storage::{self, OpenMode, Storage, offset};

/// What this handle knows about the files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    /// The end of the journal.
    pub(crate) place: Place,
    /// The end of what is known to be durable.
    pub(crate) durable: Place,
    /// The sequence number of `HEAD` when it was last read or written.
    pub(crate) sequence: u64,
    /// A cut that no record mentions yet.
    pub(crate) cut: Option<Cut>,
}

/// One look at the files, under the lock.
pub(super) struct Recovery<'journal, S> {
    pub(super) storage: &'journal S,
    pub(super) paths: &'journal SessionPaths,
    pub(super) check: LineCheck,
}

impl<S: Storage> Recovery<'_, S> {
    /// Brings a view up to date, or makes the first one.
    pub(super) fn run(
        &self,
        lock: &S::Lock,
        known: Option<&View>,
        image: &mut HeadImage,
    ) -> Result<View, JournalError> {
        let head_path = self.paths.head();
        let head = head::read(self.storage, lock, &head_path, image)?;
        if let Some(view) = known
            && self.is_current(view, head.as_ref())?
        {
            return Ok(*view);
        }
        let last = self.last_segment(head.as_ref())?;
        let start = match (known, head) {
            (Some(view), _) => view.place,
            (None, Some(head)) => self.confirm(&head)?,
            (None, None) => self.start_of_segment(last)?,
        };
        let durable = match (known, head) {
            (_, Some(head)) => head.place,
            (Some(view), None) => view.durable,
            (None, None) => start,
        };
        let (place, torn) = self.walk(start, last)?;
        if place.tail.index < durable.tail.index {
            let cause = DamageCause::Missing { known: durable.tail.index };
            return Err(Damage::new(place.tail.index, cause).into());
        }
        let mut view = View {
            place,
            durable,
            sequence: head.map_or(0, |head| head.sequence),
            // The first record behind the place of a cut mentions it, so it is owed only while there is none.
            cut: head.filter(|head| head.place.tail.index == place.tail.index).and_then(|head| head.cut),
        };
        view.cut = torn.or(view.cut);
        let is_pending = head.is_some_and(|head| head.state == State::Pending);
        if torn.is_some() || is_pending {
            // From here to the clean mark a crash or a failed sync makes the next process do all of this again.
            self.mark(lock, &mut view, State::Pending, image)?;
            if torn.is_some() {
                self.cut(&place)?;
            }
            self.rewrite(&durable, &place)?;
            view.durable = place;
            self.mark(lock, &mut view, State::Clean, image)?;
        } else if head.is_none() {
            self.mark(lock, &mut view, State::Clean, image)?;
        }
        Ok(view)
    }

    fn mark(&self, lock: &S::Lock, view: &mut View, state: State, image: &mut HeadImage) -> Result<(), JournalError> {
        let head = Head::next(view.sequence, view.durable, state, view.cut);
        head::write(self.storage, lock, &self.paths.head(), &head, image)?;
        view.sequence = head.sequence;
        Ok(())
    }

    /// Whether no process wrote since this view was made: the common case, which must stay cheap.
    fn is_current(&self, view: &View, head: Option<&Head>) -> Result<bool, JournalError> {
        let is_same = head.is_some_and(|head| {
            head.sequence == view.sequence && head.place == view.durable && head.state == State::Clean
        });
        if !is_same {
            return Ok(false);
        }
        let path = self.paths.segment(view.place.segment);
        let file = match self.storage.open(&path, OpenMode::Read) {
            Ok(file) => file,
            // The slow way names the damage.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(JournalError::io("open", &path, error)),
        };
        let size = self.storage.size(&file).map_err(|error| JournalError::io("examine", &path, error))?;
        Ok(size == view.place.end)
    }

    /// The number of the last segment; a first or a just announced one is made.
    fn last_segment(&self, head: Option<&Head>) -> Result<u64, JournalError> {
        let names =
            self.storage.list(self.paths.dir()).map_err(|error| JournalError::io("list", self.paths.dir(), error))?;
        let missing =
            |name: String, index| JournalError::from(Damage::new(index, DamageCause::SegmentMissing { name }));
        let last = match segment::numbers(&names) {
            Ok(last) => last,
            Err(name) => {
                let index = self.first_missing(&name)?;
                return Err(missing(name, index));
            }
        };
        let announced = head.map_or(1, |head| head.place.segment);
        let is_new = head.is_none_or(|head| head.place.end == 0);
        if announced <= last {
            if is_new {
                // The process that made the file may have failed before its name was durable.
                sync_names(self.storage, self.paths)?;
            }
            return Ok(last);
        }
        if announced > last + 1 || !is_new {
            let name = names::segment(last + 1);
            let index = self.first_missing(&name)?;
            return Err(missing(name, index));
        }
        create_segment(self.storage, self.paths, announced)?;
        Ok(announced)
    }

    /// The index of the first record of a missing segment: one more than the last before it.
    fn first_missing(&self, name: &str) -> Result<u64, JournalError> {
        let last = segment::before(name);
        Ok(self.start_of_segment(last + 1)?.tail.index)
    }

    /// Checks that the record before the durable place is the one that `HEAD` names.
    fn confirm(&self, head: &Head) -> Result<Place, JournalError> {
        let place = head.place;
        if place.end == 0 {
            let found = self.start_of_segment(place.segment)?;
            return if found == place { Ok(place) } else { Err(disagrees(&place, found.tail)) };
        }
        let length = usize::try_from(place.end.saturating_sub(place.last)).unwrap_or(usize::MAX);
        if length > LINE_BYTES_MAX {
            return Err(disagrees(&place, place.tail));
        }
        let bytes = self.read(place.segment, place.last, length)?;
        let raw = bytes.strip_suffix(b"\n").unwrap_or_default();
        match line::parse(raw) {
            Ok(line) if line.hash == place.tail.hash && line.index + 1 == place.tail.index => Ok(place),
            // Only a walk from the start of the segment can name the first bad record.
            Ok(_) | Err(_) => {
                let start = self.start_of_segment(place.segment)?;
                let (found, _torn) = self.walk(start, place.segment)?;
                Err(disagrees(&place, found.tail))
            }
        }
    }

    /// The place before a segment's first record, from the last record of the segment before it.
    pub(super) fn start_of_segment(&self, number: u64) -> Result<Place, JournalError> {
        if number <= 1 {
            return Ok(Place::start_of(1, Tail::genesis()));
        }
        let before = number - 1;
        let size = self.size(before)?;
        let length = LINE_BYTES_MAX.min(usize::try_from(size).unwrap_or(usize::MAX));
        let bytes = self.read(before, size - offset(length), length)?;
        let whole = bytes.strip_suffix(b"\n").unwrap_or_default();
        let raw = whole.rsplit(|byte| *byte == b'\n').next();
        match line::parse(raw.unwrap_or_default()) {
            Ok(line) => {
                let tail = Tail { hash: line.hash, index: line.index + 1 };
                Ok(Place::start_of(number, tail))
            }
            Err(fault) => {
                // A finished segment never has a torn end.
                let bytes = self.read(before, 0, SEGMENT_READ_MAX)?;
                let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
                let start = line::parse(first).map_or_else(
                    |_fault| self.start_of_segment(before).map(|place| place.tail),
                    |line| Ok(Tail { hash: line.previous, index: line.index }),
                )?;
                let scan = self.scan(&bytes, start);
                let fault = scan.fault.unwrap_or(fault);
                let damage = Damage::new(scan.tail.index, DamageCause::Line(fault));
                Err(damage.into())
            }
        }
    }

    /// Verifies from a place to the end; only the last segment may have a torn end.
    fn walk(&self, start: Place, last: u64) -> Result<(Place, Option<Cut>), JournalError> {
        let mut place = start;
        loop {
            let size = self.size(place.segment)?;
            if size < place.end {
                let cause = DamageCause::Missing { known: place.tail.index };
                let index = self.first_bad(&place)?;
                return Err(Damage::new(index, cause).into());
            }
            let length = usize::try_from(size - place.end).unwrap_or(usize::MAX);
            if length > SEGMENT_READ_MAX {
                let cause = DamageCause::SegmentTooLarge { name: names::segment(place.segment) };
                return Err(Damage::new(place.tail.index, cause).into());
            }
            let bytes = self.read(place.segment, place.end, length)?;
            let scan = self.scan(&bytes, place.tail);
            let reached = scan.reached(&place);
            match scan.fault {
                None if place.segment < last => {
                    place = Place::start_of(place.segment + 1, scan.tail);
                }
                None => return Ok((reached, None)),
                Some(fault) => {
                    let bad = scan.tail.index;
                    let rest = bytes.get(scan.valid..).unwrap_or_default();
                    if place.segment < last {
                        return Err(Damage::new(bad, DamageCause::Line(fault)).into());
                    }
                    segment::judge(rest, bad, fault)?;
                    let cut = Cut { bytes: offset(rest.len()), sha256: Digest::of(rest) };
                    return Ok((reached, Some(cut)));
                }
            }
        }
    }

    /// Where a segment that is shorter than it was stops being valid.
    fn first_bad(&self, place: &Place) -> Result<u64, JournalError> {
        let start = self.start_of_segment(place.segment)?;
        let bytes = self.read(place.segment, 0, SEGMENT_READ_MAX)?;
        Ok(self.scan(&bytes, start.tail).tail.index)
    }

    fn scan(&self, bytes: &[u8], tail: Tail) -> Scan {
        let Ok(scan) = segment::scan(bytes, tail, self.check, |_line, _raw| Ok::<(), Infallible>(()));
        scan
    }

    /// Cuts the torn end, durably, before anything is written behind it.
    fn cut(&self, place: &Place) -> Result<(), JournalError> {
        let path = self.paths.segment(place.segment);
        let file =
            self.storage.open(&path, OpenMode::Update).map_err(|error| JournalError::io("open", &path, error))?;
        self.storage.truncate(&file, place.end).map_err(|error| JournalError::io("cut", &path, error))?;
        self.storage.sync(&file).map_err(|error| JournalError::io("sync", &path, error))
    }

    /// Writes the bytes behind the durable place again where they are, and syncs them.
    fn rewrite(&self, durable: &Place, place: &Place) -> Result<(), JournalError> {
        let start = if durable.segment == place.segment { durable.end } else { 0 };
        let length = usize::try_from(place.end.saturating_sub(start)).unwrap_or(usize::MAX);
        let bytes = self.read(place.segment, start, length)?;
        let path = self.paths.segment(place.segment);
        let file =
            self.storage.open(&path, OpenMode::Update).map_err(|error| JournalError::io("open", &path, error))?;
        let written =
            self.storage.write_at(&file, start, &bytes).map_err(|error| JournalError::io("write", &path, error))?;
        if written != bytes.len() {
            let error = io::ErrorKind::StorageFull.into();
            return Err(JournalError::io("write", &path, error));
        }
        self.storage.sync(&file).map_err(|error| JournalError::io("sync", &path, error))
    }

    pub(super) fn size(&self, number: u64) -> Result<u64, JournalError> {
        let path = self.paths.segment(number);
        self.storage
            .open(&path, OpenMode::Read)
            .and_then(|file| self.storage.size(&file))
            .map_err(|error| JournalError::io("open", &path, error))
    }

    pub(super) fn read(&self, number: u64, start: u64, length: usize) -> Result<Vec<u8>, JournalError> {
        let path = self.paths.segment(number);
        self.storage
            .open(&path, OpenMode::Read)
            .and_then(|file| storage::read_range(self.storage, &file, start, length))
            .map_err(|error| JournalError::io("read", &path, error))
    }
}

/// Makes a segment file and its name durable; one that a crashed process left is taken over.
pub(super) fn create_segment<S: Storage>(storage: &S, paths: &SessionPaths, number: u64) -> Result<(), JournalError> {
    let path = paths.segment(number);
    match storage.open(&path, OpenMode::Create) {
        Ok(_file) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(JournalError::io("create", &path, error)),
    }
    sync_names(storage, paths)
}

fn sync_names<S: Storage>(storage: &S, paths: &SessionPaths) -> Result<(), JournalError> {
    storage.sync_dir(paths.dir()).map_err(|error| JournalError::io("sync", paths.dir(), error))
}

/// The first record that `HEAD` and the files do not agree on.
fn disagrees(place: &Place, found: Tail) -> JournalError {
    let index = found.index.min(place.tail.index.saturating_sub(1));
    Damage::new(index, DamageCause::HeadDisagrees).into()
}

const _: () = assert!(SEGMENT_BYTES <= 8 * 1024 * 1024, "a segment must fit a read");
