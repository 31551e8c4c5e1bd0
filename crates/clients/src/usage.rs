//! Tokens, context and money from a client's own record of its session, read as far as it has grown since the last look.
//!
//! Each client counts in its own way: Claude Code repeats an answer's figures on every line of it, Codex counts up over the
//! whole thread, Gemini CLI writes a line again when its results arrive. Here every answer counts once, in classes that do
//! not overlap, and costs what the price table says.

use crate::client::Client;
use crate::transcript::{AnswerFigures, CountedBy, Item};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use tripwire_core::chain::event::AgentEvent;
use tripwire_core::label::{Fingerprint, Label};
use tripwire_core::prices::{self, PriceBasis, PriceList};
use tripwire_core::units::{MicroUsd, Tokens};
use tripwire_core::usage::Usage;
use tripwire_fs::tail::{self, TailPosition};

/// Answers, calls and exit codes that are remembered; what is asked about is always among the newest.
const REMEMBERED: usize = 48;

/// What was counted of one transcript so far. A few kilobytes, whatever the length of the session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionUsage {
    offset: u64,
    /// Whether the next look begins inside a line that is too long to be read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    inside: bool,
    /// The newest answers, with what was counted for each.
    answers: Vec<(Fingerprint, CountedTokens)>,
    /// The whole thread so far, for clients that count it up.
    total: CountedTokens,
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
pub fn read(client: Client, path: &Path, usage: &mut SessionUsage) -> io::Result<Option<Figures>> {
    read_with(client, path, usage, &PriceList::default(), |_| ())
}

