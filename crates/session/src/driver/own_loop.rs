//! Our own loop in the journal: what it learns is written down before it is used, and is enough to run it again.

use super::catch_up::catch_up;
use super::dir::SessionDir;
use super::effects::{self, LiveState, ShowSignatures};
use super::error::DriverError;
use super::records::append;
use super::state::SessionState;
use super::{Driver, freeze, log_view, run};
use crate::body;
use crate::redaction::RedactionError;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;
use tripwire_core::decision::Decision;
use tripwire_core::input::Input;
use tripwire_core::run::LoopEffect;
use tripwire_core::run::record::RunRecord;
use tripwire_journal::storage::Storage;
use tripwire_journal::{Batch, Durability, Entry};
use tripwire_workspace::geometry::safety_log::{LogError, SafetyLog};
use tripwire_workspace::geometry::wall_clock::WallClock;

impl<S: Storage> Driver<S> {
    /// Keeps what other processes decide from now on, for [`Self::followed`]: our own loop must see every decision.
    pub fn follow(&mut self) {
        self.followed.get_or_insert_default();
    }

    /// What other processes have decided since the last time, oldest first.
    pub fn followed(&mut self) -> Vec<(Input, Decision)> {
        self.followed.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Journals what the loop has learnt, and gives it back without its secrets; only then may it be used, and only so.
    ///
    /// # Errors
    /// Whenever it could not be journaled for certain.
    pub fn learn(&mut self, record: RunRecord, took: Duration, now: WallClock) -> Result<RunRecord, DriverError> {
        let Self { journal, layout, session, state, followed, redaction, .. } = self;
        redaction.refresh()?;
        let mut text = String::new();
        body::write_run(&record, &mut text)?;
        let record = match redaction.keep_json(&text)? {
            Cow::Borrowed(_) => record,
            Cow::Owned(clean) => {
                let record = body::read_redacted_run(&clean).map_err(RedactionError::Form)?;
                text.clear();
                body::write_run(&record, &mut text)?;
                record
            }
        };
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let durations_ms = if took_ms == 0 { BTreeMap::new() } else { BTreeMap::from([("run".to_owned(), took_ms)]) };
        let mut turn = journal.turn()?;
        catch_up(&turn, SessionDir { layout, session }, state, followed.as_mut())?;
        let entry = Entry { body: Cow::Owned(text), durations_ms, wall_ms: now.epoch_ms() };
        let batch = Batch { entries: vec![entry], durability: Durability::Synced, after: Some(state.known) };
        state.known = append(&mut turn, &batch)?;
        Ok(record)
    }

    /// Tells the safety log what the loop itself has to say: faults of calls.
    ///
    /// # Errors
    /// When the log cannot be written; the journal holds it all the same.
    pub fn log(&self, view: &LoopEffect, now: WallClock) -> Result<(), DriverError> {
        match run::log_entry(view, now) {
            Some(entry) => {
                let entry = entry.with("session", self.session.as_str());
                match SafetyLog::at(&self.layout.safety_log()).append(&entry) {
                    // What the loop learnt is journaled, so the rebuilt log holds it.
                    Err(LogError::Damaged { .. }) => log_view::rebuild(&self.layout).map(|_| ()),
                    written => Ok(written?),
                }
            }
            None => Ok(()),
        }
    }

    /// The model that spoke last, as the record names it.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.state.memo.model.as_deref()
    }

    /// No call of this process follows: results that were grouped are on the disk and acknowledged, and the manifest shows the
    /// newest signatures.
    ///
    /// # Errors
    /// When the lock is not to be had or the disk fails.
    pub fn finish(&mut self) -> Result<(), DriverError> {
        let Self { journal, layout, session, state, follower, .. } = self;
        let dir = SessionDir { layout, session };
        let mut turn = journal.turn()?;
        turn.sync()?;
        // Where another process went on, that one shows what is newest.
        if state.known == turn.records() {
            let SessionState { chain, memo, seen, start, .. } = state;
            let live = LiveState { view: &chain.view(), memo, start: *start, signatures: ShowSignatures::Now };
            effects::show_counters(layout, &live, seen);
            follower.save(state, dir, turn.journal().place().tail_hash())?;
        }
        Ok(())
    }

    /// Writes the frozen replay of a session that is left as it stands, unless it is too long to do so in passing.
    ///
    /// # Errors
    /// See [`Self::freeze`].
    pub fn freeze_in_passing(&self) -> Result<(), DriverError> {
        freeze::when_it_ends(&self.journal, &self.layout, &self.session, self.state.memo.model.as_deref())
    }

    /// Writes the frozen replay of the session as it stands.
    ///
    /// # Errors
    /// When the journal does not verify or the file cannot be written.
    pub fn freeze(&self) -> Result<(), DriverError> {
        freeze::write(&self.journal, &self.layout, &self.session, self.state.memo.model.as_deref())
    }
}
