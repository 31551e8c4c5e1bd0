//! The lines of the transcript: a view of the journal without times, durations and session ids (RUN-1).
//!
//! Every line is made by the machine from its inputs, so the same answers and results give the same bytes.

use super::ending::Ending;
use super::plan::Plan;
use super::record::{Answer, CallFault, CallOutcome, EngineFailure, Opinion, ReviewAnswer, Setup};
use crate::chain::gate::dirty_bits::Verification;
use crate::effect::{Deadlock, ExitStatus, LoopOverride};
use crate::label::Label;
use crate::record::canonical::{self, CanonicalError};
use crate::text::{CallId, Instruction, MemoryPointer, ModelText, Reason, StepSummary, ToolName, ToolOutput};
use crate::units::Count;
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// One line of the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Line {
    /// What is frozen. Always the first.
    Head(Setup),
    /// An iteration begins.
    Iteration {
        /// Its number, from 1.
        number: Count,
    },
    /// What the loop says to the model.
    User {
        /// The words.
        text: Instruction,
    },
    /// What the model answered.
    Answer(Answer),
    /// An engine gave no answer.
    EngineError(EngineFailure),
    /// Another engine takes over.
    EngineSwitch(Switched),
    /// A call cannot be used as it is.
    Fault {
        /// The call.
        call: CallId,
        /// Why.
        fault: CallFault,
    },
    /// What a call gave, verbatim.
    Result(ResultLine),
    /// The gate refused.
    Refused {
        /// What was refused.
        what: ToolName,
        /// Why.
        reason: Reason,
        /// The rule that refused.
        rule: &'static str,
    },
    /// A typed constraint reached the model.
    Override(LoopOverride),
    /// The claim to be done was answered.
    Claim {
        /// What the model has to do first; none when it was released.
        #[serde(skip_serializing_if = "Option::is_none")]
        demand: Option<Instruction>,
        /// What is proved about the work, when it was released.
        #[serde(skip_serializing_if = "Option::is_none")]
        verdict: Option<Verification>,
    },
    /// The agent wrote its plan down.
    Plan(Plan),
    /// A step of the plan is done, as a call showed.
    PlanStep {
        /// Its number, from 1.
        number: Count,
        /// How many steps there are.
        of: Count,
        /// What it was for.
        purpose: StepSummary,
    },
    /// An advisor said whether it sees a loop; its answer decides nothing.
    LoopCheck {
        /// The engine.
        engine: Label,
        /// The answer as it was read.
        opinion: Opinion,
        /// Its words.
        text: ModelText,
    },
    /// The advisor is asked.
    Deadlock {
        /// What the deadlock is.
        deadlock: Deadlock,
    },
    /// The advisor answered.
    Advice {
        /// The engine.
        engine: Label,
        /// Its words.
        text: ModelText,
    },
    /// A reviewer answered.
    Review {
        /// The answer as it was read.
        answer: ReviewAnswer,
        /// The digest of the change.
        #[serde(skip_serializing_if = "Option::is_none")]
        proposal: Option<crate::record::chain::Digest>,
        /// The reviewer's words.
        text: ModelText,
    },
    /// A new context starts with the briefing.
    FreshContext,
    /// `todo.md` was rewritten.
    Recited {
        /// Steps done so far.
        steps: Count,
    },
    /// An iteration ended.
    IterationEnd {
        /// How.
        exit_status: ExitStatus,
        /// Why, unless it completed.
        #[serde(skip_serializing_if = "Option::is_none")]
        interrupt_reason: Option<Reason>,
    },
    /// Another process took the session up.
    Resumed,
    /// The loop ended.
    End(Ending),
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultLine {
    /// The call.
    pub call: CallId,
    /// A command's exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How it ended.
    pub how: CallOutcome,
    /// The pointer to the whole result in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<MemoryPointer>,
    /// What the model sees.
    pub text: ToolOutput,
    /// The tool.
    pub tool: ToolName,
    /// The bytes as they came, where the model sees something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbatim: Option<ToolOutput>,
}

/// A switch from one engine to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switched {
    /// The engine that is left.
    pub from: Label,
    /// Why.
    pub reason: Reason,
    /// The engine that takes over.
    pub to: Label,
}

impl Line {
    /// The canonical text of the line, without its end.
    ///
    /// # Errors
    /// When a figure is out of the range of JSON integers; decoding has checked that none is.
    pub fn text(&self) -> Result<String, CanonicalError> {
        canonical::to_string(self)
    }
}
