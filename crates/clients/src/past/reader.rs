//! A whole transcript, line by line: each call with its result, the words before it, and what it cost.

use crate::client::Client;
use crate::hooks::event::ToolCall;
use crate::transcript::{FigureOrder, Item, LineForm, RawToolCall};
use crate::usage::{self, Figures, SessionUsage};
use serde::de::IgnoredAny;
use serde_json::json;
use tripwire_core::label::Fingerprint;
use tripwire_core::prices::PriceBasis;
use tripwire_core::units::Price;
use tripwire_workspace::geometry::wall_clock::WallClock;

/// How far back a call is looked for by its id.
const SAME_CALL_WITHIN: usize = 512;

/// What was read of a transcript.
#[derive(Debug)]
pub(super) struct TranscriptContents {
    /// The client's own name of the session, where a line holds it.
    pub(super) session: Option<String>,
    pub(super) spent: Price,
    pub(super) basis: PriceBasis,
    pub(super) broken_lines: u64,
    pub(super) calls: Vec<PastCall>,
    /// The folder in which the client worked, where a line names it.
    pub(super) folder: Option<String>,
    /// What each answer cost that has a name, in the order of the answers.
    pub(super) answers: Vec<(Fingerprint, Price)>,
    known_lines: u64,
}

/// One call of a tool, with what came before it and behind it.
#[derive(Debug, Default)]
pub(super) struct PastCall {
    call: ToolCall,
    output: Option<String>,
    failed: Option<bool>,
    exit_code: Option<i32>,
    at_ms: Option<u64>,
    answer: Option<String>,
    /// A person spoke before it.
    pub(super) user_turn: bool,
    text: Option<String>,
    /// What the answer cost that asked for it.
    pub(super) spent: Price,
    /// What was spent behind it and before the next word of a person.
    pub(super) after: Price,
}

impl PastCall {
    fn id(&self) -> &str {
        self.call.call_id.as_deref().unwrap_or_default()
    }

    /// The call as people read it: the tool, and its command or what else it was given, in one short line.
    pub(super) fn words(&self) -> String {
        let args: serde_json::Value = serde_json::from_str(&self.call.input).unwrap_or_default();
        let command = ["command", "cmd"].into_iter().find_map(|name| args.get(name)?.as_str().map(str::to_owned));
        let given = command.unwrap_or_else(|| if args.is_null() { String::new() } else { args.to_string() });
        let line = given.split_whitespace().collect::<Vec<_>>().join(" ");
        let cut: String = line.chars().take(WORDS_LETTERS_MAX).collect();
        let more = if cut.len() < line.len() { "…" } else { "" };
        format!("{} {cut}{more}", self.call.name).trim_end().to_owned()
    }

    /// When it was made, in milliseconds since 1970, where the transcript says it.
    pub(super) const fn at_ms(&self) -> Option<u64> {
        self.at_ms
    }

    /// What it was, for a comparison with the calls of another transcript.
    pub(super) fn identity(&self) -> Fingerprint {
        let parts =
            [self.id(), self.call.name.as_str(), self.call.input.as_str(), self.output.as_deref().unwrap_or_default()];
        parts.iter().fold(Fingerprint::NONE, |all, part| all.and(Fingerprint::of(part.as_bytes())))
    }

    /// The call as an event of a trace.
    pub(super) fn event(&self, client: Client) -> serde_json::Value {
        let mut args: serde_json::Value = serde_json::from_str(&self.call.input).unwrap_or_default();
        if let Some(fields) = args.as_object_mut() {
            let idle = (client.adapter().hooks.idle_arguments)(&self.call.name);
            fields.retain(|name, _| !idle.contains(&name.as_str()));
        }
        json!({
            "tool": self.call.name, "args": args, "output": self.output, "error": self.failed,
            "exit_code": self.exit_code, "t_ms": self.at_ms,
            "tokens": self.spent.tokens.get(), "cost_micro_usd": self.spent.micro_usd.get(), "text": self.text,
            "msg_id": self.answer, "user_turn": self.user_turn,
        })
    }
}

/// The longest line that tells a call.
const WORDS_LETTERS_MAX: usize = 100;

/// Reads a whole transcript; none if no line of it is of the client's form.
pub(super) fn read(client: Client, text: &str) -> Option<TranscriptContents> {
    let mut reader = PastReader::new(client);
    match (client.adapter().transcript.lines_of_whole_file)(text) {
        Some(lines) => lines.iter().for_each(|line| reader.line(line)),
        None => text.lines().filter(|line| !line.trim().is_empty()).for_each(|line| reader.line(line)),
    }
    reader.settle();
    (reader.contents.known_lines > 0).then_some(reader.contents)
}

