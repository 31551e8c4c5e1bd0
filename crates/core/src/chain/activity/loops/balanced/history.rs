//! What the rules look back on: the newest calls as a handful of fingerprints each. It knows no rule.

use crate::chain::activity::loops::measured::Measured;
use crate::chain::activity::{NewStep, Sign, Surroundings};
use crate::chain::event::{Action, AgentEvent, Flag};
use crate::effect::Sameness;
use crate::label::{self, Fingerprint, Label};
use crate::limits::{CYCLE_PERIOD_MAX, HISTORY_CALLS};
use crate::ring::Ring;
use crate::sketch::WordSketch;
use crate::units::{EventIndex, Price, Ratio, RunMillis};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Entries among which repeats, errors and rewordings are counted: three turns of a cycle of four fit in it, and a
/// healthy session was never seen to bring the same call with the same result four times in so few.
pub(super) const SPAN: usize = 12;

/// Bytes of a call's words that are kept for an alarm about several calls.
const NAME_BYTES_MAX: usize = 100;
/// A pause before a call that was made before, which makes it a look at something that takes its time.
const PAUSE_MS: u64 = 30_000;
/// A shorter pause is one too if it is half as long again as the one before it, and at least this long.
const GROWING_MS: u64 = 4_000;
/// Calls behind one wait that may all be looks after it.
const LOOKS_PER_WAIT: usize = 4;

/// How a call ended, as far as the rules care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It did what was asked.
    Good,
    /// It failed.
    Failed,
    /// Unknown: neither a success nor a failure.
    Unknown,
}

impl End {
    /// What an event says of its end.
    pub(super) fn of(event: &AgentEvent) -> Self {
        if event.failed() {
            Self::Failed
        } else if event.outcome.is_some() && !event.flags.has(Flag::Silent) {
            Self::Good
        } else {
            Self::Unknown
        }
    }
}

/// One call as the rules remember it. Names are short in the snapshot: there are many of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct PastCall {
    /// Its index in the session.
    #[serde(rename = "i")]
    pub(super) index: EventIndex,
    /// Action type, tool, arguments and target.
    #[serde(rename = "a")]
    pub(super) action: Fingerprint,
    /// What came back; one fixed value each for an error without text and for nothing at all.
    #[serde(rename = "r")]
    pub(super) result: Fingerprint,
    /// Call and result together.
    #[serde(rename = "p")]
    pub(super) pair: Fingerprint,
    /// The normalised error; nothing where it did not fail.
    #[serde(rename = "f")]
    pub(super) fault: Fingerprint,
    /// The kind of error; nothing where it did not fail.
    #[serde(rename = "k")]
    pub(super) kind: Fingerprint,
    /// The epoch it belongs to.
    #[serde(rename = "n")]
    pub(super) epoch: u32,
    /// The model turn it belongs to.
    #[serde(rename = "t")]
    pub(super) turn: u32,
    /// What else is known of it.
    #[serde(rename = "m")]
    pub(super) marks: u16,
    /// When it was seen.
    #[serde(rename = "w")]
    pub(super) at: RunMillis,
    /// What the session had spent before it.
    #[serde(rename = "s")]
    pub(super) spent: Price,
}

/// One bit of what is known of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallMark {
    /// Its result is known.
    Known,
    /// It waits, or looks at something that runs.
    Wait,
    /// It follows a call that waits: a look after a wait.
    AfterWait,
    /// It was made before, and comes after a pause.
    Paused,
    /// It was made before, and comes behind one that came after a pause.
    AfterPause,
    /// It failed.
    Failed,
    /// It asks an earlier question again and learns little.
    Reword,
    /// It returned what was put into it.
    Echo,
    /// Files changed on disk since the call before it, as measured.
    Moved,
    /// None did, as measured.
    Still,
    /// It gives out a task that was given out before.
    TaskAgain,
    /// It failed and said why.
    Told,
    /// It changed something, and not by writing down what should be there: once more may bring it further.
    Landed,
}

impl CallMark {
    const fn bit(self) -> u16 {
        match self {
            Self::Known => 1,
            Self::Wait => 1 << 1,
            Self::Failed => 1 << 2,
            Self::Reword => 1 << 3,
            Self::Echo => 1 << 4,
            Self::Moved => 1 << 5,
            Self::Still => 1 << 6,
            Self::AfterWait => 1 << 7,
            Self::Paused => 1 << 8,
            Self::TaskAgain => 1 << 9,
            Self::Told => 1 << 10,
            Self::Landed => 1 << 11,
            Self::AfterPause => 1 << 12,
        }
    }
}

