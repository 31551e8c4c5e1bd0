//! One session that somebody looks at: its journal for reading, and a thread that walks it from the beginning, verifies it and
//! gathers what it says.
//!
//! The newest page can be read at once; the walk goes on beside it. Nothing is called verified before it was.

use crate::analysis::Analysis;
use crate::history::{self, Pair};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tripwire_journal::storage::Disk;
use tripwire_journal::verify::{Report, Trust, verify};
use tripwire_journal::{Damage, Journal, JournalError, Place, SessionPaths};
use tripwire_session::driver::DriverError;

/// Records that the walk takes in at once.
const PAGE: usize = 512;
/// How far from a place that the walk passed it is the shorter way.
const NEAR: u64 = 4 * 1_024;
/// How long the walk sleeps without a call: a notification may be lost.
const SLEEP: Duration = Duration::from_secs(5);

/// An opened session.
#[derive(Debug)]
pub struct OpenedSession {
    paths: SessionPaths,
    look: Mutex<Journal<Disk>>,
    gathered: Mutex<Analysis>,
    /// Places that the walk passed, one in so many records: the way to any record behind it is short.
    passed: Mutex<Vec<Place>>,
    /// How many pairs there were at so many records.
    counted: Mutex<(u64, u64)>,
    state: Mutex<WalkState>,
    wake: Condvar,
    is_closed: AtomicBool,
    /// Whether the walk met something that it cannot go past: then the journal ends there for us.
    is_cut: AtomicBool,
}

/// How far the walk came.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WalkState {
    /// Records that were walked over and continue the chain.
    pub walked: u64,
    /// Records in all, as far as they are known.
    pub records: u64,
    /// What is known of the journal's truth.
    pub truth: Truth,
    /// What kept the walk from going on, if anything did.
    pub problem: Option<String>,
    #[serde(skip)]
    news: u64,
}

/// What is known of a journal's truth.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "camelCase")]
pub enum Truth {
    /// Nothing yet.
    #[default]
    NotVerifiedYet,
    /// The chain, the checkpoints and the blobs verify.
    #[serde(rename_all = "camelCase")]
    Verified {
        /// So many records.
        records: u64,
        /// Checkpoints that the trusted key signed.
        checkpoints_trusted: u64,
        /// Records that a checkpoint covers.
        covered: u64,
    },
    /// A record is missing, changed or out of place.
    Damaged {
        /// The first bad record.
        at: u64,
        /// What is wrong.
        cause: String,
    },
}

impl OpenedSession {
    /// Opens a session and begins the walk. What is behind a damage is not shown.
    ///
    /// # Errors
    /// When there is no such session, or its files cannot be read.
    pub fn open(paths: SessionPaths, trust: Trust) -> Result<Arc<Self>, JournalError> {
        let (look, damage) = Journal::look(Disk, paths.clone())?;
        let truth = damage.as_ref().map_or(Truth::NotVerifiedYet, damaged);
        let state = WalkState { records: look.records(), truth, ..WalkState::default() };
        let opened = Arc::new(Self {
            paths,
            look: Mutex::new(look),
            gathered: Mutex::default(),
            passed: Mutex::default(),
            counted: Mutex::default(),
            state: Mutex::new(state),
            wake: Condvar::new(),
            is_closed: AtomicBool::new(false),
            is_cut: AtomicBool::new(damage.is_some()),
        });
        let walker = Arc::clone(&opened);
        std::thread::spawn(move || walker.walk(&trust));
        Ok(opened)
    }

    /// Says that the journal has grown.
    pub fn notice(&self) {
        lock(&self.state).news += 1;
        self.wake.notify_all();
    }

