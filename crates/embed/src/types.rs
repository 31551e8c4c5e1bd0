//! What is asked and what is answered, in the form that Python and the stdio protocol share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;

/// The id of a call that was allowed: its result is reported under it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CallId(pub String);

/// The id of a sub-agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct AgentId(pub String);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A call that is about to run.
#[derive(Debug, Clone, Copy)]
pub struct CallQuestion<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// Its arguments as JSON text.
    pub arguments: &'a str,
    /// The sub-agent that acts, if it is not the main one.
    pub agent: Option<&'a AgentId>,
    /// The model's answer that asked for it: calls of one answer are one step.
    pub turn: Option<&'a str>,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallResult {
    /// Its output as text.
    pub output: String,
    /// Whether it failed; none if the program does not say.
    pub error: Option<bool>,
    /// The exit code of a command.
    pub exit_code: Option<i32>,
    /// How long it took; by default the time since it was asked for.
    pub duration_ms: Option<u64>,
}

/// Why a call has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoResult {
    /// The program gave it up.
    Abandoned,
    /// The session was closed while it was open.
    SessionClosed,
    /// The program went away while it was open.
    ProgramGone,
}

impl NoResult {
    /// In words, for the record.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Abandoned => "no result: the call was given up",
            Self::SessionClosed => "no result: the session was closed while the call was open",
            Self::ProgramGone => "no result: the program went away while the call was open",
        }
    }
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// The call may run, once.
    Allowed {
        /// Its result is reported under this id.
        call: CallId,
        /// What the agent should know.
        note: Option<String>,
    },
    /// It may not.
    Stopped(Box<Stop>),
}

/// Why something may not go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stop {
    /// Whether it is refused, or waits for a person.
    pub kind: StopKind,
    /// Why, in one sentence.
    pub reason: String,
    /// The rule that decided; `tripwire explain RULE` says more.
    pub rule: String,
    /// The indices of the inputs that prove it, for `tripwire why`.
    pub evidence: Vec<u64>,
    /// How long to wait before asking again, where waiting helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The code with which a person allows a held call: `tripwire allow --once CODE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The whole refusal as the model should read it.
    pub message: String,
    /// What a person can do about it.
    pub hint: String,
}

/// Whether something is refused, or waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StopKind {
    /// This call may not run; another may, or the same later.
    Refused,
    /// Nothing goes on until a person acts, or until a person has answered about this call.
    Held,
}

/// The answer to a result, to figures, or to an announcement: the work is done, and this follows from it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResultAnswer {
    /// What the agent should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Why nothing may follow, where that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Box<Stop>>,
}

/// What one answer of a model used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageTold {
    /// The model's name, for its price.
    pub model: String,
    /// The tokens, in classes that do not overlap.
    pub tokens: Usage,
    /// Tokens in the context now.
    pub context: Option<Tokens>,
    /// The sub-agent that asked it, if it is not the main one.
    pub agent: Option<AgentId>,
}

/// A session at a glance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionStatus {
    /// The session's id, for `tripwire log --session ID`.
    pub session: String,
    /// The workspace's folder.
    pub workspace: String,
    /// Why it is held or ended, in words; absent while it may go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// Spent so far, in millionths of a dollar.
    pub spent_micro_usd: u64,
    /// The budget, in millionths of a dollar; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_micro_usd: Option<u64>,
    /// Tokens used so far.
    pub tokens: u64,
    /// Steps so far.
    pub steps: u64,
    /// Health in thousandths.
    pub health_per_mille: u32,
    /// Calls without a result.
    pub open_calls: u64,
    /// Sub-agents that were announced.
    pub agents: u64,
}
