//! LOOP-2.failing: errors in a row, or most of the calls since the last change that landed failed, whatever the errors say.

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

/// What a failure says against the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureNews {
    /// It says what one before it said.
    Known,
    /// It says something that none before it said: it may be a step forward, and counts half.
    New,
    /// It says nothing: it counts half in a row, and not among others.
    Untold,
}

impl FailureNews {
    /// In halves of a failure.
    const fn halves(self) -> u32 {
        match self {
            Self::Known => 2,
            Self::New | Self::Untold => 1,
        }
    }
}

/// The newest outcomes and the failures in a row.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Failing {
    row: Streak,
    /// The row in halves of a failure.
    halves: u32,
    /// The newest outcomes since the last change that landed, one bit each, the newest lowest; a set bit is a failure.
    outcomes: u16,
    /// The turn whose failure was counted last: parallel failures are one.
    turn: Option<u32>,
    /// Where the failures among the newest outcomes began, roughly: the oldest event that may still be among them.
    dense: Streak,
    /// Whether the newest event was a failure that counted.
    fresh: bool,
}

impl Failing {
    pub(super) fn observe(&mut self, end: End, failure: FailureNews, turn: u32, around: &Surroundings) {
        self.fresh = false;
        if end == End::Good {
            (self.row, self.halves) = (Streak::default(), 0);
        }
        if end == End::Unknown || self.turn == Some(turn) {
            return;
        }
        if end == End::Good {
            self.outcomes = self.outcomes.wrapping_shl(1) & KEPT;
            return;
        }
        (self.turn, self.fresh) = (Some(turn), true);
        self.row.grow(around);
        self.halves = self.halves.saturating_add(failure.halves());
        if failure != FailureNews::Untold {
            if self.outcomes == 0 {
                self.dense = Streak::default();
            }
            self.outcomes = (self.outcomes.wrapping_shl(1) & KEPT) | 1;
            self.dense.grow(around);
        }
    }
}

/// Noted at 3 in a row, overridden at 5 in a row (twice as many if each says something new) or 8 of the last 12.
pub(super) fn judge(view: &RuleView<'_>, failing: &Failing) -> Option<Reached> {
    if !failing.fresh {
        return None;
    }
    let (row, dense) = (failing.row, failing.outcomes.count_ones());
    let enough = view.policy.loops.failing_override_threshold.get().saturating_mul(FailureNews::Known.halves());
    // The first of a row always says something new.
    let (level, count, streak, words) = if failing.halves.saturating_add(1) >= enough {
        (Level::Override, row.count, row, "failures in a row without one success")
    } else if dense >= DENSE {
        (Level::Override, dense, failing.dense, "of the last 12 calls failed, and no change landed")
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