/// As [`read()`], at these prices, for a caller that wants to hear everything that is new in the record.
///
/// # Errors
/// See [`read()`].
pub fn read_with(
    client: Client,
    path: &Path,
    usage: &mut SessionUsage,
    list: &PriceList,
    mut hear: impl FnMut(&Item<'_>),
) -> io::Result<Option<Figures>> {
    let mut position = TailPosition { offset: usage.offset, inside: usage.inside };
    let tail = tail::read(path, &mut position)?;
    (usage.offset, usage.inside) = (position.offset, position.inside);
    let dialect = client.adapter().transcript;
    let mut count = Count { usage, list, figures: None };
    let mut items = Vec::new();
    for line in tail.text.lines() {
        (dialect.read_line)(line, &mut items);
        for item in items.drain(..) {
            count.take(&item, line);
            hear(&item);
        }
    }
    if let Some(beginning) = tail.too_long.filter(|beginning| (dialect.may_be_answer)(beginning)) {
        count.unreadable(&beginning, position.offset);
    }
    let figures = count.figures;
    usage.forget();
    Ok(figures)
}

/// Counts what one line says, for a reader that goes through a transcript from its beginning, and returns what it adds.
pub fn count_line(line: &str, items: &[Item<'_>], usage: &mut SessionUsage) -> Option<Figures> {
    let mut count = Count { usage, list: &PriceList::default(), figures: None };
    items.iter().for_each(|item| count.take(item, line));
    let figures = count.figures;
    usage.forget();
    figures
}

/// What a call cost about, where the client's record cannot be read: by its size, at the highest known price.
#[must_use]
pub fn estimate(input: &str, output: &str) -> Figures {
    let (fresh_input, output) = (Tokens::estimate(output.len()), Tokens::estimate(input.len()));
    let tokens = Usage { fresh_input, output, ..Usage::default() };
    Figures {
        tokens,
        cost: prices::cost("", &tokens).micro_usd,
        basis: PriceBasis::HighestKnown,
        model: ESTIMATED.to_owned(),
        context: None,
        window: None,
        answer: Fingerprint::NONE,
    }
}

/// What stands for the model where nobody told one.
const ESTIMATED: &str = "estimated";

/// Whether a model's name in the record stands for an estimate.
#[must_use]
pub fn is_estimate(model: &str) -> bool {
    model.starts_with(ESTIMATED)
}

impl Figures {
    /// What answers of this model used, at these prices.
    #[must_use]
    pub fn told(model: &str, tokens: Usage, context: Option<Tokens>, list: &PriceList) -> Self {
        let cost = list.cost(model, &tokens);
        Self {
            tokens,
            cost: cost.micro_usd,
            basis: cost.basis,
            model: model.to_owned(),
            context,
            window: prices::window(model),
            answer: Fingerprint::NONE,
        }
    }

    /// Puts the tokens and the money into a call's event.
    pub fn put_into(&self, event: &mut AgentEvent) {
        let priced = self.event(None, None);
        let AgentEvent { cache_read_tokens, cache_write_tokens, cost_micro_usd, input_tokens, model, .. } = priced;
        let AgentEvent { output_tokens, reasoning_tokens, token_count, .. } = priced;
        (event.cache_read_tokens, event.cache_write_tokens) = (cache_read_tokens, cache_write_tokens);
        (event.cost_micro_usd, event.model) = (cost_micro_usd, model);
        (event.input_tokens, event.output_tokens) = (input_tokens, output_tokens);
        (event.reasoning_tokens, event.token_count) = (reasoning_tokens, token_count);
    }

    /// The event that tells the engine.
    #[must_use]
    pub fn event(&self, agent: Option<&str>, window: Option<Tokens>) -> AgentEvent {
        let tokens = &self.tokens;
        let output = tokens.output.plus(tokens.reasoning);
        let model = match self.basis {
            PriceBasis::Listed => Label::cut(&self.model),
            PriceBasis::HighestKnown => {
                Label::cut(&format!("{} (no price known: the highest known one is taken)", self.model))
            }
        };
        AgentEvent {
            agent_id: agent.map(Label::cut),
            cache_read_tokens: Some(tokens.cache_read),
            cache_write_tokens: Some(tokens.cache_write.plus(tokens.cache_write_long)),
            context_tokens: self.context,
            // What the client itself says about its window is better than any table.
            context_window: self.context.and(window.or(self.window)),
            cost_micro_usd: Some(self.cost),
            input_tokens: Some(tokens.fresh_input),
            model: Some(model),
            output_tokens: Some(output),
            reasoning_tokens: Some(tokens.reasoning),
            token_count: tokens.input().plus(output),
            turn_id: self.answer.is_some().then(|| Label::cut(&self.answer.to_string())),
            ..AgentEvent::default()
        }
    }
}

impl SessionUsage {
    /// Whether nothing was read yet: what a first look finds may be of a time before the guard.
    #[must_use]
    pub const fn is_unread(&self) -> bool {
        self.offset == 0
    }

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

/// What is counted in one go.
struct Count<'a> {
    usage: &'a mut SessionUsage,
    list: &'a PriceList,
    figures: Option<Figures>,
}

impl Count<'_> {
    fn take(&mut self, item: &Item<'_>, line: &str) {
        match item {
            Item::Answer(answer) => self.answer(answer),
            Item::ThreadTotal(total) => {
                if let Some(id) = &total.id {
                    let answer = Fingerprint::of(id.as_bytes());
                    let calls = std::mem::take(&mut self.usage.open_calls);
                    self.usage.calls.extend(calls.into_iter().map(|call| (call, answer)));
                }
                self.total(total);
            }
            Item::UnreadableAnswer => self.unreadable(line, u64::try_from(line.len()).unwrap_or(u64::MAX)),
            Item::Call(call) => {
                let id = call.id.as_ref().map(|id| Fingerprint::of(id.as_bytes()));
                match &call.counted_by {
                    CountedBy::Answer(answer) => {
                        self.usage.calls.extend(id.map(|id| (id, Fingerprint::of(answer.as_bytes()))));
                    }
                    CountedBy::NextTotal => self.usage.open_calls.extend(id),
                    CountedBy::Unknown => {}
                }
            }
            Item::ExitCode { call, code } => self.usage.exits.push((Fingerprint::of(call.as_bytes()), *code)),
            Item::Model(model) => self.usage.model = model.as_ref().map(ToString::to_string),
            Item::Window(window) => self.usage.window = Some(*window),
            Item::Session(_) | Item::Person | Item::Said(_) | Item::Result(_) | Item::ProviderError(_) => {}
        }
    }

    /// Takes in an answer that may have been told before, in part or as a whole.
    fn answer(&mut self, answer: &AnswerFigures<'_>) {
        let id = fingerprint(answer);
        let counted = answer.tokens;
        let known = self.usage.answers.iter_mut().find(|(known, _)| *known == id);
        let before = match known {
            Some((_, known)) => {
                let before = known.0;
                known.0 = before.with(counted, Tokens::max);
                before
            }
            None => {
                self.usage.answers.push((id, CountedTokens(counted)));
                Usage::default()
            }
        };
        self.count(answer, counted.with(before, Tokens::minus));
    }

    /// Takes in an answer whose figures cannot be read: its own size, and the conversation before it, at the highest
    /// known price. An answer that cannot be read must never count as nothing.
    fn unreadable(&mut self, line: &str, bytes: u64) {
        /// The largest context that is assumed.
        const CONTEXT_TOKENS_MAX: Tokens = Tokens::new(200_000);
        let estimate = |bytes: u64| Tokens::estimate(usize::try_from(bytes).unwrap_or(usize::MAX));
        let model = self.usage.model.clone();
        let tokens = Usage {
            fresh_input: estimate(self.usage.offset).min(CONTEXT_TOKENS_MAX),
            output: estimate(bytes),
            ..Usage::default()
        };
        let (id, named) = (Some(line.into()), Some("an answer that cannot be read".into()));
        self.answer(&AnswerFigures { id, model: named, tokens, context: None });
        self.usage.model = model;
    }

    /// Takes in the tokens of a whole thread, which only grow.
    fn total(&mut self, answer: &AnswerFigures<'_>) {
        let before = self.usage.total.0;
        self.usage.total = CountedTokens(before.with(answer.tokens, Tokens::max));
        self.count(answer, answer.tokens.with(before, Tokens::minus));
    }

    fn count(&mut self, answer: &AnswerFigures<'_>, new: Usage) {
        if new == Usage::default() {
            return;
        }
        if let Some(model) = &answer.model {
            self.usage.model = Some(model.to_string());
        }
        let model = self.usage.model.clone().unwrap_or_default();
        let cost = self.list.cost(&model, &new);
        let window = self.usage.window.map(Tokens::new).or_else(|| prices::window(&model));
        let before = self.figures.take();
        let (sum, spent, basis) = before
            .as_ref()
            .map_or((Usage::default(), MicroUsd::ZERO, PriceBasis::Listed), |f| (f.tokens, f.cost, f.basis));
        self.figures = Some(Figures {
            tokens: sum.with(new, Tokens::plus),
            cost: spent.plus(cost.micro_usd),
            basis: if cost.basis == PriceBasis::HighestKnown { cost.basis } else { basis },
            context: answer.context.or_else(|| before.and_then(|before| before.context)),
            model,
            window,
            answer: fingerprint(answer),
        });
    }
}

fn fingerprint(answer: &AnswerFigures<'_>) -> Fingerprint {
    Fingerprint::of(answer.id.as_deref().unwrap_or_default().as_bytes())
}

/// Tokens by class, written as six bare numbers: every hook reads and writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "[u64; 6]", into = "[u64; 6]")]
struct CountedTokens(Usage);

impl From<[u64; 6]> for CountedTokens {
    fn from(counts: [u64; 6]) -> Self {
        let [fresh_input, cache_read, cache_write, cache_write_long, output, reasoning] = counts.map(Tokens::new);
        Self(Usage { fresh_input, cache_read, cache_write, cache_write_long, output, reasoning })
    }
}

impl From<CountedTokens> for [u64; 6] {
    fn from(CountedTokens(usage): CountedTokens) -> Self {
        let Usage { fresh_input, cache_read, cache_write, cache_write_long, output, reasoning } = usage;
        [fresh_input, cache_read, cache_write, cache_write_long, output, reasoning].map(Tokens::get)
    }
}

#[cfg(test)]
mod tests;
