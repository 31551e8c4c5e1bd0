//! The driver: the only part that knows both sides. Input, step on a copy, journal, commit, effects.
//!
//! Many short processes may drive one session at the same time. The one that holds the journal's lock first catches up with
//! what the others wrote, then looks at what people did, then takes its own input; input and decision go into the
//! journal in one append, durable before the answer is given. The engine's state moves only after that: the step is made on
//! a copy. The state file can always be rebuilt from the journal, and is whenever it does not fit.

mod ask;
mod authority;
mod briefing;
mod catch_up;
mod dir;
mod effects;
mod error;
pub mod freeze;
mod frozen;
mod keep;
mod log_entries;
pub mod log_view;
mod objective;
mod own_loop;
mod people;
mod recent;
mod records;
mod report_files;
pub mod run;
mod secret_sources;
mod sign;
mod state;
mod steps;
mod supervise;
mod time;
mod turn;
pub mod views;
pub mod words;

pub use crate::body::Frozen;
use crate::body::SessionBody;
use crate::redaction::{self, Redaction};
use crate::replica::Replica;
use catch_up::{Followed, catch_up, stored};
use dir::SessionDir;
pub use error::{AskError, DriverError, refusal_hint};
pub use frozen::{frozen_policy, frozen_rules};
pub use people::RemovedBy;
pub use recent::RecentFinding;
use records::{append, entry};
pub use records::{is_redacted, open_existing};
pub use report_files::Reporting;
use secret_sources::sources;
pub use secret_sources::{check_secrets, workspace_redactor};
pub use sign::{EVERY as CHECKPOINT_EVERY, Signing};
use state::{SessionState, StateFollower};
pub use state::{StateError, StateSaves};
use std::sync::Arc;
pub use steps::{KnownSteps, StepWords};
use time::{since, stamped};
use tripwire_authority::identity::Configuration;
use tripwire_core::chain::{Chain, ChainView};
use tripwire_core::input::{Input, What};
use tripwire_core::policy::{Policy, PolicyError};
use tripwire_fs::file::sweep_drafts;
use tripwire_journal::storage::Storage;
use tripwire_journal::storage::kept::KeptDisk;
use tripwire_journal::{Batch, Durability, Journal, SessionPaths};
use tripwire_secrets::{Redactor, Vault};
use tripwire_workspace::control::ControlLooks;
use tripwire_workspace::geometry::hook_script;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::manifest::{Manifest, template};
use tripwire_workspace::geometry::wall_clock::WallClock;
use tripwire_workspace::policy_file;
use tripwire_workspace::session::{self, SessionId};
use turn::{AtLook, Taken};
pub use turn::{ManifestReach, ResultSync, StepOutcome};

/// Files of one person in a workspace that clients obey beside those that the policy lists.
const LOCAL_FILES: [&str; 2] = ["CLAUDE.local.md", ".claude/settings.local.json"];

/// One session, driven by this process and perhaps by others.
#[derive(Debug)]
pub struct Driver<S: Storage = KeptDisk> {
    journal: Journal<S>,
    layout: Layout,
    session: SessionId,
    state: SessionState,
    signing: Option<Signing>,
    /// The role that this process acts in, where it is not the session's.
    role: Option<String>,
    /// Whether the agent's calls can write the manifest.
    reach: ManifestReach,
    /// Control files that a person has just removed by a command.
    removed: Option<RemovedBy>,
    /// Who leaves reports for people.
    reporting: Reporting,
    /// What other processes had decided, kept only where it is followed.
    followed: Option<Followed>,
    /// Between the world and the record.
    redaction: Redaction,
    /// How durable results are that nothing follows from.
    results: ResultSync,
    /// Who must have the records before anything follows from them.
    replica: Option<Arc<dyn Replica>>,
    /// How the state file follows the journal.
    follower: StateFollower,
    /// What this process keeps between its looks at people's files.
    looks: ControlLooks,
}

impl Driver<KeptDisk> {
    /// Begins a new session under the manifest's policy, frozen from now on. `change` may set what a command asks for.
    ///
    /// # Errors
    /// When the policy cannot be read or the journal cannot be written: then there is no session.
    pub fn begin(
        layout: &Layout,
        now: WallClock,
        change: impl FnOnce(&mut Policy) -> Result<(), PolicyError>,
    ) -> Result<Self, DriverError> {
        Self::begin_signed(layout, None, now, Configuration::default(), change)
    }

