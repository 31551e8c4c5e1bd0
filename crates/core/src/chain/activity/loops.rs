//! The loop ladder: note, override, hold, stop (LOOP-1), in two readings of the same numbers (LOOP-2).
//!
//! [`strict`] counts to the letter of the documents. [`balanced`] counts on evidence: the same action with the same
//! result while nothing else moves. Both look at a bounded number of the newest calls, so every event costs the same.

pub(crate) mod balanced;
pub(crate) mod strict;
pub(crate) mod window;

use self::balanced::Balanced;
use self::window::Window;
use super::Surroundings;
use crate::chain::event::{Action, AgentEvent, ErrorClass, Flag};
use crate::decision::{Evidence, Finding, FindingKind, Level, Raised};
use crate::effect::Sameness;
use crate::label::Fingerprint;
use crate::policy::{Policy, Profile};
use crate::rules::Rule;
use crate::text::{Reason, SignatureText};
use crate::units::{Count, EventIndex, Price};
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// What the ladder remembers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct LoopState {
    /// What `balanced` remembers; empty in `strict`.
    balanced: Balanced,
    /// What `strict` remembers; empty in `balanced`.
    window: Window,
    /// The last alarm that was told, so that it is told once per level and not at every event.
    raised: Raised,
    /// The last lesser alarm that was told beside a stricter one.
    beside: Raised,
    /// What an override forbade; repeating it is what stops the session.
    overridden: Option<Fingerprint>,
}

/// One alarm: which rule, how far up the ladder, and the proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alarm {
    pub(crate) level: Level,
    pub(crate) kind: FindingKind,
    pub(crate) rule: Rule,
    pub(crate) count: Count,
    /// What repeats: alarms with the same key are one alarm.
    pub(crate) key: Fingerprint,
    pub(crate) evidence: Evidence,
    pub(crate) price: Price,
    pub(crate) reason: Reason,
    pub(crate) signature: SignatureText,
    /// Whether the same came back each time.
    pub(crate) result: Sameness,
    /// Whether the workspace moved meanwhile, as far as edits and installs show.
    pub(crate) workspace: Sameness,
    /// Whether this alarm has just climbed a rung, and must be told.
    pub(crate) news: super::Sign,
}

/// A rung that a rule has reached: cheap to make, so that the quiet path builds no texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate<P = Proof> {
    pub(crate) level: Level,
    pub(crate) kind: FindingKind,
    pub(crate) rule: Rule,
    /// How often.
    pub(crate) count: u32,
    /// What repeats.
    pub(crate) key: Fingerprint,
    /// Which calls prove it.
    pub(crate) proof: P,
    /// How the reason goes on after the count: `identical actions in a row`.
    pub(crate) words: &'static str,
}

/// Which calls of the window prove a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// Those with the same exact action among the newest.
    Exact(usize),
    /// Those with the same signature among the newest.
    Signature(usize),
}

impl LoopState {
    /// Takes in one event and gives the strictest alarm that holds now, and a lesser one that is to be told beside it.
    pub(crate) fn observe(
        &mut self,
        policy: &Policy,
        event: &AgentEvent,
        around: &Surroundings,
    ) -> (Option<Alarm>, Option<Finding>) {
        match policy.profile {
            Profile::Strict => self.observe_strictly(policy, event, around),
            Profile::Balanced => (self.balanced.observe(policy, event, around), None),
        }
    }

    fn observe_strictly(
        &mut self,
        policy: &Policy,
        event: &AgentEvent,
        around: &Surroundings,
    ) -> (Option<Alarm>, Option<Finding>) {
        if opens_epoch(event) {
            self.window.open_epoch();
            self.overridden = None;
        }
        self.window.open_step(around.new_step);
        let Some(action) = event.action.as_ref() else { return (None, None) };
        self.window.push(action, event, around);
        let (candidate, lesser) = strict::judge(policy, &self.window);
        let spent = around.spent.plus(event.price());
        let beside = lesser.and_then(|lesser| self.tell_beside(&lesser, action, spent));
        let Some(candidate) = candidate else {
            // The run was broken: the next one is overridden again before anything is stopped.
            if self.raised.level == Some(Level::Override) {
                self.raised = Raised::default();
            }
            return (None, beside);
        };
        (Some(self.raise(&candidate, action, spent)), beside)
    }

    /// Turns a candidate into an alarm; its words are built once, when it has climbed.
    fn raise(&mut self, candidate: &Candidate, action: &Action, spent: Price) -> Alarm {
        if candidate.level == Level::Override {
            self.overridden = Some(candidate.key);
        }
        let told = self.raised.key == candidate.key && self.raised.level >= Some(candidate.level);
        if told {
            return Alarm::silent(candidate);
        }
        self.raised = Raised { key: candidate.key, level: Some(candidate.level) };
        let mut alarm = self.window.prove(candidate, spent);
        alarm.signature = action.shown().into();
        alarm
    }

