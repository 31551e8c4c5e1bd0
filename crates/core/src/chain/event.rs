//! What an event source observed: data only, no interpretation.
//!
//! The first six fields keep the names of the master specification; everything after them is optional and was added
//! by SPEC §3.2. Fields are declared in the order of the canonical form, so that writing one needs no sorting.

mod flags;

pub use flags::{Flag, Flags};

use crate::label::{Fingerprint, Label};
use crate::sketch::{Sketch, WordSketch};
use crate::units::{Count, MicroUsd, Price, RunMillis, Tokens};
use crate::usage::FigureSource;
use crate::visible::LINE_END;
use alloc::borrow::Cow;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// One observation of an agent: usually one tool call with its result.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentEvent {
    /// What was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// Which agent of the tree acted; absent for the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Label>,
    /// Tokens read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<Tokens>,
    /// Tokens written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<Tokens>,
    /// What changed on disk while the call ran, where that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<DiskChanges>,
    /// Where the figure of the context comes from.
    #[serde(default, skip_serializing_if = "FigureSource::is_told")]
    pub context_source: FigureSource,
    /// Tokens now in the model's context window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<Tokens>,
    /// The size of that window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<Tokens>,
    /// What the event cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<MicroUsd>,
    /// The normalised error text, as a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_digest: Option<Label>,
    /// What kind of error it was, as a digest: its first words without what it quotes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_kind: Option<Label>,
    /// The line that tells the error, for people and agents to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_text: Option<Label>,
    /// What kind of work it was.
    #[serde(default, skip_serializing_if = "Flags::is_empty")]
    pub flags: Flags,
    /// How much of the result was new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<Gain>,
    /// A part of the result that changes at each repetition of the call and was therefore ignored, for people to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored: Option<Label>,
    /// Fresh input tokens: neither read from nor written to the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<Tokens>,
    /// How long the response took.
    pub latency_ms: RunMillis,
    /// The model that spoke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Label>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// A hash of the output, for the comparison of neighbours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_hash: Option<Label>,
    /// The output's length in characters.
    pub output_length: Tokens,
    /// Tokens that the model wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<Tokens>,
    /// The agent that started this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_agent_id: Option<Label>,
    /// Tokens spent on reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<Tokens>,
    /// The normalised result text, as a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_digest: Option<Label>,
    /// A similarity sketch of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sketch: Option<Sketch>,
    /// The snapshot after the call, or why there is none; nothing is decided by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Label>,
    /// A similarity sketch of what the model said before it acted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_sketch: Option<Sketch>,
    /// When it happened; monotonic.
    pub timestamp: RunMillis,
    /// Tokens consumed in this event.
    pub token_count: Tokens,
    /// Number of tool calls in this event.
    pub tool_calls: Count,
    /// The model turn; calls of one turn share it and count as one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<Label>,
    /// Whether a person spoke before this call.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub user_turn: bool,
    /// The state of the workspace, where it was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_hash: Option<Label>,
}

impl AgentEvent {
    /// What the minute's budget counts: fresh input plus output tokens, else the plain count; cache reads never count.
    #[must_use]
    pub fn budget_tokens(&self) -> Tokens {
        match (self.input_tokens, self.output_tokens) {
            (None, None) => self.token_count,
            (input, output) => input.unwrap_or_default().plus(output.unwrap_or_default()),
        }
    }

    /// What the event cost, in money and in the tokens that the budget counts.
    #[must_use]
    pub fn price(&self) -> Price {
        Price { micro_usd: self.cost_micro_usd.unwrap_or_default(), tokens: self.budget_tokens() }
    }

    /// What the call gave: the result's digest, else the plain output hash, else nothing.
    #[must_use]
    pub fn result_fingerprint(&self) -> Fingerprint {
        match (&self.result_digest, &self.output_hash) {
            (Some(digest), _) | (None, Some(digest)) => digest.fingerprint(),
            (None, None) => Fingerprint::NONE,
        }
    }

