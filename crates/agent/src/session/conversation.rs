//! The conversation that the engines see, built from what the loop says.

use crate::engines::{Question, ToolAnswer, ToolSpec, Turn};
use crate::prompt::ADVISOR_LINES;
use std::collections::VecDeque;
use tripwire_core::run::Saying;
use tripwire_core::units::Tokens;

/// The longest answer that is asked for.
pub(super) const OUTPUT_TOKENS_MAX: Tokens = Tokens::new(8_192);

/// What an engine is asked with.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    turns: Vec<Turn>,
}

impl Conversation {
    /// Appends a turn.
    pub(super) fn say(&mut self, saying: &Saying) {
        self.turns.push(match saying {
            Saying::User(text) => Turn::User(text.to_string()),
            Saying::Model(answer) => Turn::Model { text: answer.text.to_string(), calls: answer.calls.clone() },
            Saying::Results(answers) => Turn::Results(
                answers
                    .iter()
                    .map(|answer| ToolAnswer {
                        id: answer.call.id.to_string(),
                        tool: answer.call.tool.to_string(),
                        text: answer.text.to_string(),
                        is_error: answer.is_error,
                    })
                    .collect(),
            ),
        });
    }

    /// Begins anew.
    pub(super) fn forget(&mut self) {
        self.turns.clear();
    }

    /// The question so far.
    pub(super) fn question<'a>(&'a self, system: &'a str, tools: &'a [ToolSpec]) -> Question<'a> {
        Question { system, tools, turns: &self.turns, output_tokens_max: OUTPUT_TOKENS_MAX }
    }
}

/// The newest lines of a transcript, for the advisor: bounded in lines and in bytes.
#[derive(Debug, Default)]
pub(super) struct Tail {
    lines: VecDeque<String>,
    bytes: usize,
}

/// The most bytes of the transcript that the advisor gets.
const TAIL_BYTES_MAX: usize = 256 * 1_024;
/// The most bytes of one of its lines.
const LINE_BYTES_MAX: usize = 8 * 1_024;

impl Tail {
    /// Takes in the newest line.
    pub(super) fn push(&mut self, line: &str) {
        let line = tripwire_core::label::cut(line, LINE_BYTES_MAX);
        self.bytes += line.len();
        self.lines.push_back(line.to_owned());
        while self.lines.len() > ADVISOR_LINES || self.bytes > TAIL_BYTES_MAX {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.bytes -= oldest.len();
        }
    }

    /// The lines, oldest first.
    pub(super) fn text(&self) -> String {
        self.lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_5_the_tail_holds_the_last_500_lines_and_no_more_bytes_than_allowed() {
        let mut tail = Tail::default();
        (0..600).for_each(|n| tail.push(&n.to_string()));
        assert!(tail.text().starts_with("100\n") && tail.text().ends_with("\n599"));
        (0..600).for_each(|_| tail.push(&"x".repeat(20_000)));
        assert!(tail.text().len() <= TAIL_BYTES_MAX + 600);
    }
}
