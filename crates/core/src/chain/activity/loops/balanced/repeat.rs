//! LOOP-2.repeat: the same call with the same result again and again, while nothing was changed in between.

use super::history::SPAN;
use super::rung::{Basis, Reached, RuleView};
use crate::decision::{FindingKind, Level};
use crate::rules::Rule;

/// A call that waits or polls may come this many times as often, and never ends the session: to repeat is its nature.
const WAIT_FACTOR: u32 = 2;

/// Overridden at 3 of 12, held at 5 with a known result, ended at the 4th in a row after the override.
pub(super) fn judge(view: &RuleView<'_>) -> Option<Reached> {
    let (newest, loops) = (view.newest, &view.policy.loops);
    let factor = if newest.waits() { WAIT_FACTOR } else { 1 };
    let bits = view.history.mark(SPAN, |entry| entry.pair == newest.pair);
    let count = bits.count_ones();
    if count < loops.loop_repeat_threshold.get().saturating_mul(factor) {
        return None;
    }
    let row = view.history.row();
    let limit = loops.loop_repeat_threshold.plus(loops.loop_override_max_retries).get();
    let ignored = view.overridden == Some(newest.pair) && newest.is_known() && !newest.waits() && row >= limit;
    let in_a_row = row >= count;
    let rule = if in_a_row { Rule::LoopExact } else { Rule::LoopRepeat };
    let level = if ignored {
        Level::Stop
    } else if newest.is_known() && count >= loops.repeat_hold_threshold.get().saturating_mul(factor) {
        Level::Hold
    } else {
        Level::Override
    };
    let mut reached = view.reached(rule, level, count);
    reached.proof = Basis::Entries(bits);
    reached.words = match (ignored, newest.is_known(), newest.has(super::history::CallMark::Failed)) {
        (true, _, _) => "times in a row with the same result, the last time after a warning",
        (false, true, _) if in_a_row => "times in a row with the same result",
        (false, true, _) => "times within 12 calls with the same result",
        (false, false, true) => "times within 12 calls, and it failed without a text",
        (false, false, false) => "times within 12 calls, and it brought no result",
    };
    if ignored {
        (reached.rule, reached.kind, reached.count) = (Rule::LoopExact, FindingKind::SystemError, row);
    }
    Some(reached)
}
