//! LOOP-2.spawn: one and the same task is given to other agents again and again, whatever they answer.

use super::history::{CallMark, History, Question, SPAN};
use super::rung::{Basis, Reached, RuleView};
use crate::chain::activity::loops::alarm::About;
use crate::chain::event::{Action, AgentEvent, Flag};
use crate::decision::Level;
use crate::label::Fingerprint;
use crate::rules::Rule;
use crate::units::Ratio;

/// Two tasks for agents that answer are the same if nearly all their words are: tasks for file after file share most words.
const TASK_SIMILARITY: Ratio = Ratio::from_per_mille(900);
/// Two messages that bring nothing back are the same at half of their words.
const MESSAGE_SIMILARITY: Ratio = Ratio::from_per_mille(500);
/// A shorter message says too little to be compared.
const MESSAGE_WORDS_MIN: usize = 8;

/// Whether an event that is about to be taken in gives out a task that was given out in an earlier turn of this epoch.
pub(super) fn is_one(history: &History, action: &Action, event: &AgentEvent) -> bool {
    let Some(similarity) = needed(action, event) else { return false };
    let exact = action.exact();
    let span = history.ring.newest_first().take(SPAN);
    let same = span.filter(|call| call.epoch == history.epoch && call.turn != history.turn());
    same.map(|call| call.action).any(|action| action == exact)
        || resembling(history, action, similarity).next().is_some()
}

/// How alike two of its kind must be; nothing for a call that gives out no task.
fn needed(action: &Action, event: &AgentEvent) -> Option<Ratio> {
    let long = action.args_sketch.is_some_and(|sketch| sketch.filled() >= MESSAGE_WORDS_MIN);
    if event.flags.has(Flag::Spawn) {
        Some(TASK_SIMILARITY)
    } else if event.flags.has(Flag::Silent) && long {
        Some(MESSAGE_SIMILARITY)
    } else {
        None
    }
}

fn resembling<'a>(history: &'a History, action: &Action, similarity: Ratio) -> impl Iterator<Item = &'a Question> {
    let (tool, sketch) = (action.tool.fingerprint(), action.args_sketch);
    history.questions.newest_first().filter(move |asked| {
        asked.tool == tool
            && asked.epoch == history.epoch
            && asked.turn != history.turn()
            && sketch.is_some_and(|sketch| asked.sketch.similarity(&sketch) >= similarity)
    })
}

/// Noted at the second time, overridden when the same task came four times: three of them were repeats.
pub(super) fn judge(view: &RuleView<'_>) -> Option<Reached> {
    if !view.newest.has(CallMark::TaskAgain) {
        return None;
    }
    let bits = view.history.once_per_turn(view.history.mark(SPAN, |entry| entry.has(CallMark::TaskAgain)));
    let repeats = bits.count_ones();
    let level = if repeats >= view.policy.loops.spawn_threshold.get() { Level::Override } else { Level::Note };
    let mut reached = view.reached(Rule::LoopSpawn, level, repeats.saturating_add(1));
    let proof = view.history.with_first(bits, MESSAGE_SIMILARITY);
    (reached.key, reached.proof) = (Fingerprint::NONE, Basis::Entries(proof));
    (reached.words, reached.about) = ("times the same task was given out, whatever came of it", About::Task);
    Some(reached)
}
