//! Replay: the same inputs again, the same decisions, or the first index at which they differ (REPLAY-1).

use crate::body::{self, ReadBody, ReadDecision, SessionBody, SessionBodyError};
use crate::formats::recording::{ReadError, Records};
use std::borrow::Cow;
use std::io::BufRead;
use tripwire_core::chain::{Chain, SnapshotError};
use tripwire_core::decision::Decision;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::input::Input;
use tripwire_core::limits::RULES_VERSION;
use tripwire_core::policy::{Policy, PolicyError};
use tripwire_core::record::canonical::CanonicalError;
use tripwire_core::record::parity::{CountedDigest, Parity, ParityDigests};
use tripwire_journal::storage::Storage;
use tripwire_journal::{Journal, JournalError, Place, Record};
use tripwire_workspace::geometry::replay_file::Replay;

/// Why a replay could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file does not verify.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The journal does not verify or cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The head is missing or cannot be used.
    #[error("record 0: {0}")]
    Head(#[from] SessionBodyError),
    /// The file does not begin with a head.
    #[error("record 0: is not the head of a session")]
    NoHead,
    /// A record is of no kind that is known.
    #[error("record {index}: {problem}")]
    Record {
        /// Its index.
        index: u64,
        /// What is wrong.
        problem: String,
    },
    /// The policy contradicts itself.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A decision has no canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// A state could not be taken up again.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

impl Explain for ReplayError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Journal(error) => error.hint(),
            Self::Read(error) => error.hint(),
            Self::Head(_)
            | Self::NoHead
            | Self::Record { .. }
            | Self::Policy(_)
            | Self::Canonical(_)
            | Self::Snapshot(_) => {
                "keep the file as evidence; record again with `tripwire decide --record FILE`".into()
            }
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Journal(error) => error.exit_class(),
            Self::Read(_) | Self::Record { .. } | Self::Head(_) | Self::NoHead => ExitClass::DoesNotHold,
            Self::Policy(_) | Self::Canonical(_) | Self::Snapshot(_) => ExitClass::Internal,
        }
    }
}

/// What a replay found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// What the file recorded, or the live run gave.
    pub recorded: ParityDigests,
    /// What the replay gave.
    pub recomputed: ParityDigests,
    /// The version of the rules that the session began under.
    pub rules: u32,
    /// The first decision that differs: its index, what was recorded, what came out.
    pub first_difference: Option<Difference>,
}

impl Replayed {
    /// Whether the decisions are those that were recorded.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.recorded == self.recomputed && self.first_difference.is_none()
    }

    /// Whether a difference may come from rules that changed since; the record itself is checked by its hashes.
    #[must_use]
    pub const fn has_older_rules(&self) -> bool {
        self.rules < RULES_VERSION
    }
}

/// One decision that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The index of the input.
    pub index: u64,
    /// One of the two.
    pub recorded: String,
    /// The other.
    pub recomputed: String,
}

/// Replays a recording under its own policy.
///
/// # Errors
/// When the file does not verify or is no recording.
pub fn recording(reader: impl BufRead) -> Result<Replayed, ReplayError> {
    again(&mut Records::new(reader))
}

/// Replays a session's journal under its own policy.
///
/// # Errors
/// When the journal does not verify or is not that of a session.
pub fn session<S: Storage>(journal: &Journal<S>) -> Result<Replayed, ReplayError> {
    again(&mut JournalBodies::new(journal))
}

