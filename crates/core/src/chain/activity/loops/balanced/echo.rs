//! LOOP-2.echo: a near-equal call again, and its result says nothing but what was put into it.

use super::history::{CallMark, History};
use super::reword::resembles;
use super::rung::{Basis, Reached, RuleView};
use crate::chain::activity::Sign;
use crate::chain::activity::loops::alarm::About;
use crate::chain::event::{Action, AgentEvent, Flag};
use crate::decision::Level;
use crate::label::Fingerprint;
use crate::policy::Policy;
use crate::rules::Rule;

/// A result with fewer words of its call says too little to be an echo: people answer in the words of a question too.
const WORDS_MIN: u16 = 16;
/// Entries among which echoes are counted.
const ECHO_SPAN: usize = 4;

/// Whether an event that is about to be taken in only returns what was put into it, as a near-equal one did before.
pub(super) fn is_one(history: &History, policy: &Policy, action: &Action, event: &AgentEvent) -> bool {
    let Some(gain) = event.gain else { return false };
    // Half of its words are the call's own, whatever stands around them.
    let mostly_own = gain.echo.saturating_mul(2) >= gain.total;
    let own_words = gain.echo >= WORDS_MIN && gain.is_at_most(1, 16) && mostly_own;
    let plain = !event.failed() && !super::history::is_change(event) && !event.flags.has(Flag::Silent);
    own_words && plain && resembles(history, policy, action, Sign::Absent)
}

/// Noted at the first, overridden at the second among the last 4 calls.
pub(super) fn judge(view: &RuleView<'_>) -> Option<Reached> {
    if !view.newest.has(CallMark::Echo) {
        return None;
    }
    let bits = view.history.mark(ECHO_SPAN, |entry| entry.has(CallMark::Echo));
    let count = bits.count_ones();
    let level = if count >= view.policy.loops.echo_threshold.get() { Level::Override } else { Level::Note };
    let mut reached = view.reached(Rule::LoopEcho, level, count);
    (reached.key, reached.proof) = (Fingerprint::NONE, Basis::Entries(bits));
    reached.words = "of the last 4 calls resembled earlier ones and returned only what was put into them";
    reached.about = About::Echo;
    Some(reached)
}
