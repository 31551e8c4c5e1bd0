//! What a recorded answer knows of its question.

use crate::engines::engine::{Question, ToolAnswer, Turn};
use sha2::{Digest as _, Sha256};
use tripwire_core::run::record::Call;

/// The digest that binds a recorded answer to its question: every part with its length, so that no two questions are one.
#[must_use]
pub fn digest(question: &Question<'_>) -> String {
    let mut hash = Sha256::new();
    let mut add = |part: &str| {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part.as_bytes());
    };
    add("tripwire question 1");
    add(question.system);
    for tool in question.tools {
        ["tool", &tool.name, &tool.description, &tool.schema.to_string()].into_iter().for_each(&mut add);
    }
    for turn in question.turns {
        match turn {
            Turn::User(text) => ["user", text].into_iter().for_each(&mut add),
            Turn::Model { text, calls } => {
                ["model", text].into_iter().for_each(&mut add);
                for Call { id, tool, arguments } in calls {
                    ["call", id.as_str(), tool.as_str(), arguments.as_str()].into_iter().for_each(&mut add);
                }
            }
            Turn::Results(results) => {
                for ToolAnswer { id, tool, text, is_error } in results {
                    let kind = if *is_error { "failure" } else { "result" };
                    [kind, id, tool, text].into_iter().for_each(&mut add);
                }
            }
        }
    }
    add(&question.output_tokens_max.to_string());
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Everything that was said since the model's last answer: where an `expect` is looked for.
#[must_use]
pub(in crate::engines) fn latest_words(question: &Question<'_>) -> String {
    let since = question.turns.iter().rposition(|turn| matches!(turn, Turn::Model { .. })).map_or(0, |last| last + 1);
    let mut words = String::new();
    for turn in question.turns.iter().skip(since) {
        match turn {
            Turn::User(text) | Turn::Model { text, .. } => words.push_str(text),
            Turn::Results(results) => results.iter().for_each(|result| {
                words.push_str(&result.text);
                words.push('\n');
            }),
        }
        words.push('\n');
    }
    words
}