    /// Whether the event is known to have failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.outcome.as_ref().is_some_and(|outcome| outcome.status == Status::Error)
    }

    /// Whether it starts a new epoch: a successful edit or install, or a person's turn (SPEC §4).
    #[must_use]
    pub fn opens_epoch(&self) -> bool {
        let moved = self.flags.has(Flag::Edit) || self.flags.has(Flag::Install);
        self.user_turn || (moved && !self.failed())
    }

    /// Whether files of the workspace changed: as measured, else as far as the call's words and its end say.
    #[must_use]
    pub fn changed_files(&self) -> bool {
        match &self.changes {
            Some(changes) => !changes.is_empty(),
            None => self.flags.has(Flag::Edit) && !self.failed(),
        }
    }

    /// Whether files that a test could check changed: as measured, else as far as the call's words and its end say.
    #[must_use]
    pub fn changed_code(&self) -> bool {
        match &self.changes {
            Some(changes) => !changes.code.is_empty(),
            None => {
                let edited = self.flags.has(Flag::Edit) && !self.flags.has(Flag::Text) && !self.failed();
                edited || self.flags.has(Flag::Touched)
            }
        }
    }

    /// Whether the infrastructure failed and not the agent: retrying is right, so it never counts as a loop (LOOP-3).
    #[must_use]
    pub fn is_infrastructure_error(&self) -> bool {
        self.outcome.is_some_and(|outcome| outcome.error_class == Some(ErrorClass::Infrastructure))
    }
}

/// Which files changed on disk while a call ran, as paths below the workspace. All empty: it was measured, and none did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DiskChanges {
    /// Files that a test could check; those of `tests` are among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<Label>,
    /// Other files, such as text for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other: Vec<Label>,
    /// Files that hold tests, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Label>,
}

impl DiskChanges {
    /// Paths that are named in each list; what is beyond is not named, and the list is not empty.
    pub const NAMED_MAX: usize = 32;

    /// Adds what another look found, as far as the lists have room.
    pub fn append(&mut self, more: Self) {
        let lists = [(&mut self.code, more.code), (&mut self.other, more.other), (&mut self.tests, more.tests)];
        for (list, more) in lists {
            let room = Self::NAMED_MAX.saturating_sub(list.len());
            list.extend(more.into_iter().take(room));
        }
    }

    /// Whether nothing changed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.code.is_empty() && self.other.is_empty() && self.tests.is_empty()
    }
}

/// What an agent did, or asks to do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    /// The digest of the canonical arguments, volatile parts stripped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_digest: Option<Label>,
    /// The digest of the arguments with their numbers masked: pages of one list have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_shape: Option<Label>,
    /// A similarity sketch of the arguments' words, where they are prose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_sketch: Option<WordSketch>,
    /// The normalised signature: `Edit(file=foo.py)`, `Bash(cmd=pytest tests/*)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Label>,
    /// The path it aims at, relative to the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Label>,
    /// The tool's name.
    pub tool: Label,
    /// The model turn that asks for it, where the asker knows it: the calls of one turn are one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<Label>,
    /// The type of action; absent for a plain tool call.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Label>,
    /// The call as it was made, with one blank or line end between two words, for people and agents to read; it decides nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<Label>,
}

impl Action {
    /// The exact identity of guardrails: action type, tool, canonical arguments, target path.
    #[must_use]
    pub fn exact(&self) -> Fingerprint {
        [&self.kind, &self.args_digest, &self.target].into_iter().fold(self.tool.fingerprint(), |all, part| {
            all.and(part.as_ref().map_or(Fingerprint::NONE, Label::fingerprint))
        })
    }

    /// The signature's identity; without one, the tool's name is used, as the seed's `Tool(...)` does.
    #[must_use]
    pub fn signed(&self) -> Fingerprint {
        self.signature.as_ref().unwrap_or(&self.tool).fingerprint()
    }

    /// The call itself, with its arguments where they are known, in one line: where a command goes on in another, a mark stands.
    #[must_use]
    pub fn named(&self) -> Cow<'_, str> {
        let worded = self.worded();
        if worded.contains('\n') { worded.replace('\n', LINE_END).into() } else { worded.into() }
    }

    /// The same with the line ends that a command has.
    #[must_use]
    pub fn worded(&self) -> &str {
        self.words.as_ref().filter(|words| !words.is_empty()).map_or_else(|| self.shown(), Label::as_str)
    }

    /// What a person reads in a report.
    #[must_use]
    pub fn shown(&self) -> &str {
        self.signature.as_ref().unwrap_or(&self.tool).as_str()
    }
}

