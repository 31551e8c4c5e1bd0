//! Hooks: one short process per event of someone else's agent. Foreign JSON in, that client's own dialect out.
//!
//! Deciding happens elsewhere. A hook turns the client's words into inputs ([`HookCall`], `inputs`), the engine decides
//! ([`desk`]), the decisions become one plain [`Answer`], and the client's dialect puts it into its own words. Whatever
//! goes wrong inside, the answer is the form that refuses.

pub mod alive;
mod answer;
mod call;
mod claude;
mod codex;
pub mod desk;
mod gemini;
mod inputs;
mod memory;
pub mod protected;
mod wire;

pub use answer::{Answer, Turn};
pub use call::{Agent, Event, HookCall, Outcome, Repeat, Source, Tool};

use std::time::Duration;

/// What an installer gives a hook as its time limit in the client's settings, in seconds.
pub const CLIENT_TIMEOUT_SECONDS: u64 = 30;
/// Within this time a hook answers whatever happens: what the client waits for, less some seconds to be sure.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(25);
/// The longest a hook waits for a throttle to end before it refuses with the time to retry.
pub const WAIT_MAX: Duration = Duration::from_secs(15);

/// The clients whose dialect we speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Client {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
}

impl Client {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Gemini];

    /// The name on the command line and in our records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// The client of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.name() == name)
    }
}

/// What a hook process says: its standard output, its standard error and its exit code.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    /// For the client to parse; empty means: no objection.
    pub stdout: String,
    /// For the model or the person, where the exit code says so.
    pub stderr: String,
    /// 0 or the client's blocking code.
    pub exit_code: u8,
}

impl Reply {
    /// An answer that the client parses.
    fn json(value: &serde_json::Value) -> Self {
        Self { stdout: value.to_string(), ..Self::default() }
    }
}

/// Why a hook's input is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the hook's input is not understood: {problem}")]
pub struct HookError {
    /// What is wrong with it.
    pub problem: String,
}

/// Reads what a client sends to its hook.
///
/// # Errors
/// When it is not JSON of the client's form. Unknown fields are ignored and unknown events are [`Event::Other`].
pub fn read(client: Client, bytes: &[u8]) -> Result<HookCall, HookError> {
    wire::read(client, bytes)
}

/// Puts an answer into the client's own words.
#[must_use]
pub fn say(call: &HookCall, answer: &Answer) -> Reply {
    match call.client {
        Client::Claude => claude::say(&call.event, answer),
        Client::Codex => codex::say(&call.event, answer),
        Client::Gemini => gemini::say(&call.event, answer),
    }
}

/// The answer to an event that could not be decided. What asks to go on is refused (exit code 2 with a reason blocks on
/// all three clients); what only reports, or wants to end, is told and let go: refusing an end would keep an agent busy.
#[must_use]
pub fn broken(client: Client, input: &[u8], why: &str) -> Reply {
    let text = format!("tripwire: the guard is broken: {why}");
    if wire::asks_to_go_on(client, input) {
        Reply { stdout: String::new(), stderr: text, exit_code: 2 }
    } else {
        Reply::json(&serde_json::json!({ "systemMessage": text }))
    }
}
