//! LOOP-2.ignored: after an override the same goes on: the very call that was part of its proof comes back with the very same
//! result, or another call loops as well, and nothing was changed in between.

use super::history::{CallMark, History, PastCall, SPAN};
use super::rung::{Basis, Reached, RuleView};
use crate::decision::Level;
use crate::label::Fingerprint;
use crate::limits::HISTORY_CALLS;
use crate::ring::Ring;
use crate::rules::Rule;
use crate::units::EventIndex;
use serde::{Deserialize, Serialize};

/// Calls that are remembered: as many as one alarm names.
const REMEMBERED: usize = 24;

/// What the overrides of this epoch rested on, whichever rule gave them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Forbidden {
    calls: Ring<ForbiddenCall, REMEMBERED>,
    /// The number of the entry that brought the newest override which proves a loop.
    proof: Option<u32>,
}

/// A call with its result that an override rested on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct ForbiddenCall {
    #[serde(rename = "p")]
    pair: Fingerprint,
    /// The event that brought the override.
    #[serde(rename = "i")]
    at: EventIndex,
}

impl Forbidden {
    /// Remembers what an override rests on, as far as it is known; a look may always come again.
    pub(super) fn remember(&mut self, history: &History, reached: &Reached) {
        let at = history.newest().map(|newest| newest.index).unwrap_or_default();
        if reached.rule.is_proof_of_loop() && reached.proven.is_present() {
            self.proof = Some(history.number);
        }
        // Failures of all kinds in a row are no proof: after a word about them a command may be run again.
        let Basis::Entries(bits) = reached.proof else { return };
        for call in history.marked(bits).into_iter().filter(|call| counts(call)) {
            if !self.calls.newest_first().any(|known| known.pair == call.pair) {
                self.calls.push(ForbiddenCall { pair: call.pair, at });
            }
        }
    }
}

/// Held at the first return, or when another call comes as often as an override needs.
pub(super) fn judge(view: &RuleView<'_>, forbidden: &Forbidden) -> Option<Reached> {
    let (newest, loops) = (view.newest, &view.policy.loops);
    if !view.warned.is_present() || !counts(newest) {
        return None;
    }
    let recent = view.history.mark(SPAN, |entry| entry.pair == newest.pair);
    let named = forbidden.calls.newest_first().find(|call| call.pair == newest.pair && call.at < newest.index);
    let (bits, words) = match named {
        Some(named) => {
            let mine = |entry: &PastCall| entry.pair == newest.pair;
            let returns = view.history.mark(HISTORY_CALLS, |entry| mine(entry) && entry.index > named.at);
            if returns.count_ones() < loops.ignored_hold_threshold.get() {
                return None;
            }
            let all = view.history.mark(HISTORY_CALLS, mine);
            (all, "times with the same result, the last time after a warning that rested on it")
        }
        None if is_fresh(forbidden, view.history) && recent.count_ones() >= loops.loop_repeat_threshold.get() => {
            (recent, "times with the same result, the last time after a warning of another loop")
        }
        None => return None,
    };
    let mut reached = view.reached(Rule::LoopIgnored, Level::Hold, bits.count_ones());
    (reached.proof, reached.words) = (Basis::Entries(bits), words);
    Some(reached)
}

/// Whether the agent was told of a proven loop within the calls that are counted.
fn is_fresh(forbidden: &Forbidden, history: &History) -> bool {
    let span = u32::try_from(SPAN).unwrap_or(u32::MAX);
    forbidden.proof.is_some_and(|number| history.number.wrapping_sub(number) < span)
}

/// Whether the return of a call proves something.
const fn counts(call: &PastCall) -> bool {
    call.is_known() && !call.takes_its_time() && !call.has(CallMark::Landed)
}
