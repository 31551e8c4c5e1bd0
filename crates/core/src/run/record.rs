//! What our own loop learns from the world: each is journaled before it is used, so that the loop can be run again.

use super::fallback::Seat;
use super::plan::Plan;
use crate::chain::event::TestResult;
use crate::effect::{HoldReason, StopReason};
use crate::label::Label;
use crate::record::chain::Digest;
use crate::text::{Arguments, CallId, MemoryPointer, ModelText, Objective, Reason, SystemPrompt, ToolName, ToolOutput};
use crate::units::{MicroUsd, RunMillis, Tokens};
use crate::usage::Usage;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The version of these records; another one is refused, never guessed at.
pub const RUN_VERSION: u32 = 1;

/// One fact from outside, in the order in which it was learnt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RunRecord {
    /// The loop begins: everything that is frozen with it. Always the first.
    Begun(Setup),
    /// A new process takes the session up, after a crash or a hold.
    Resumed(OnHold),
    /// An engine answered.
    Answered(Answer),
    /// An engine gave no answer.
    Failed(EngineFailure),
    /// A call was checked against the registry.
    Checked(Checked),
    /// The agent wrote its plan down.
    Planned(Plan),
    /// A permitted call begins; without a result after it, what it did is unknown.
    Started,
    /// A call came back.
    Returned(Returned),
    /// An advisor said whether it sees a loop.
    LoopJudged(Spoken),
    /// No advisor said so.
    LoopNotJudged(EngineFailure),
    /// An advisor answered.
    Advised(Spoken),
    /// An advisor could not be had.
    NoAdvice(EngineFailure),
    /// The staged change was reviewed.
    Reviewed(Reviewed),
    /// No reviewer could be had.
    NoReview(EngineFailure),
    /// The approved change was applied, or could not be.
    Applied(Returned),
    /// A wait is over.
    Waited,
}

/// What is frozen when the loop begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Setup {
    /// The first advisor's engine, where one is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advisor: Option<Label>,
    /// The engines in the order in which they are taken; never empty.
    pub engines: Vec<Label>,
    /// The objective, verbatim.
    pub objective: Objective,
    /// The advisors that are asked when the first has no answer, in that order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_advisors: Vec<Label>,
    /// What a hold means to this process.
    pub patience: OnHold,
    /// The system prompt, verbatim.
    pub prompt: SystemPrompt,
    /// Its SHA-256.
    pub prompt_sha256: Digest,
    /// What the question used that was asked before anything was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Spent>,
    /// The SHA-256 of the tool registry.
    pub registry_sha256: Digest,
    /// The reviewer's engine, where the change must be reviewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<Label>,
    /// The role under which the agent acts.
    pub role: Label,
    /// Where each engine runs, in the same order.
    pub seats: Vec<Seat>,
    /// The version of the records.
    pub version: u32,
    /// Those of the engines that are workers: they do a whole turn with hands of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<Label>,
}

/// What a hold means to the process that meets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OnHold {
    /// A person sits in front of it: wait for them.
    Wait,
    /// No person does: end, and say what is needed to go on.
    Leave,
}

/// An engine's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Answer {
    /// The calls that it asks for, in its order.
    pub calls: Vec<Call>,
    /// Why it ended.
    pub end: AnswerEnd,
    /// The engine.
    pub engine: Label,
    /// The model's own name.
    pub model: Label,
    /// Its text.
    pub text: ModelText,
    /// What it used.
    pub usage: Usage,
    /// What a worker did with hands of its own; none for a model, which only asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
}

/// One turn of a worker: someone else's agent that worked in the workspace under its own guarded session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Work {
    /// Whether the workspace is another one than before.
    pub changed: bool,
    /// What its model cost.
    pub cost_micro_usd: MicroUsd,
    /// How its turn ended.
    pub end: WorkEnd,
    /// The session that guarded it; left out of the transcript, which holds no session's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Label>,
    /// What its own last test run said about the tree that it left, where its guard saw one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tested: Option<TestResult>,
    /// The tokens that its model used.
    pub tokens: Tokens,
}

/// How a worker's turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WorkEnd {
    /// It says that it is done: a claim, not a proof.
    Finished,
    /// Its guard holds it.
    Held(HoldReason),
    /// Its guard ended it.
    Stopped(StopReason),
    /// It gave up, or its provider did.
    Failed(FailureKind),
}

/// A call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The arguments; they may be no JSON at all.
    pub arguments: Arguments,
    /// The id by which the result names it.
    pub id: CallId,
    /// The tool's name; it may be unknown.
    pub tool: ToolName,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AnswerEnd {
    /// The model was done or waits for results.
    Finished,
    /// The limit of output was reached: what it asked for may be cut off.
    OutputLimit,
    /// The provider or the model refused.
    Refused,
    /// Something else.
    Other,
}

