//! One call of a hook, in words that all clients share.

use super::Client;
use std::path::PathBuf;

/// One call of the hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCall {
    /// Who calls.
    pub client: Client,
    /// The client's own session; sub-agents share their parent's.
    pub session: String,
    /// Where the agent works.
    pub cwd: PathBuf,
    /// The client's own record of the session.
    pub transcript: Option<PathBuf>,
    /// The sub-agent that acts, if it is not the main one.
    pub agent: Option<Agent>,
    /// What happened.
    pub event: Event,
    /// What a person said, where somebody speaks.
    pub prompt: Option<String>,
}

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
    Asked(Tool),
    /// A tool ran.
    Done(Tool, Outcome),
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
    /// Anew.
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

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its arguments as JSON text.
    pub input: String,
    /// The client's id of the call.
    pub call_id: Option<String>,
}

/// How a tool's run ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// What it gave, as text.
    pub output: String,
    /// Whether the client calls it an error; none if it does not say.
    pub failed: Option<bool>,
    /// How long it took.
    pub duration_ms: u64,
}

impl HookCall {
    /// Whether the engine has anything to say about it; all other events are let pass without a look.
    #[must_use]
    pub const fn concerns_the_engine(&self) -> bool {
        match self.event {
            Event::SessionStarted(_)
            | Event::SessionEnded
            | Event::Prompt
            | Event::ModelAsked { .. }
            | Event::Asked(_)
            | Event::Done(..)
            | Event::Claimed(_)
            | Event::AgentStarted
            | Event::AgentEnded
            | Event::Compacting
            | Event::Compacted => true,
            Event::Other => false,
        }
    }
}
