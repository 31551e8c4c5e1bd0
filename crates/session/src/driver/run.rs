//! Our own loop in the journal: what it learns is written down before it is used, and is enough to run it again.

use super::{Driver, DriverError, append, catch_up, head_of};
use crate::body::{self, ReadBody};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;
use tripwire_core::chain::Chain;
use tripwire_core::decision::Decision;
use tripwire_core::input::Input;
use tripwire_core::run::line::Line;
use tripwire_core::run::record::{FaultKind, RUN_VERSION, RunRecord};
use tripwire_core::run::{LoopEffect, Run, RunInput};
use tripwire_journal::storage::Storage;
use tripwire_journal::{Batch, Durability, Entry as JournalEntry, Journal};
use tripwire_workspace::geometry::safety_log::{ActionTaken, Entry, EventType, SafetyLog};
use tripwire_workspace::geometry::wall_clock::WallClock;

/// Records that are read at once.
const PAGE: usize = 512;

impl<S: Storage> Driver<S> {
    /// Keeps what other processes decide from now on, for [`Self::followed`]: our own loop must see every decision.
    pub fn follow(&mut self) {
        self.followed.get_or_insert_default();
    }

    /// What other processes have decided since the last time, oldest first.
    pub fn followed(&mut self) -> Vec<(Input, Decision)> {
        self.followed.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Journals what the loop has learnt; only then may it be used.
    ///
    /// # Errors
    /// Whenever it could not be journaled for certain.
    pub fn learn(&mut self, record: &RunRecord, took: Duration, now: WallClock) -> Result<(), DriverError> {
        let Self { journal, layout, session, kept, followed, .. } = self;
        let mut text = String::new();
        body::write_run(record, &mut text)?;
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let durations_ms = if took_ms == 0 { BTreeMap::new() } else { BTreeMap::from([("run".to_owned(), took_ms)]) };
        let mut turn = journal.turn()?;
        catch_up(&turn, (layout, session), kept, followed.as_mut())?;
        let entry = JournalEntry { body: Cow::Owned(text), durations_ms, wall_ms: now.epoch_ms() };
        let batch = Batch { entries: vec![entry], durability: Durability::Synced, after: Some(kept.known) };
        kept.known = append(&mut turn, &batch)?;
        Ok(())
    }

    /// Tells the safety log what the loop itself has to say: faults of calls, switches of engines.
    ///
    /// # Errors
    /// When the log cannot be written; the journal holds it all the same.
    pub fn log(&self, view: &LoopEffect, now: WallClock) -> Result<(), DriverError> {
        match log_entry(view, now) {
            Some(entry) => Ok(SafetyLog::at(&self.layout.safety_log()).append(&entry)?),
            None => Ok(()),
        }
    }

    /// Writes the frozen replay of the session as it stands.
    ///
    /// # Errors
    /// When the journal does not verify or the file cannot be written.
    pub fn freeze(&self) -> Result<(), DriverError> {
        super::freeze::write(&self.journal, &self.layout, &self.session, self.kept.memo.model.as_deref())
    }
}

/// Runs the loop of a session again, without models and tools, and shows what it shows. `None` when the session is not
/// one of our own loop.
///
/// # Errors
/// When the journal does not verify, or holds what no loop wrote.
pub fn again<S: Storage>(
    journal: &Journal<S>,
    mut show: impl FnMut(&LoopEffect, WallClock),
) -> Result<Option<Run>, DriverError> {
    let mut place = journal.beginning();
    let mut chain: Option<Chain> = None;
    let mut run: Option<Run> = None;
    loop {
        let page = journal.read(place, PAGE)?;
        if page.records.is_empty() {
            return Ok(run);
        }
        for record in &page.records {
            let wrong = |problem: String| DriverError::Record { index: record.index, problem };
            let Some(chain) = &mut chain else {
                chain = Some(Chain::new(head_of(&record.body)?.policy()?)?);
                continue;
            };
            let body: ReadBody<'_> = serde_json::from_str(&record.body).map_err(|error| wrong(error.to_string()))?;
            let views = match (body.run, body.input) {
                (Some(text), _) => {
                    let learnt = serde_json::from_str(text.get()).map_err(|error| wrong(error.to_string()))?;
                    relearn(&mut run, &learnt, chain).map_err(wrong)?
                }
                (None, Some(text)) => {
                    let input: Input = serde_json::from_str(text.get()).map_err(|error| wrong(error.to_string()))?;
                    let decision = chain.step(&input).decision;
                    run.as_mut().map(|run| run.take(RunInput::Decided(&input.what, &decision))).unwrap_or_default()
                }
                (None, None) => Vec::new(),
            };
            let at = WallClock::from_epoch_ms(record.times.wall_ms);
            views.iter().for_each(|view| show(view, at));
        }
        place = page.next;
    }
}

fn relearn(run: &mut Option<Run>, record: &RunRecord, chain: &Chain) -> Result<Vec<LoopEffect>, String> {
    match (record, run) {
        (RunRecord::Begun(setup), run @ None) => {
            if setup.version != RUN_VERSION {
                return Err(format!(
                    "the loop is of version {}, this program knows version {RUN_VERSION}",
                    setup.version
                ));
            }
            let (begun, views) = Run::new(setup.clone(), chain.policy());
            *run = Some(begun);
            Ok(views)
        }
        (RunRecord::Begun(_), Some(_)) => Err("the loop begins a second time".to_owned()),
        (record, Some(run)) => Ok(run.take(RunInput::Record(record))),
        (_, None) => Err("the loop has not begun".to_owned()),
    }
}

/// What the safety log says of a view, if it is one of its types.
#[must_use]
pub fn log_entry(view: &LoopEffect, at: WallClock) -> Option<Entry> {
    let LoopEffect::Line(line) = view else { return None };
    if let Line::Fault { call, fault } = line {
        let kind = match fault.kind {
            FaultKind::UnknownTool => EventType::UnknownTool,
            FaultKind::ValidationError => EventType::ValidationError,
        };
        let entry = Entry::new(at, kind, ActionTaken::Blocked);
        return Some(entry.with("call", call.as_str()).with("reason", fault.text.as_str()));
    }
    if let Line::EngineSwitch(switched) = line {
        let entry = Entry::new(at, EventType::EngineSwitch, ActionTaken::ContinuedMonitoring);
        let entry = entry.with("from", switched.from.as_str()).with("to", switched.to.as_str());
        return Some(entry.with("reason", switched.reason.as_str()));
    }
    None
}
