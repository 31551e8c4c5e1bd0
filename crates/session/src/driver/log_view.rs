//! The safety log as a view of all journals of a workspace: compared with them, and rewritten from them.

use super::dir::SessionDir;
use super::error::DriverError;
use super::log_entries::{self, Asked};
use super::records::open_existing;
use super::{run, views};
use crate::body::ReadBody;
use std::collections::{BTreeMap, BTreeSet};
use tripwire_journal::Journal;
use tripwire_journal::storage::Storage;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::safety_log::{LogEntry, SafetyLog};
use tripwire_workspace::geometry::wall_clock::WallClock;

/// Records that are read at once.
const PAGE: usize = 512;

/// How the safety log differs from the journals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogDifference {
    /// Entries that the journals hold and the log does not.
    pub missing: usize,
    /// Entries that the log holds and no journal does.
    pub foreign: usize,
    /// Whether the file is another than the one that its last writer left.
    pub is_edited: bool,
}

impl LogDifference {
    /// Whether the log is as the journals say.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.missing == 0 && self.foreign == 0
    }

    /// Whether the log only lacks what a killed process had journaled and not logged yet.
    #[must_use]
    pub const fn is_behind(&self) -> bool {
        self.missing > 0 && self.foreign == 0 && !self.is_edited
    }
}

/// Compares the safety log with the journals. A log that cannot be read has lost everything.
///
/// # Errors
/// When the sessions cannot be listed.
pub fn compare(layout: &Layout) -> Result<LogDifference, DriverError> {
    let Expected { entries, readable } = expected(layout)?;
    let file = SafetyLog::at(&layout.safety_log());
    // A log that was never written can lack only what one turn had to log: the next turn would have made it.
    let turns: BTreeSet<u64> = entries.iter().map(|(at, _)| *at).collect();
    let is_edited = !file.is_as_left() || (!layout.safety_log().exists() && turns.len() > 1);
    let log = if layout.safety_log().exists() { file.read().ok() } else { None };
    let mut wanted: BTreeMap<String, usize> = BTreeMap::new();
    for (_, entry) in &entries {
        *wanted.entry(key(entry)).or_default() += 1;
    }
    let mut difference = LogDifference { is_edited, ..LogDifference::default() };
    for entry in log.iter().flatten().filter(|entry| !is_left_over(entry, &readable)) {
        match wanted.get_mut(&key(entry)) {
            // Two processes may both have written it, one of them by a rebuild: once more is no other entry.
            Some(count) => *count = count.saturating_sub(1),
            None => difference.foreign += 1,
        }
    }
    difference.missing = wanted.values().sum();
    Ok(difference)
}

/// Rewrites the safety log from all journals of the workspace. Entries of a session whose journal cannot be read, or is
/// gone, stay as they are: they are all that is left of it.
///
/// # Errors
/// When the sessions cannot be listed or the log cannot be written.
pub fn rebuild(layout: &Layout) -> Result<u64, DriverError> {
    let log = SafetyLog::at(&layout.safety_log());
    let Expected { entries, readable } = expected(layout)?;
    let mut timed: Vec<(String, LogEntry)> =
        entries.into_iter().map(|(at, entry)| (WallClock::from_epoch_ms(at).to_string(), entry)).collect();
    let kept = log.read().unwrap_or_default().into_iter().filter(|entry| is_left_over(entry, &readable));
    timed.extend(kept.map(|entry| (entry.timestamp.clone(), entry)));
    timed.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(log.rebuild(timed.into_iter().map(|(_, entry)| entry))?)
}

/// What the log has to hold.
struct Expected {
    /// The entries with their times, session by session.
    entries: Vec<(u64, LogEntry)>,
    /// The sessions whose journals were read.
    readable: BTreeSet<String>,
}

fn expected(layout: &Layout) -> Result<Expected, DriverError> {
    let mut expected = Expected { entries: Vec::new(), readable: BTreeSet::new() };
    for session in views::sessions(layout)? {
        let Ok(journal) = open_existing(layout, &session) else { continue };
        let Ok(entries) = of_journal(&journal, SessionDir { layout, session: &session }) else { continue };
        expected.entries.extend(entries);
        expected.readable.insert(session.as_str().to_owned());
    }
    expected.entries.sort_by_key(|(at, _)| *at);
    Ok(expected)
}

/// The entries of one session, from its decisions as they were journaled and from what our own loop learnt.
fn of_journal<S: Storage>(journal: &Journal<S>, dir: SessionDir<'_>) -> Result<Vec<(u64, LogEntry)>, DriverError> {
    let mut entries = Vec::new();
    let mut place = journal.beginning();
    let (mut asked, mut own_loop) = (Asked::SomethingElse, false);
    loop {
        let page = journal.read(place, PAGE)?;
        if page.records.is_empty() {
            break;
        }
        for record in &page.records {
            let wrong =
                |error: serde_json::Error| DriverError::Record { index: record.index, problem: error.to_string() };
            let body: ReadBody<'_> = serde_json::from_str(&record.body).map_err(wrong)?;
            own_loop |= body.run.is_some();
            if let Some(input) = body.input {
                asked = Asked::of(input.get());
            }
            if let Some(decision) = body.decision {
                let at = WallClock::from_epoch_ms(record.times.wall_ms);
                let found = log_entries::of(decision.get(), asked, dir, at);
                entries.extend(found.into_iter().map(|entry| (at.epoch_ms(), entry)));
            }
        }
        place = page.next;
    }
    if own_loop {
        run::again(journal, |view, at, _| {
            let entry = run::log_entry(view, at).map(|entry| entry.with("session", dir.session.as_str()));
            entries.extend(entry.map(|entry| (at.epoch_ms(), entry)));
        })?;
    }
    Ok(entries)
}

/// Whether an entry is of a session that has no readable journal.
fn is_left_over(entry: &LogEntry, readable: &BTreeSet<String>) -> bool {
    let session = entry.details.get("session").and_then(|session| session.as_str());
    session.is_some_and(|session| !readable.contains(session))
}

/// What an entry says. What our own loop says has no index in the journal and is written a moment after it was learnt, so its
/// time does not count.
fn key(entry: &LogEntry) -> String {
    let bare = match entry.details.contains_key("index") {
        true => entry.clone(),
        false => LogEntry { timestamp: String::new(), ..entry.clone() },
    };
    serde_json::to_string(&bare).unwrap_or_default()
}
