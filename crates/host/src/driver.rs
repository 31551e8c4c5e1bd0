//! The driver: the only part that knows both sides. Input, journal, step, journal, effects.
//!
//! Many short processes may drive one session at the same time. Whoever holds the journal's lock first catches up with
//! what the others wrote, then looks at what people did, then takes its own input; input and decision go into the
//! journal in one append, durable before anybody hears the answer. The state file is a convenience: it can always be
//! rebuilt from the journal, and is whenever it does not fit.

mod effects;
mod people;
mod state;
pub mod views;

use crate::body::{self, ReadBody, SessionBody, SessionBodyError};
use crate::control::{self, ControlError, Seen};
use crate::geometry::file::FileError;
use crate::geometry::layout::Layout;
use crate::geometry::manifest::{Manifest, template};
use crate::geometry::safety_log::LogError;
use crate::geometry::wall_clock::WallClock;
use crate::journal::{Append, Batch, Durability, Entry, Journal, JournalError, Options, SessionPaths, Turn};
use crate::policy_file::{self, PolicyFileError};
use crate::storage::Storage;
use crate::storage::disk::Disk;
use crate::workspace::session::SessionId;
pub use state::StateError;
use state::StateFile;
use std::borrow::Cow;
use std::collections::BTreeMap;
use tripwire_core::chain::gate::Permit;
use tripwire_core::chain::{Chain, SnapshotError, Step, View};
use tripwire_core::decision::Decision;
use tripwire_core::input::{Input, What};
use tripwire_core::policy::{Policy, PolicyError};
use tripwire_core::record::canonical::CanonicalError;
use tripwire_core::units::RunMillis;

/// Why a session cannot be driven. Every one of these means: nothing happens.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The journal is damaged, locked or cannot be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The batch may or may not be written; the session must be opened again.
    #[error("the journal could not be written for certain: {0}")]
    Unknown(JournalError),
    /// Another process was first although the lock was held: the lock does not work here.
    #[error("another process wrote to the journal in between; is the folder on a file system without locks?")]
    Fenced,
    /// What people did cannot be seen.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The policy cannot be read.
    #[error(transparent)]
    PolicyFile(#[from] PolicyFileError),
    /// The policy contradicts itself.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The journal's head cannot be used.
    #[error("the journal's first record: {0}")]
    Head(#[from] SessionBodyError),
    /// A record is none that a session may hold.
    #[error("journal record {index}: {problem}")]
    Record {
        /// Its index.
        index: u64,
        /// What is wrong.
        problem: String,
    },
    /// A decision has no canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// The state cannot be written down.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The state file was written by a newer version.
    #[error(transparent)]
    State(#[from] StateError),
    /// The safety log cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A file of `.geometry/` cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl DriverError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Journal(error) | Self::Unknown(error) => error.hint().to_owned(),
            Self::Fenced => "move the workspace to a local disk".to_owned(),
            Self::Control(error) => error.hint(),
            Self::PolicyFile(PolicyFileError::Manifest(error)) => error.hint(),
            Self::PolicyFile(PolicyFileError::Setting { .. } | PolicyFileError::Relation { .. }) | Self::Policy(_) => "list all settings with `tripwire policy show`".to_owned(),
            Self::Head(_) | Self::Record { .. } => "see what is damaged with `tripwire verify`".to_owned(),
            Self::Canonical(_) | Self::Snapshot(_) => "this is a defect of tripwire; please report it".to_owned(),
            Self::State(error) => error.hint(),
            Self::Log(error) => error.hint(),
            Self::File(error) => error.hint(),
        }
    }
}

/// One session, driven by this process and perhaps by others.
#[derive(Debug)]
pub struct Driver<S: Storage = Disk> {
    journal: Journal<S>,
    layout: Layout,
    session: SessionId,
    chain: Chain,
    seen: Seen,
    start: WallClock,
    /// How many journal records the chain has taken in.
    known: u64,
}

/// What one turn gave: the decisions on what people did meanwhile, and on the input itself.
#[derive(Debug)]
pub struct Taken {
    /// The decisions on what was found in the control files, oldest first.
    pub before: Vec<Decision>,
    /// The decision on the input.
    pub decision: Decision,
    /// The right to act, if the input asked for it and was allowed.
    pub permit: Option<Permit>,
    /// When the engine wants to be stepped again.
    pub next_deadline: Option<RunMillis>,
    /// What a person should be told, in order.
    pub notices: Vec<String>,
}

