//! The driver: the only part that knows both sides. Input, journal, step, journal, effects.
//!
//! Many short processes may drive one session at the same time. Whoever holds the journal's lock first catches up with
//! what the others wrote, then looks at what people did, then takes its own input; input and decision go into the
//! journal in one append, durable before anybody hears the answer. The state file is a convenience: it can always be
//! rebuilt from the journal, and is whenever it does not fit.

mod authority;
mod briefing;
mod catch_up;
mod effects;
mod error;
pub mod freeze;
mod frozen;
mod objective;
mod people;
mod recent;
pub mod run;
mod sign;
mod state;
mod supervise;
mod time;
pub mod views;
pub mod words;

use crate::body::{self, ReadBody, SessionBody};
pub use authority::{AskError, Frozen};
use catch_up::{Followed, catch_up, stored};
pub use error::DriverError;
pub use frozen::frozen_policy;
pub use recent::RecentFinding;
pub use sign::{EVERY as CHECKPOINT_EVERY, Signing};
use state::Kept;
pub use state::StateError;
use std::borrow::Cow;
use std::collections::BTreeMap;
use time::{since, stamped};
use tripwire_authority::identity::Configuration;
use tripwire_core::chain::gate::Permit;
use tripwire_core::chain::{Chain, ChainView, Step};
use tripwire_core::decision::Decision;
use tripwire_core::explain::Explain as _;
use tripwire_core::input::{Input, What};
use tripwire_core::policy::{Policy, PolicyError};
use tripwire_core::units::RunMillis;
use tripwire_fs::file::sweep_drafts;
use tripwire_journal::storage::Storage;
use tripwire_journal::storage::disk::Disk;
use tripwire_journal::{Append, Batch, Durability, Entry, Journal, JournalError, Options, SessionPaths, Turn};
use tripwire_workspace::control;
use tripwire_workspace::geometry::hook_script;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::manifest::{Manifest, template};
use tripwire_workspace::geometry::wall_clock::WallClock;
use tripwire_workspace::policy_file;
use tripwire_workspace::session::SessionId;

/// One session, driven by this process and perhaps by others.
#[derive(Debug)]
pub struct Driver<S: Storage = Disk> {
    journal: Journal<S>,
    layout: Layout,
    session: SessionId,
    kept: Kept,
    signing: Option<Signing>,
    /// The role that this process acts in, where it is not the session's.
    role: Option<String>,
    /// What other processes had decided, kept only for whoever follows it.
    followed: Option<Followed>,
}

/// What one turn gave: the decisions on what people did meanwhile, and on the input itself.
#[derive(Debug)]
pub struct Taken {
    /// The decisions on what was found in the control files and on inputs that came along, oldest first.
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
        Self::begin_signed((layout, None), now, Configuration::default(), change)
    }

    /// As [`Self::begin`], signed, and never under a name for which the key vouched before; also for a program that holds
    /// parts of the agent's configuration itself: its prompt, its tools.
    ///
    /// # Errors
    /// See [`Self::begin`].
    pub fn begin_signed(
        (layout, signing): (&Layout, Option<Signing>),
        now: WallClock,
        own: Configuration,
        change: impl FnOnce(&mut Policy) -> Result<(), PolicyError>,
    ) -> Result<Self, DriverError> {
        for folder in [layout.folder().to_owned(), layout.state()] {
            // What a killed process left is only litter: that it stays is no reason against a session.
            drop(sweep_drafts(&folder));
        }
        template::write_if_missing(&layout.manifest())?;
        let mut policy = policy_file::load(&layout.manifest())?.policy;
        change(&mut policy)?;
        let manifest = authority::manifest(layout)?;
        let permissions = authority::compile(layout, &manifest, &mut policy)?;
        let chain = Chain::new(policy)?;
        hook_script::write(layout, manifest.thresholds())?;
        let was_given = |id: &SessionId| signing.as_ref().is_some_and(|signing| signing.has_signed(layout, id));
        let session = SessionId::claim_unless(layout, now, was_given)?;
        let frozen = authority::freeze((layout, &session), &manifest, chain.policy(), permissions, own)?;
        let journal = open_journal(layout, &session)?;
        let mut driver = Self { signing, ..Self::over(journal, layout, session, Kept::fresh(chain, frozen, now)) };
        driver.write_head(now)?;
        Ok(driver)
    }

    /// Takes up a session that was begun before, by this or another process.
    ///
    /// # Errors
    /// When there is none, its journal does not verify at its end, or its state is of a newer version.
    pub fn resume(layout: &Layout, session: &SessionId) -> Result<Self, DriverError> {
        let journal = open_existing(layout, session)?;
        let kept = match stored(&journal, layout, session, 0)? {
            Some(kept) => kept,
            None => begun(&journal)?,
        };
        Ok(Self::over(journal, layout, session.clone(), kept))
    }

    fn over(journal: Journal<Disk>, layout: &Layout, session: SessionId, kept: Kept) -> Self {
        Self { journal, layout: layout.clone(), session, kept, signing: None, role: None, followed: None }
    }
}

