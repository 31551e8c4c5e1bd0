//! From a raw call to the facts of an event: versioned pure functions that are called before the engine steps.
//!
//! The engine never sees a tool's arguments or output, only what is computed here: digests, a signature, flags, an
//! outcome and sketches. The journal stores these results, so that a replay does not depend on this module; a change
//! of any result is a change of [`OBSERVE_VERSION`].

#![no_std]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::float_arithmetic
    )
)]

extern crate alloc;

mod arguments;
pub mod chant;
mod digest;
mod error_kind;
mod gain;
mod json;
mod lines;
mod minhash;
mod names;
mod nature;
mod normal;
mod outcome;
mod position;
mod programs;
mod shell;
mod signature;
mod test_scripts;
mod text_files;
mod tools;
mod verdict;
mod volatile;
mod words;
mod work;

pub use nature::{Doing, Nature, nature};
pub use normal::{Volatility, normalise};
pub use text_files::is_plain_text;

use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use alloc::vec::Vec;
use arguments::Arguments;
use gain::{Echoes, SeenWords};
use names::Name;
use serde::{Deserialize, Serialize};
use tools::ToolKind;
use tripwire_core::chain::event::{Action, AgentEvent, ErrorClass, Flag, Flags, Gain, Outcome, Status, TestResult};
use tripwire_core::label::Label;
use tripwire_core::sketch::Sketch;
use tripwire_core::units::{Count, RunMillis, Tokens};
use words::Words;
use work::{Mark, Marks, Work};

/// The version of everything that this module computes; the golden test changes with it.
pub const OBSERVE_VERSION: u32 = 2;

/// Bytes of one text that are normalised; what a longer one has in its middle counts by its plain hash.
pub const OBSERVED_BYTES_MAX: usize = 1 << 20;

/// A call as an event source saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RawCall<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// Its arguments: JSON, or plain text.
    pub args: &'a str,
    /// What it gave, if that is known.
    pub output: Option<&'a str>,
    /// Whether the client calls it an error; none if it does not say.
    pub error: Option<bool>,
    /// The exit code of a command.
    pub exit_code: Option<i32>,
    /// What the model said before it acted.
    pub text: Option<&'a str>,
    /// A digest of the whole output, where `output` is only its beginning: two results are then the same only if
    /// their wholes are.
    pub whole: Option<&'a str>,
    /// The workspace's absolute path, to which targets are made relative.
    pub workspace_root: Option<&'a str>,
}

/// What an event says about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// What was done.
    pub action: Action,
    /// How it ended.
    pub outcome: Outcome,
    /// What kind of work it was.
    pub flags: Flags,
    /// The normalised result, as a digest.
    pub result_digest: Option<Label>,
    /// The normalised error with its digits masked, as a digest; only of failed calls.
    pub error_digest: Option<Label>,
    /// What kind of error it was, as a digest; only of failed calls.
    pub error_kind: Option<Label>,
    /// How much of the result was new; only from an [`Observer`], which remembers what was seen.
    pub gain: Option<Gain>,
    /// The output as it was, as a digest.
    pub output_hash: Option<Label>,
    /// A similarity sketch of the normalised output.
    pub sketch: Option<Sketch>,
    /// A similarity sketch of what the model said.
    pub text_sketch: Option<Sketch>,
    /// The output's length in characters.
    pub output_length: Tokens,
}

impl Facts {
    /// The event of one call: every door makes its events here, so that the same call is the same event at each.
    #[must_use]
    pub fn event(self, latency_ms: RunMillis) -> AgentEvent {
        AgentEvent {
            action: Some(self.action),
            outcome: Some(self.outcome),
            flags: self.flags,
            latency_ms,
            output_hash: self.output_hash,
            output_length: self.output_length,
            result_digest: self.result_digest,
            error_digest: self.error_digest,
            error_kind: self.error_kind,
            gain: self.gain,
            sketch: self.sketch,
            text_sketch: self.text_sketch,
            tool_calls: Count::new(1),
            ..AgentEvent::default()
        }
    }
}

/// Observes the calls of one session in their order and remembers which words were seen of late.
///
/// What it remembers is a convenience of whoever observes, not a part of the engine's state: the gain is journaled
/// with the event. One that was lost is replaced by a new one, which only finds more to be new.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Observer {
    seen: SeenWords,
}

