//! The conversation that the engines see, built from what the loop says, and translated both ways at one place.

use crate::engine::{self, Answer, End, EngineError, Question, ToolAnswer, ToolCall, ToolSpec, Turn};
use std::collections::VecDeque;
use std::time::Duration;
use tripwire_core::label::Label;
use tripwire_core::run::Saying;
use tripwire_core::run::record::{Answer as Answered, AnswerEnd, Call, EngineFailure, FailureKind, Spent};
use tripwire_core::units::{RunMillis, Tokens};

/// The longest answer that is asked for.
pub const OUTPUT_TOKENS_MAX: Tokens = Tokens::new(8_192);

/// What an engine is asked with.
#[derive(Debug, Default)]
pub struct Conversation {
    turns: Vec<Turn>,
}

impl Conversation {
    /// Appends a turn.
    pub fn say(&mut self, saying: &Saying) {
        self.turns.push(match saying {
            Saying::User(text) => Turn::User(text.to_string()),
            Saying::Model(answer) => {
                Turn::Model { text: answer.text.to_string(), calls: answer.calls.iter().map(call_for_engine).collect() }
            }
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
    pub fn forget(&mut self) {
        self.turns.clear();
    }

    /// The question as it stands.
    #[must_use]
    pub fn question<'a>(&'a self, system: &'a str, tools: &'a [ToolSpec]) -> Question<'a> {
        Question { system, tools, turns: &self.turns, output_tokens_max: OUTPUT_TOKENS_MAX }
    }
}

fn call_for_engine(call: &Call) -> ToolCall {
    ToolCall { id: call.id.to_string(), tool: call.tool.to_string(), arguments: call.arguments.to_string() }
}

/// An engine's answer as it is journaled. Ids that are missing or doubled are made, so that every call has its own.
#[must_use]
pub fn answered(engine: Label, answer: Answer, step: u32) -> Answered {
    let mut seen = std::collections::BTreeSet::new();
    let calls = answer.calls.into_iter().enumerate().map(|(at, call)| {
        let fits = !call.id.is_empty() && seen.insert(call.id.clone());
        let id = if fits { call.id } else { format!("call-{step}-{at}") };
        Call { arguments: call.arguments.into(), id: id.into(), tool: call.tool.into() }
    });
    Answered {
        calls: calls.collect(),
        end: match answer.end {
            End::Finished => AnswerEnd::Finished,
            End::OutputLimit => AnswerEnd::OutputLimit,
            End::Refused => AnswerEnd::Refused,
            End::Other(_) => AnswerEnd::Other,
        },
        engine,
        model: Label::cut(&answer.model),
        text: answer.text.into(),
        usage: answer.usage,
        work: answer.work,
    }
}

/// What a question used in vain, as it is journaled.
#[must_use]
pub fn spent(engine: Label, spent: &engine::Spent) -> Spent {
    Spent { engine, estimated: spent.estimated, model: Label::cut(&spent.model), usage: spent.usage }
}

/// Why there is no answer, as it is journaled.
#[must_use]
pub fn failed(engine: Label, error: &EngineError) -> EngineFailure {
    let wait = |after: &Option<Duration>| {
        after.map(|after| RunMillis::new(u64::try_from(after.as_millis()).unwrap_or(u64::MAX)))
    };
    let (kind, retry_after_ms) = match error {
        EngineError::NoKey { .. }
        | EngineError::KeyRefused { .. }
        | EngineError::UnknownModel { .. }
        | EngineError::Refused { .. }
        | EngineError::TooSensitive { .. }
        | EngineError::NotStarted { .. }
        | EngineError::CassetteEnded { .. } => (FailureKind::Refused, None),
        EngineError::Unreachable { .. } => (FailureKind::Unreachable, None),
        EngineError::Overloaded { retry_after, .. } => (FailureKind::Overloaded, wait(retry_after)),
        EngineError::RateLimited { retry_after, .. } => (FailureKind::RateLimited, wait(retry_after)),
        EngineError::ContextExhausted { .. } => (FailureKind::ContextExhausted, None),
        EngineError::Broken { .. } => (FailureKind::Broken, None),
        EngineError::Deadline { .. } | EngineError::Cut { .. } => (FailureKind::Cut, None),
    };
    // Where a cassette lies is no part of what happened.
    let said = error.clone().by(engine.as_str()).to_string();
    EngineFailure { engine, kind, retry_after_ms, said: said.into(), spent: None }
}

/// The newest lines of a transcript, for the advisor: bounded in lines and in bytes.
#[derive(Debug, Default)]
pub struct Tail {
    lines: VecDeque<String>,
    bytes: usize,
}

/// The most bytes of the transcript that the advisor gets.
const TAIL_BYTES_MAX: usize = 256 * 1_024;
/// The most bytes of one of its lines.
const LINE_BYTES_MAX: usize = 8 * 1_024;

impl Tail {
    /// Takes in the newest line.
    pub fn push(&mut self, line: &str) {
        let line = tripwire_core::label::cut(line, LINE_BYTES_MAX);
        self.bytes += line.len();
        self.lines.push_back(line.to_owned());
        while self.lines.len() > crate::prompt::ADVISOR_LINES || self.bytes > TAIL_BYTES_MAX {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.bytes -= oldest.len();
        }
    }

    /// The lines, oldest first.
    #[must_use]
    pub fn text(&self) -> String {
        self.lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_core::usage::Usage;

    fn answer(ids: &[&str]) -> Answer {
        let call = |id: &&str| ToolCall { id: (*id).to_owned(), tool: "list".into(), arguments: "{}".into() };
        let calls = ids.iter().map(call).collect();
        Answer {
            text: String::new(),
            calls,
            usage: Usage::default(),
            model: "m".into(),
            end: End::Finished,
            work: None,
        }
    }

    #[test]
    fn every_call_has_an_id_of_its_own() {
        let answered = answered(Label::cut("e"), answer(&["a", "", "a"]), 7);
        let ids: Vec<&str> = answered.calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["a", "call-7-1", "call-7-2"]);
    }

    #[test]
    fn run_5_the_tail_holds_the_last_500_lines_and_no_more_bytes_than_allowed() {
        let mut tail = Tail::default();
        (0..600).for_each(|n| tail.push(&n.to_string()));
        assert!(tail.text().starts_with("100\n") && tail.text().ends_with("\n599"));
        (0..600).for_each(|_| tail.push(&"x".repeat(20_000)));
        assert!(tail.text().len() <= TAIL_BYTES_MAX + 600);
    }
}
