//! What a client's event means, in words that all clients share.

use crate::legible;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tripwire_observe::RawCall;

/// A sub-agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Its id, unique in the session.
    pub id: String,
    /// Its own transcript, where it has one.
    pub transcript: Option<PathBuf>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The client's session began, or came back.
    SessionStarted(Source),
    /// The client's session ended.
    SessionEnded,
    /// A person, or a script in a person's name, speaks.
    Prompt,
    /// The client is about to ask its model.
    ModelAsked {
        /// The model's name.
        model: String,
    },
    /// A tool is about to run.
    Asked(ToolCall),
    /// A tool ran.
    Done(ToolCall, Outcome),
    /// The agent says that it is done.
    Claimed(Repeat),
    /// A sub-agent began.
    AgentStarted,
    /// A sub-agent says that it is done.
    AgentEnded,
    /// The client is about to compact the context.
    Compacting,
    /// The client compacted the context.
    Compacted,
    /// Anything else: observed and let pass.
    Other,
}

/// How a session began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A new one.
    Startup,
    /// With what an earlier session left: its tokens are not this session's.
    Resumed,
    /// With a compacted context.
    Compacted,
}

/// Whether the agent was sent back just before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// It says so for the first time.
    First,
    /// A hook sent it back and it says so again.
    Again,
}

/// A call of a tool, as a hook is asked about it and as a transcript shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCall {
    /// Its name.
    pub name: String,
    /// Its arguments as JSON text.
    pub input: String,
    /// The client's id of the call.
    pub call_id: Option<String>,
}

/// Why a person is to be asked about a call, beside what the guard itself finds in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonAsk {
    /// The short name of the reason, such as `TOOL_CHANGED`.
    pub rule: String,
    /// The reason in words for a person.
    pub reason: String,
}

/// How a tool's run ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// What it gave, as text.
    pub output: String,
    /// Whether the client calls it an error; none if it does not say.
    pub failed: Option<bool>,
    /// The exit code of a command, where the result tells it.
    pub exit_code: Option<i32>,
    /// How long it took.
    pub duration_ms: u64,
}

impl ToolCall {
    /// A call with its arguments as they came, made legible.
    #[must_use]
    pub fn of(name: &str, arguments: &str, call_id: Option<String>) -> Self {
        Self { name: name.to_owned(), input: legible::readable(arguments).into_owned(), call_id }
    }

    /// The call as the observer takes it.
    #[must_use]
    pub fn raw(&self) -> RawCall<'_> {
        RawCall { tool: &self.name, args: &self.input, ..RawCall::default() }
    }
}
