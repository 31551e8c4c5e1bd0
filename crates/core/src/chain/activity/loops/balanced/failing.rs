//! LOOP-2.failing: errors in a row, or most of the last calls failed, whatever the errors say.

use super::history::End;
use super::rung::{Basis, Reached, RuleView};
use super::streak::Streak;
use crate::chain::activity::Surroundings;
use crate::chain::activity::loops::alarm::About;
use crate::decision::Level;
use crate::label::Fingerprint;
use crate::rules::Rule;
use serde::{Deserialize, Serialize};

/// Failures in a row that are noted.
const ROW_NOTED: u32 = 3;
/// Failures among the last 12 outcomes that are overridden: two thirds.
const DENSE: u32 = 8;
/// The last 12 outcomes.
const KEPT: u16 = 0x0fff;

/// The newest outcomes and the failures in a row.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Failing {
    row: Streak,
    /// The newest outcomes, one bit each, the newest lowest; a set bit is a failure.
    outcomes: u16,
    /// The turn whose failure was counted last: parallel failures are one.
    turn: Option<u32>,
    /// Where the failures among the newest outcomes began, roughly: the oldest event that may still be among them.
    dense: Streak,
    /// Whether the newest event was a failure that counted.
    fresh: bool,
}

impl Failing {
    pub(super) fn observe(&mut self, end: End, turn: u32, around: &Surroundings) {
        self.fresh = false;
        if end == End::Good {
            self.row = Streak::default();
        }
        if end == End::Unknown || self.turn == Some(turn) {
            return;
        }
        self.outcomes = self.outcomes.wrapping_shl(1) & KEPT;
        if end == End::Good {
            return;
        }
        if self.outcomes == 0 {
            self.dense = Streak::default();
        }
        self.outcomes |= 1;
        (self.turn, self.fresh) = (Some(turn), true);
        self.row.grow(around);
        self.dense.grow(around);
    }

    /// Something moved: the row is broken, the share of failures is not.
    pub(super) fn end_row(&mut self) {
        self.row = Streak::default();
    }
}

/// Noted at 3 in a row, overridden at 5 in a row or 8 of the last 12.
pub(super) fn judge(view: &RuleView<'_>, failing: &Failing) -> Option<Reached> {
    if !failing.fresh {
        return None;
    }
    let (row, dense) = (failing.row, failing.outcomes.count_ones());
    let (level, count, streak, words) = if row.count >= view.policy.loops.failing_override_threshold.get() {
        (Level::Override, row.count, row, "failures in a row without one success")
    } else if dense >= DENSE {
        (Level::Override, dense, failing.dense, "of the last 12 calls failed")
    } else if row.count >= ROW_NOTED {
        (Level::Note, row.count, row, "failures in a row without one success")
    } else {
        return None;
    };
    let mut reached = view.reached(Rule::LoopFailing, level, count);
    (reached.key, reached.proof, reached.words) = (KEY, Basis::Since(streak.start), words);
    reached.about = About::Error;
    Some(reached)
}

/// There is one alarm of this rule at a time, whatever fails.
const KEY: Fingerprint = Fingerprint::NONE;
