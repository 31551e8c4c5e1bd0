//! The steps of one turn: gather, decide on a copy, commit, carry out, sign, write the views.

use super::dir::SessionDir;
use super::error::DriverError;
use super::people::{self, AgentAtWork, FoundBy, RemovedBy};
use super::records::entry;
use super::report_files::{Reporting, WorkDone};
use super::sign::{self, Signing};
use super::state::{SessionState, StateSaves};
use super::{authority, briefing, effects, freeze, log_entries, log_view, objective};
use crate::body;
use crate::redaction::RedactionError;
use std::borrow::Cow;
use tripwire_core::chain::gate::Permit;
use tripwire_core::chain::{Chain, Step};
use tripwire_core::decision::Decision;
use tripwire_core::effect::Effect;
use tripwire_core::explain::Explain as _;
use tripwire_core::input::{Input, What};
use tripwire_core::units::RunMillis;
use tripwire_journal::storage::Storage;
use tripwire_journal::{Batch, Durability, Journal, JournalError, Turn};
use tripwire_secrets::Redactor;
use tripwire_workspace::account;
use tripwire_workspace::control::{self, ControlLooks, Seen};
use tripwire_workspace::geometry::safety_log::{LogEntry, LogError};
use tripwire_workspace::geometry::wall_clock::WallClock;
use tripwire_workspace::session::SessionId;

/// What one turn gave: the decisions on what people did meanwhile, and on the input itself.
#[derive(Debug)]
pub struct StepOutcome {
    /// The decisions on what was found in the control files and on inputs that came along, oldest first.
    pub before: Vec<Decision>,
    /// The input as it was journaled, without secrets.
    pub what: What,
    /// The decision on the input.
    pub decision: Decision,
    /// The right to act, if the input asked for it and was allowed.
    pub permit: Option<Permit>,
    /// When the engine wants to be stepped again.
    pub next_deadline: Option<RunMillis>,
    /// Notices for a person, in order.
    pub notices: Vec<String>,
}

/// The inputs of one turn, what people did first, and what was seen of the control files, where that is news.
pub(super) struct Gathered {
    inputs: Vec<Input>,
    seen: Option<Seen>,
}

/// When and for whom the control files are looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct AtLook<'a> {
    pub(super) now: WallClock,
    pub(super) reach: ManifestReach,
    pub(super) removed: Option<&'a RemovedBy>,
    pub(super) reporting: Reporting,
    pub(super) saves: StateSaves,
}

/// Whether the agent's calls can write the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ManifestReach {
    /// They are confined: an edit is a person's whenever it comes.
    #[default]
    Closed,
    /// Nothing keeps them from it: an edit while one runs may be the agent's.
    Open,
}

/// How durable results are that nothing follows from. Whatever asks for leave, refuses or has an effect is always synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultSync {
    /// Each is synced.
    #[default]
    Each,
    /// With the next input that is synced: a power cut may lose them, the end of the process does not.
    Grouped,
}

/// Puts what people did since the last turn before this process's own inputs, whose claims are confirmed.
pub(super) fn gather(
    dir: SessionDir<'_>,
    state: &SessionState,
    own: Vec<Input>,
    at_look: AtLook<'_>,
    looks: &mut ControlLooks,
) -> Result<Gathered, DriverError> {
    let mut look = control::look_again(dir.layout, dir.session, &state.seen, at_look.now, looks)?;
    let at = own.first().map_or(RunMillis::ZERO, |input| input.at);
    let agent = match at_look.reach {
        ManifestReach::Open if state.memo.has_open_calls() => AgentAtWork::InReach,
        ManifestReach::Open | ManifestReach::Closed => AgentAtWork::No,
    };
    if agent == AgentAtWork::InReach && !look.facts.is_empty() {
        look.seen.to_mut().disown_shown();
    }
    let manifest_owner = if look.facts.is_empty() { None } else { account::owner_of(&dir.layout.manifest()) };
    let found = FoundBy { removed: at_look.removed, manifest_owner, agent, policy: Some(state.chain.policy()) };
    let acts = people::inputs(&look.facts, &found).into_iter().map(|what| Input { at, what });
    let own = own.into_iter().map(|input| authority::confirm(&state.frozen, input));
    let seen = match look.seen {
        Cow::Borrowed(_) => None,
        Cow::Owned(seen) => Some(seen),
    };
    Ok(Gathered { inputs: acts.chain(own).collect(), seen })
}