impl Observer {
    /// Turns a raw call into the facts of its event, the gain among them.
    pub fn observe(&mut self, raw: &RawCall<'_>) -> Facts {
        let call = Call::read(raw);
        let mut facts = call.facts(raw);
        let said = Words::of(&call.said);
        match raw.output.filter(|_| !facts.flags.has(Flag::Silent)) {
            Some(output) => {
                let prose = call.is_prose() && words::is_prose(output);
                let echoes = if prose { Echoes::Count } else { Echoes::Ignore };
                facts.gain = Some(self.seen.gain(&said, &Words::of(output), echoes));
            }
            None => self.seen.add(&said, &Words::default()),
        }
        facts
    }
}

/// Turns a raw call into the facts of its event, as far as they need no memory: without the gain.
#[must_use]
pub fn observe(raw: &RawCall<'_>) -> Facts {
    Call::read(raw).facts(raw)
}

/// A command line that a call hands over, under whatever names clients give the tool and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCall {
    /// The command line.
    pub command: String,
    /// The folder that the call names, where it does.
    pub folder: Option<String>,
}

/// Everything that a call would have some shell run, as far as its words say. A tool that nobody knows may be a shell: what
/// is named as a command counts as one at every tool.
#[must_use]
pub fn shell_calls(tool: &str, args: &str) -> Vec<ShellCall> {
    let arguments = Arguments::read(args);
    let lines = lines::of(tool, &arguments);
    if lines.is_empty() {
        return Vec::new();
    }
    let folder = arguments.field(&["workdir", "cwd", "dir_path", "directory", "working_directory", "working_dir"]);
    let folder = folder.map(alloc::borrow::Cow::into_owned);
    lines.into_iter().map(|command| ShellCall { command, folder: folder.clone() }).collect()
}

/// A raw call with its arguments read.
struct Call<'a> {
    arguments: Arguments<'a>,
    kind: ToolKind,
    name: Name,
    /// All texts of the arguments, one after the other.
    said: String,
}

impl<'a> Call<'a> {
    fn read(raw: &RawCall<'a>) -> Self {
        let arguments = Arguments::read(raw.args);
        let kind = kind_of(raw.tool, &arguments);
        let said = arguments.texts().join(" ");
        Self { arguments, kind, name: Name::of(raw.tool), said }
    }

    /// Whether the longest of the arguments is prose.
    fn is_prose(&self) -> bool {
        self.arguments.texts().into_iter().max_by_key(|text| text.len()).is_some_and(words::is_prose)
    }

    fn facts(&self, raw: &RawCall<'_>) -> Facts {
        let work = work_of(self.kind, &self.arguments);
        let outcome = outcome::of(raw, self.kind, &work);
        let action = self.action(raw);
        let mut flags = flags_of(&work, &outcome, action.target.as_ref());
        for flag in self.intentions(&work, flags, &action) {
            flags = flags.with(flag);
        }
        if flags.has(Flag::Edit) && self.edits_only_text(&work, raw.workspace_root) {
            flags = flags.with(Flag::Text);
        }
        if self.is_silent(raw, &outcome) {
            flags = flags.with(Flag::Silent);
        }
        let mut facts = Facts {
            action,
            outcome,
            flags,
            result_digest: None,
            error_digest: None,
            error_kind: None,
            gain: None,
            output_hash: None,
            sketch: None,
            text_sketch: raw.text.and_then(|text| sketch_of(text, Volatility::Output)),
            output_length: Tokens::ZERO,
        };
        if let Some(output) = raw.output {
            self.describe(&mut facts, raw, output, &work);
        }
        facts
    }

    /// What the output says.
    fn describe(&self, facts: &mut Facts, raw: &RawCall<'_>, output: &str, work: &Work) {
        let mut normal = normal::normal_bytes(output, Volatility::Output);
        facts.sketch = minhash::sketch(&normal);
        if facts.outcome.status == Status::Error && !normal.is_empty() {
            facts.error_digest = Some(digest::of(&normal::mask_digits(&normal)));
            facts.error_kind = Some(error_kind::of(output, &self.said));
            // A failing poll shows in its other numbers that something moves: they stay in the result.
            normal = position::masked(&normal);
        }
        // Recursive searches list files in whatever order the disk gives them.
        let digest = if work.marks.has(Mark::Unordered) { digest::of_lines } else { digest::of };
        let result = digest(&normal);
        facts.result_digest = Some(match raw.whole {
            Some(whole) => digest::of(alloc::format!("{result} {whole}").as_bytes()),
            None => result,
        });
        facts.output_hash = Some(digest::of(output.as_bytes()));
        facts.output_length = Tokens::new(u64::try_from(output.chars().count()).unwrap_or(u64::MAX));
    }

