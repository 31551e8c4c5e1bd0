//! Hooks: one short process per event of someone else's agent. Foreign JSON in, that client's own dialect out.
//!
//! Deciding happens elsewhere. A hook turns the client's words into inputs ([`HookCall`], `inputs`), the engine decides
//! ([`desk`]), the decisions become one plain [`Answer`], and the client's dialect puts it into its own words. Whatever
//! goes wrong inside, the answer is the form that refuses.

pub mod alive;
mod answer;
mod call;
pub(crate) mod claude;
mod codex;
pub mod desk;
mod figures;
pub(crate) mod gemini;
mod inputs;
mod legible;
mod memory;
pub mod protected;
pub mod window;
mod wire;

pub use answer::{Answer, Turn};
pub use call::{Agent, Event, HookCall, Outcome, Repeat, Source, Tool};

use std::time::Duration;

/// The environment variable that tells a hook how many seconds its client gives it. Whoever sets a longer limit in the
/// client's settings sets it too: a hook that answers late is ignored by some clients, and the call runs.
pub const SECONDS_VARIABLE: &str = "TRIPWIRE_HOOK_SECONDS";
/// What an installer should give: long enough to wait for a throttle of the minute to end.
pub const SECONDS_RECOMMENDED: u64 = 90;
/// What is assumed where nobody says.
pub(crate) const SECONDS_ASSUMED: u64 = 30;
/// What is kept back to be sure: the start of the process, the disk, the way to the client.
const SECONDS_RESERVED: u64 = 5;

/// How much time a hook has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimit {
    /// Within this time it answers, whatever happens.
    pub answer: Duration,
    /// The longest it waits for a throttle to end before it refuses with the time to retry; locks may cost the rest.
    pub wait: Duration,
}

impl TimeLimit {
    /// From the value of [`SECONDS_VARIABLE`], if it is set; one that is no number counts as unset.
    #[must_use]
    pub fn of(seconds: Option<&str>) -> Self {
        let seconds = seconds.and_then(|text| text.trim().parse().ok()).unwrap_or(SECONDS_ASSUMED);
        let answer = seconds.saturating_sub(SECONDS_RESERVED).max(1);
        Self { answer: Duration::from_secs(answer), wait: Duration::from_secs(answer.saturating_sub(LOCKS_SECONDS)) }
    }
}

/// What waiting for locks may cost in the worst case.
const LOCKS_SECONDS: u64 = 20;

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
    /// Words beside the event, in the form that all three clients share; without the event's name they throw it away.
    pub(crate) fn context(event: &str, text: &str) -> Self {
        Self::json(&serde_json::json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}))
    }

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

/// Whether an event asks for leave to go on, also if its input is not understood as a whole.
#[must_use]
pub fn asks_to_go_on(client: Client, input: &[u8]) -> bool {
    wire::asks_to_go_on(client, input)
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
