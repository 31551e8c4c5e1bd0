//! How large a question is before a provider has counted it: an estimate, and the most that it can be.

use super::engine::{Question, Turn};
use tripwire_core::run::engine_label;
use tripwire_core::units::Tokens;

/// Tokens that a provider puts in beside the question's own text: its instructions for tools.
const ADDED_TOKENS: Tokens = Tokens::new(1_024);
/// Bytes that a turn, a call or a result has beside its text, at most: its role, its id, its brackets.
const FRAME_BYTES: usize = 64;

/// How large a question is, in tokens, by its bytes: an estimate, for a provider that gives no figure.
pub(crate) fn size(question: &Question<'_>) -> Tokens {
    Tokens::estimate(fixed_bytes(question) + question.turns.iter().map(text_bytes).sum::<usize>())
}

/// The most tokens that a question can put in. A token is at least one byte; what a provider has counted already counts as
/// it said.
pub(crate) fn input_max(engine: &str, question: &Question<'_>) -> Tokens {
    let framed = |turns: &[Turn]| {
        let bytes = turns.iter().map(|turn| text_bytes(turn) + frames(turn) * FRAME_BYTES).sum::<usize>();
        Tokens::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    };
    let known = question.measured.filter(|known| known.engine == engine_label(engine));
    match known.and_then(|known| Some((known.tokens, question.turns.get(known.turns..)?))) {
        Some((tokens, new)) => tokens.plus(framed(new)),
        None => {
            let fixed = fixed_bytes(question) + question.tools.len() * FRAME_BYTES;
            let fixed = Tokens::new(u64::try_from(fixed).unwrap_or(u64::MAX));
            fixed.plus(framed(question.turns)).plus(ADDED_TOKENS)
        }
    }
}

/// The bytes of what every question of a session begins with.
fn fixed_bytes(question: &Question<'_>) -> usize {
    let tools = question.tools.iter();
    question.system.len()
        + tools.map(|tool| tool.name.len() + tool.description.len() + tool.schema.to_string().len()).sum::<usize>()
}

fn text_bytes(turn: &Turn) -> usize {
    match turn {
        Turn::User(text) => text.len(),
        Turn::Model { text, calls } => {
            text.len() + calls.iter().map(|call| call.tool.as_str().len() + call.arguments.len()).sum::<usize>()
        }
        Turn::Results(answers) => answers.iter().map(|answer| answer.tool.len() + answer.text.len()).sum(),
    }
}

/// The parts of a turn that have a frame of their own.
fn frames(turn: &Turn) -> usize {
    match turn {
        Turn::User(_) => 1,
        Turn::Model { calls, .. } => calls.len() + 1,
        Turn::Results(answers) => answers.len() + 1,
    }
}
