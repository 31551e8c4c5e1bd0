//! Tokens, context and money from a client's own record of its session, read as far as it has grown since the last look.
//!
//! Each client counts in its own way: Claude Code repeats an answer's figures on every line of it, Codex counts up over the
//! whole thread, Gemini CLI writes a line again when its results arrive. Here every answer counts once, in classes that do
//! not overlap, and costs what the price table says.

mod claude;
mod codex;
mod count;
mod gemini;

use crate::hooks::Client;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use tripwire_core::label::Fingerprint;
use tripwire_core::prices::{self, PriceBasis};
use tripwire_core::units::{MicroUsd, Tokens};
use tripwire_core::usage::Usage;
use tripwire_fs::tail::TailPosition;

/// Answers, calls and exit codes that are remembered; what is asked about is always among the newest.
const REMEMBERED: usize = 48;

/// What was read of one record so far. A few kilobytes, whatever the length of the session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    offset: u64,
    /// Whether the next look begins inside a line that is too long to be read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    inside: bool,
    /// The newest answers, with what was counted for each.
    answers: Vec<(Fingerprint, [u64; 6])>,
    /// The whole thread so far, for clients that count it up.
    total: [u64; 6],
    /// Which answer asked for which call.
    calls: Vec<(Fingerprint, Fingerprint)>,
    /// Calls whose answer is not complete yet.
    open_calls: Vec<Fingerprint>,
    /// How commands ended.
    exits: Vec<(Fingerprint, i32)>,
    model: Option<String>,
    window: Option<u64>,
}

/// What a record tells that was not known before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figures {
    /// The tokens of all new answers.
    pub tokens: Usage,
    /// What they cost.
    pub cost: MicroUsd,
    /// On what the cost rests; the worst of all new answers.
    pub basis: PriceBasis,
    /// The model of the newest answer.
    pub model: String,
    /// Tokens in the context at the newest answer.
    pub context: Option<Tokens>,
    /// The size of the window, where the client or the price table tells it.
    pub window: Option<Tokens>,
    /// The newest answer.
    pub answer: Fingerprint,
}

/// Reads what a record has gained since the last look; none if no new answer is in it.
///
/// # Errors
/// When the file cannot be read: then the figures have to be estimated, and never taken for nothing.
pub fn read(client: Client, path: &Path, record: &mut Record) -> io::Result<Option<Figures>> {
    let mut place = TailPosition { offset: record.offset, inside: record.inside };
    let tail = tripwire_fs::tail::read(path, &mut place)?;
    (record.offset, record.inside) = (place.offset, place.inside);
    let mut news = News { record, figures: None };
    tail.text.lines().for_each(|line| take(client, line, &mut news));
    if let Some(beginning) = tail.too_long.filter(|beginning| may_answer(client, beginning)) {
        news.unread(&beginning, place.offset);
    }
    let figures = news.figures;
    record.forget();
    Ok(figures)
}

/// Takes in one line of a record that somebody else reads from its beginning, and tells what it adds.
pub fn read_line(client: Client, line: &str, record: &mut Record) -> Option<Figures> {
    let mut news = News { record, figures: None };
    take(client, line, &mut news);
    let figures = news.figures;
    record.forget();
    figures
}

fn take(client: Client, line: &str, news: &mut News<'_>) {
    match client {
        Client::Claude => claude::line(line, news),
        Client::Codex => codex::line(line, news),
        Client::Gemini => gemini::line(line, news),
    }
}

/// Whether a line that cannot be read may be an answer of the model. What a tool or a person said is told apart by its
/// beginning; Codex counts its tokens in lines of their own.
fn may_answer(client: Client, line: &str) -> bool {
    let others: &[&str] = match client {
        Client::Claude => &["\"type\":\"user\"", "\"role\":\"user\"", "\"type\":\"system\""],
        Client::Codex => return line.contains("token_count") || line.contains("token_usage_record"),
        Client::Gemini => &["{\"$set\"", "\"type\":\"user\"", "\"type\":\"info\""],
    };
    !others.iter().any(|other| line.contains(other))
}

/// What a call cost about, where the client's record cannot be read: four bytes to a token, at the dearest known price.
#[must_use]
pub fn estimate(input: &str, output: &str) -> Figures {
    let tokens = |text: &str| Tokens::new(u64::try_from(text.len().div_ceil(4)).unwrap_or(u64::MAX));
    let tokens = Usage { fresh_input: tokens(output), output: tokens(input), ..Usage::default() };
    Figures {
        tokens,
        cost: prices::cost("", &tokens).micro_usd,
        basis: PriceBasis::HighestKnown,
        model: "estimated".to_owned(),
        context: None,
        window: None,
        answer: Fingerprint::NONE,
    }
}

impl Record {
    /// The answer that asked for a call, as a text for the step's name; none if it was not read yet.
    #[must_use]
    pub fn answer_of(&self, call: &str) -> Option<String> {
        let call = Fingerprint::of(call.as_bytes());
        self.calls.iter().rev().find(|(known, _)| *known == call).map(|(_, answer)| answer.to_string())
    }