    /// A note that a stricter alarm would hide is told once all the same. Overrides and holds are not: what is told
    /// is also done, and the strictest answer is what is done.
    fn tell_beside(&mut self, lesser: &Candidate, action: &Action, spent: Price) -> Option<Finding> {
        let told = [self.raised, self.beside].into_iter().any(|told| told.key == lesser.key && told.level.is_some());
        if told || lesser.level > Level::Note {
            return None;
        }
        self.beside = Raised { key: lesser.key, level: Some(lesser.level) };
        let mut alarm = self.window.prove(lesser, spent);
        alarm.signature = action.shown().into();
        Some(alarm.finding())
    }

    /// The alarm that a request would raise: the very action that an override has just forbidden, asked for again.
    pub(crate) fn foresee(&self, policy: &Policy, action: &Action, spent: Price) -> Option<Alarm> {
        match policy.profile {
            Profile::Strict => self.foresee_strictly(policy, action, spent),
            Profile::Balanced => self.balanced.foresee(policy, action, spent),
        }
    }

    fn foresee_strictly(&self, policy: &Policy, action: &Action, spent: Price) -> Option<Alarm> {
        let newest = self.window.newest().filter(|call| call.exact == action.exact())?;
        let (run, key) = (self.window.exact_run(), newest.exact);
        let limit = policy.loops.loop_repeat_threshold.plus(policy.loops.loop_override_max_retries);
        if self.overridden != Some(key) || run.saturating_add(1) < limit.get() {
            return None;
        }
        let candidate = Candidate {
            level: Level::Stop,
            kind: FindingKind::SystemError,
            rule: Rule::LoopExact,
            count: run.saturating_add(1),
            key,
            proof: Proof::Exact(usize::try_from(run).unwrap_or(usize::MAX)),
            words: "identical actions in a row, the last one asked for after the override",
        };
        let mut alarm = self.window.prove(&candidate, spent);
        alarm.signature = action.shown().into();
        Some(alarm)
    }

    /// A person or an advisor gave a new approach: what was counted before no longer counts.
    pub(crate) fn begin_anew(&mut self) {
        *self = Self::default();
    }
}

/// A successful edit or install, or a person's turn, starts a new epoch (SPEC §4).
fn opens_epoch(event: &AgentEvent) -> bool {
    let moved = event.flags.has(Flag::Edit) || event.flags.has(Flag::Install);
    event.user_turn || (moved && !event.failed())
}

/// Infrastructure errors are not loops: retrying is right (LOOP-3).
pub(crate) fn is_infrastructure(event: &AgentEvent) -> bool {
    event.outcome.is_some_and(|outcome| outcome.error_class == Some(ErrorClass::Infrastructure))
}

/// Writes `3, 4, 5` and, for many, `3, 4, 5 … 19`.
pub(super) fn push_indices(text: &mut String, indices: &[EventIndex]) {
    use core::fmt::Write as _;
    const SHOWN: usize = 5;
    for (place, index) in indices.iter().enumerate() {
        let last = place.saturating_add(1) == indices.len();
        let written = match (place < SHOWN, last) {
            (true, _) if place == 0 => write!(text, "{index}"),
            (true, _) => write!(text, ", {index}"),
            (false, true) => write!(text, " … {index}"),
            (false, false) => Ok(()),
        };
        if written.is_err() {
            return; // Writing into a String cannot fail; a shorter reason would be the only harm.
        }
    }
}

impl Alarm {
    /// An alarm that was told before: its level still counts, its words are not built again.
    fn silent<P>(candidate: &Candidate<P>) -> Self {
        Self {
            level: candidate.level,
            kind: candidate.kind,
            rule: candidate.rule,
            count: Count::new(candidate.count),
            key: candidate.key,
            evidence: Evidence::default(),
            price: Price::default(),
            reason: Reason::default(),
            signature: SignatureText::default(),
            result: Sameness::Unknown,
            workspace: Sameness::Unknown,
            news: super::Sign::Absent,
        }
    }

    /// The alarm as a finding of the decision.
    pub(crate) fn finding(&self) -> Finding {
        Finding {
            count: self.count,
            evidence: self.evidence.clone(),
            kind: self.kind,
            level: self.level,
            price: self.price,
            reason: self.reason.clone(),
            rule: self.rule,
            signature: self.signature.clone(),
        }
    }
}