/// Why an engine gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EngineFailure {
    /// The engine.
    pub engine: Label,
    /// What went wrong, as far as the loop cares.
    #[serde(rename = "trouble")]
    pub kind: FailureKind,
    /// How long to wait, where the provider said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<RunMillis>,
    /// The whole sentence, without any key.
    pub said: Reason,
    /// What the question used although no answer came of it; none where nothing was used, or it cannot be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
}

/// What a question used that is no part of the loop's answers: one that broke off or was cut, or the one before the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spent {
    /// The engine.
    pub engine: Label,
    /// Whether a part of the figures was estimated, because the provider gave none.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub estimated: bool,
    /// The model's own name.
    pub model: Label,
    /// The tokens.
    pub usage: Usage,
}

/// What went wrong with an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FailureKind {
    /// The provider is overloaded.
    Overloaded,
    /// A rate limit or a quota is reached.
    RateLimited,
    /// The host cannot be reached.
    Unreachable,
    /// The answer broke off or is not understood.
    Broken,
    /// The conversation is longer than the window.
    ContextExhausted,
    /// No key, a wrong key, an unknown model, a refused request, a cassette at its end: asking again cannot help.
    Refused,
    /// A wall clock or a person cut it off.
    Cut,
    /// A budget that other machines spend too does not pay for the question.
    NoMoney,
}

/// What became of checking a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Checked {
    /// It is a tool of the registry, and its arguments fit.
    Valid,
    /// It is the claim to be done.
    Finish,
    /// It cannot be used.
    Fault(CallFault),
}

/// Why a call cannot be used; the text is what the model repairs it from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallFault {
    /// What kind of fault.
    pub kind: FaultKind,
    /// What, where and why.
    pub text: Reason,
}

/// The kinds of faults, under their names in the safety log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FaultKind {
    /// The tool is not registered.
    UnknownTool,
    /// The plan or the arguments do not fit their schema.
    ValidationError,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Returned {
    /// A command's exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How it ended.
    pub how: CallOutcome,
    /// The pointer to the whole result in memory, where the text is only a part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<MemoryPointer>,
    /// What the model sees.
    pub text: ToolOutput,
    /// The bytes as they came, where the model sees something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbatim: Option<ToolOutput>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CallOutcome {
    /// It did what was asked.
    Done,
    /// It ran and failed.
    Failed,
    /// It was cut off by its time limit, a wall clock or a person.
    Cut,
    /// It could not be run at all.
    NotRun,
    /// It was refused before it ran.
    Refused,
    /// It was started, and a crash hid what became of it.
    Unknown,
}

impl CallOutcome {
    /// Whether the tool itself failed (RUN-2): it ran and failed, ran out of time, or could not run.
    #[must_use]
    pub const fn is_tool_error(self) -> bool {
        match self {
            Self::Failed | Self::Cut | Self::NotRun => true,
            Self::Done | Self::Refused | Self::Unknown => false,
        }
    }

    /// Whether the model must look at it before it calls anything else.
    #[must_use]
    pub const fn is_error(self) -> bool {
        match self {
            Self::Done => false,
            Self::Failed | Self::Cut | Self::NotRun | Self::Refused | Self::Unknown => true,
        }
    }
}

/// What another engine said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spoken {
    /// The engine.
    pub engine: Label,
    /// The model's own name.
    pub model: Label,
    /// Its words.
    pub text: ModelText,
    /// What it used.
    pub usage: Usage,
}

/// What an advisor says of a loop that the ladder holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Opinion {
    /// It sees a loop.
    Loop,
    /// It sees progress.
    Progress,
    /// It did not say one of the two words alone.
    Unclear,
}

impl Opinion {
    /// The opinion in an advisor's words: exactly one of the two words, in capitals.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let says = |word: &str| text.split(|letter: char| !letter.is_ascii_alphabetic()).any(|part| part == word);
        match (says("LOOP"), says("PROGRESS")) {
            (true, false) => Self::Loop,
            (false, true) => Self::Progress,
            (true, true) | (false, false) => Self::Unclear,
        }
    }
}

/// What the reviewer said about the staged change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reviewed {
    /// The digest of the change; none when nothing was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Digest>,
    /// The answer as it was read.
    pub answer: ReviewAnswer,
    /// The reviewer's words; none were needed without a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spoken: Option<Spoken>,
}

/// A reviewer's answer as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReviewAnswer {
    /// It may be applied.
    Approved,
    /// It may not.
    Rejected,
    /// There was not exactly one explicit word: that is no approval.
    Unclear,
    /// There was nothing to review.
    NothingChanged,
}
