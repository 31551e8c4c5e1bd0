//! Engines: what answers when our own loop asks a model.
//!
//! The words here belong to no provider. Each engine translates them into its own wire format and back; nothing of a
//! wire format is seen outside `engine/`.

pub mod cassette;
pub mod open;
pub mod scripted;
pub mod secret;
pub mod sensitive;

mod anthropic;
mod draft;
mod echo;
mod gemini;
mod hint;
mod http;
mod kept;
mod limits;
mod openai_chat;
mod openai_responses;
mod refusal;
mod retry;
mod sse;
mod wire;

pub use open::open;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use tripwire_core::run::record::Work;
use tripwire_core::units::{MicroUsd, Tokens};
use tripwire_core::usage::Usage;

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
        calls: Vec<ToolCall>,
    },
    /// The results of those calls, one for each, in order.
    Results(Vec<ToolAnswer>),
}

/// A call that a model asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The id by which the answer names it; made here where the provider gives none.
    pub id: String,
    /// The tool's name as the model wrote it; it may be unknown.
    pub tool: String,
    /// The arguments as the model wrote them; they may be no JSON at all.
    pub arguments: String,
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

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its text.
    pub text: String,
    /// The calls that it asks for, in its order.
    pub calls: Vec<ToolCall>,
    /// What it cost.
    pub usage: Usage,
    /// The model's own name as the provider gave it.
    pub model: String,
    /// Why it ended.
    pub end: End,
    /// What a worker did with hands of its own; none for a model.
    pub work: Option<Work>,
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The model was done, or waits for results.
    Finished,
    /// The limit of output was reached.
    OutputLimit,
    /// The provider or the model refused.
    Refused,
    /// Something else, in the provider's word.
    Other(String),
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

/// Why there is no answer. Each is a reason by which a fallback chain may choose.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// No key was given.
    #[error("no key for `{engine}`: the variable `{variable}` is not set")]
    NoKey {
        /// The engine.
        engine: String,
        /// The variable that would hold it.
        variable: String,
    },
    /// The key is refused.
    #[error("`{engine}` refuses the key: {said}")]
    KeyRefused {
        /// The engine.
        engine: String,
        /// The provider's words, without the key.
        said: String,
    },
    /// The model is not known there.
    #[error("`{engine}` does not know this model: {said}")]
    UnknownModel {
        /// The engine.
        engine: String,
        /// The provider's words.
        said: String,
    },
    /// The host cannot be reached.
    #[error("`{engine}` cannot be reached: {why}")]
    Unreachable {
        /// The engine.
        engine: String,
        /// Why.
        why: String,
    },
    /// The provider is overloaded, with an error status or inside a stream that began well.
    #[error("`{engine}` is overloaded: {said}")]
    Overloaded {
        /// The engine.
        engine: String,
        /// The provider's words.
        said: String,
        /// How long to wait, where it said so.
        retry_after: Option<Duration>,
    },
    /// A rate limit or a quota is reached.
    #[error("`{engine}` limits the rate: {said}")]
    RateLimited {
        /// The engine.
        engine: String,
        /// The provider's words.
        said: String,
        /// How long to wait, where it said so.
        retry_after: Option<Duration>,
    },
    /// The conversation is longer than the model's window.
    #[error("the context is too long for `{engine}`: {said}")]
    ContextExhausted {
        /// The engine.
        engine: String,
        /// The provider's words.
        said: String,
    },
    /// The request was refused for another reason.
    #[error("`{engine}` refuses the request with status {status}: {said}")]
    Refused {
        /// The engine.
        engine: String,
        /// The HTTP status.
        status: u16,
        /// The provider's words.
        said: String,
    },
    /// The answer broke off or is not understood.
    #[error("the answer of `{engine}` is broken: {why}")]
    Broken {
        /// The engine.
        engine: String,
        /// What is wrong with it.
        why: String,
    },
    /// A cassette has no answer left, or none for this question.
    #[error("the cassette `{engine}` cannot go on: {why}")]
    CassetteEnded {
        /// The engine.
        engine: String,
        /// Why.
        why: String,
    },
    /// The question touches a path that only a local engine may hear of; nothing was sent.
    #[error("`{engine}` is not on this machine, and the work touches the sensitive path `{path}`")]
    TooSensitive {
        /// The engine.
        engine: String,
        /// The path.
        path: String,
    },
    /// A worker could not be started; nothing ran.
    #[error("`{engine}` could not be started: {why}")]
    NotStarted {
        /// The engine.
        engine: String,
        /// Why, with what to do about it.
        why: String,
    },
    /// The deadline came first.
    #[error("`{engine}` did not answer before the deadline")]
    Deadline {
        /// The engine.
        engine: String,
    },
    /// The listener cut it off.
    #[error("the answer of `{engine}` was cut off")]
    Cut {
        /// The engine.
        engine: String,
    },
}

impl EngineError {
    /// The same error with an engine's name put to it.
    #[must_use]
    pub fn by(mut self, name: &str) -> Self {
        let engine = match &mut self {
            Self::NoKey { engine, .. }
            | Self::KeyRefused { engine, .. }
            | Self::UnknownModel { engine, .. }
            | Self::Unreachable { engine, .. }
            | Self::Overloaded { engine, .. }
            | Self::RateLimited { engine, .. }
            | Self::ContextExhausted { engine, .. }
            | Self::Refused { engine, .. }
            | Self::Broken { engine, .. }
            | Self::CassetteEnded { engine, .. }
            | Self::TooSensitive { engine, .. }
            | Self::NotStarted { engine, .. }
            | Self::Deadline { engine }
            | Self::Cut { engine } => engine,
        };
        name.clone_into(engine);
        self
    }
}

/// Where an engine's model runs. Sensitive paths only ever go to a local one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On this machine: a cassette, or a server on the loopback address.
    Local,
    /// Anywhere else.
    Remote,
}

/// What a question used although no answer came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    /// The model's own name, as far as it was told.
    pub model: String,
    /// The tokens.
    pub usage: Usage,
    /// Whether a part of them was estimated, because the provider had not told it yet.
    pub estimated: bool,
}

/// What an engine's tokens cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fare {
    /// Nothing: a cassette.
    Free,
    /// The list price where the model has one, as behind a proxy on this machine; a model of this machine has none.
    IfListed,
    /// Always something: a model without a list price costs the dearest.
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

/// Something that answers.
pub trait Engine: Send {
    /// Its name, as a person gave it: `anthropic:MODEL`, `scripted:FILE` …
    fn name(&self) -> &str;

    /// The tokens that its model can hold, where it is known.
    fn window(&self) -> Option<Tokens>;

    /// Where its model runs; remote unless the engine knows better, because that is the careful answer.
    fn place(&self) -> Place {
        Place::Remote
    }

    /// What its tokens cost.
    fn fare(&self) -> Fare {
        match self.place() {
            Place::Local => Fare::IfListed,
            Place::Remote => Fare::Full,
        }
    }

    /// What the last question used, if it gave no answer; told once.
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

    /// Tells a worker what is left of the money; a model's answers are counted by the loop itself.
    fn allow(&mut self, _money: Option<MicroUsd>) {}

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
