//! What an engine is asked, and what it is.

use super::error::EngineError;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use tripwire_core::label::Label;
use tripwire_core::ledger::AccountId;
use tripwire_core::run::fallback::Seat;
use tripwire_core::run::record::{Answer, Call, Spent};
use tripwire_core::units::{MicroUsd, Tokens};
use tripwire_core::usage::FigureSource;

/// One question to a model: the frozen prompt and registry, and the whole conversation so far.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The system prompt, frozen at the session's start.
    pub system: &'a str,
    /// The tools, frozen at the session's start.
    pub tools: &'a [ToolSpec],
    /// The conversation, oldest first.
    pub turns: &'a [Turn],
    /// The most the answer may be long.
    pub output_tokens_max: Tokens,
    /// How large its beginning is, where a provider counted it.
    pub measured: Option<&'a MeasuredTurns>,
}

/// The beginning of a conversation that an engine was asked with, and how large it is with the answer that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredTurns {
    /// The engine that was asked.
    pub engine: Label,
    /// How many turns those are, the answer among them.
    pub turns: usize,
    /// Their tokens with system prompt and tools, as the provider counted them.
    pub tokens: Tokens,
}

/// A tool as a model is told about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: serde_json::Value,
}

/// One turn of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// What our loop says: the objective, a recitation, a typed override, a demand.
    User(String),
    /// What the model answered.
    Model {
        /// Its text.
        text: String,
        /// The calls that it asked for.
        calls: Vec<Call>,
    },
    /// The results of those calls, one for each, in order.
    Results(Vec<ToolAnswer>),
}

/// The result of one call, as the model will see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAnswer {
    /// The call's id.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// The text.
    pub text: String,
    /// Whether it failed.
    pub is_error: bool,
}

/// What is heard while an answer comes in. Something is heard at least every [`HEARTBEAT`], if only silence, so that a
/// listener can end a call that hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard<'a> {
    /// A piece of the answer's text.
    Text(&'a str),
    /// Nothing since the last time.
    Silence,
}

/// The longest time that an engine keeps its listener waiting.
pub const HEARTBEAT: Duration = Duration::from_millis(100);

/// Hears an answer come in, and may cut it off.
pub type Listener<'a> = dyn FnMut(Heard<'_>) -> ControlFlow<()> + 'a;

/// What an engine's tokens cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallCost {
    /// Nothing: a cassette.
    Free,
    /// The list price where the model has one, as behind a proxy on this machine; a model of this machine has none.
    IfListed,
    /// Always something: a model without a list price costs the highest known price.
    Full,
}

/// What an engine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// A model: it asks for calls, and the loop carries them out.
    Model,
    /// Someone else's agent: it carries them out itself, under a guarded session of its own.
    Worker,
}

/// What a worker may spend, and on whose account.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Allowance {
    /// What is left of the money, where it is bounded.
    pub money: Option<MicroUsd>,
    /// The account above the worker's own: that of the session which sends it.
    pub payer: Option<AccountId>,
}

/// Something that answers.
pub trait Engine: Send {
    /// Its name, as a person gave it: `anthropic:MODEL`, `scripted:FILE` …
    fn name(&self) -> &str;

    /// The tokens that its model can hold, where it is known.
    fn window(&self) -> Option<Tokens>;

    /// Where its model runs; remote unless the engine knows better, because that is the careful answer.
    fn place(&self) -> Seat {
        Seat::Remote
    }

    /// What its tokens cost.
    fn call_cost(&self) -> CallCost {
        match self.place() {
            Seat::Local => CallCost::IfListed,
            Seat::Remote => CallCost::Full,
        }
    }

    /// What the last question used, if it gave no answer; given once.
    fn spent(&mut self) -> Option<Spent> {
        None
    }

    /// Tells an engine that was opened for a resumed session how many of its answers and errors were had before. Only a
    /// cassette has a position; a model knows everything from the question.
    fn skip(&mut self, _answers: u64) {}

    /// What it is.
    fn kind(&self) -> EngineKind {
        EngineKind::Model
    }

    /// Tells a worker what it may spend; a model's answers are settled by the loop itself.
    fn allow(&mut self, _allowance: &Allowance) {}

    /// Whether the provider told the figures of the last answer.
    fn figures(&self) -> FigureSource {
        FigureSource::Told
    }

    /// Asks, and listens until the answer is whole, the deadline came or the listener cut it off.
    ///
    /// # Errors
    /// When there is no whole answer. Nothing is tried again here: the loop decides that, and says so.
    fn ask(
        &mut self,
        question: &Question<'_>,
        deadline: Instant,
        listener: &mut Listener<'_>,
    ) -> Result<Answer, EngineError>;
}

/// The model in an engine's name, `PROVIDER:MODEL@URL`.
pub(crate) fn model_of(name: &str) -> &str {
    let model = name.split_once(':').map_or(name, |(_, model)| model);
    model.split_once('@').map_or(model, |(model, _)| model)
}