/// Replays a frozen replay: its inputs under its own policy, compared with the digests that were frozen with them.
///
/// # Errors
/// When the file lacks the session's head, or an input cannot be read.
pub fn frozen(replay: &Replay) -> Result<Replayed, ReplayError> {
    let head = replay.header.session.clone().ok_or(ReplayError::NoHead)?;
    let wrong = |index, problem: String| ReplayError::Record { index, problem };
    let head: SessionBody = serde_json::from_value(head).map_err(|error| wrong(0, error.to_string()))?;
    let mut chain = Chain::new(head.policy()?)?;
    let mut parity = Parity::new();
    let mut text = String::new();
    for (index, input) in (1..).zip(&replay.inputs) {
        let input: Input = serde_json::from_value(input.clone()).map_err(|error| wrong(index, error.to_string()))?;
        parity.push_event(&body::event_text(&input)?);
        text.clear();
        chain.step(&input).decision.parity_text(&mut text)?;
        parity.push_decision(&text);
    }
    let recomputed = parity.finish();
    let digest = |text: &str, own: CountedDigest| {
        let sha256 = text.parse().map_err(|_| wrong(0, format!("`{text}` is not a digest")))?;
        Ok::<_, ReplayError>(CountedDigest { sha256, ..own })
    };
    let recorded = ParityDigests {
        decisions: digest(&replay.header.decisions_digest, recomputed.decisions)?,
        events: digest(&replay.header.inputs_digest, recomputed.events)?,
    };
    Ok(Replayed { recorded, recomputed, rules: head.rules, first_difference: None })
}

fn again(records: &mut impl Bodies) -> Result<Replayed, ReplayError> {
    let (head, mut chain) = begin(records)?;
    let (mut old, mut new) = (Parity::new(), Parity::new());
    let mut first_difference = None;
    let (mut recomputed, mut parity) = (String::new(), String::new());
    each_input(records, |index, input, input_text, decision_text| {
        let step = chain.step(&input);
        old.push_event(input_text);
        new.push_event(&body::event_text(&input)?);
        // A crash between an input and its decision leaves the input alone; the next process decided it the same way.
        let Some(decision_text) = decision_text else { return Ok(()) };
        let record = |problem: serde_json::Error| ReplayError::Record { index, problem: problem.to_string() };
        let read: ReadDecision<'_> = serde_json::from_str(decision_text).map_err(record)?;
        old.push_decision(&read.parity_text());
        parity.clear();
        step.decision.parity_text(&mut parity)?;
        new.push_decision(&parity);
        recomputed.clear();
        body::write_decision(&head.run_id, &step.decision, &mut recomputed)?;
        let inner = recomputed.strip_prefix("{\"decision\":").and_then(|text| text.strip_suffix('}'));
        if first_difference.is_none() && inner != Some(decision_text) {
            first_difference = Some(Difference {
                index: step.decision.i.get(),
                recorded: decision_text.to_owned(),
                recomputed: inner.unwrap_or_default().to_owned(),
            });
        }
        Ok(())
    })?;
    Ok(Replayed { recorded: old.finish(), recomputed: new.finish(), rules: head.rules, first_difference })
}

/// One decision that another policy would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionChange {
    /// Under the recorded policy.
    pub before: Decision,
    /// Under the other one.
    pub after: Decision,
}

/// Replays a recording under another policy and tells each decision that would change: what the gate lets through,
/// the veto, the intent, or the strictest level of the findings.
///
/// # Errors
/// When the file does not verify or is no recording.
pub fn under(reader: impl BufRead, other: &Policy, tell: impl FnMut(&DecisionChange)) -> Result<u64, ReplayError> {
    compare(&mut Records::new(reader), other, tell)
}

/// The same for a session's journal.
///
/// # Errors
/// When the journal does not verify or is not that of a session.
pub fn session_under<S: Storage>(
    journal: &Journal<S>,
    other: &Policy,
    tell: impl FnMut(&DecisionChange),
) -> Result<u64, ReplayError> {
    compare(&mut JournalBodies::new(journal), other, tell)
}

fn compare(
    records: &mut impl Bodies,
    other: &Policy,
    mut tell: impl FnMut(&DecisionChange),
) -> Result<u64, ReplayError> {
    let (_, chain) = begin(records)?;
    let mut runs = TwoPolicies { before: chain, after: Chain::new(other.clone())? };
    let mut inputs = 0;
    each_input(records, |_, input, _, _| {
        inputs += 1;
        runs.input(&input).iter().for_each(&mut tell);
        Ok(())
    })?;
    Ok(inputs)
}