impl PastCall {
    /// Whether a mark is set.
    pub(super) const fn has(&self, mark: CallMark) -> bool {
        self.marks & mark.bit() != 0
    }

    /// Whether what came back is known, so that its sameness proves something.
    pub(super) const fn is_known(&self) -> bool {
        self.has(CallMark::Known)
    }

    /// Whether repeating it is its nature: it waits, or looks after a wait.
    pub(super) const fn looks(&self) -> bool {
        self.has(CallMark::Wait) || self.has(CallMark::AfterWait)
    }

    /// Whether it is a look, or comes again after a pause.
    pub(super) const fn takes_its_time(&self) -> bool {
        self.looks() || self.has(CallMark::Paused) || self.has(CallMark::AfterPause)
    }

    pub(super) fn set(&mut self, mark: CallMark, holds: impl Into<Sign>) {
        if holds.into().is_present() {
            self.marks |= mark.bit();
        }
    }

    pub(super) fn of(history: &History, action: &Action, event: &AgentEvent, around: &Surroundings) -> Self {
        let failed = event.failed();
        let result = match (&event.error_digest, event.result_fingerprint()) {
            (Some(digest), result) if failed && !result.is_some() => digest.fingerprint(),
            (Some(_) | None, result) => result,
        };
        let known = result.is_some() && !event.flags.has(Flag::Silent);
        let result = match (known, failed) {
            (true, _) => result,
            (false, true) => Fingerprint::of(b"an error without a text"),
            (false, false) => Fingerprint::of(b"nothing came back"),
        };
        let of = |label: &Option<Label>| label.as_ref().map(Label::fingerprint);
        let exact = action.exact();
        let (fault, kind) = if failed {
            let fault = of(&event.error_digest).unwrap_or_else(|| action.tool.fingerprint().and(result));
            (fault, of(&event.error_kind).unwrap_or(fault))
        } else {
            (Fingerprint::NONE, Fingerprint::NONE)
        };
        let mut entry = Self {
            index: around.place.index,
            action: exact,
            result,
            pair: exact.and(result),
            fault,
            kind,
            epoch: history.epoch,
            turn: history.turn,
            marks: 0,
            at: around.place.at,
            spent: around.spent,
        };
        entry.set(CallMark::Known, known);
        entry.set(CallMark::Failed, failed);
        entry.set(CallMark::Told, failed && known && event.error_digest.is_some());
        let writes = event.flags.has(Flag::Edit) || event.flags.has(Flag::Install);
        entry.set(CallMark::Landed, End::of(event) == End::Good && event.flags.has(Flag::Change) && !writes);
        // Tests, builds and changes are work, however long they take or whatever waits before them.
        let work = event.flags.has(Flag::Test) || event.flags.has(Flag::Build) || is_change(event);
        if !work {
            entry.set(CallMark::Wait, event.flags.has(Flag::Wait));
            entry.set(CallMark::AfterWait, history.is_behind(CallMark::Wait, CallMark::AfterWait, exact));
            entry.set(CallMark::Paused, history.is_pause(exact, around.place.at));
            let behind = history.is_behind(CallMark::Paused, CallMark::AfterPause, exact) && history.has_made(exact);
            entry.set(CallMark::AfterPause, behind);
        }
        entry
    }
}

/// A call whose arguments are prose, to be compared with later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Question {
    /// The number of its entry.
    #[serde(rename = "i")]
    pub(super) number: u32,
    #[serde(rename = "f")]
    pub(super) tool: Fingerprint,
    #[serde(rename = "t")]
    pub(super) turn: u32,
    #[serde(rename = "n")]
    pub(super) epoch: u32,
    /// Whether it is a question.
    #[serde(rename = "q")]
    pub(super) asks: bool,
    #[serde(rename = "s")]
    pub(super) sketch: WordSketch,
}