    /// Ends the walk; what is open stays readable.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.wake.notify_all();
    }

    /// How far the walk came.
    #[must_use]
    pub fn state(&self) -> WalkState {
        lock(&self.state).clone()
    }

    /// What was gathered so far.
    pub fn with_analysis<T>(&self, look: impl FnOnce(&Analysis) -> T) -> T {
        look(&lock(&self.gathered))
    }

    /// Reads from the journal, up to its present end.
    ///
    /// # Errors
    /// When it does not verify where it was read.
    pub fn read<T>(&self, read: impl FnOnce(&Journal<Disk>) -> Result<T, DriverError>) -> Result<T, DriverError> {
        let mut journal = lock(&self.look);
        if !self.is_cut.load(Ordering::Relaxed)
            && let Some(damage) = journal.look_again()?
        {
            self.is_cut.store(true, Ordering::Relaxed);
            lock(&self.state).truth = damaged(&damage);
        }
        lock(&self.state).records = journal.records();
        read(&journal)
    }

    /// The pairs with these numbers, oldest first, and how many there are in all.
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn rows(&self, from: u64, at_most: usize) -> Result<(Vec<Pair>, u64), DriverError> {
        self.read(|journal| {
            let total = self.count(journal)?;
            let mut pairs = history::from_with(journal, from, |record| self.find(journal, record))?;
            let mut rows = Vec::new();
            while rows.len() < at_most
                && let Some(pair) = pairs.next_pair()?
            {
                rows.push(pair);
            }
            Ok((rows, total))
        })
    }

    /// How many pairs there are.
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn total(&self) -> Result<u64, DriverError> {
        self.read(|journal| self.count(journal))
    }

    fn count(&self, journal: &Journal<Disk>) -> Result<u64, DriverError> {
        let (records, known) = *lock(&self.counted);
        if records == journal.records() && records > 0 {
            return Ok(known);
        }
        let total = history::count_with(journal, |record| self.find(journal, record))?;
        *lock(&self.counted) = (journal.records(), total);
        Ok(total)
    }

    /// The place before a record: from the nearest place that the walk passed, or as the journal finds it.
    fn find(&self, journal: &Journal<Disk>, record: u64) -> Result<Place, JournalError> {
        let end = journal.place();
        if record >= end.records() {
            return Ok(end);
        }
        let passed = lock(&self.passed);
        let behind = passed.partition_point(|place| place.records() <= record);
        let nearest = behind.checked_sub(1).and_then(|at| passed.get(at)).copied();
        drop(passed);
        match nearest.filter(|place| record - place.records() <= NEAR) {
            Some(place) => journal.find_after(place, record),
            None => journal.find(record),
        }
    }

    fn walk(&self, trust: &Trust) {
        let Ok((mut journal, _)) = Journal::look(Disk, self.paths.clone()) else { return };
        let mut place = journal.beginning();
        let mut seen = 0;
        while !self.is_closed.load(Ordering::Relaxed) {
            match self.walk_on(&journal, place) {
                Ok(reached) => place = reached,
                Err(error) => {
                    self.end_at(&error);
                    return;
                }
            }
            if lock(&self.state).truth == Truth::NotVerifiedYet {
                self.verify(trust);
            }
            let state = lock(&self.state);
            let waited = self.wake.wait_timeout_while(state, SLEEP, |state| {
                state.news == seen && !self.is_closed.load(Ordering::Relaxed)
            });
            seen = waited.unwrap_or_else(PoisonError::into_inner).0.news;
            if journal.look_again().is_err() {
                return;
            }
        }
    }

    /// Takes in everything from a place to the journal's end.
    fn walk_on(&self, journal: &Journal<Disk>, from: Place) -> Result<Place, DriverError> {
        let mut place = from;
        loop {
            let page = journal.read(place, PAGE)?;
            if page.records.is_empty() || self.is_closed.load(Ordering::Relaxed) {
                return Ok(place);
            }
            let mut gathered = lock(&self.gathered);
            for record in &page.records {
                gathered.take(record)?;
            }
            drop(gathered);
            place = page.next;
            lock(&self.passed).push(place);
            let mut state = lock(&self.state);
            state.walked = place.records();
            state.records = state.records.max(journal.records());
        }
    }

    /// Notes what ended the walk: damage, or a record that this version does not know. What is before it can be read.
    fn end_at(&self, error: &DriverError) {
        let mut state = lock(&self.state);
        state.problem = Some(error.to_string());
        let at = if let DriverError::Journal(JournalError::Damaged(damage)) = error {
            state.truth = damaged(damage);
            Some(damage.index())
        } else if let DriverError::Record { index, .. } = error {
            Some(*index)
        } else {
            None
        };
        drop(state);
        at.into_iter().for_each(|index| self.cut(index));
    }

    /// Ends what is shown before a record.
    fn cut(&self, index: u64) {
        self.is_cut.store(true, Ordering::Relaxed);
        let cut = lock(&self.look).end_before(index);
        *lock(&self.counted) = (0, 0);
        if let Err(error) = cut {
            lock(&self.state).problem = Some(error.to_string());
        }
    }

    /// Verifies everything: the chain, the signed checkpoints, the blobs.
    fn verify(&self, trust: &Trust) {
        let truth = match verify(&Disk, &self.paths, trust) {
            Ok(Report { first_bad_index: Some(at), cause, .. }) => {
                Truth::Damaged { at, cause: cause.unwrap_or_default() }
            }
            Ok(Report { records, checkpoints_trusted, covered, .. }) => {
                Truth::Verified { records, checkpoints_trusted, covered }
            }
            Err(error) => {
                lock(&self.state).problem = Some(error.to_string());
                return;
            }
        };
        if let Truth::Damaged { at, .. } = truth {
            self.cut(at);
        }
        lock(&self.state).truth = truth;
    }
}

fn damaged(damage: &Damage) -> Truth {
    Truth::Damaged { at: damage.index(), cause: damage.cause().to_string() }
}

/// A thread that panicked left a whole value behind: every change is made in one go.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