/// One stream under two policies.
#[derive(Debug)]
pub struct TwoPolicies {
    before: Chain,
    after: Chain,
}

impl TwoPolicies {
    /// Begins both runs.
    ///
    /// # Errors
    /// When a policy contradicts itself.
    pub fn new(before: Policy, after: Policy) -> Result<Self, ReplayError> {
        Ok(Self { before: Chain::new(before)?, after: Chain::new(after)? })
    }

    /// Gives one input to both; tells whether what the gate lets through, the veto, the intent, or the strictest level
    /// of the findings would change.
    pub fn input(&mut self, input: &Input) -> Option<DecisionChange> {
        let change =
            DecisionChange { before: self.before.step(input).decision, after: self.after.step(input).decision };
        differs(&change).then_some(change)
    }
}

fn differs(change: &DecisionChange) -> bool {
    let seen = |decision: &Decision| {
        let safety = &decision.safety;
        (safety.allowed, safety.veto_reason, decision.intent.intent, decision.level())
    };
    seen(&change.before) != seen(&change.after)
}

/// Runs a plain stream twice: live, and with the state written down and taken up again after every input.
#[derive(Debug)]
pub struct TwoRuns {
    live: Chain,
    resumed: Chain,
    parities: (Parity, Parity),
    first_difference: Option<Difference>,
}

impl TwoRuns {
    /// Begins both runs.
    ///
    /// # Errors
    /// When the policy contradicts itself.
    pub fn new(policy: &Policy) -> Result<Self, ReplayError> {
        let live = Chain::new(policy.clone())?;
        let resumed = live.clone();
        Ok(Self { live, resumed, parities: (Parity::new(), Parity::new()), first_difference: None })
    }

    /// Gives one input to both.
    ///
    /// # Errors
    /// When a state cannot be taken up again.
    pub fn input(&mut self, input: &Input) -> Result<(), ReplayError> {
        let decision = self.live.step(input).decision;
        self.resumed = Chain::restore(&self.resumed.snapshot()?)?;
        let again = self.resumed.step(input).decision;
        let (mut one, mut two) = (String::new(), String::new());
        body::write_decision("replay", &decision, &mut one)?;
        body::write_decision("replay", &again, &mut two)?;
        let text = body::event_text(input)?;
        for (parity, decision) in [(&mut self.parities.0, &decision), (&mut self.parities.1, &again)] {
            let mut covered = String::new();
            decision.parity_text(&mut covered)?;
            parity.push_event(&text);
            parity.push_decision(&covered);
        }
        if one != two && self.first_difference.is_none() {
            self.first_difference = Some(Difference { index: decision.i.get(), recorded: one, recomputed: two });
        }
        Ok(())
    }

    /// What came out.
    #[must_use]
    pub fn finish(self) -> Replayed {
        let (old, new) = self.parities;
        Replayed {
            recorded: old.finish(),
            recomputed: new.finish(),
            rules: RULES_VERSION,
            first_difference: self.first_difference,
        }
    }
}

/// Where the bodies of records come from.
trait Bodies {
    /// What an input without a decision means here.
    const UNANSWERED: Unanswered;

    /// The next body; `None` at the end.
    fn next_body(&mut self) -> Result<Option<&str>, ReplayError>;
}

/// What an input without a decision means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unanswered {
    /// The file is cut off: one process writes it, in pairs.
    Broken,
    /// A crash came between the two; the journal keeps what was written.
    Crashed,
}

impl<R: BufRead> Bodies for Records<R> {
    const UNANSWERED: Unanswered = Unanswered::Broken;

    fn next_body(&mut self) -> Result<Option<&str>, ReplayError> {
        Ok(Self::next_body(self)?)
    }
}

