//! LOOP-2.error and LOOP-2.kind: the agent varies its arguments and hits the same wall.

use super::history::{CallMark, History, PastCall, SPAN};
use super::rung::{Basis, Reached, RuleView, SLOW_FACTOR};
use crate::chain::activity::Sign;
use crate::chain::activity::loops::alarm::About;
use crate::decision::Level;
use crate::label::Fingerprint;
use crate::rules::Rule;
use alloc::vec::Vec;

/// Equal errors that are noted.
const ERRORS_NOTED: u32 = 3;
/// Errors of one kind that are overridden: one more than equal errors need, because their texts differ.
const KINDS_OVERRIDDEN: u32 = 5;

/// One normalised error among the last 12: noted at 3, overridden at 4, held at 5 with a known text, ended at 8 after
/// an override. An error without a text is overridden at twice as many. Where each call was another one and
/// others between them succeeded, the same "no" may be the answer to each: held at 8.
pub(super) fn same(view: &RuleView<'_>) -> Option<Reached> {
    let (newest, loops) = (view.newest, &view.policy.loops);
    let bits = turns(view.history, |entry| entry.fault == newest.fault, newest)?;
    let count = bits.count_ones();
    let told = newest.has(CallMark::Told);
    let factor = if told { 1 } else { SLOW_FACTOR };
    let varies = varies(view.history, bits);
    let held_at = if varies { loops.error_stop_threshold } else { loops.error_hold_threshold };
    let level = if told && !varies && view.warned.is_present() && count >= loops.error_stop_threshold.get() {
        Level::Stop
    } else if told && count >= held_at.get() {
        Level::Hold
    } else if count >= loops.error_override_threshold.get().saturating_mul(factor) {
        Level::Override
    } else if count >= ERRORS_NOTED.saturating_mul(factor) {
        Level::Note
    } else {
        return None;
    };
    let mut reached = view.reached(Rule::LoopError, level, count);
    (reached.key, reached.proof) = (newest.fault, Basis::Entries(bits));
    reached.words = if told {
        "of the last 12 calls failed with it"
    } else {
        "of the last 12 calls failed in the same tool without a text"
    };
    reached.about = About::Error;
    reached.proven = Sign::from(told);
    Some(reached)
}

/// Errors that differ only in what they quote: overridden at 5 of 12.
pub(super) fn kind(view: &RuleView<'_>) -> Option<Reached> {
    let newest = view.newest;
    if !newest.has(CallMark::Told) {
        return None; // Without a text there is no kind.
    }
    let bits = turns(view.history, |entry| entry.kind == newest.kind, newest)?;
    let count = bits.count_ones();
    if count < KINDS_OVERRIDDEN {
        return None;
    }
    let mut reached = view.reached(Rule::LoopErrorKind, Level::Override, count);
    (reached.key, reached.proof) = (newest.kind, Basis::Entries(bits));
    (reached.words, reached.about) = ("of the last 12 calls failed with this kind of error", About::Error);
    Some(reached)
}

/// Whether no call among the marked ones was made twice, and other calls between them succeeded.
fn varies(history: &History, bits: u64) -> bool {
    let mut calls: Vec<Fingerprint> = history.marked(bits).into_iter().map(|entry| entry.action).collect();
    calls.sort_unstable();
    let range = usize::try_from(bits.checked_ilog2().unwrap_or(0)).unwrap_or(SPAN);
    let good = history.mark(range, |entry| entry.is_known() && !entry.has(CallMark::Failed));
    good != 0 && calls.windows(2).all(|pair| pair.first() != pair.last())
}

/// The matching entries, once per turn; nothing if the newest did not fail, or only looked whether something is there yet. The
/// same call with another result is a poll that shows movement, not another attempt at the same wall (LOOP-3).
fn turns(history: &History, test: impl Fn(&PastCall) -> bool, newest: &PastCall) -> Option<u64> {
    let polled = |entry: &PastCall| entry.action == newest.action && entry.result != newest.result;
    let counted = newest.fault.is_some() && !newest.takes_its_time();
    counted.then(|| history.once_per_turn(history.mark(SPAN, |entry| test(entry) && !polled(entry))))
}