/// How much a result brought: distinct words of its beginning, counted by an observer that remembers recent ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Gain {
    /// Words that the call's own arguments held already; counted only where both are prose.
    pub echo: u16,
    /// Words neither in its arguments nor seen of late.
    pub new: u16,
    /// All words.
    pub total: u16,
}

impl Gain {
    /// Whether at most `part` of `whole` parts of the words are new.
    #[must_use]
    pub fn is_at_most(self, part: u32, whole: u32) -> bool {
        u32::from(self.new).saturating_mul(whole) <= u32::from(self.total).saturating_mul(part)
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Why it failed, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_class: Option<ErrorClass>,
    /// The command's exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether it failed.
    pub status: Status,
    /// What the tests said, where it was a test run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<TestResult>,
}

/// Whether a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Status {
    /// It did what was asked.
    #[default]
    Ok,
    /// It did not.
    Error,
}

/// Why a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ErrorClass {
    /// It ran into its time limit.
    Timeout,
    /// It could not be run at all.
    CouldNotRun,
    /// It ran and ended with a non-zero exit code: the agent's business, not an execution error.
    NonZeroExit,
    /// The tool reported an error of its own.
    Tool,
    /// The provider or the network was overloaded (429, 503, 529): retrying is right.
    Infrastructure,
    /// A guard or a permission refused it.
    Refused,
}

impl ErrorClass {
    /// Whether the execution itself broke, which costs health (GATE-4).
    #[must_use]
    pub const fn is_execution_error(self) -> bool {
        match self {
            Self::Timeout | Self::CouldNotRun => true,
            Self::NonZeroExit | Self::Tool | Self::Infrastructure | Self::Refused => false,
        }
    }
}

/// What a test run said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TestResult {
    /// All tests passed.
    Passed,
    /// At least one failed, or the run broke.
    Failed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floor_1_a_command_of_two_lines_is_named_in_one_with_a_mark_between() {
        let words = Label::new("echo cleaning up # safe:\nrm -r data");
        let action = Action { tool: Label::cut("Bash"), words, ..Action::default() };
        assert_eq!(action.named(), "echo cleaning up # safe:⏎rm -r data");
        assert_eq!(action.worded(), "echo cleaning up # safe:\nrm -r data");
        assert_eq!(Action { words: None, ..action }.named(), "Bash");
    }

    #[test]
    fn flags_survive_the_round_trip_and_unknown_ones_are_refused() {
        let flags = Flags::default().with(Flag::Edit).with(Flag::Docs);
        let text = serde_json::to_string(&flags).unwrap();
        assert_eq!(text, r#"["edit","docs"]"#);
        assert_eq!(serde_json::from_str::<Flags>(&text).unwrap(), flags);
        assert!(serde_json::from_str::<Flags>(r#"["dance"]"#).is_err());
    }

    #[test]
    fn chain_1_the_master_specs_names_are_kept() {
        let text = r#"{"timestamp":1,"tokenCount":2,"toolCalls":3,"latencyMs":4,"outputLength":5,"outputHash":"x"}"#;
        let event: AgentEvent = serde_json::from_str(text).unwrap();
        assert_eq!(event.token_count, Tokens::new(2));
        assert_eq!(event.output_hash, Label::new("x"));
        assert!(serde_json::from_str::<AgentEvent>(r#"{"timestamp":1}"#).is_err());
    }

    #[test]
    fn the_budget_counts_fresh_input_and_output_but_no_cache_reads() {
        let mut event = AgentEvent { token_count: Tokens::new(900), ..AgentEvent::default() };
        assert_eq!(event.budget_tokens(), Tokens::new(900));
        event.input_tokens = Some(Tokens::new(100));
        event.output_tokens = Some(Tokens::new(50));
        event.cache_read_tokens = Some(Tokens::new(750));
        assert_eq!(event.budget_tokens(), Tokens::new(150));
    }

    #[test]
    fn two_actions_are_the_same_only_if_tool_arguments_and_target_are() {
        let action = |tool, args, target| Action {
            tool: Label::cut(tool),
            args_digest: Label::new(args),
            target: Label::new(target),
            ..Action::default()
        };
        let read = action("Read", "1", "a");
        assert_eq!(read.exact(), action("Read", "1", "a").exact());
        for other in [action("Edit", "1", "a"), action("Read", "2", "a"), action("Read", "1", "b")] {
            assert_ne!(read.exact(), other.exact());
        }
    }
}