/// The bodies of a journal, read in pages.
struct JournalBodies<'a, S: Storage> {
    journal: &'a Journal<S>,
    place: Place,
    page: std::vec::IntoIter<Record>,
    body: String,
}

impl<'a, S: Storage> JournalBodies<'a, S> {
    fn new(journal: &'a Journal<S>) -> Self {
        Self { journal, place: journal.beginning(), page: Vec::new().into_iter(), body: String::new() }
    }
}

impl<S: Storage> Bodies for JournalBodies<'_, S> {
    const UNANSWERED: Unanswered = Unanswered::Crashed;

    fn next_body(&mut self) -> Result<Option<&str>, ReplayError> {
        if self.page.len() == 0 {
            let page = self.journal.read(self.place, PAGE)?;
            (self.place, self.page) = (page.next, page.records.into_iter());
        }
        let Some(record) = self.page.next() else { return Ok(None) };
        self.body = record.body;
        Ok(Some(&self.body))
    }
}

/// Reads the head and makes the engine that it asks for.
fn begin(records: &mut impl Bodies) -> Result<(SessionBody, Chain), ReplayError> {
    let first = records.next_body()?.ok_or(ReplayError::NoHead)?;
    let body: ReadBody<'_> = serde_json::from_str(first).map_err(|_| ReplayError::NoHead)?;
    let head = body.session.ok_or(ReplayError::NoHead)?;
    let policy = head.policy()?;
    Ok((head, Chain::new(policy)?))
}

/// An input that waits for its decision.
struct Waiting {
    index: u64,
    input: Input,
    text: String,
}

/// Goes through the inputs, each with the decision behind it.
fn each_input<B: Bodies>(
    records: &mut B,
    mut take: impl FnMut(u64, Input, &str, Option<&str>) -> Result<(), ReplayError>,
) -> Result<(), ReplayError> {
    let bad = |index, problem: &str| ReplayError::Record { index, problem: problem.to_owned() };
    let mut waiting: Option<Waiting> = None;
    let mut index = 1;
    while let Some(text) = records.next_body()? {
        let body: ReadBody<'_> = serde_json::from_str(text).map_err(|error| bad(index, &error.to_string()))?;
        if let Some(end) = body.end {
            let whole = end.inputs.saturating_mul(2).saturating_add(1) == index && waiting.is_none();
            let last = records.next_body()?.is_none();
            return if whole && last { Ok(()) } else { Err(bad(index, "the end is not where it should be")) };
        }
        if body.run.is_some() {
            // What our own loop learnt decides nothing: `driver::run` runs the loop again.
            index += 1;
            continue;
        }
        match (body.input, body.decision, waiting.take()) {
            (Some(input), None, before) => {
                match (before, B::UNANSWERED) {
                    (None, Unanswered::Broken | Unanswered::Crashed) => {}
                    (Some(_), Unanswered::Broken) => return Err(bad(index, "a decision was expected")),
                    (Some(alone), Unanswered::Crashed) => take(alone.index, alone.input, &alone.text, None)?,
                }
                let text = input.get().to_owned();
                let input = serde_json::from_str(&text).map_err(|error| bad(index, &error.to_string()))?;
                waiting = Some(Waiting { index, input, text });
            }
            (None, Some(decision), Some(asked)) => take(asked.index, asked.input, &asked.text, Some(decision.get()))?,
            (Some(_) | None, Some(_) | None, Some(_) | None) => return Err(bad(index, "an input was expected")),
        }
        index += 1;
    }
    match (waiting, B::UNANSWERED) {
        (None, Unanswered::Crashed) => Ok(()),
        (None, Unanswered::Broken) => Err(bad(index, "the end is missing: the file is cut off")),
        (Some(_), Unanswered::Broken) => Err(bad(index, "the decision is missing: the file is cut off")),
        (Some(alone), Unanswered::Crashed) => take(alone.index, alone.input, &alone.text, None),
    }
}

/// Records that are read at once.
const PAGE: usize = 512;