/// The newest calls, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct History {
    pub(super) ring: Ring<PastCall, HISTORY_CALLS>,
    pub(super) questions: Ring<Question, SPAN>,
    /// The newest calls in words, for an alarm about several of them.
    names: Ring<Label, CYCLE_PERIOD_MAX>,
    pub(super) measured: Measured,
    /// The number of the newest entry.
    pub(super) number: u32,
    pub(super) epoch: u32,
    turn: u32,
    /// For each period p, how many entries in a row equal the one p places before.
    cycle_runs: [u32; CYCLE_PERIOD_MAX],
}

impl History {
    /// Counts model turns.
    pub(super) const fn note_turn(&mut self, step: NewStep) {
        match step {
            NewStep::Yes => self.turn = self.turn.wrapping_add(1),
            NewStep::No => {}
        }
    }

    /// Appends a call that is no repeat within its turn, and its arguments where they are prose.
    pub(super) fn push(&mut self, call: PastCall, action: &Action, event: &AgentEvent) {
        self.ring.push(call);
        self.names.push(Label::cut(label::cut(&action.named(), NAME_BYTES_MAX)));
        if let Some(sketch) = action.args_sketch {
            let asks = event.flags.has(Flag::Ask);
            let tool = action.tool.fingerprint();
            let (number, turn, epoch) = (self.number, self.turn, self.epoch);
            self.questions.push(Question { number, tool, turn, epoch, asks, sketch });
        }
    }

    /// Counts a call that is about to be appended.
    pub(super) fn count(&mut self, call: &PastCall) {
        self.count_cycles(call);
        self.number = self.number.wrapping_add(1);
    }

    fn count_cycles(&mut self, call: &PastCall) {
        let mut before = self.ring.newest_first();
        for run in &mut self.cycle_runs {
            let equal = before.next().is_some_and(|before| before.pair == call.pair && before.epoch == call.epoch);
            *run = if equal { run.saturating_add(1) } else { 0 };
        }
    }

    /// Something moved: what was counted before no longer counts.
    pub(super) const fn open_epoch(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        self.cycle_runs = [0; CYCLE_PERIOD_MAX];
    }

    /// The newest entry.
    pub(super) fn newest(&self) -> Option<&PastCall> {
        self.ring.back(0)
    }

    /// How many entries in a row equal the newest, itself included.
    pub(super) fn row(&self) -> u32 {
        self.cycle_runs.first().map_or(1, |run| run.saturating_add(1))
    }

    /// The run of every period from 1 on.
    pub(super) const fn cycle_runs(&self) -> &[u32; CYCLE_PERIOD_MAX] {
        &self.cycle_runs
    }

    /// The entries of this epoch among the newest `depth` for which a test holds, one bit each, the newest lowest.
    pub(super) fn mark(&self, depth: usize, test: impl Fn(&PastCall) -> bool) -> u64 {
        let mut bits = 0_u64;
        for (place, entry) in (0_u32..).zip(self.ring.newest_first().take(depth)) {
            if entry.epoch == self.epoch && test(entry) {
                bits |= 1_u64.wrapping_shl(place);
            }
        }
        bits
    }

    /// Whether a call that was made before comes after a pause in which nothing else was called.
    fn is_pause(&self, action: Fingerprint, at: RunMillis) -> bool {
        let same = |entry: &PastCall| entry.epoch == self.epoch && entry.action == action;
        let Some(last) = self.newest() else { return false };
        let pause = at.minus(last.at).get();
        let grows = self.ring.back(1).filter(|earlier| same(last) && same(earlier)).is_some_and(|earlier| {
            let shorter = last.at.minus(earlier.at).get();
            shorter > 0 && pause.saturating_mul(2) >= shorter.saturating_mul(3)
        });
        (pause >= PAUSE_MS || (pause >= GROWING_MS && grows)) && self.has_made(action)
    }

    /// Whether a call was made before in this epoch.
    fn has_made(&self, action: Fingerprint) -> bool {
        self.ring.newest_first().any(|entry| entry.epoch == self.epoch && entry.action == action)
    }

    /// Whether a call comes right behind one with the first mark, or behind looks with the second one that followed it: several
    /// things may be looked at after one wait, each of them once.
    fn is_behind(&self, first: CallMark, then: CallMark, action: Fingerprint) -> bool {
        for entry in self.ring.newest_first().take(LOOKS_PER_WAIT) {
            if entry.epoch != self.epoch || entry.action == action {
                return false;
            }
            if entry.has(first) {
                return true;
            }
            if !entry.has(then) {
                return false;
            }
        }
        false
    }

