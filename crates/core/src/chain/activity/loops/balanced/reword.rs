//! LOOP-2.reword: a question is asked again in other words, and the answer brings less than half new words.

use super::history::SPAN;
use super::history::{CallMark, History};
use super::rung::{Basis, Reached, RuleView};
use crate::chain::activity::Sign;
use crate::chain::activity::loops::alarm::About;
use crate::chain::event::{Action, AgentEvent, Flag};
use crate::decision::Level;
use crate::policy::Policy;
use crate::rules::Rule;

/// A question of fewer words says too little to be compared.
const WORDS_MIN: usize = 2;

/// Whether an event that is about to be taken in asks an earlier question again and learns little from it.
pub(super) fn is_one(history: &History, policy: &Policy, action: &Action, event: &AgentEvent) -> bool {
    let asks = event.flags.has(Flag::Ask) && action.args_sketch.is_some_and(|sketch| sketch.filled() >= WORDS_MIN);
    let learned_little = event.failed() || event.gain.is_some_and(|gain| gain.is_at_most(1, 2));
    asks && !event.flags.has(Flag::Silent) && learned_little && resembles(history, policy, action, Sign::Present)
}

/// Whether the arguments resemble those of an earlier turn of this epoch to the same tool.
pub(super) fn resembles(history: &History, policy: &Policy, action: &Action, questions_only: Sign) -> bool {
    let Some(sketch) = action.args_sketch else { return false };
    let tool = action.tool.fingerprint();
    let span = u32::try_from(SPAN).unwrap_or(u32::MAX);
    history.questions.newest_first().any(|asked| {
        asked.tool == tool
            && asked.epoch == history.epoch
            && asked.turn != history.turn()
            && history.number.wrapping_sub(asked.number) < span
            && (asked.asks || !questions_only.is_present())
            && asked.sketch.similarity(&sketch) >= policy.loops.reword_similarity
    })
}

/// Noted at the first rewording, overridden at the second: the question was then asked three times.
pub(super) fn judge(view: &RuleView<'_>) -> Option<Reached> {
    if !view.newest.has(CallMark::Reword) {
        return None;
    }
    let history = view.history;
    let tool = history.questions.back(0)?.tool;
    let mine = |bit: u32| {
        let number = history.number.wrapping_sub(bit);
        history.questions.newest_first().any(|asked| asked.number == number && asked.tool == tool)
    };
    let reworded = history.mark(SPAN, |entry| entry.has(CallMark::Reword));
    let bits = (0..u64::BITS).filter(|place| reworded.wrapping_shr(*place) & 1 == 1 && mine(*place));
    let bits = bits.fold(0_u64, |all, place| all | 1_u64.wrapping_shl(place));
    let count = bits.count_ones();
    let level = if count >= view.policy.loops.reword_threshold.get() { Level::Override } else { Level::Note };
    // The question itself counts too: two rewordings are three questions.
    let mut reached = view.reached(Rule::LoopReword, level, count.saturating_add(1));
    let similarity = view.policy.loops.reword_similarity;
    (reached.key, reached.proof) = (tool, Basis::Entries(history.with_first(bits, similarity)));
    reached.words = "times the same question in other words, and the answers brought little new";
    reached.about = About::Question;
    Some(reached)
}
