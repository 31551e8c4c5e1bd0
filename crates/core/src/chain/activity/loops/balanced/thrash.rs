//! LOOP-2.thrash: one edit after the other fails, and none lands in between.

use super::history::End;
use super::rung::{Basis, Reached, RuleView};
use super::streak::Streak;
use crate::chain::activity::Surroundings;
use crate::chain::activity::loops::alarm::About;
use crate::decision::Level;
use crate::label::Fingerprint;
use crate::rules::Rule;
use serde::{Deserialize, Serialize};

/// The turns since the last change that landed in which every change failed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Thrash {
    failed: Streak,
    turn: Option<u32>,
    /// Whether the newest event was a failed change.
    fresh: bool,
}

impl Thrash {
    pub(super) fn observe(&mut self, end: End, turn: u32, around: &Surroundings) {
        match end {
            End::Unknown => self.fresh = false,
            End::Good => *self = Self { turn: Some(turn), ..Self::default() },
            End::Failed => {
                // A turn failed only if all its changes did.
                let another = self.turn != Some(turn);
                if another {
                    self.failed.grow(around);
                }
                (self.turn, self.fresh) = (Some(turn), another);
            }
        }
    }
}

/// Overridden when the changes of 5 turns failed and none landed in between.
pub(super) fn judge(view: &RuleView<'_>, thrash: &Thrash) -> Option<Reached> {
    let count = thrash.failed.count;
    let now = thrash.turn == Some(view.history.turn()) && thrash.fresh;
    if !now || count < view.policy.loops.edit_failures_threshold.get() {
        return None;
    }
    let mut reached = view.reached(Rule::LoopThrash, Level::Override, count);
    (reached.key, reached.proof) = (Fingerprint::NONE, Basis::Since(thrash.failed.start));
    (reached.words, reached.about) = ("edits failed, and none landed in between", About::Edit);
    Some(reached)
}