    /// As [`Self::begin`], signed, and never under a name for which the key vouched before; also for a program that holds
    /// parts of the agent's configuration itself: its prompt, its tools.
    ///
    /// # Errors
    /// See [`Self::begin`].
    pub fn begin_signed(
        layout: &Layout,
        signing: Option<Signing>,
        now: WallClock,
        own: Configuration,
        change: impl FnOnce(&mut Policy) -> Result<(), PolicyError>,
    ) -> Result<Self, DriverError> {
        for folder in [layout.folder().to_owned(), layout.state()] {
            // Leftovers of a killed process do no harm: that they stay is no reason against a session.
            drop(sweep_drafts(&folder));
        }
        template::write_if_missing(&layout.manifest())?;
        let mut policy = policy_file::load_for(layout)?.policy;
        change(&mut policy)?;
        let manifest = authority::manifest(layout)?;
        let permissions = authority::compile(layout, &manifest, &mut policy)?;
        let chain = Chain::new(policy)?;
        // Nothing is made where nothing could be recorded.
        let redactor = workspace_redactor(layout, signing.as_ref(), chain.policy())?;
        redaction::check_policy(chain.policy(), &redactor)?;
        hook_script::write(layout, manifest.thresholds())?;
        let was_given = |id: &SessionId| signing.as_ref().is_some_and(|signing| signing.has_signed(layout, id));
        let session = session::claim_unless(layout, now, was_given)?;
        let frozen =
            authority::freeze(SessionDir { layout, session: &session }, &manifest, chain.policy(), permissions, own)?;
        let journal = records::create_journal(layout, &session)?;
        let state = SessionState::fresh(chain, frozen, now);
        let mut driver = Self::over(journal, layout, session, state).signed_by(signing);
        driver.write_head(now)?;
        Ok(driver)
    }

    /// Takes up a session that was begun before, by this or another process.
    ///
    /// # Errors
    /// When there is none, its journal does not verify at its end, or its state is of a newer version.
    pub fn resume(layout: &Layout, session: &SessionId) -> Result<Self, DriverError> {
        let journal = records::open_to_write(layout, session)?;
        let state = match stored(&journal, SessionDir { layout, session }, 0)? {
            Some(state) => state,
            None => {
                let mut state = records::begun(&journal)?;
                // A session that has looked before is no new one, however much of its state was lost.
                if journal.records() > 1 {
                    state.seen.accept_standing();
                }
                state
            }
        };
        let is_behind = state.known < journal.records();
        let mut driver = Self::over(journal, layout, session.clone(), state);
        if is_behind {
            driver.refresh()?;
        }
        Ok(driver)
    }

    /// Takes in the last input of a run. A journal that failed for an earlier call is opened again first, once: where there
    /// is room by now, the record says how the run ended.
    ///
    /// # Errors
    /// See [`Self::take`].
    pub fn take_last(&mut self, what: What, clock: impl FnOnce() -> WallClock) -> Result<StepOutcome, DriverError> {
        if self.journal.is_poisoned() {
            self.journal = records::open_to_write(&self.layout, &self.session)?;
        }
        self.take_now(what, clock)
    }

    fn over(journal: Journal<KeptDisk>, layout: &Layout, session: SessionId, state: SessionState) -> Self {
        let redaction = Redaction::new(sources(layout, session.as_str(), None, state.chain.policy()));
        Self {
            journal,
            layout: layout.clone(),
            session,
            state,
            signing: None,
            role: None,
            reach: ManifestReach::Closed,
            removed: None,
            reporting: Reporting::Own,
            followed: None,
            redaction,
            results: ResultSync::Each,
            replica: None,
            follower: StateFollower::default(),
            looks: ControlLooks::default(),
        }
    }
}

/// Whose time the inputs of a turn have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Timing {
    /// Ours: silence since the last input is told first.
    Live,
    /// That of a stream that was recorded elsewhere, which holds everything that happened.
    Recorded,
}

impl<S: Storage> Driver<S> {
    /// Has checkpoints signed from now on; without this the journal is chained and not signed.
    #[must_use]
    pub fn signed_by(mut self, signing: Option<Signing>) -> Self {
        self.redaction = Redaction::new(sources(&self.layout, self.session.as_str(), signing.as_ref(), self.policy()));
        self.signing = signing;
        self
    }