/// Puts a tick before the inputs where the agent fell idle meanwhile: no process was there to say so in time.
pub(super) fn with_late_tick(state: &SessionState, own: Vec<Input>) -> Vec<Input> {
    let idle = own.first().and_then(|first| state.chain.idle_before(first.at));
    idle.map(|at| Input { at, what: What::Tick }).into_iter().chain(own).collect()
}

/// Steps on a copy of the engine, and the records that say so. Dropped, it has never been.
pub(super) struct Decided {
    chain: Chain,
    seen: Option<Seen>,
    /// The inputs, without secrets, with a step for each.
    inputs: Vec<Input>,
    steps: Vec<Step>,
    bodies: Vec<String>,
    follows: Consequences,
}

/// Whether anything follows from the steps of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Consequences {
    /// Something was asked for, refused or caused.
    Some,
    /// It is news of what happened, and nothing else.
    None,
}

/// Steps a copy of the engine over the inputs.
pub(super) fn decide_on_copy(
    state: &SessionState,
    session: &SessionId,
    Gathered { inputs: given, seen }: Gathered,
    redactor: &Redactor,
) -> Result<Decided, DriverError> {
    let mut chain = state.chain.clone();
    let (mut inputs, mut steps) = (Vec::with_capacity(given.len()), Vec::with_capacity(given.len()));
    let (mut bodies, mut follows) = (Vec::with_capacity(given.len() * 2), Consequences::None);
    for input in given {
        let (input, taken) = redacted(input, redactor)?;
        let step = chain.step(&input);
        let is_news = matches!(input.what, What::Event(_)) && step.decision.safety.allowed;
        if !is_news || !step.decision.effects.is_empty() {
            follows = Consequences::Some;
        }
        let mut decided = String::new();
        body::write_decision(session.as_str(), &step.decision, &mut decided)?;
        bodies.extend([taken, decided]);
        steps.push(step);
        inputs.push(input);
    }
    Ok(Decided { chain, seen, inputs, steps, bodies, follows })
}

/// An input without secrets, and its record: the engine sees what the journal holds.
fn redacted(input: Input, redactor: &Redactor) -> Result<(Input, String), DriverError> {
    let mut taken = String::new();
    body::write_input(&input, &mut taken)?;
    let Cow::Owned(clean) = redactor.redact_json(&taken) else { return Ok((input, taken)) };
    let input = body::read_redacted_input(&clean).map_err(RedactionError::Form)?;
    taken.clear();
    body::write_input(&input, &mut taken)?;
    Ok((input, taken))
}

impl Decided {
    /// Each input with its decision, all in one append behind the records that are known.
    pub(super) fn batch(&self, known: u64, now: WallClock, results: ResultSync) -> Batch<'_> {
        let entries = self.bodies.iter().map(|body| entry(body, now)).collect();
        let durability = match (results, self.follows) {
            (ResultSync::Each, _) | (ResultSync::Grouped, Consequences::Some) => Durability::Synced,
            (ResultSync::Grouped, Consequences::None) => Durability::Grouped,
        };
        Batch { entries, durability, after: Some(known) }
    }

    /// What the safety log is to hold of it.
    pub(super) fn log_entries(&self, dir: SessionDir<'_>, now: WallClock) -> Vec<LogEntry> {
        let told = |step: &Step| !step.decision.safety.allowed || !step.decision.findings.is_empty();
        let pairs = self.bodies.chunks_exact(2).zip(&self.steps).filter(|(_, step)| told(step));
        pairs.flat_map(|(pair, _)| log_entries::of_pair(pair, dir, now)).collect()
    }

    /// Lets the state follow the copy; `known` comes from the acknowledged append. Gives the last input with the steps.
    pub(super) fn commit(self, state: &mut SessionState, known: u64) -> (Vec<Step>, Option<What>) {
        let Self { chain, seen, mut inputs, steps, bodies: _, follows: _ } = self;
        for (input, step) in inputs.iter().zip(&steps) {
            state.memo.note(input, &step.decision);
        }
        (state.chain, state.known) = (chain, known);
        if let Some(seen) = seen {
            state.seen = seen;
        }
        (steps, inputs.pop().map(|input| input.what))
    }
}

