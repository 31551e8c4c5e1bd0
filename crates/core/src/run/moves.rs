//! What goes into the machine and what comes out of it.

use super::ending::Ending;
use super::line::Line;
use super::plan::Plan;
use super::record::{Answer, Call, Returned, Reviewed, RunRecord, Spent, Spoken};
use crate::decision::Decision;
use crate::effect::{Deadlock, HoldReason};
use crate::input::What;
use crate::label::Label;
use crate::record::chain::Digest;
use crate::text::{Instruction, Objective, StepSummary, ToolOutput};
use crate::units::{Count, RunMillis};
use alloc::boxed::Box;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The result of one call, as the model sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallAnswer {
    /// The call.
    pub call: Call,
    /// The text.
    pub text: ToolOutput,
    /// Whether it failed.
    pub is_error: bool,
}

/// One fact that the machine takes in.
#[derive(Debug, Clone, Copy)]
pub enum RunInput<'a> {
    /// A journaled record of the loop.
    Record(&'a RunRecord),
    /// A journaled input of the chain and what was decided on it.
    Decided(&'a What, &'a Decision),
    /// A decision on what a person did meanwhile.
    Noticed(&'a Decision),
}

/// Something to carry out at once; carrying it out again after a crash does no harm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoopEffect {
    /// Append to the transcript.
    Line(Line),
    /// Append to the conversation.
    Say(Saying),
    /// Start a new conversation.
    Forget,
    /// Rewrite the briefing, with the step that was just done.
    Brief,
    /// Write the plan with its ticks.
    Plan(Plan),
    /// Rewrite `todo.md`.
    Recite(Recitation),
}

/// A turn of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Saying {
    /// The loop speaks.
    User(Instruction),
    /// The model spoke.
    Model(Answer),
    /// The results of its calls.
    Results(Vec<CallAnswer>),
}

/// What `todo.md` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recitation {
    /// The objective, verbatim.
    pub objective: Objective,
    /// Steps done so far.
    pub steps: Count,
    /// The running iteration.
    pub iteration: Count,
    /// The step completed last.
    pub last: Option<StepSummary>,
    /// The next step.
    pub next: Option<StepSummary>,
}

/// What to do now. Exactly one thing is awaited at any time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Put this before the chain.
    Take(LoopRequest),
    /// Ask this engine with the conversation so far.
    Ask {
        /// Its place in the list.
        engine: usize,
    },
    /// Check a call against the registry.
    Check(Call),
    /// Carry out a permitted call: journal that it starts, then its result.
    Execute(Call),
    /// Ask the first advisor whether the loop at hand is one; the answer is written down and decides nothing.
    JudgeLoop,
    /// Ask an advisor.
    Advise {
        /// What the deadlock is.
        deadlock: Deadlock,
        /// Its place in the list.
        advisor: usize,
    },
    /// Have the staged change reviewed.
    Review,
    /// Apply the approved change.
    Apply(Digest),
    /// Wait.
    Wait(RunMillis),
    /// Wait for a person's answer about the held call at hand, so long at most.
    AwaitAnswer {
        /// The code of the held call.
        code: Label,
        /// The longest that it waits.
        ms: RunMillis,
    },
    /// Wait for a person.
    AwaitPerson(HoldReason),
    /// Nothing: it is over.
    Finished(Ending),
}

/// What is put before the chain, with the facts that the shell needs to say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoopRequest {
    /// An iteration begins.
    IterationStarted,
    /// A question used something and gave the loop no answer.
    Spent(Spent),
    /// The model would be asked.
    ModelRequest,
    /// The model answered.
    ModelEvent(Box<Answer>),
    /// A call would be carried out.
    ToolRequest(Call),
    /// A call was carried out: the result for the gate.
    ToolResult(Returned),
    /// A call was carried out: what it looks like from outside.
    ToolEvent(Call, Returned),
    /// The agent says that it is done.
    Claim,
    /// A new context was started.
    Compacted,
    /// The advisor answered.
    Advice(Spoken),
    /// A reviewer answered.
    Verdict(Reviewed),
    /// An approved change would be applied.
    ApplyRequest(Digest),
    /// An approved change was applied.
    ApplyResult(Returned),
}
