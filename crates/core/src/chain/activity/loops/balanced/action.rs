//! LOOP-2.action: the same call whatever it returned; ordinary when polling or testing, so it is a note and no more.

use super::rung::{Basis, Reached, RuleView};
use crate::decision::Level;
use crate::rules::Rule;

/// Entries that are looked at: the seed's signature history.
const ACTION_SPAN: usize = 10;

/// Noted at the seed's three.
pub(super) fn judge(view: &RuleView<'_>) -> Option<Reached> {
    let newest = view.newest;
    let bits = view.history.mark(ACTION_SPAN, |entry| entry.action == newest.action);
    let count = bits.count_ones();
    if count < view.policy.safety.soft_loop_threshold.get() {
        return None;
    }
    let mut reached = view.reached(Rule::LoopAction, Level::Note, count);
    (reached.key, reached.proof) = (newest.action, Basis::Entries(bits));
    reached.words = "times among the last 10 calls, whatever it returned";
    Some(reached)
}
