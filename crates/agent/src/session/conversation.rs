//! The conversation that the engines see, built from what the loop says.

use crate::engines::{MeasuredTurns, Question, ToolAnswer, ToolSpec, Turn};
use crate::prompt::ADVISOR_LINES;
use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use tripwire_core::run::Saying;
use tripwire_core::run::record::Call;
use tripwire_core::units::Tokens;
use tripwire_secrets::{Vault, all_placeholders};

/// The longest answer that is asked for.
pub(super) const OUTPUT_TOKENS_MAX: Tokens = Tokens::new(8_192);

/// What an engine is asked with.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    turns: Vec<Turn>,
    measured: Option<MeasuredTurns>,
}

impl Conversation {
    /// Appends a turn, with the real values that the model knows.
    pub(super) fn say(&mut self, saying: &Saying, vault: &Vault) {
        let real = |text: &str| vault.restore_known(text).into_owned();
        let call = |call: &Call| Call { arguments: real(&call.arguments).into(), ..call.clone() };
        if let Saying::Model(answer) = saying {
            self.measured = (!answer.usage.input().is_zero()).then(|| MeasuredTurns {
                engine: answer.engine.clone(),
                turns: self.turns.len() + 1,
                tokens: answer.usage.total(),
            });
        }
        self.turns.push(match saying {
            Saying::User(text) => Turn::User(real(text)),
            Saying::Model(answer) => {
                Turn::Model { text: real(&answer.text), calls: answer.calls.iter().map(call).collect() }
            }
            Saying::Results(answers) => Turn::Results(
                answers
                    .iter()
                    .map(|answer| ToolAnswer {
                        id: answer.call.id.to_string(),
                        tool: answer.call.tool.to_string(),
                        text: real(&answer.text),
                        is_error: answer.is_error,
                    })
                    .collect(),
            ),
        });
    }

    /// Puts real values in the place of the placeholders of an earlier process, as far as this one knows them, and counts the
    /// placeholders that stay.
    pub(super) fn restore(&mut self, vault: &Vault) -> usize {
        let mut left = BTreeSet::new();
        let mut is_changed = false;
        let mut real = |text: &mut String| {
            if let Cow::Owned(restored) = vault.restore_known(text) {
                is_changed |= restored != *text;
                *text = restored;
            }
            left.extend(all_placeholders(text).map(str::to_owned));
        };
        for turn in &mut self.turns {
            match turn {
                Turn::User(text) => real(text),
                Turn::Model { text, calls } => {
                    real(text);
                    for call in calls {
                        let mut arguments = call.arguments.to_string();
                        real(&mut arguments);
                        call.arguments = arguments.into();
                    }
                }
                Turn::Results(answers) => answers.iter_mut().for_each(|answer| real(&mut answer.text)),
            }
        }
        if is_changed {
            self.measured = None;
        }
        left.len()
    }

    /// Starts over.
    pub(super) fn forget(&mut self) {
        self.turns.clear();
        self.measured = None;
    }

    /// The question so far.
    pub(super) fn question<'a>(&'a self, system: &'a str, tools: &'a [ToolSpec]) -> Question<'a> {
        let Self { turns, measured } = self;
        Question { system, tools, turns, output_tokens_max: OUTPUT_TOKENS_MAX, measured: measured.as_ref() }
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
