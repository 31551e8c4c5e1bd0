//! The session's journal: opening it, its first record, and appending to it.

use super::error::DriverError;
use super::state::SessionState;
use crate::body::{Frozen, ReadBody, SessionBody};
use std::borrow::Cow;
use std::collections::BTreeMap;
use tripwire_core::chain::Chain;
use tripwire_journal::storage::Storage;
use tripwire_journal::storage::disk::Disk;
use tripwire_journal::storage::kept::KeptDisk;
use tripwire_journal::{Append, Batch, Entry, Journal, Options, SessionPaths, Turn};
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::wall_clock::WallClock;
use tripwire_workspace::session::SessionId;

pub(super) fn create_journal(layout: &Layout, session: &SessionId) -> Result<Journal<KeptDisk>, DriverError> {
    let paths = SessionPaths::new(layout.folder(), session);
    let options = Options { host: host_name(), ..Options::default() };
    Ok(Journal::open(KeptDisk::without_lease(), paths, options)?)
}

/// The same for the driver, which keeps the files open between two turns.
pub(super) fn open_to_write(layout: &Layout, session: &SessionId) -> Result<Journal<KeptDisk>, DriverError> {
    let paths = SessionPaths::new(layout.folder(), session);
    let options = Options { host: host_name(), ..Options::default() };
    Ok(Journal::open_existing(KeptDisk::without_lease(), paths, options)?)
}

/// Opens the journal of a session that must be there: looking makes nothing.
///
/// # Errors
/// When there is no such session, or its journal does not verify at its end.
pub fn open_existing(layout: &Layout, session: &SessionId) -> Result<Journal<Disk>, DriverError> {
    let paths = SessionPaths::new(layout.folder(), session);
    Ok(Journal::open_existing(Disk, paths, Options { host: host_name(), ..Options::default() })?)
}

/// The machine's name, as a note outside the hash.
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The session as its first record froze it; every other record is still to be taken in.
pub(super) fn begun(journal: &Journal<KeptDisk>) -> Result<SessionState, DriverError> {
    let head = journal.read(journal.beginning(), 1)?;
    let record = head
        .records
        .first()
        .ok_or(DriverError::Record { index: 0, problem: "the session has no records".to_owned() })?;
    let start = WallClock::from_epoch_ms(record.times.wall_ms);
    let head = head_of(&record.body)?;
    let chain = Chain::new(head.policy()?)?;
    let frozen = Frozen { permissions: head.permissions, identity: head.identity };
    Ok(SessionState { known: 1, ..SessionState::fresh(chain, frozen, start) })
}

/// Whether secrets were kept out of a session's records from its beginning.
///
/// # Errors
/// When its first record cannot be read.
pub fn is_redacted(journal: &Journal<Disk>) -> Result<bool, DriverError> {
    let head = journal.read(journal.beginning(), 1)?;
    let head = head.records.first().map(|record| head_of(&record.body)).transpose()?;
    Ok(head.is_some_and(|head| head.redaction.is_some()))
}

pub(super) fn head_of(text: &str) -> Result<SessionBody, DriverError> {
    let wrong = |problem: String| DriverError::Record { index: 0, problem };
    let body: ReadBody<'_> = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    body.session.ok_or_else(|| wrong("is not the head of a session".to_owned()))
}

pub(super) fn entry(body: &str, now: WallClock) -> Entry<'_> {
    Entry { body: Cow::Borrowed(body), durations_ms: BTreeMap::new(), wall_ms: now.epoch_ms() }
}

pub(super) fn append<S: Storage>(turn: &mut Turn<'_, S>, batch: &Batch<'_>) -> Result<u64, DriverError> {
    match turn.append(batch)? {
        Append::Ack(_) => Ok(turn.records()),
        Append::Fenced(_) => Err(DriverError::Fenced),
        Append::Unknown(error) => Err(DriverError::Unknown(error)),
    }
}
