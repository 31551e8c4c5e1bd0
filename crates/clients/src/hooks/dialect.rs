//! What is special about a client's hooks: what its events mean, and which words an answer takes.

use super::answer::Turn;
use super::event::Event;
use super::reply::{HookError, Reply};
use super::wire::HookInput;
use std::path::{Path, PathBuf};

/// The dialect of a client's hooks.
#[derive(Debug)]
pub struct HookDialect {
    /// What an event means; an error when a field that the event needs is missing.
    pub event: fn(&HookInput<'_>) -> Result<Event, HookError>,
    /// Events that ask for nothing: a broken guard reports and lets them go.
    pub reports: &'static [&'static str],
    /// Refuses a call of a tool or a request to the model before it is made.
    pub deny: fn(&str, Turn) -> Reply,
    /// The word by which a prompt or a claim is refused.
    pub block: &'static str,
    /// What an answer can do once a tool ran.
    pub after_tool: AfterTool,
    /// How a result that is larger than its tool's limit can be shortened.
    pub shortens: Shortening,
    /// The events that take a text beside them.
    pub context: ContextEvents,
    /// The variables in which it tells a hook where it was started.
    pub project_variables: &'static [&'static str],
    /// Which step of the agent a call belongs to.
    pub step_source: StepSource,
    /// Whether its hooks and its transcript name a call by the same id.
    pub call_ids: CallIds,
    /// Arguments of a tool that do not change what it does: free text, limits of time and size.
    pub idle_arguments: fn(&str) -> &'static [&'static str],
    /// Whether an answer of a hook can end the agent's turn.
    pub turn_end: TurnEnd,
    /// Whether a hook announces calls of this tool, by the id that the model gave them.
    pub announces: fn(&str) -> bool,
    /// Whether the text of a result shows that the call ran; one that was declined is announced by nobody.
    pub shows_run: fn(&str) -> bool,
    /// Where it keeps a sub-agent's transcript that no hook names, by the session's transcript and the sub-agent's id.
    pub agent_transcript: fn(&Path, &str) -> Option<PathBuf>,
}

/// The names of the events that take a text beside them; without the right name a client throws the text away.
#[derive(Debug)]
pub struct ContextEvents {
    /// Before a tool.
    pub before_tool: Option<&'static str>,
    /// A person's prompt.
    pub prompt: &'static str,
    /// The start of a sub-agent.
    pub agent_start: Option<&'static str>,
}

/// What an answer can do once a tool ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterTool {
    /// A refusal can end the turn, and a text stands beside the result.
    EndsTurn,
    /// The reason or the text takes the place of the result.
    ReplacesResult,
}

/// How a result can be shortened once a tool ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortening {
    /// It cannot, or the one who asks does so itself.
    No,
    /// The reason of a refusal takes its place.
    ByReason,
    /// The answer may hold another result, in the form of the first.
    ByOutput,
}

/// Which step of the agent a call belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepSource {
    /// The answer that asked for it, by the transcript.
    Transcript,
    /// The model request that the client announced last.
    ModelRequests,
}

/// Whether hooks and transcript name a call by the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallIds {
    /// They do.
    Shared,
    /// Hooks name no calls: they can only be counted.
    Unnamed,
}

/// Whether an answer of a hook can end the agent's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    /// It can.
    ByAnswer,
    /// No answer ends a turn: the client has to be ended.
    ByEndingTheClient,
}