/// The steps of a turn, and what the safety log is to hold of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken<'a> {
    pub(super) steps: &'a [Step],
    pub(super) entries: &'a [LogEntry],
}

/// What carrying the effects out gave, and what is left to do behind the lock.
pub(super) struct Carried {
    notices: Vec<String>,
    damaged_log: Option<LogError>,
    ended: bool,
}

/// Carries out the effects that belong to `.geometry/`. The decisions are journaled, so nothing here may undo them.
pub(super) fn carry_out<S: Storage>(
    turn: &Turn<'_, S>,
    dir: SessionDir<'_>,
    state: &mut SessionState,
    Taken { steps, entries }: Taken<'_>,
    AtLook { now, reporting, saves, .. }: AtLook<'_>,
) -> Carried {
    let decisions: Vec<&Decision> = steps.iter().map(|step| &step.decision).collect();
    let view = state.chain.view();
    // Read only where it is needed: this is the path of every call.
    let reports = |decision: &&Decision| decision.effects.iter().any(|effect| matches!(effect, Effect::WriteReport(_)));
    let objective = decisions.iter().any(reports).then(|| objective::known(dir.layout, dir.session)).flatten();
    let work = WorkDone {
        reporting,
        objective,
        progress: &state.memo.progress,
        iterations: view.iterations.get(),
        iterations_max: state.chain.policy().safety.max_iterations.get(),
        entries,
    };
    let mut performed = effects::perform(dir, &decisions, &work, &mut state.seen, now);
    if let Err(error) = briefing::write_if_due(turn, dir, &decisions, now) {
        performed.notices.push(effects::not_written("the briefing", &error));
    }
    let signatures = effects::ShowSignatures::beside(saves);
    let live = effects::LiveState { view: &view, memo: &state.memo, start: state.start, signatures };
    effects::show_counters(dir.layout, &live, &mut state.seen);
    let ended = decisions.iter().any(|decision| sign::ends(decision));
    Carried { notices: performed.notices, damaged_log: performed.damaged_log, ended }
}

/// Signs a checkpoint where one is due. That none could be signed is a notice; that the records are not those that were
/// signed before is an error.
pub(super) fn sign_if_due<S: Storage>(
    turn: &mut Turn<'_, S>,
    signing: Option<&Signing>,
    state: &mut SessionState,
    carried: &mut Carried,
) -> Result<(), DriverError> {
    let Some(signing) = signing.filter(|_| carried.ended || sign::is_due(state.known, state.memo.signed)) else {
        return Ok(());
    };
    match signing.sign(turn) {
        Ok(size) => state.memo.signed = size,
        Err(error @ JournalError::Damaged(_)) => return Err(error.into()),
        Err(error) => carried.notices.push(format!("no checkpoint was signed: {error}; {}", error.hint())),
    }
    Ok(())
}

/// Writes what is made from the whole journal, without the lock: the frozen replay of a session that ended, and a safety log
/// that was damaged.
pub(super) fn write_views<S: Storage>(
    journal: &Journal<S>,
    dir: SessionDir<'_>,
    state: &SessionState,
    Carried { mut notices, damaged_log, ended }: Carried,
) -> Vec<String> {
    if ended && let Err(error) = freeze::when_it_ends(journal, dir.layout, dir.session, state.memo.model.as_deref()) {
        notices.push(format!("the frozen replay was not written: {error}"));
    }
    if let Some(error) = damaged_log {
        // The journal holds what the log lost; a log that cannot be written at all must not stop the guard.
        notices.push(match log_view::rebuild(dir.layout) {
            Ok(_) => format!("the safety log was rebuilt from the journal: {error}"),
            Err(again) => format!("the safety log could not be written: {again}; {}", again.hint()),
        });
    }
    notices
}

/// The last step is the answer to the input.
pub(super) fn outcome(
    mut steps: Vec<Step>,
    what: Option<What>,
    notices: Vec<String>,
) -> Result<StepOutcome, DriverError> {
    let (last, what) = steps.pop().zip(what).ok_or(DriverError::Fenced)?;
    let before = steps.into_iter().map(|step| step.decision).collect();
    Ok(StepOutcome {
        before,
        what,
        decision: last.decision,
        permit: last.permit,
        next_deadline: last.next_deadline,
        notices,
    })
}