    fn action(&self, raw: &RawCall<'_>) -> Action {
        let canonical = self.arguments.canonical();
        let path = match self.kind {
            ToolKind::Shell => None,
            ToolKind::Edit | ToolKind::Read | ToolKind::Search | ToolKind::Plan | ToolKind::Wait | ToolKind::Other => {
                self.arguments.path()
            }
        };
        Action {
            args_digest: Some(digest::of(canonical.as_bytes())),
            args_shape: Some(digest::of(&normal::mask_digits(canonical.as_bytes()))),
            args_sketch: if self.is_prose() { Words::of(&self.said).sketch() } else { None },
            signature: Some(signature::signature(raw.tool, self.kind, &self.arguments, raw.workspace_root)),
            target: path.map(|path| Label::cut(&signature::target(&path, raw.workspace_root))),
            tool: Label::cut(raw.tool),
            turn_id: None,
            kind: None,
        }
    }

    /// What the call was for, whether or not it came to it: the loop rules count attempts.
    fn intentions(&self, work: &Work, flags: Flags, action: &Action) -> impl Iterator<Item = Flag> {
        let changed = flags.has(Flag::Edit) || flags.has(Flag::Install);
        let asks = self.name.asks() && action.args_sketch.is_some() && !self.said.contains("://");
        let waits = self.name.waits();
        [(Flag::Change, !changed && self.changes(work)), (Flag::Ask, asks), (Flag::Wait, waits)]
            .into_iter()
            .filter_map(|(flag, holds)| holds.then_some(flag))
    }

    /// Whether the call was meant to change something.
    fn changes(&self, work: &Work) -> bool {
        /// How code writes files, and how patches begin.
        const WRITES: [&str; 6] =
            [".write(", "write_text(", "writeFile", "+++ b/", "*** Begin Patch", "*** Update File"];
        if work.flags.has(Flag::Edit) || work.flags.has(Flag::Install) {
            return true;
        }
        let command = self.arguments.command();
        if command.as_deref().is_some_and(|command| WRITES.iter().any(|mark| command.contains(mark))) {
            return true;
        }
        match self.kind {
            ToolKind::Other if self.name.runs() => command.is_some_and(|command| {
                let work = work::of_command(&command);
                work.flags.has(Flag::Edit) || work.flags.has(Flag::Install)
            }),
            ToolKind::Other => self.name.changes() && !self.looks(),
            ToolKind::Shell | ToolKind::Edit | ToolKind::Read | ToolKind::Search | ToolKind::Plan | ToolKind::Wait => {
                false
            }
        }
    }

    /// Whether an edit changed plain text and nothing else; an edit whose files are not named may be one of code.
    fn edits_only_text(&self, work: &Work, root: Option<&str>) -> bool {
        /// Under these names a tool that moves files hands over where to.
        const ELSEWHERE: [&str; 6] = ["destination", "dest", "new_path", "newPath", "to", "target"];
        match self.kind {
            ToolKind::Shell => !work.marks.has(Mark::Code),
            ToolKind::Edit if self.arguments.field(&ELSEWHERE).is_some() => false,
            ToolKind::Edit => {
                let removed = self.said.lines().filter_map(|line| line.strip_prefix("--- a/"));
                let mut files: Vec<String> = self.arguments.path().into_iter().map(Cow::into_owned).collect();
                files.extend(nature::patched(&self.said).chain(removed).map(ToOwned::to_owned));
                !files.is_empty() && files.iter().all(|path| text_files::is_plain_text(&signature::target(path, root)))
            }
            ToolKind::Read | ToolKind::Search | ToolKind::Plan | ToolKind::Wait | ToolKind::Other => false,
        }
    }

    /// Whether a tool that could change something was asked to look.
    fn looks(&self) -> bool {
        let mode = self.arguments.field(&["command", "action", "mode", "operation"]);
        mode.is_some_and(|mode| tools::is_view(&mode))
    }