    /// How the command of a call ended; none if the record does not say.
    #[must_use]
    pub fn exit_code_of(&self, call: &str) -> Option<i32> {
        let call = Fingerprint::of(call.as_bytes());
        self.exits.iter().rev().find(|(known, _)| *known == call).map(|(_, code)| *code)
    }

    fn forget(&mut self) {
        keep_newest(&mut self.answers);
        keep_newest(&mut self.calls);
        keep_newest(&mut self.open_calls);
        keep_newest(&mut self.exits);
    }
}

fn keep_newest<T>(list: &mut Vec<T>) {
    let surplus = list.len().saturating_sub(REMEMBERED);
    list.drain(..surplus);
}

/// What is read in one go.
struct News<'a> {
    record: &'a mut Record,
    figures: Option<Figures>,
}

/// One answer of a model.
struct Answer<'a> {
    id: &'a str,
    model: Option<&'a str>,
    tokens: Usage,
    /// Whether it is the main agent's, whose context the gate minds.
    context: Option<Tokens>,
}

impl News<'_> {
    /// Takes in an answer that may have been told before, in part or as a whole.
    fn answer(&mut self, answer: &Answer<'_>) {
        let id = Fingerprint::of(answer.id.as_bytes());
        let counted = array(&answer.tokens);
        let known = self.record.answers.iter_mut().find(|(known, _)| *known == id);
        let before = match known {
            Some((_, before)) => std::mem::replace(before, max(*before, counted)),
            None => {
                self.record.answers.push((id, counted));
                [0; 6]
            }
        };
        self.count(answer, minus(counted, before));
    }

    /// Takes in an answer whose figures cannot be read: its own size, and the conversation before it, at the dearest
    /// price. An answer that cannot be read must never count as nothing.
    fn unread(&mut self, line: &str, bytes: u64) {
        /// The largest context that is taken for granted.
        const CONTEXT_TOKENS_MAX: u64 = 200_000;
        let model = self.record.model.clone();
        let tokens = Usage {
            fresh_input: Tokens::new(self.record.offset.div_ceil(4).min(CONTEXT_TOKENS_MAX)),
            output: Tokens::new(bytes.div_ceil(4)),
            ..Usage::default()
        };
        self.answer(&Answer { id: line, model: Some("an answer that cannot be read"), tokens, context: None });
        self.record.model = model;
    }

    /// Takes in the tokens of a whole thread, which only grow.
    fn total(&mut self, answer: &Answer<'_>) {
        let counted = array(&answer.tokens);
        let before = self.record.total;
        self.record.total = max(before, counted);
        self.count(answer, minus(counted, before));
    }

    fn count(&mut self, answer: &Answer<'_>, new: [u64; 6]) {
        if new == [0; 6] {
            return;
        }
        if let Some(model) = answer.model {
            self.record.model = Some(model.to_owned());
        }
        let model = self.record.model.clone().unwrap_or_default();
        let tokens = classes(new);
        let cost = prices::cost(&model, &tokens);
        let window = self.record.window.map(Tokens::new).or_else(|| prices::window(&model));
        let before = self.figures.take();
        let (sum, spent, basis) = before
            .as_ref()
            .map_or((Usage::default(), MicroUsd::ZERO, PriceBasis::Listed), |f| (f.tokens, f.cost, f.basis));
        self.figures = Some(Figures {
            tokens: classes(plus(array(&sum), new)),
            cost: spent.plus(cost.micro_usd),
            basis: if cost.basis == PriceBasis::HighestKnown { cost.basis } else { basis },
            context: answer.context.or_else(|| before.and_then(|before| before.context)),
            model,
            window,
            answer: Fingerprint::of(answer.id.as_bytes()),
        });
    }
}

const fn array(tokens: &Usage) -> [u64; 6] {
    [
        tokens.fresh_input.get(),
        tokens.cache_read.get(),
        tokens.cache_write.get(),
        tokens.cache_write_long.get(),
        tokens.output.get(),
        tokens.reasoning.get(),
    ]
}

const fn classes(counts: [u64; 6]) -> Usage {
    let [fresh, read, write, long, output, reasoning] = counts;
    Usage {
        fresh_input: Tokens::new(fresh),
        cache_read: Tokens::new(read),
        cache_write: Tokens::new(write),
        cache_write_long: Tokens::new(long),
        output: Tokens::new(output),
        reasoning: Tokens::new(reasoning),
    }
}

fn with(one: [u64; 6], other: [u64; 6], join: impl Fn(u64, u64) -> u64) -> [u64; 6] {
    let mut joined = one;
    for (value, other) in joined.iter_mut().zip(other) {
        *value = join(*value, other);
    }
    joined
}

fn minus(from: [u64; 6], what: [u64; 6]) -> [u64; 6] {
    with(from, what, u64::saturating_sub)
}

fn plus(one: [u64; 6], other: [u64; 6]) -> [u64; 6] {
    with(one, other, u64::saturating_add)
}

fn max(one: [u64; 6], other: [u64; 6]) -> [u64; 6] {
    with(one, other, u64::max)
}

#[cfg(test)]
mod tests;