    /// Whether the marked entries took their time: all but the two oldest, whose pauses cannot be judged yet.
    pub(super) fn is_paced(&self, bits: u64) -> bool {
        let entries = self.marked(bits);
        entries.len() > 2 && entries.iter().skip(2).all(|entry| entry.takes_its_time())
    }

    /// How long the marked entries lasted.
    pub(super) fn lasted(&self, bits: u64) -> RunMillis {
        let entry = |place: Option<u32>| self.ring.back(usize::try_from(place?).ok()?);
        match (entry(bits.checked_ilog2()), entry(Some(bits.trailing_zeros()))) {
            (Some(first), Some(last)) => last.at.minus(first.at),
            (None, _) | (_, None) => RunMillis::ZERO,
        }
    }

    /// The marked entries, oldest first.
    pub(super) fn marked(&self, bits: u64) -> Vec<&PastCall> {
        let chosen = (0_u32..).zip(self.ring.newest_first()).filter(|(place, _)| bits.wrapping_shr(*place) & 1 == 1);
        let mut entries: Vec<&PastCall> = chosen.map(|(_, entry)| entry).collect();
        entries.reverse();
        entries
    }

    /// One bit per turn: of several entries of one turn the newest stays.
    pub(super) fn once_per_turn(&self, bits: u64) -> u64 {
        let (mut kept, mut last) = (0_u64, None);
        for (place, entry) in (0_u32..).zip(self.ring.newest_first()) {
            if bits.wrapping_shr(place) & 1 == 1 && last != Some(entry.turn) {
                kept |= 1_u64.wrapping_shl(place);
                last = Some(entry.turn);
            }
        }
        kept
    }

    /// The marked entries, which repeat what was said before, with the call that said it first.
    pub(super) fn with_first(&self, bits: u64, similarity: Ratio) -> u64 {
        let Some(oldest) = u64::BITS.checked_sub(bits.leading_zeros()).and_then(|end| end.checked_sub(1)) else {
            return bits;
        };
        let number = self.number.wrapping_sub(oldest);
        let asked = self.questions.newest_first().skip_while(|asked| asked.number != number);
        let mut asked = asked.filter(|asked| asked.epoch == self.epoch);
        let first = asked.next().and_then(|repeat| {
            let alike = |before: &&Question| before.sketch.similarity(&repeat.sketch) >= similarity;
            asked.filter(|before| before.tool == repeat.tool).filter(alike).last()
        });
        let place = match (first, self.ring.back(usize::try_from(oldest).unwrap_or(HISTORY_CALLS))) {
            (Some(first), _) => Some(self.number.wrapping_sub(first.number)),
            (None, Some(repeat)) => {
                let same = self.mark(SPAN, |entry| entry.action == repeat.action);
                u64::BITS.checked_sub(same.leading_zeros()).and_then(|end| end.checked_sub(1))
            }
            (None, None) => None,
        };
        match place {
            Some(place) if usize::try_from(place).is_ok_and(|place| place < HISTORY_CALLS) => {
                bits | 1_u64.wrapping_shl(place)
            }
            Some(_) | None => bits,
        }
    }

    /// Whether files changed after a call, as far as it was measured.
    pub(super) fn workspace_since(&self, first: EventIndex) -> Sameness {
        let since = self.ring.newest_first().filter(|entry| entry.index > first);
        Sameness::of_all(since.map(|entry| match (entry.has(CallMark::Moved), entry.has(CallMark::Still)) {
            (true, _) => Sameness::Changed,
            (false, true) => Sameness::Identical,
            (false, false) => Sameness::Unknown,
        }))
    }

    /// The newest calls in words, oldest first.
    pub(super) fn names(&self) -> Vec<&Label> {
        let mut names: Vec<&Label> = self.names.newest_first().collect();
        names.reverse();
        names
    }

    /// The turn that is running.
    pub(super) const fn turn(&self) -> u32 {
        self.turn
    }
}

/// Whether a call was meant to change something: an attempt counts, so that failing edits can be counted too.
pub(super) fn is_change(event: &AgentEvent) -> bool {
    [Flag::Change, Flag::Edit, Flag::Install].into_iter().any(|flag| event.flags.has(flag))
}
