//! LOOP-2.repeat: the same call with the same result again and again, while nothing was changed in between.

use super::history::{CallMark, SPAN};
use super::rung::{Basis, Reached, RuleView, SLOW_FACTOR, WAIT_MS_MAX};
use crate::decision::{FindingKind, Level};
use crate::limits::HISTORY_CALLS;
use crate::rules::Rule;

/// Looks at something that runs are no loop. The agent is told once nothing moved for half an hour, over at least so many looks;
const LOOKS_MIN: u32 = 6;
/// when so many looks failed alike;
const LOOKS_FAILED: u32 = 8;
/// or when so many looks
const LOOKS_HOT: u32 = 12;
/// come within a minute.
const HOT_MS: u64 = 60_000;
/// Other calls that may stand between those of which no result is known.
const OTHERS_BETWEEN: usize = 1;

/// Overridden at 3 of 12, held at 5 with a known result, ended at the 4th in a row after the override. Twice as many where the
/// result is not known or the calls take their time, and such calls never end the session; a call that takes its time and
/// does not fail is waiting, and is held when nothing moved for half an hour. What succeeds in
/// changing something is overridden at most.
pub(super) fn judge(view: &RuleView<'_>) -> Option<Reached> {
    let (newest, loops) = (view.newest, &view.policy.loops);
    if newest.looks() {
        return looks(view);
    }
    let same = |depth| view.history.mark(depth, |entry| entry.pair == newest.pair);
    let recent = same(SPAN);
    // Where more are needed, fewer are counted: what is too rare here is too rare by any count.
    if recent.count_ones() < loops.loop_repeat_threshold.get() {
        return None;
    }
    let paced = view.history.is_paced(recent);
    let factor = if paced || !newest.is_known() { SLOW_FACTOR } else { 1 };
    let needed = loops.loop_repeat_threshold.get().saturating_mul(factor);
    let bits = if newest.is_known() { recent } else { same(blind_span(needed)) };
    let count = bits.count_ones();
    if count < needed {
        return None;
    }
    let row = view.history.row();
    let limit = loops.loop_repeat_threshold.plus(loops.loop_override_max_retries).get();
    let named = view.overridden == Some(newest.pair) && view.warned.is_present();
    // What succeeds in changing something may be meant to be done once more, and the same answer is its success.
    let ignored = named && newest.is_known() && !newest.has(CallMark::Landed) && !paced && row >= limit;
    // Who looks again after a while and finds the same, waits; who fails again does not, and nobody waits for ever.
    let waits = || !newest.has(CallMark::Failed) && view.history.lasted(same(HISTORY_CALLS)).get() < WAIT_MS_MAX;
    let provable = || newest.is_known() && !newest.has(CallMark::Landed) && !(paced && waits());
    let in_a_row = row >= count;
    let rule = if in_a_row { Rule::LoopExact } else { Rule::LoopRepeat };
    let level = if ignored {
        Level::Stop
    } else if count >= loops.repeat_hold_threshold.get().saturating_mul(factor) && provable() {
        Level::Hold
    } else {
        Level::Override
    };
    let mut reached = view.reached(rule, level, count);
    reached.proof = Basis::Entries(bits);
    reached.words = match (ignored, newest.is_known(), newest.has(CallMark::Failed)) {
        (true, _, _) => "times in a row with the same result, the last time after a warning",
        (false, true, _) if in_a_row => "times in a row with the same result",
        (false, true, _) => "times within 12 calls with the same result",
        (false, false, true) => "times with at most one other call between, and it failed without a text",
        (false, false, false) => "times with at most one other call between, and it brought no result",
    };
    if ignored {
        (reached.rule, reached.kind, reached.count) = (Rule::LoopExact, FindingKind::SystemError, row);
    }
    Some(reached)
}

/// Calls among which those without a known result are counted: what other calls brought in between speaks against a loop.
fn blind_span(needed: u32) -> usize {
    usize::try_from(needed).unwrap_or(SPAN).saturating_add(OTHERS_BETWEEN).min(SPAN)
}

/// Waiting is bounded by time, and by money elsewhere: it is overridden at most.
fn looks(view: &RuleView<'_>) -> Option<Reached> {
    let (history, newest) = (view.history, view.newest);
    let same = |depth| history.mark(depth, |entry| entry.pair == newest.pair);
    let (all, recent) = (same(HISTORY_CALLS), same(SPAN));
    let long = all.count_ones() >= LOOKS_MIN && history.lasted(all).get() >= WAIT_MS_MAX;
    let hot = recent.count_ones() >= LOOKS_HOT && history.lasted(recent).get() < HOT_MS;
    let failed = newest.has(CallMark::Told) && all.count_ones() >= LOOKS_FAILED;
    let (bits, words) = if hot {
        (recent, "looks within a minute, and nothing moved: wait longer between two looks")
    } else if failed {
        (all, "looks that failed with the same error: what is waited for may never come")
    } else if long {
        (all, "looks over half an hour, and nothing moved")
    } else {
        return None;
    };
    let mut reached = view.reached(Rule::LoopRepeat, Level::Override, bits.count_ones());
    (reached.proof, reached.words) = (Basis::Entries(bits), words);
    // A wait that lasts is no proof of a loop, and costs no health.
    reached.proven = crate::chain::activity::Sign::Absent;
    Some(reached)
}
