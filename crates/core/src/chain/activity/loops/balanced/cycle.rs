//! LOOP-2.cycle: a sequence of two to sixteen calls with their results goes round and round.

use super::history::{CallMark, PastCall};
use super::rung::{Basis, Reached, RuleView, SLOW_FACTOR, WAIT_MS_MAX};
use crate::chain::activity::Sign;
use crate::chain::activity::loops::alarm::About;
use crate::decision::Level;
use crate::rules::Rule;

/// Turns that are noted: the second may be chance.
const TURNS_NOTED: u32 = 2;

/// Noted at 2 turns, overridden at 3, held at 3 if every result is known, ended at 5 after an override. A round with a wait in it
/// waits for something: its looks are the business of `repeat`. One whose calls all take their time and do not fail is a wait too,
/// and is held when nothing moved for half an hour.
pub(super) fn judge(view: &RuleView<'_>) -> Option<Reached> {
    let (history, loops) = (view.history, &view.policy.loops);
    let (period, run) = (1_u32..).zip(history.cycle_runs()).find(|(period, run)| *run >= period)?;
    if period < 2 {
        return None; // That is a plain repeat.
    }
    let turns = run.checked_div(period)?.saturating_add(1);
    if turns < TURNS_NOTED {
        return None;
    }
    let length = usize::try_from(period).ok()?;
    let one_turn = history.mark(length, |_| true);
    if history.mark(length, PastCall::looks) != 0 {
        return None;
    }
    let proven = history.mark(length, PastCall::is_known).count_ones() == period;
    let paced = history.mark(length, PastCall::takes_its_time) == one_turn;
    let calls = usize::try_from(run.saturating_add(period)).ok()?;
    let all = history.mark(calls, |_| true);
    let failed = history.mark(length, |entry| entry.has(CallMark::Failed)) != 0;
    let waits = paced && !failed && history.lasted(all).get() < WAIT_MS_MAX;
    let factor = if paced || !proven { SLOW_FACTOR } else { 1 };
    let at_least = |threshold: crate::units::Count| turns >= threshold.get().saturating_mul(factor);
    let level = if proven && !paced && view.warned.is_present() && at_least(loops.cycle_stop_turns) {
        Level::Stop
    } else if proven && !waits && at_least(loops.cycle_hold_turns) {
        Level::Hold
    } else if at_least(loops.cycle_override_turns) {
        Level::Override
    } else {
        Level::Note
    };
    let mut reached = view.reached(Rule::LoopCycle, level, turns);
    reached.proof = Basis::Entries(all);
    reached.proven = Sign::from(proven);
    // The key must be the same wherever in the cycle it is noticed: the least fingerprint of one turn.
    let turn_of_cycle = history.marked(one_turn);
    reached.key = turn_of_cycle.iter().map(|entry| entry.pair).min().unwrap_or(reached.key);
    (reached.words, reached.about) = ("times round with the same results", About::Round(length));
    Some(reached)
}
