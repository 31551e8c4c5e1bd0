//! LOOP-2.stale: results in a row that bring next to nothing new; a hint that the agent walks in circles, never more.

use super::rung::{Basis, Reached, RuleView};
use super::streak::Streak;
use crate::chain::activity::Surroundings;
use crate::chain::activity::loops::alarm::About;
use crate::chain::event::Gain;
use crate::decision::Level;
use crate::label::Fingerprint;
use crate::rules::Rule;
use serde::{Deserialize, Serialize};

/// Results in a row that are noted: at half as many, one healthy session in thirteen reads what it knows already.
const RESULTS_NOTED: u32 = 16;
/// A result is stale if at most one word in this many is new.
const NEW_WORDS: u32 = 8;

/// The stale results in a row.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Stale {
    row: Streak,
}

impl Stale {
    pub(super) fn observe(&mut self, gain: Option<Gain>, around: &Surroundings) {
        match gain {
            Some(gain) if gain.is_at_most(1, NEW_WORDS) => self.row.grow(around),
            Some(_) => self.row = Streak::default(),
            None => {}
        }
    }
}

/// Noted at 16 in a row.
pub(super) fn judge(view: &RuleView<'_>, stale: &Stale) -> Option<Reached> {
    let row = stale.row;
    if row.count < RESULTS_NOTED {
        return None;
    }
    let mut reached = view.reached(Rule::LoopStale, Level::Note, row.count);
    (reached.key, reached.proof) = (Fingerprint::NONE, Basis::Since(row.start));
    (reached.words, reached.about) = ("results in a row brought next to nothing new", About::Nothing);
    Some(reached)
}
