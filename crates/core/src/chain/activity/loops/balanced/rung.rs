//! What every rule is given to look at, and what it answers with.

use super::history::{History, PastCall};
use super::streak::Start;
use crate::chain::activity::Sign;
use crate::chain::activity::loops::alarm::{About, Candidate};
use crate::decision::{FindingKind, Level};
use crate::label::Fingerprint;
use crate::policy::Policy;
use crate::rules::Rule;

/// Which events prove a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::chain::activity::loops) enum Basis {
    /// Entries of the ring, one bit each, the newest lowest.
    Entries(u64),
    /// Everything from here to the newest entry.
    Since(Start),
}

/// A rung that a rule has reached, with its proof.
pub(super) type Reached = Candidate<Basis>;

/// What a rule looks at: the newest calls with the event in them, and the policy.
#[derive(Clone, Copy)]
pub(super) struct RuleView<'a> {
    pub(super) history: &'a History,
    pub(super) newest: &'a PastCall,
    pub(super) policy: &'a Policy,
    /// What the repeat rule has overridden before this event.
    pub(super) overridden: Option<Fingerprint>,
    /// Whether an override was given before this event, in an earlier turn of the model: it had the chance to read it.
    pub(super) warned: Sign,
}

/// How long calls that take their time and bring the same count as waiting: half an hour.
pub(super) const WAIT_MS_MAX: u64 = 1_800_000;

/// Where results are not known, or calls take their time, it takes so many times as many.
pub(super) const SLOW_FACTOR: u32 = 2;

impl RuleView<'_> {
    /// A candidate of the usual kind for its level.
    pub(super) fn reached(&self, rule: Rule, level: Level, count: u32) -> Reached {
        let kind = match level {
            Level::Note => FindingKind::SoftLoop,
            Level::Override => FindingKind::LoopOverride,
            Level::Hold => FindingKind::HardLoop,
            Level::Stop => FindingKind::InfiniteLoop,
        };
        let start = Start { index: self.newest.index, spent: self.newest.spent };
        Candidate {
            level,
            kind,
            rule,
            count,
            key: self.newest.pair,
            proof: Basis::Since(start),
            words: "",
            about: About::Call,
            proven: Sign::from(self.newest.is_known()),
        }
    }
}
