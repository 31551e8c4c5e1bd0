//! What all transcripts have in common: lines that add calls, results, words and costs.

use super::{Call, Past, claude, codex, gemini, stamp};
use crate::hooks::Client;
use crate::usage;
use serde_json::Value;
use std::path::Path;
use tripwire_core::prices::PriceBasis;
use tripwire_core::units::Price;

/// A transcript that is being read.
pub(super) struct Reader {
    past: Past,
    record: usage::Record,
    /// Lines that are of the client's form.
    known_lines: u64,
    /// A person spoke since the last call.
    person_spoke: bool,
    /// What the agent said since the last call.
    said: String,
    /// What was spent and belongs to no call yet.
    pending: Price,
    /// How many answers were counted, for clients that give calls no answer's name.
    answers: u64,
}

/// Whether a line is of the client's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Known,
    Foreign,
}

impl Reader {
    pub(super) fn new(client: Client, path: &Path) -> Self {
        let session = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let past = Past {
            client,
            path: path.to_owned(),
            session,
            spent: Price::default(),
            basis: PriceBasis::Listed,
            broken_lines: 0,
            calls: Vec::new(),
        };
        let (person_spoke, said, pending) = (false, String::new(), Price::default());
        Self { past, record: usage::Record::default(), known_lines: 0, person_spoke, said, pending, answers: 0 }
    }

    /// Reads the whole text: one JSON object per line, or the one object that older Gemini CLIs write.
    pub(super) fn read(&mut self, text: &str) {
        if self.past.client == Client::Gemini
            && let Ok(Value::Object(whole)) = serde_json::from_str::<Value>(text)
            && let Some(messages) = whole.get("messages").and_then(Value::as_array)
        {
            messages.iter().for_each(|message| self.line(message, &message.to_string()));
            return;
        }
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match serde_json::from_str::<Value>(line) {
                Ok(value) => self.line(&value, line),
                Err(_) => self.past.broken_lines += 1,
            }
        }
    }

    fn line(&mut self, value: &Value, text: &str) {
        // Codex tells the cost behind a call; the others tell it with the call or before it.
        if self.past.client != Client::Codex {
            self.count(text);
        }
        let form = match self.past.client {
            Client::Claude => claude::line(value, self),
            Client::Codex => codex::line(value, self),
            Client::Gemini => gemini::line(value, self),
        };
        if self.past.client == Client::Codex {
            self.count(text);
        }
        self.known_lines += u64::from(form == Form::Known);
    }

    fn count(&mut self, text: &str) {
        let Some(figures) = usage::read_line(self.past.client, text, &mut self.record) else { return };
        let tokens = figures.tokens;
        let price =
            Price { micro_usd: figures.cost, tokens: tokens.input().plus(tokens.output).plus(tokens.reasoning) };
        self.answers += 1;
        self.past.spent = self.past.spent.plus(price);
        if figures.basis == PriceBasis::HighestKnown {
            self.past.basis = PriceBasis::HighestKnown;
        }
        match self.past.calls.last_mut() {
            Some(call) if self.past.client == Client::Codex && call.spent.is_nothing() => call.spent = price,
            Some(_) | None => self.pending = self.pending.plus(price),
        }
    }

    /// The session's own name.
    pub(super) fn name(&mut self, name: &Value) {
        if let Some(name) = name.as_str() {
            name.clone_into(&mut self.past.session);
        }
    }

    /// A person spoke: what comes now is a new iteration.
    pub(super) fn person(&mut self) {
        self.settle();
        self.person_spoke = true;
        self.said.clear();
    }

    /// The agent said something.
    pub(super) fn said(&mut self, text: &Value) {
        if let Some(text) = text.as_str() {
            self.said.push_str(text);
        }
    }

    /// The name of the answer that is being read, where the client gives none.
    pub(super) fn answer(&self) -> String {
        self.answers.to_string()
    }

    /// A call of a tool; one that is told again is the same.
    pub(super) fn call(&mut self, id: &Value, tool: &str, args: Value, (answer, at): (Option<String>, &Value)) {
        let id = id.as_str().unwrap_or_default().to_owned();
        if !id.is_empty() && self.past.calls.iter().rev().take(SAME_CALL_WITHIN).any(|call| call.id == id) {
            return;
        }
        self.past.calls.push(Call {
            id,
            tool: tool.to_owned(),
            args,
            at_ms: at.as_str().and_then(stamp::epoch_ms),
            answer,
            user_turn: std::mem::take(&mut self.person_spoke),
            text: Some(std::mem::take(&mut self.said)).filter(|text| !text.is_empty()),
            spent: std::mem::take(&mut self.pending),
            ..Call::default()
        });
    }

    /// What a call gave.
    pub(super) fn result(&mut self, id: &Value, output: String, failed: Option<bool>) {
        let id = id.as_str().unwrap_or_default();
        if let Some(call) = self.past.calls.iter_mut().rev().take(SAME_CALL_WITHIN).find(|call| call.id == id) {
            call.output = Some(output);
            call.failed = failed;
        }
    }

    /// Gives what belongs to no later call to the last one.
    fn settle(&mut self) {
        if let Some(call) = self.past.calls.last_mut() {
            call.after = call.after.plus(std::mem::take(&mut self.pending));
        }
    }

    /// What was read; nothing if no line is of the client's form.
    pub(super) fn finish(mut self) -> Option<Past> {
        self.settle();
        (self.known_lines > 0).then_some(self.past)
    }
}

/// How far back a call is looked for by its id.
const SAME_CALL_WITHIN: usize = 512;