    /// Whether nothing came back: no output and no word of its end, or a message that was written down as its own
    /// result.
    fn is_silent(&self, raw: &RawCall<'_>, outcome: &Outcome) -> bool {
        match raw.output {
            None => raw.error.is_none() && raw.exit_code.is_none(),
            Some(output) => {
                /// A shorter answer may be what was asked for by chance.
                const MESSAGE_WORDS_MIN: usize = 3;
                let long = output.split_ascii_whitespace().nth(MESSAGE_WORDS_MIN.saturating_sub(1)).is_some();
                long && outcome.status == Status::Ok && starts_with_words(&self.said, output)
            }
        }
    }
}

/// Whether a text starts with another, whatever the white space between the words.
fn starts_with_words(text: &str, start: &str) -> bool {
    let mut words = text.split_ascii_whitespace();
    let mut expected = start.split_ascii_whitespace().peekable();
    while let Some(word) = expected.next() {
        let found = words.next();
        let same = if expected.peek().is_none() {
            found.is_some_and(|found| found.starts_with(word))
        } else {
            found == Some(word)
        };
        if !same {
            return false;
        }
    }
    true
}

/// The similarity sketch of a text; none of a text that is empty once its volatile parts are gone.
#[must_use]
pub fn sketch_of(text: &str, volatility: Volatility) -> Option<Sketch> {
    minhash::sketch(&normal::normal_bytes(text, volatility))
}

fn kind_of(tool: &str, arguments: &Arguments<'_>) -> ToolKind {
    let kind = tools::kind(tool);
    let looks = || arguments.field(&["command", "action"]).is_some_and(|command| tools::is_view(&command));
    if kind == ToolKind::Edit && looks() { ToolKind::Read } else { kind }
}

fn work_of(kind: ToolKind, arguments: &Arguments<'_>) -> Work {
    let with = |flag: Option<Flag>| Work {
        flags: flag.map_or_else(Flags::default, |flag| Flags::default().with(flag)),
        proof: None,
        // A search lists what it found in whatever order.
        marks: if flag == Some(Flag::Search) { Marks::default().with(Mark::Unordered) } else { Marks::default() },
    };
    match kind {
        ToolKind::Shell => arguments.command().map_or_else(|| with(None), |command| work::of_command(&command)),
        ToolKind::Edit => with(Some(Flag::Edit)),
        ToolKind::Read => with(Some(Flag::Read)),
        ToolKind::Search => with(Some(Flag::Search)),
        ToolKind::Plan => with(Some(Flag::Plan)),
        ToolKind::Wait => with(Some(Flag::Wait)),
        ToolKind::Other => with(None),
    }
}

/// The flags that hold once the outcome is known: what failed has changed nothing, what never ran has tested nothing.
fn flags_of(work: &Work, outcome: &Outcome, target: Option<&Label>) -> Flags {
    let ran = match outcome.error_class {
        Some(ErrorClass::CouldNotRun | ErrorClass::Refused) => false,
        Some(ErrorClass::Timeout | ErrorClass::NonZeroExit | ErrorClass::Tool | ErrorClass::Infrastructure) | None => {
            true
        }
    };
    let failed = outcome.status == Status::Error;
    // `sed -i … && cargo test` that fails in the tests has edited all the same.
    let edited = !failed || (ran && work.marks.has(Mark::EditFirst) && outcome.test == Some(TestResult::Failed));
    let holds = |flag: Flag| match flag {
        Flag::Edit => edited,
        Flag::Install | Flag::Docs => !failed,
        Flag::Test => ran,
        Flag::Build | Flag::Read | Flag::Search | Flag::Plan | Flag::Wait => true,
        // Set by what the call was for, not by what it did.
        Flag::Change | Flag::Ask | Flag::Silent | Flag::Text | Flag::Touched => false,
    };
    let mut flags = Flags::default();
    for (flag, _) in Flag::ALL {
        if work.flags.has(flag) && holds(flag) {
            flags = flags.with(flag);
        }
    }
    if flags.has(Flag::Edit) && target.is_some_and(|target| is_documentation(target.as_str())) {
        flags = flags.with(Flag::Docs);
    }
    flags
}

fn is_documentation(path: &str) -> bool {
    const ENDS: [&str; 5] = [".md", ".mdx", ".rst", ".adoc", ".txt"];
    let lower = path.to_ascii_lowercase();
    let in_docs = lower.split('/').any(|part| matches!(part, "docs" | "doc"));
    let code = [".rs", ".py", ".js", ".ts", ".go", ".java"].iter().any(|end| lower.ends_with(end));
    ENDS.iter().any(|end| lower.ends_with(end)) || (in_docs && !code)
}

#[cfg(test)]
mod tests;