fn open_journal(layout: &Layout, session: &SessionId) -> Result<Journal<Disk>, DriverError> {
    let paths = SessionPaths::new(layout.folder(), session.as_str())?;
    Ok(Journal::open(Disk, paths, Options { host: host_name(), ..Options::default() })?)
}

/// Opens the journal of a session that must be there: looking makes nothing.
///
/// # Errors
/// When there is no such session, or its journal does not verify at its end.
pub fn open_existing(layout: &Layout, session: &SessionId) -> Result<Journal<Disk>, DriverError> {
    let paths = SessionPaths::new(layout.folder(), session.as_str())?;
    Ok(Journal::open_existing(Disk, paths, Options { host: host_name(), ..Options::default() })?)
}

/// The machine's name, as a note outside the hash.
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The session as its first record froze it; every other record is still to be taken in.
fn begun(journal: &Journal<Disk>) -> Result<Kept, DriverError> {
    let head = journal.read(journal.beginning(), 1)?;
    let record = head
        .records
        .first()
        .ok_or(DriverError::Record { index: 0, problem: "the session has no records".to_owned() })?;
    let start = WallClock::from_epoch_ms(record.times.wall_ms);
    let head = head_of(&record.body)?;
    let chain = Chain::new(head.policy()?)?;
    let frozen = Frozen { permissions: head.permissions, identity: head.identity };
    Ok(Kept { known: 1, ..Kept::fresh(chain, frozen, start) })
}

fn head_of(text: &str) -> Result<SessionBody, DriverError> {
    let wrong = |problem: String| DriverError::Record { index: 0, problem };
    let body: ReadBody<'_> = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    body.session.ok_or_else(|| wrong("is not the head of a session".to_owned()))
}

impl<S: Storage> Driver<S> {
    /// Has checkpoints signed from now on; without this the journal is chained and not signed.
    #[must_use]
    pub fn signed_by(mut self, signing: Option<Signing>) -> Self {
        self.signing = signing;
        self
    }

    /// Where the workspace's files are.
    #[must_use]
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The session's id.
    #[must_use]
    pub const fn session(&self) -> &SessionId {
        &self.session
    }

    /// The session at a glance, as far as this process has seen it.
    #[must_use]
    pub fn view(&self) -> ChainView {
        self.kept.chain.view()
    }

    /// The newest findings, oldest first.
    #[must_use]
    pub fn recent(&self) -> &[RecentFinding] {
        &self.kept.memo.findings
    }

    /// How many records the last signed checkpoint covers, as far as the state file knows.
    #[must_use]
    pub const fn signed(&self) -> u64 {
        self.kept.memo.signed
    }

    /// Why the manifest was not accepted at the last look, if it was not.
    #[must_use]
    pub fn manifest_refused(&self) -> Option<&str> {
        self.kept.seen.refused()
    }

    /// When the session began.
    #[must_use]
    pub const fn start(&self) -> WallClock {
        self.kept.start
    }

