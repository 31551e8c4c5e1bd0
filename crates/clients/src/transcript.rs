//! What a line of a client's own transcript says, in words that all clients share.
//!
//! Each client has one reader of its lines (`claude::transcript`, …). Counting tokens, scanning past sessions and the
//! audit of a running one all read through it. A line is read as far as its form is known; what one consumer needs and
//! another does not (arguments, outputs) stays undecoded until it is asked for.

use crate::hook_command::GUARD_FAILED;
use crate::hooks::event::ToolCall;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::path::Path;
use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;

/// What is special about a client's own record of a session.
#[derive(Debug)]
pub struct TranscriptDialect {
    /// The folder of its transcripts, below its own.
    pub folder: &'static str,
    /// Whether a file's name is one that it gives to transcripts.
    pub is_transcript: fn(&Path) -> bool,
    /// Whether a transcript holds the workspace's path as text.
    pub names_workspace: bool,
    /// Reads one line.
    pub read_line: for<'a> fn(&'a str, &mut Vec<Item<'a>>) -> LineForm,
    /// Whether a line that is too long to be read may be an answer of the model, by its beginning.
    pub may_be_answer: fn(&str) -> bool,
    /// The lines of a transcript that is one object and not a line per entry; none for all others.
    pub lines_of_whole_file: fn(&str) -> Option<Vec<String>>,
    /// Where the figures of an answer are.
    pub figures: FigureOrder,
    /// The folder in which the client worked, if a line names it.
    pub folder_in_line: fn(&str) -> Option<String>,
}

/// Where a transcript has the figures of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureOrder {
    /// With the answer, before the calls that it asked for.
    BeforeCalls,
    /// Behind the calls that it asked for.
    BehindCalls,
}

/// One thing that a line says.
#[derive(Debug)]
pub enum Item<'a> {
    /// The session's own name.
    Session(Cow<'a, str>),
    /// A person spoke.
    Person,
    /// The agent said something.
    Said(Cow<'a, str>),
    /// The agent asked for a call of a tool.
    Call(RawToolCall<'a>),
    /// A call has a result.
    Result(RawResult<'a>),
    /// How the command of a call ended.
    ExitCode {
        /// The call's id.
        call: Cow<'a, str>,
        /// The exit code.
        code: i32,
    },
    /// The figures of one answer of the model, which may come again in part or as a whole.
    Answer(AnswerFigures<'a>),
    /// The figures of the whole thread up to an answer.
    ThreadTotal(AnswerFigures<'a>),
    /// An answer, or its figures, that cannot be read: it must not count as nothing.
    UnreadableAnswer,
    /// The model from here on.
    Model(Option<Cow<'a, str>>),
    /// The size of the model's window.
    Window(u64),
    /// The model's provider refused, in its words.
    ProviderError(String),
}

/// Whether a line is of the client's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineForm {
    /// It is.
    Known,
    /// It is not.
    Foreign,
}

/// The tokens of an answer.
#[derive(Debug)]
pub struct AnswerFigures<'a> {
    /// The answer's name; none where the figures name no answer.
    pub id: Option<Cow<'a, str>>,
    /// The model, where the line names it.
    pub model: Option<Cow<'a, str>>,
    /// The tokens, in classes that do not overlap.
    pub tokens: Usage,
    /// Tokens in the context, where it is the main agent's.
    pub context: Option<Tokens>,
}

/// A call in a transcript.
#[derive(Debug)]
pub struct RawToolCall<'a> {
    /// The client's id of the call.
    pub id: Option<Cow<'a, str>>,
    /// The tool's name, as the transcript has it.
    pub tool: Cow<'a, str>,
    /// The arguments, as the transcript has them.
    pub arguments: Option<&'a RawValue>,
    /// The answer that asked for it, where the line names it.
    pub answer: Option<Cow<'a, str>>,
    /// Which figures count the answer that asked for it.
    pub counted_by: CountedBy<'a>,
    /// When, as the client wrote it.
    pub at: Option<Cow<'a, str>>,
    /// Whether a hook must have announced it.
    pub announcement: Announcement,
    pub(crate) decode: fn(&RawToolCall<'_>) -> ToolCall,
}

/// Which figures count the answer that asked for a call.
#[derive(Debug, PartialEq, Eq)]
pub enum CountedBy<'a> {
    /// Those of this answer.
    Answer(Cow<'a, str>),
    /// The next total of the thread.
    NextTotal,
    /// The transcript does not say.
    Unknown,
}

/// Whether a client's hook announces a call under the id that the transcript shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Announcement {
    /// It must have.
    Expected,
    /// It only looks after a command that runs already: no call of its own, and no hook hears of it.
    Poll,
    /// No hook hears of it, or hears of it without this id.
    NotExpected,
}

impl RawToolCall<'_> {
    /// The call as the client's hooks are asked about it.
    #[must_use]
    pub fn tool_call(&self) -> ToolCall {
        (self.decode)(self)
    }
}

/// The result of a call in a transcript.
#[derive(Debug)]
pub struct RawResult<'a> {
    /// The call's id.
    pub call: Cow<'a, str>,
    /// What became of the call.
    pub outcome: CallOutcome,
    /// What the transcript calls the result.
    pub content: Option<&'a RawValue>,
    /// The tool's own response beside it, where there is one.
    pub response: Option<&'a RawValue>,
    /// Whether the client calls it an error; none if it does not say.
    pub failed: Option<bool>,
    pub(crate) decode: fn(&RawResult<'_>) -> Option<ToolOutput>,
}

impl RawResult<'_> {
    /// What the call gave, as the client's hooks see it; none if the transcript does not hold it.
    #[must_use]
    pub fn output(&self) -> Option<ToolOutput> {
        (self.decode)(self)
    }
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// As text.
    pub text: String,
    /// Whether it failed; none if nothing but the exit code says so.
    pub failed: Option<bool>,
    /// The exit code of a command, where the client tells it.
    pub exit_code: Option<i32>,
}

impl ToolOutput {
    /// What a call gave, without an exit code.
    pub(crate) const fn new(text: String, failed: Option<bool>) -> Self {
        Self { text, failed, exit_code: None }
    }
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome {
    /// It ran.
    Ran,
    /// It did not run, or failed in a way that does not tell.
    Failed,
    /// It did not run because the hook could not be started.
    GuardFailed,
}

impl CallOutcome {
    /// The outcome of a call that did not run, from what the client says instead of a result.
    pub(crate) fn not_run(said: Option<&RawValue>) -> Self {
        let is_guard = said.is_some_and(|said| said.get().contains(GUARD_FAILED));
        if is_guard { Self::GuardFailed } else { Self::Failed }
    }
}

/// The text inside a JSON string; none for other values.
pub(crate) fn text_of(value: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let raw = value?.get();
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') { serde_json::from_str::<String>(raw).ok().map(Cow::Owned) } else { Some(inner.into()) }
}

/// The elements of a JSON list; none for other values.
pub(crate) fn elements(value: Option<&RawValue>) -> Vec<&RawValue> {
    value.and_then(|value| serde_json::from_str(value.get()).ok()).unwrap_or_default()
}

/// Whether a value is `true`.
pub(crate) fn is_true(value: Option<&RawValue>) -> bool {
    value.is_some_and(|value| value.get() == "true")
}

/// A value as a tree; `null` if it is absent.
pub(crate) fn value_of(value: Option<&RawValue>) -> serde_json::Value {
    value.and_then(|value| serde_json::from_str(value.get()).ok()).unwrap_or_default()
}
