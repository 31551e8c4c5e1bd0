//! The ledger's journal: every settled model call of a workspace, kept over restarts.
//!
//! A record is written before its caller hears the end of the reply, so the end of the process loses none; the disk is synced
//! in groups, so a power cut loses at most the last moment.

use crate::driver::DriverError;
use std::borrow::Cow;
use std::collections::BTreeMap;
use tripwire_core::ledger::{AccountId, CALL_DURATION, LedgerRecord, SettledCall};
use tripwire_core::record::canonical;
use tripwire_journal::storage::Disk;
use tripwire_journal::storage::kept::KeptDisk;
use tripwire_journal::verify::{self, Trust};
use tripwire_journal::{Append, Batch, Durability, Entry, Journal, JournalError, Options, SessionPaths};
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::wall_clock::WallClock;

/// Records that are read at once.
const PAGE: usize = 1_024;

/// The ledger's journal, open.
#[derive(Debug)]
pub struct LedgerBook {
    journal: Journal<KeptDisk>,
    disk: KeptDisk,
}

/// A record and when it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerLine {
    /// Its number.
    pub index: u64,
    /// When.
    pub at: WallClock,
    /// What.
    pub record: LedgerRecord,
}

impl LedgerBook {
    /// Opens the ledger of a workspace; it is made if there is none.
    ///
    /// # Errors
    /// When it is damaged or cannot be written.
    pub fn open(layout: &Layout) -> Result<Self, DriverError> {
        let paths = SessionPaths::of_ledger(layout.folder());
        let disk = KeptDisk::default();
        let journal = Journal::open(disk.clone(), paths.clone(), Options::default());
        Ok(Self { journal: journal.map_err(|error| of_ledger(&paths, error))?, disk })
    }

    /// Opens the ledger of a workspace that has one, to read it. Looking makes nothing and takes nobody's lock: a gateway keeps it
    /// while it works.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn look(layout: &Layout) -> Result<Option<Self>, DriverError> {
        let paths = SessionPaths::of_ledger(layout.folder());
        let disk = KeptDisk::default();
        match Journal::look(disk.clone(), paths.clone()) {
            Ok((_, Some(damage))) => Err(of_ledger(&paths, damage.into())),
            Ok((journal, None)) => Ok(Some(Self { journal, disk })),
            Err(JournalError::NoSession(_)) => Ok(None),
            Err(error) => Err(of_ledger(&paths, error)),
        }
    }

    /// The calls that were booked on an account of a workspace, oldest first, from all writers.
    ///
    /// # Errors
    /// When its ledger is damaged.
    pub fn calls_of(layout: &Layout, account: &AccountId) -> Result<Vec<SettledCall>, DriverError> {
        let mut calls = Vec::new();
        let Some(book) = Self::look(layout)? else { return Ok(calls) };
        book.each(|line| match line.record {
            LedgerRecord::Settled(call) if call.path.contains(account) => calls.push(*call),
            LedgerRecord::Settled(_) | LedgerRecord::Refused { .. } | LedgerRecord::Noted { .. } => {}
        })?;
        Ok(calls)
    }

    /// How many records verify, from the first to the last; nothing where a workspace has no ledger.
    ///
    /// # Errors
    /// When it is damaged, with the file and the first bad record.
    pub fn verify(layout: &Layout) -> Result<Option<u64>, DriverError> {
        let Some(book) = Self::look(layout)? else { return Ok(None) };
        book.each(|_line| {})?;
        let paths = book.journal.paths();
        match verify::verify(&Disk, paths, &Trust::default()) {
            Ok(verify::Report { first_bad_index: Some(index), cause, .. }) => {
                Err(damaged(paths, index, cause.unwrap_or_default()))
            }
            Ok(report) => Ok(Some(report.records)),
            // A gateway that is busy keeps the lock; what was read without it verified.
            Err(JournalError::Locked { .. }) => Ok(Some(book.journal.records())),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes records; they outlive this process from now on.
    ///
    /// # Errors
    /// When they could not be written for certain.
    pub fn append(&mut self, records: &[LedgerRecord], now: WallClock) -> Result<(), DriverError> {
        let mut entries = Vec::with_capacity(records.len());
        for record in records {
            let body = canonical::to_string(&LedgerBody { ledger: Cow::Borrowed(record) })?;
            entries.push(Entry { body: Cow::Owned(body), durations_ms: BTreeMap::new(), wall_ms: now.epoch_ms() });
        }
        self.write(entries)
    }

    /// Writes the record of a settled call that took so long.
    ///
    /// # Errors
    /// See [`Self::append`].
    pub fn append_call(&mut self, call: &SettledCall, now: WallClock, took_ms: u64) -> Result<(), DriverError> {
        let body = canonical::to_string(&CallBody { ledger: CallRecord::Settled(call) })?;
        let durations_ms = BTreeMap::from([(CALL_DURATION.to_owned(), took_ms)]);
        self.write(vec![Entry { body: Cow::Owned(body), durations_ms, wall_ms: now.epoch_ms() }])
    }

    fn write(&mut self, entries: Vec<Entry<'_>>) -> Result<(), DriverError> {
        match self.journal.append(&Batch { entries, durability: Durability::Grouped, after: None })? {
            Append::Ack(_) => Ok(()),
            Append::Fenced(_) => Err(DriverError::Fenced),
            Append::Unknown(error) => Err(DriverError::Unknown(error)),
        }
    }

    /// Lets other processes have the ledger's lock, which is kept for some milliseconds while records follow each other.
    pub fn rest(&self) {
        self.disk.rest();
    }

    /// Makes everything so far durable.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn sync(&mut self) -> Result<(), DriverError> {
        Ok(self.journal.turn()?.sync()?)
    }

    /// Shows every record, oldest first.
    ///
    /// # Errors
    /// When the journal is damaged, or a record is of another form.
    pub fn each(&self, mut show: impl FnMut(LedgerLine)) -> Result<(), DriverError> {
        let mut place = self.journal.beginning();
        loop {
            let paths = self.journal.paths();
            let page = self.journal.read(place, PAGE).map_err(|error| of_ledger(paths, error))?;
            if page.records.is_empty() {
                return Ok(());
            }
            place = page.next;
            for record in page.records {
                let body: LedgerBody<'_> = serde_json::from_str(&record.body).map_err(|error| {
                    let file = paths.segment_of(record.index);
                    let problem = format!("the ledger of model calls, `{}`: {error}", file.display());
                    DriverError::Record { index: record.index, problem }
                })?;
                let at = WallClock::from_epoch_ms(record.times.wall_ms);
                show(LedgerLine { index: record.index, at, record: body.ledger.into_owned() });
            }
        }
    }
}