    /// What replaces secrets by placeholders before anything of this session is hashed or stored.
    ///
    /// # Errors
    /// When the workspace's own secrets cannot be read: then nothing may be recorded.
    pub fn redactor(&self) -> Result<&Redactor, DriverError> {
        Ok(self.redaction.redactor()?)
    }

    /// The real values behind the placeholders that this process made; never written.
    #[must_use]
    pub const fn vault(&self) -> &Vault {
        &self.redaction.vault
    }

    /// Brings back what this process can still know of secrets that an earlier one redacted: values of the environment and
    /// of `.env` files.
    ///
    /// # Errors
    /// See [`Self::redactor`].
    pub fn recall_secrets(&mut self) -> Result<(), DriverError> {
        Ok(self.redaction.recall()?)
    }

    /// Says whether the agent's calls can write the manifest; unless said, they cannot.
    #[must_use]
    pub const fn with_reach(mut self, reach: ManifestReach) -> Self {
        self.reach = reach;
        self
    }

    /// Says who leaves reports for people; unless said, the session itself does.
    #[must_use]
    pub fn with_reporting(mut self, reporting: Reporting) -> Self {
        self.reporting = reporting;
        if reporting == Reporting::ByTheLoop {
            self.state.seen.accept_standing();
        }
        self
    }

    /// Says how durable results are that nothing follows from; unless said, each is synced.
    #[must_use]
    pub const fn with_results(mut self, results: ResultSync) -> Self {
        self.results = results;
        self
    }

    /// Says how often the state file is written; unless said, with every input.
    #[must_use]
    pub fn with_saves(mut self, saves: StateSaves) -> Self {
        self.follower = StateFollower::new(saves);
        self
    }

    /// Has every record in a second place before anything follows from it.
    #[must_use]
    pub fn replicated_by(mut self, replica: Option<Arc<dyn Replica>>) -> Self {
        self.replica = replica;
        self
    }

    /// Names the person who has just removed control files by a command: the acts that they mean are signed.
    #[must_use]
    pub fn after_removal(mut self, removed: RemovedBy) -> Self {
        self.removed = Some(removed);
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
        self.state.chain.view()
    }

    /// The session at a glance, as it stands at this time: an agent that has been silent since is idle. Nothing is taken in.
    #[must_use]
    pub fn view_at(&self, now: WallClock) -> ChainView {
        let at = since(self.state.start, now);
        let Some(idle) = self.state.chain.idle_before(at) else { return self.view() };
        let mut chain = self.state.chain.clone();
        chain.step(&Input { at: idle, what: What::Tick });
        chain.view()
    }

    /// The newest findings, oldest first.
    #[must_use]
    pub fn recent(&self) -> &[RecentFinding] {
        &self.state.memo.findings
    }

    /// How many records the last signed checkpoint covers, as far as the state file knows.
    #[must_use]
    pub const fn signed(&self) -> u64 {
        self.state.memo.signed
    }

    /// Why the manifest was not accepted at the last look, if it was not.
    #[must_use]
    pub fn manifest_refused(&self) -> Option<&str> {
        self.state.seen.refused()
    }

    /// When the session began.
    #[must_use]
    pub const fn start(&self) -> WallClock {
        self.state.start
    }

    /// The frozen policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        self.state.chain.policy()
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
    pub fn take(&mut self, what: What, now: WallClock) -> Result<StepOutcome, DriverError> {
        self.take_with(Timing::Live, |start| (vec![Input { at: since(start, now), what }], now))
    }

    /// Takes in one input that happens now. The clock is read under the session's lock: several processes that wait for
    /// each other must not make time run backwards.
    ///
    /// # Errors
    /// See [`Self::take`].
    pub fn take_now(&mut self, what: What, clock: impl FnOnce() -> WallClock) -> Result<StepOutcome, DriverError> {
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
    ) -> Result<StepOutcome, DriverError> {
        self.take_with(Timing::Live, |start| {
            let now = clock();
            let at = since(start, now);
            (before.into_iter().chain([what]).map(|what| Input { at, what: stamped(what, at) }).collect(), now)
        })
    }