impl Driver<Disk> {
    /// Begins a new session under the manifest's policy, frozen from now on. `change` may set what a command asks for.
    ///
    /// # Errors
    /// When the policy cannot be read or the journal cannot be written: then there is no session.
    pub fn begin(
        layout: &Layout,
        now: WallClock,
        change: impl FnOnce(&mut Policy) -> Result<(), PolicyError>,
    ) -> Result<Self, DriverError> {
        template::write_if_missing(&layout.manifest())?;
        let mut policy = policy_file::load(&layout.manifest())?.policy;
        change(&mut policy)?;
        let chain = Chain::new(policy)?;
        let session = SessionId::claim(layout, now)?;
        let journal = open_journal(layout, &session)?;
        let mut driver =
            Self { journal, layout: layout.clone(), session, chain, seen: Seen::default(), start: now, known: 0 };
        driver.write_head(now)?;
        Ok(driver)
    }

    /// Takes up a session that was begun before, by this or another process.
    ///
    /// # Errors
    /// When its journal does not verify at its end, or its state is of a newer version.
    pub fn resume(layout: &Layout, session: &SessionId) -> Result<Self, DriverError> {
        let journal = open_journal(layout, session)?;
        let head = journal.read(journal.beginning(), 1)?;
        let record = head
            .records
            .first()
            .ok_or(DriverError::Record { index: 0, problem: "the session has no records".to_owned() })?;
        let start = WallClock::from_epoch_ms(record.times.wall_ms);
        let policy = head_of(&record.body)?.policy()?;
        let mut driver = Self {
            journal,
            layout: layout.clone(),
            session: session.clone(),
            chain: Chain::new(policy)?,
            seen: Seen::default(),
            start,
            known: 1,
        };
        driver.load_state()?;
        Ok(driver)
    }
}

fn open_journal(layout: &Layout, session: &SessionId) -> Result<Journal<Disk>, DriverError> {
    let paths = SessionPaths::new(layout.folder(), session.as_str())?;
    Ok(Journal::open(Disk, paths, Options { host: host_name(), ..Options::default() })?)
}

/// The machine's name, as a note outside the hash.
fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").map(|name| name.trim().to_owned()).unwrap_or_default()
}

fn head_of(text: &str) -> Result<SessionBody, DriverError> {
    let wrong = |problem: String| DriverError::Record { index: 0, problem };
    let body: ReadBody<'_> = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    body.session.ok_or_else(|| wrong("is not the head of a session".to_owned()))
}

impl<S: Storage> Driver<S> {
    /// The session's id.
    #[must_use]
    pub const fn session(&self) -> &SessionId {
        &self.session
    }

    /// The session at a glance, as far as this process has seen it.
    #[must_use]
    pub fn view(&self) -> View {
        self.chain.view()
    }

