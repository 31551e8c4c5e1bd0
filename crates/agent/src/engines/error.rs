//! Why an engine gave no answer, what a person can do about it, and what it is for the loop.

use std::borrow::Cow;
use std::time::Duration;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::label::Label;
use tripwire_core::run::record::{EngineFailure, FailureKind, Spent};
use tripwire_core::units::RunMillis;

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
    /// A budget, perhaps one over several machines, does not pay for it; nothing was sent.
    #[error("`{engine}` is not asked: {why}")]
    NoMoney {
        /// The engine.
        engine: String,
        /// Why.
        why: String,
    },
    /// A worker could not be started; nothing ran.
    #[error("`{engine}` could not be started: {error}; {}", error.hint())]
    NotStarted {
        /// The engine.
        engine: String,
        /// Why.
        error: WorkerStartError,
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
            | Self::NoMoney { engine, .. }
            | Self::NotStarted { engine, .. }
            | Self::Deadline { engine }
            | Self::Cut { engine } => engine,
        };
        name.clone_into(engine);
        self
    }

    /// What it is for the loop: by its kind a fallback is chosen.
    #[must_use]
    pub const fn kind(&self) -> FailureKind {
        match self {
            Self::NoKey { .. }
            | Self::KeyRefused { .. }
            | Self::UnknownModel { .. }
            | Self::Refused { .. }
            | Self::TooSensitive { .. }
            | Self::NotStarted { .. }
            | Self::CassetteEnded { .. } => FailureKind::Refused,
            Self::NoMoney { .. } => FailureKind::NoMoney,
            Self::Unreachable { .. } => FailureKind::Unreachable,
            Self::Overloaded { .. } => FailureKind::Overloaded,
            Self::RateLimited { .. } => FailureKind::RateLimited,
            Self::ContextExhausted { .. } => FailureKind::ContextExhausted,
            Self::Broken { .. } => FailureKind::Broken,
            Self::Deadline { .. } | Self::Cut { .. } => FailureKind::Cut,
        }
    }

    /// The error as it is journaled, with what the question used all the same.
    #[must_use]
    pub fn failure(self, engine: Label, spent: Option<Spent>) -> EngineFailure {
        let retry_after_ms = match &self {
            Self::Overloaded { retry_after, .. } | Self::RateLimited { retry_after, .. } => *retry_after,
            Self::NoKey { .. }
            | Self::KeyRefused { .. }
            | Self::UnknownModel { .. }
            | Self::Unreachable { .. }
            | Self::ContextExhausted { .. }
            | Self::Refused { .. }
            | Self::Broken { .. }
            | Self::CassetteEnded { .. }
            | Self::TooSensitive { .. }
            | Self::NoMoney { .. }
            | Self::NotStarted { .. }
            | Self::Deadline { .. }
            | Self::Cut { .. } => None,
        }
        .map(|after| RunMillis::new(u64::try_from(after.as_millis()).unwrap_or(u64::MAX)));
        let kind = self.kind();
        // Where a cassette lies is no part of what happened.
        let said = self.by(engine.as_str()).to_string();
        EngineFailure { engine, kind, retry_after_ms, said: said.into(), spent }
    }
}

impl Explain for EngineError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::NoKey { variable, .. } => {
                format!("set it, as in `export {variable}=…`, or choose `--engine ollama:MODEL`").into()
            }
            Self::KeyRefused { .. } => "check the key in the environment, and that it may use this model".into(),
            Self::UnknownModel { .. } => "check the model's name in `--engine NAME:MODEL`".into(),
            Self::Unreachable { .. } => {
                "check the address and that the server runs; a local one is `@http://127.0.0.1:PORT/v1`".into()
            }
            Self::Overloaded { retry_after: Some(wait), .. } | Self::RateLimited { retry_after: Some(wait), .. } => {
                format!("it asks to wait {} s; or name another engine with `--fallback`", wait.as_secs_f64().ceil())
                    .into()
            }
            Self::Overloaded { .. } | Self::RateLimited { .. } => {
                "try again later, or name another engine with `--fallback`".into()
            }
            Self::ContextExhausted { .. } => {
                "begin a new session with a smaller task, or choose a model with a larger window".into()
            }
            Self::Refused { .. } => "the provider's words say what it did not like; nothing was changed".into(),
            Self::Broken { .. } => {
                "try again; if it stays, the server does not speak the dialect of this engine".into()
            }
            Self::CassetteEnded { .. } => {
                "add the answer to the cassette, or record it again with `tripwire agent --record FILE`".into()
            }
            Self::NoMoney { .. } => {
                "see what is left: `tripwire status`, or `tripwire fleet status` for a budget over several machines"
                    .into()
            }
            Self::TooSensitive { .. } => {
                "name a local engine with `--fallback`, for instance `--fallback ollama:MODEL`".into()
            }
            Self::NotStarted { error, .. } => error.hint(),
            Self::Deadline { .. } => "give it more time with `--max-runtime`".into(),
            Self::Cut { .. } => "it was stopped on purpose and nothing was begun; give the same command again".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::NoMoney { .. } => ExitClass::Money,
            Self::NoKey { .. }
            | Self::KeyRefused { .. }
            | Self::UnknownModel { .. }
            | Self::Unreachable { .. }
            | Self::Overloaded { .. }
            | Self::RateLimited { .. }
            | Self::ContextExhausted { .. }
            | Self::Refused { .. }
            | Self::Broken { .. }
            | Self::CassetteEnded { .. }
            | Self::TooSensitive { .. }
            | Self::NotStarted { .. }
            | Self::Deadline { .. }
            | Self::Cut { .. } => ExitClass::BadInput,
        }
    }
}

/// Why a worker could not be started. What starts it is not known here, so its error is kept as text with its hint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct WorkerStartError {
    why: String,
    hint: String,
}

impl WorkerStartError {
    /// The start failed with this error.
    pub fn of(error: &impl Explain) -> Self {
        Self { why: error.to_string(), hint: error.hint().into_owned() }
    }

    pub(super) fn broken_off() -> Self {
        Self {
            why: "the worker broke off inside tripwire".to_owned(),
            hint: "check with `tripwire doctor` that the client runs under the guard".to_owned(),
        }
    }
}

impl Explain for WorkerStartError {
    fn hint(&self) -> Cow<'_, str> {
        self.hint.as_str().into()
    }
}