    /// Takes in one input at the time that it carries itself, for a stream that was recorded elsewhere.
    ///
    /// # Errors
    /// See [`Self::take`].
    pub fn take_at(&mut self, input: Input, now: WallClock) -> Result<StepOutcome, DriverError> {
        self.take_with(Timing::Recorded, |_start| (vec![input], now))
    }

    /// Brings the view up to date with what other processes have journaled, and takes nothing in.
    ///
    /// # Errors
    /// When the journal does not verify or the state is of a newer version.
    pub fn refresh(&mut self) -> Result<(), DriverError> {
        let Self { journal, layout, session, state, followed, .. } = self;
        let turn = journal.turn()?;
        catch_up(&turn, SessionDir { layout, session }, state, followed.as_mut())
    }

    /// The way of every input: catch up, gather what people did, decide on a copy, append, commit the copy, carry the effects
    /// out, sign, save. Before the append is acknowledged nothing of this session has moved.
    fn take_with(
        &mut self,
        timing: Timing,
        make: impl FnOnce(WallClock) -> (Vec<Input>, WallClock),
    ) -> Result<StepOutcome, DriverError> {
        let Self {
            journal,
            layout,
            session,
            state,
            signing,
            followed,
            reach,
            removed,
            reporting,
            redaction,
            looks,
            ..
        } = self;
        let (results, saves) = (self.results, self.follower.saves());
        redaction.refresh()?;
        let dir = SessionDir { layout, session };
        let mut turn = journal.turn()?;
        catch_up(&turn, dir, state, followed.as_mut())?;
        let (own, now) = make(state.start);
        let at_look = AtLook { now, reach: *reach, removed: removed.as_ref(), reporting: *reporting, saves };
        let own = if timing == Timing::Live { turn::with_late_tick(state, own) } else { own };
        let gathered = turn::gather(dir, state, own, at_look, looks)?;
        let decided = turn::decide_on_copy(state, session, gathered, redaction.redactor()?)?;
        let batch = decided.batch(state.known, now, results);
        let known = append(&mut turn, &batch)?;
        if let Some(replica) = self.replica.as_ref().filter(|_| batch.durability == Durability::Synced) {
            replica.confirm(&SessionPaths::new(dir.layout.folder(), session), known)?;
        }
        let entries = decided.log_entries(dir, now);
        let (steps, what) = decided.commit(state, known);
        let taken = Taken { steps: &steps, entries: &entries };
        let mut carried = turn::carry_out(&turn, dir, state, taken, at_look);
        let signed = turn::sign_if_due(&mut turn, signing.as_ref(), state, &mut carried);
        // Before anything else may fail: what people did is in the journal, and must not be taken in a second time.
        self.follower.save(state, dir, turn.journal().place().tail_hash())?;
        drop(turn);
        // Records that are not those that were signed: nothing may go on from here.
        signed?;
        let notices = turn::write_views(journal, dir, state, carried);
        turn::outcome(steps, what, notices)
    }

    fn write_head(&mut self, now: WallClock) -> Result<(), DriverError> {
        let Self { journal, layout, session, state, .. } = self;
        let head = SessionBody::new(session.as_str(), state.chain.policy())?.with_authority(&state.frozen);
        let head = head.redacted().text()?;
        let batch = Batch { entries: vec![entry(&head, now)], durability: Durability::Synced, after: Some(0) };
        let mut turn = journal.turn()?;
        state.known = append(&mut turn, &batch)?;
        // What stands in the manifest now is where the session begins, not an edit; STOP and PAUSE count from the start.
        if let Ok(manifest) = Manifest::load(&layout.manifest()) {
            state.seen.wrote_manifest(&manifest);
        }
        let identity = &state.chain.policy().identity;
        let lists = [&identity.prompt_files, &identity.tool_files, &identity.client_files];
        let obeyed: Vec<String> =
            lists.iter().flat_map(|list| list.iter()).chain(LOCAL_FILES).map(str::to_owned).collect();
        state.seen.watch_obeyed(layout, obeyed.iter().map(String::as_str), now);
        state.seen.froze_policy(state.frozen.permissions.as_ref().map(|permissions| permissions.policy_digest()));
        let hash = turn.journal().place().tail_hash();
        Ok(state.save(SessionDir { layout, session }, hash)?)
    }
}