    /// The frozen policy.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        self.kept.chain.policy()
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
        self.take_with(|start| (vec![Input { at: since(start, now), what }], now))
    }

    /// Takes in one input that happens now. The clock is read under the session's lock: several processes that wait for
    /// each other must not make time run backwards.
    ///
    /// # Errors
    /// See [`Self::take`].
    pub fn take_now(&mut self, what: What, clock: impl FnOnce() -> WallClock) -> Result<Taken, DriverError> {
        self.take_all_now(Vec::new(), what, clock)
    }

    /// Takes in several inputs that happen now, in one append: `what` is the last, and its decision is the answer.
    ///
    /// # Errors
    /// See [`Self::take`].
    pub fn take_all_now(
        &mut self,
        before: Vec<What>,
        what: What,
        clock: impl FnOnce() -> WallClock,
    ) -> Result<Taken, DriverError> {
        self.take_with(|start| {
            let now = clock();
            let at = since(start, now);
            (before.into_iter().chain([what]).map(|what| Input { at, what: stamped(what, at) }).collect(), now)
        })
    }

    /// Takes in one input at the time that it carries itself, for a stream that was recorded elsewhere.
    ///
    /// # Errors
    /// See [`Self::take`].
    pub fn take_at(&mut self, input: Input, now: WallClock) -> Result<Taken, DriverError> {
        self.take_with(|_start| (vec![input], now))
    }

    /// Brings the view up to date with what other processes have journaled, and takes nothing in.
    ///
    /// # Errors
    /// When the journal does not verify or the state is of a newer version.
    pub fn refresh(&mut self) -> Result<(), DriverError> {
        let Self { journal, layout, session, kept, followed, .. } = self;
        let turn = journal.turn()?;
        catch_up(&turn, (layout, session), kept, followed.as_mut())
    }

    fn take_with(&mut self, make: impl FnOnce(WallClock) -> (Vec<Input>, WallClock)) -> Result<Taken, DriverError> {
        let Self { journal, layout, session, kept, signing, followed, .. } = self;
        let mut turn = journal.turn()?;
        catch_up(&turn, (layout, session), kept, followed.as_mut())?;
        let (own, now) = make(kept.start);
        let own: Vec<Input> = own.into_iter().map(|input| kept.frozen.confirm(input)).collect();
        let look = control::look(layout, &kept.seen, now)?;
        let at = own.first().map_or(RunMillis::ZERO, |input| input.at);
        let mut inputs: Vec<Input> = people::inputs(&look.facts).into_iter().map(|what| Input { at, what }).collect();
        inputs.extend(own);
        let steps = decide(&mut turn, session, &inputs, kept, now)?;
        kept.seen = look.seen;
        let decisions: Vec<&Decision> = steps.iter().map(|step| &step.decision).collect();
        let view = kept.chain.view();
        let done = effects::Done {
            progress: &kept.memo.progress,
            iterations: view.iterations.get(),
            iterations_max: kept.chain.policy().safety.max_iterations.get(),
        };
        let mut performed = effects::perform(layout, session, &decisions, (&mut kept.seen, &done), now);
        if let Err(error) = briefing::write_if_due(&turn, layout, session, &decisions, now) {
            performed.notices.push(effects::not_written("the briefing", &error));
        }
        effects::show_counters(layout, &view, &mut kept.seen);
        let ended = decisions.iter().any(|decision| sign::ends(decision));
        let mut damaged = None;
        if let Some(signing) = signing
            && (ended || sign::is_due(kept.known, kept.memo.signed))
        {
            match signing.sign(&mut turn) {
                Ok(size) => kept.memo.signed = size,
                Err(error @ JournalError::Damaged(_)) => damaged = Some(error),
                Err(error) => performed.notices.push(format!("no checkpoint was signed: {error}; {}", error.hint())),
            }
        }
        // Before anything else may fail: what people did is in the journal, and must not be taken in a second time.
        let hash = turn.journal().place().tail_hash();
        kept.save((layout, session), hash)?;
        if let Some(error) = damaged {
            // Records that are not those that were signed: nothing may go on from here.
            return Err(error.into());
        }
        drop(turn);
        if ended && let Err(error) = freeze::when_it_ends(journal, layout, session, kept.memo.model.as_deref()) {
            performed.notices.push(format!("the frozen replay was not written: {error}"));
        }
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

    /// Keeps what a person asked for, for the briefing of a fresh worker.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep_objective(&self, said: &str) -> Result<(), DriverError> {
        Ok(objective::keep(&self.layout, &self.session, said)?)
    }

    /// Writes the briefing for a fresh worker now: the client is about to compact its context by itself.
    ///
    /// # Errors
    /// When the lock is not to be had or the file cannot be written.
    pub fn brief(&mut self, now: WallClock) -> Result<(), DriverError> {
        let Self { journal, layout, session, .. } = self;
        let turn = journal.turn()?;
        Ok(briefing::write(&turn, layout, session, now)?)
    }

    fn write_head(&mut self, now: WallClock) -> Result<(), DriverError> {
        let Self { journal, layout, session, kept, .. } = self;
        let head = SessionBody::new(session.as_str(), kept.chain.policy())?.with_authority(&kept.frozen).text()?;
        let batch = Batch { entries: vec![entry(head, now)], durability: Durability::Synced, after: Some(0) };
        let mut turn = journal.turn()?;
        kept.known = append(&mut turn, &batch)?;
        // What stands in the manifest now is where the session begins, not an edit; STOP and PAUSE count from the start.
        if let Ok(manifest) = Manifest::load(&layout.manifest()) {
            kept.seen.wrote_manifest(&manifest);
        }
        kept.seen.froze_policy(kept.frozen.permissions.as_ref().map(|permissions| permissions.policy_digest()));
        let hash = turn.journal().place().tail_hash();
        kept.save((layout, session), hash)
    }
}

/// Steps the engine over the inputs and journals each with its decision, all in one append.
fn decide<S: Storage>(
    turn: &mut Turn<'_, S>,
    session: &SessionId,
    inputs: &[Input],
    kept: &mut Kept,
    now: WallClock,
) -> Result<Vec<Step>, DriverError> {
    let mut steps = Vec::with_capacity(inputs.len());
    let mut entries = Vec::with_capacity(inputs.len() * 2);
    for input in inputs {
        let step = kept.chain.step(input);
        let (mut taken, mut decided) = (String::new(), String::new());
        body::write_input(input, &mut taken)?;
        body::write_decision(session.as_str(), &step.decision, &mut decided)?;
        entries.extend([taken, decided].map(|text| entry(text, now)));
        kept.memo.note(input, &step.decision);
        steps.push(step);
    }
    let batch = Batch { entries, durability: Durability::Synced, after: Some(kept.known) };
    kept.known = append(turn, &batch)?;
    Ok(steps)
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
