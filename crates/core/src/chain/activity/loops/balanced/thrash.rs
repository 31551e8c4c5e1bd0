//! LOOP-2.thrash: one edit after the other fails.

use super::history::End;
use super::rung::{Basis, Reached, RuleView};
use super::streak::Streak;
use crate::chain::activity::Surroundings;
use crate::decision::Level;
use crate::label::Fingerprint;
use crate::rules::Rule;
use serde::{Deserialize, Serialize};

/// Changing turns that are looked at.
const TURNS: u32 = 8;

/// The newest changing turns.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Thrash {
    /// One bit per turn, the newest lowest; set if all its changes failed.
    failed: u8,
    turn: Option<u32>,
    since: Streak,
    /// Whether the newest event was a failed change.
    fresh: bool,
}

impl Thrash {
    pub(super) fn observe(&mut self, end: End, turn: u32, around: &Surroundings) {
        let failed = match end {
            End::Good => false,
            End::Failed => true,
            End::Unknown => return,
        };
        if self.failed == 0 {
            self.since = Streak::default();
        }
        if self.turn == Some(turn) {
            // A turn failed only if all its changes did.
            self.failed &= u8::MAX.wrapping_shl(1) | u8::from(failed);
        } else {
            self.failed = self.failed.wrapping_shl(1) | u8::from(failed);
        }
        if failed {
            self.since.grow(around);
        }
        (self.turn, self.fresh) = (Some(turn), failed);
    }
}

/// Overridden when 5 of the last 8 changing turns failed.
pub(super) fn judge(view: &RuleView<'_>, thrash: &Thrash) -> Option<Reached> {
    let count = thrash.failed.count_ones();
    let now = thrash.turn == Some(view.history.turn()) && thrash.fresh;
    if !now || count < view.policy.loops.edit_failures_threshold.get().min(TURNS) {
        return None;
    }
    let mut reached = view.reached(Rule::LoopThrash, Level::Override, count);
    (reached.key, reached.proof) = (Fingerprint::NONE, Basis::Since(thrash.since.start));
    reached.words = "of the last 8 edits failed";
    Some(reached)
}