struct PastReader {
    client: Client,
    contents: TranscriptContents,
    usage: SessionUsage,
    person_spoke: bool,
    /// What the agent said since the last call.
    said: String,
    /// What was spent and belongs to no call yet.
    pending: Price,
    /// How many answers were counted, for clients that give calls no answer's name.
    answers: u64,
}

impl PastReader {
    fn new(client: Client) -> Self {
        let contents = TranscriptContents {
            session: None,
            spent: Price::default(),
            basis: PriceBasis::Listed,
            broken_lines: 0,
            calls: Vec::new(),
            folder: None,
            answers: Vec::new(),
            known_lines: 0,
        };
        Self {
            client,
            contents,
            usage: SessionUsage::default(),
            person_spoke: false,
            said: String::new(),
            pending: Price::default(),
            answers: 0,
        }
    }

    fn line(&mut self, text: &str) {
        let mut items = Vec::new();
        if self.contents.folder.is_none() {
            self.contents.folder = (self.client.adapter().transcript.folder_in_line)(text);
        }
        match (self.client.adapter().transcript.read_line)(text, &mut items) {
            LineForm::Known => self.contents.known_lines += 1,
            LineForm::Foreign if serde_json::from_str::<IgnoredAny>(text).is_err() => {
                self.contents.broken_lines += 1;
            }
            LineForm::Foreign => {}
        }
        if let Some(figures) = usage::count_line(text, &items, &mut self.usage) {
            self.spend(&figures);
        }
        items.into_iter().for_each(|item| self.take(item));
    }

    fn spend(&mut self, figures: &Figures) {
        let tokens = figures.tokens;
        let price =
            Price { micro_usd: figures.cost, tokens: tokens.input().plus(tokens.output).plus(tokens.reasoning) };
        self.answers += 1;
        self.contents.spent = self.contents.spent.plus(price);
        if figures.answer.is_some() {
            self.contents.answers.push((figures.answer, price));
        }
        if figures.basis == PriceBasis::HighestKnown {
            self.contents.basis = PriceBasis::HighestKnown;
        }
        let behind_calls = self.client.adapter().transcript.figures == FigureOrder::BehindCalls;
        match self.contents.calls.last_mut() {
            Some(call) if behind_calls && call.spent.is_nothing() => call.spent = price,
            Some(_) | None => self.pending = self.pending.plus(price),
        }
    }

    fn take(&mut self, item: Item<'_>) {
        match item {
            Item::Session(name) => self.contents.session = Some(name.into_owned()),
            // What comes now is a new iteration.
            Item::Person => {
                self.settle();
                self.person_spoke = true;
                self.said.clear();
            }
            Item::Said(text) => self.said.push_str(&text),
            Item::Call(call) => self.call(&call),
            Item::Result(result) => {
                let mut newest = self.contents.calls.iter_mut().rev().take(SAME_CALL_WITHIN);
                if let Some(call) = newest.find(|call| call.id() == result.call)
                    && let Some(output) = result.output()
                {
                    (call.output, call.failed, call.exit_code) = (Some(output.text), output.failed, output.exit_code);
                }
            }
            Item::ExitCode { .. }
            | Item::Answer(_)
            | Item::ThreadTotal(_)
            | Item::UnreadableAnswer
            | Item::Model(_)
            | Item::Window(_)
            | Item::ProviderError(_) => {}
        }
    }

    /// A call that comes again is the same.
    fn call(&mut self, raw: &RawToolCall<'_>) {
        let id = raw.id.as_deref().unwrap_or_default();
        let mut newest = self.contents.calls.iter().rev().take(SAME_CALL_WITHIN);
        if !id.is_empty() && newest.any(|call| call.id() == id) {
            return;
        }
        // Without any figures nothing tells one answer's calls from another's.
        let numbered = self.client.adapter().transcript.figures == FigureOrder::BehindCalls && self.answers > 0;
        let by_number = || numbered.then(|| self.answers.to_string());
        let answer = raw.answer.clone().map(std::borrow::Cow::into_owned).or_else(by_number);
        self.contents.calls.push(PastCall {
            call: raw.tool_call(),
            at_ms: raw.at.as_deref().and_then(WallClock::parse).map(WallClock::epoch_ms),
            answer,
            user_turn: std::mem::take(&mut self.person_spoke),
            text: Some(std::mem::take(&mut self.said)).filter(|text| !text.is_empty()),
            spent: std::mem::take(&mut self.pending),
            ..PastCall::default()
        });
    }

    /// Gives what belongs to no later call to the last one.
    fn settle(&mut self) {
        if let Some(call) = self.contents.calls.last_mut() {
            call.after = call.after.plus(std::mem::take(&mut self.pending));
        }
    }
}
