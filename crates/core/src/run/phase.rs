//! What the machine remembers between two facts; all of it is bounded.

use super::CallAnswer;
use super::ending::Ending;
use super::record::{Answer, EngineFailure, Returned, Reviewed, Spoken, WorkEnd};
use crate::effect::{Deadlock, HoldReason, SwitchReason};
use crate::text::Instruction;
use crate::units::RunMillis;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What is awaited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Phase {
    Taking(Asked),
    Asking,
    Checking,
    Executing(Execution),
    Advising(Deadlock),
    Reviewing,
    Applying,
    Waiting { ms: RunMillis, then: Asked },
    Holding(HoldReason),
    Done(Ending),
}

/// Whether a permitted call has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Execution {
    Permitted,
    Started,
}

/// Whose question used something without an answer for the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Asker {
    /// The one before the start.
    Probe,
    /// The model's.
    Model,
    /// The advisor's.
    Advisor,
    /// The reviewer's.
    Reviewer,
}

/// What is put before the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Asked {
    Iteration,
    /// What a question used in vain, and whose question it was.
    Spent(Asker),
    ModelRequest,
    ModelEvent,
    ToolRequest,
    ToolResult,
    ToolEvent,
    Claim,
    Compacted,
    Advice,
    Verdict,
    ApplyRequest,
    ApplyResult,
}

/// The model turn that is being carried out; its size is bounded by the engine's limits on an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct ModelTurn {
    pub(super) answer: Option<Answer>,
    /// The call that is at hand.
    pub(super) at: usize,
    /// The result of the call at hand.
    pub(super) result: Option<Returned>,
    /// What the model will see.
    pub(super) answers: Vec<CallAnswer>,
    /// The failure at hand, while the chain is told what it used.
    #[serde(default)]
    pub(super) failed: Option<EngineFailure>,
    /// What the advisor said.
    pub(super) advice: Option<Spoken>,
    /// What the reviewer said.
    pub(super) reviewed: Option<Reviewed>,
}

/// What the chain asked for and is not done yet.
#[expect(clippy::struct_excessive_bools, reason = "a list of things to be done, each on its own")]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Due {
    pub(super) advisor: Option<Deadlock>,
    /// An advisor was asked in vain: asking again would be a loop of our own.
    pub(super) advice_failed: bool,
    /// The deadlock is a worker's own: its hold stands in another session, so the machine hands on the advice itself.
    #[serde(default)]
    pub(super) worker_stuck: Option<WorkEnd>,
    pub(super) fresh_context: bool,
    /// The context was begun anew and no answer has come since.
    pub(super) just_fresh: bool,
    pub(super) switch: Option<SwitchReason>,
    /// What the model is told with the next turn.
    pub(super) words: Vec<Instruction>,
    /// The iteration is over, as the chain said.
    pub(super) iteration_over: bool,
}
