//! REWORD: a question is asked again in other words, and the answer brings less than half new words.

use super::memory::{Mark, Memory};
use super::{Basis, Reached, SPAN, View};
use crate::chain::activity::Sign;
use crate::chain::event::{Action, AgentEvent, Flag};
use crate::decision::Level;
use crate::label::Fingerprint;
use crate::policy::Policy;
use crate::rules::Rule;
use crate::sketch::WordSketch;
use serde::{Deserialize, Serialize};

/// A question of fewer words says too little to be compared.
const WORDS_MIN: usize = 2;

/// A call whose arguments are prose, to be compared with later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Asked {
    /// The number of its entry.
    #[serde(rename = "i")]
    pub(super) number: u32,
    #[serde(rename = "f")]
    pub(super) tool: Fingerprint,
    #[serde(rename = "t")]
    pub(super) turn: u32,
    #[serde(rename = "n")]
    pub(super) epoch: u32,
    /// Whether it is a question.
    #[serde(rename = "q")]
    pub(super) asks: bool,
    #[serde(rename = "s")]
    pub(super) sketch: WordSketch,
}

/// Whether an event that is about to be taken in asks an earlier question again and learns little from it.
pub(super) fn is_one(memory: &Memory, policy: &Policy, action: &Action, event: &AgentEvent) -> bool {
    let asks = event.flags.has(Flag::Ask) && action.args_sketch.is_some_and(|sketch| sketch.filled() >= WORDS_MIN);
    let learned_little = event.failed() || event.gain.is_some_and(|gain| gain.is_at_most(1, 2));
    asks && !event.flags.has(Flag::Silent) && learned_little && resembles(memory, policy, action, Sign::Present)
}

/// Whether the arguments resemble those of an earlier turn of this epoch to the same tool.
pub(super) fn resembles(memory: &Memory, policy: &Policy, action: &Action, questions_only: Sign) -> bool {
    let Some(sketch) = action.args_sketch else { return false };
    let tool = action.tool.fingerprint();
    let span = u32::try_from(SPAN).unwrap_or(u32::MAX);
    memory.asked.newest_first().any(|asked| {
        asked.tool == tool
            && asked.epoch == memory.epoch
            && asked.turn != memory.turn()
            && memory.number.wrapping_sub(asked.number) < span
            && (asked.asks || !questions_only.is_present())
            && asked.sketch.similarity(&sketch) >= policy.loops.reword_similarity
    })
}

/// Noted at the first rewording, overridden at the second: the question was then asked three times.
pub(super) fn judge(view: &View<'_>) -> Option<Reached> {
    if !view.newest.has(Mark::Reword) {
        return None;
    }
    let memory = view.memory;
    let tool = memory.asked.back(0)?.tool;
    let mine = |bit: u32| {
        let number = memory.number.wrapping_sub(bit);
        memory.asked.newest_first().any(|asked| asked.number == number && asked.tool == tool)
    };
    let reworded = memory.mark(SPAN, |entry| entry.has(Mark::Reword));
    let bits = (0..u32::BITS).filter(|place| reworded.wrapping_shr(*place) & 1 == 1 && mine(*place));
    let bits = bits.fold(0_u32, |all, place| all | 1_u32.wrapping_shl(place));
    let count = bits.count_ones();
    let level = if count >= view.policy.loops.reword_threshold.get() { Level::Override } else { Level::Note };
    let mut reached = view.reached(Rule::LoopReword, level, count);
    (reached.key, reached.proof) = (tool, Basis::Entries(bits));
    reached.words = "times a question was asked again in other words, and the answers brought little new";
    Some(reached)
}