/// The same error, with the ledger's file where it is damaged: what helps a session does not help here.
fn of_ledger(paths: &SessionPaths, error: JournalError) -> DriverError {
    if let JournalError::Damaged(damage) = &error {
        damaged(paths, damage.index(), damage.cause().to_string())
    } else {
        error.into()
    }
}

fn damaged(paths: &SessionPaths, index: u64, cause: String) -> DriverError {
    JournalError::Ledger { file: paths.segment_of(index), index, cause }.into()
}

/// The body of a record.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct LedgerBody<'a> {
    ledger: Cow<'a, LedgerRecord>,
}

/// The body of a settled call's record, which its caller keeps: the same text as that of [`LedgerRecord::Settled`].
#[derive(serde::Serialize)]
struct CallBody<'a> {
    ledger: CallRecord<'a>,
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
enum CallRecord<'a> {
    Settled(&'a SettledCall),
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_core::label::Label;
    use tripwire_testing::TestDir;

    #[test]
    fn gate_8_a_call_that_is_lent_is_written_as_its_record() {
        let text = r#"{"day":{"day":19,"month":11,"year":2026},"end":"complete","microUsd":5,"model":"m","path":[{"kind":"key","name":"a"}],"provider":"p","reserved":9,"status":200,"usage":{"cacheRead":0,"cacheWrite":0,"freshInput":10,"output":760,"reasoning":0}}"#;
        let call: SettledCall = serde_json::from_str(text).unwrap();
        let record = LedgerRecord::Settled(Box::new(call.clone()));
        let owned = canonical::to_string(&LedgerBody { ledger: Cow::Borrowed(&record) }).unwrap();
        assert_eq!(canonical::to_string(&CallBody { ledger: CallRecord::Settled(&call) }).unwrap(), owned);
        let read: LedgerBody<'_> = serde_json::from_str(&owned).unwrap();
        assert_eq!(*read.ledger, record);
    }

    #[test]
    fn gate_8_what_is_in_the_ledger_is_read_back_by_the_next_process_and_looking_makes_nothing() {
        let dir = TestDir::new();
        let layout = Layout::at(&dir.path().join(".geometry"));
        assert!(LedgerBook::look(&layout).unwrap().is_none());
        assert!(!layout.folder().exists());
        let note = |text| LedgerRecord::Noted { kind: Label::cut("reload"), text: Label::cut(text) };
        let mut book = LedgerBook::open(&layout).unwrap();
        book.append(&[note("one"), note("two")], WallClock::from_epoch_ms(5)).unwrap();
        drop(book);
        let mut book = LedgerBook::open(&layout).unwrap();
        book.append(&[note("three")], WallClock::from_epoch_ms(6)).unwrap();
        book.sync().unwrap();
        let mut found = Vec::new();
        LedgerBook::look(&layout).unwrap().unwrap().each(|line| found.push(line)).unwrap();
        assert_eq!(
            found.iter().map(|line| line.record.clone()).collect::<Vec<_>>(),
            [note("one"), note("two"), note("three")]
        );
        assert_eq!(found.last().map(|line| (line.index, line.at.epoch_ms())), Some((2, 6)));
    }
}