    /// The frozen policy.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        self.chain.policy()
    }

    /// The journal, for reading.
    #[must_use]
    pub const fn journal(&self) -> &Journal<S> {
        &self.journal
    }

    /// Takes in one input: catches up, looks at what people did, decides, journals, carries out what belongs here.
    ///
    /// # Errors
    /// Whenever the input could not be journaled for certain: then it has no consequences.
    pub fn take(&mut self, what: What, now: WallClock) -> Result<Taken, DriverError> {
        let Self { journal, layout, session, chain, seen, start, known } = self;
        let mut turn = journal.turn()?;
        catch_up(&turn, chain, known)?;
        let look = control::look(layout, seen, now)?;
        let at = RunMillis::new(now.epoch_ms().saturating_sub(start.epoch_ms()));
        let mut inputs: Vec<Input> = people::inputs(&look.facts).into_iter().map(|what| Input { at, what }).collect();
        inputs.push(Input { at, what });
        let mut steps = Vec::with_capacity(inputs.len());
        let mut entries = Vec::with_capacity(inputs.len() * 2);
        for input in &inputs {
            let step = chain.step(input);
            let (mut taken, mut decided) = (String::new(), String::new());
            body::write_input(input, &mut taken)?;
            body::write_decision(session.as_str(), &step.decision, &mut decided)?;
            entries.extend([taken, decided].map(|text| entry(text, now)));
            steps.push(step);
        }
        let batch = Batch { entries, durability: Durability::Synced, after: Some(*known) };
        *known = append(&mut turn, &batch)?;
        *seen = look.seen;
        let decisions: Vec<&Decision> = steps.iter().map(|step| &step.decision).collect();
        let mut performed = effects::perform(layout, session, &decisions, seen, now)?;
        effects::show_counters(layout, &chain.view(), seen);
        let hash = turn.journal().place().tail_hash();
        StateFile::of(chain, seen, *known, hash, *start)?.save(layout, session)?;
        drop(turn);
        if let Some(error) = performed.spoilt_log {
            // The journal holds what the log lost; a log that cannot be written at all must not stop the guard.
            let told = match views::rebuild_safety_log(layout) {
                Ok(_) => format!("the safety log was rebuilt from the journal: {error}"),
                Err(again) => format!("the safety log could not be written: {again}; {}", again.hint()),
            };
            performed.notices.push(told);
        }
        finish(steps, performed.notices)
    }

    fn write_head(&mut self, now: WallClock) -> Result<(), DriverError> {
        let head = SessionBody::new(self.session.as_str(), self.chain.policy())?.text()?;
        let batch = Batch { entries: vec![entry(head, now)], durability: Durability::Synced, after: Some(0) };
        let mut turn = self.journal.turn()?;
        self.known = append(&mut turn, &batch)?;
        // What stands in the manifest now is where the session begins, not an edit; STOP and PAUSE count from the start.
        if let Ok(manifest) = Manifest::load(&self.layout.manifest()) {
            self.seen.wrote_manifest(&manifest);
        }
        let hash = turn.journal().place().tail_hash();
        StateFile::of(&self.chain, &self.seen, self.known, hash, self.start)?.save(&self.layout, &self.session)?;
        Ok(())
    }

    /// Takes the state file if it fits the journal; without one the whole journal is read again.
    fn load_state(&mut self) -> Result<(), DriverError> {
        let Some(file) = StateFile::load(&self.layout, &self.session)? else { return Ok(()) };
        let at_place = |place: crate::journal::Place| place.tail_hash() == file.hash;
        let fits = file.records <= self.journal.records() && self.journal.find(file.records).is_ok_and(at_place);
        if fits && let Some(chain) = file.chain(&self.layout, &self.session, self.chain.policy())? {
            (self.chain, self.seen, self.known) = (chain, file.seen, file.records);
        }
        Ok(())
    }
}

/// Steps the chain over what other processes have journaled since. Their effects are done; only the state follows.
fn catch_up<S: Storage>(turn: &Turn<'_, S>, chain: &mut Chain, known: &mut u64) -> Result<(), DriverError> {
    const PAGE: usize = 512;
    if *known >= turn.records() {
        return Ok(());
    }
    let mut place = turn.journal().find(*known)?;
    while *known < turn.records() {
        let page = turn.journal().read(place, PAGE)?;
        if page.records.is_empty() {
            break;
        }
        for record in &page.records {
            let wrong = |problem: String| DriverError::Record { index: record.index, problem };
            let body: ReadBody<'_> = serde_json::from_str(&record.body).map_err(|error| wrong(error.to_string()))?;
            if let Some(input) = body.input {
                let input: Input = serde_json::from_str(input.get()).map_err(|error| wrong(error.to_string()))?;
                let _decided_before: Step = chain.step(&input);
            }
            *known = record.index + 1;
        }
        place = page.next;
    }
    Ok(())
}

fn entry(body: String, now: WallClock) -> Entry<'static> {
    Entry { body: Cow::Owned(body), durations_ms: BTreeMap::new(), wall_ms: now.epoch_ms() }
}

fn append<S: Storage>(turn: &mut Turn<'_, S>, batch: &Batch<'_>) -> Result<u64, DriverError> {
    match turn.append(batch)? {
        Append::Ack(_) => Ok(turn.records()),
        Append::Fenced(_) => Err(DriverError::Fenced),
        Append::Unknown(error) => Err(DriverError::Unknown(error)),
    }
}

fn finish(mut steps: Vec<Step>, notices: Vec<String>) -> Result<Taken, DriverError> {
    let last = steps.pop().ok_or(DriverError::Fenced)?;
    let before = steps.into_iter().map(|step| step.decision).collect();
    Ok(Taken { before, decision: last.decision, permit: last.permit, next_deadline: last.next_deadline, notices })
}
