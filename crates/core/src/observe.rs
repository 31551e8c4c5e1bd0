//! From a raw call to the facts of an event: versioned pure functions that are called before the engine steps.
//!
//! The engine never sees a tool's arguments or output, only what is computed here: digests, a signature, flags, an
//! outcome and sketches. The journal stores these results, so that a replay does not depend on this module; a change
//! of any result is a change of [`OBSERVE_VERSION`].

mod arguments;
mod digest;
mod json;
mod minhash;
mod normal;
mod outcome;
mod programs;
mod shell;
mod signature;
mod tools;
mod verdict;
mod volatile;
mod work;

pub use normal::{Volatility, normalise};

use crate::chain::event::{Action, ErrorClass, Flag, Flags, Outcome, Status, TestResult};
use crate::label::Label;
use crate::sketch::Sketch;
use crate::units::Tokens;
use arguments::Arguments;
use tools::ToolKind;
use work::{Mark, Marks, Work};

/// The version of everything that this module computes; the golden test changes with it.
pub const OBSERVE_VERSION: u32 = 1;

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
    /// The output as it was, as a digest.
    pub output_hash: Option<Label>,
    /// A similarity sketch of the normalised output.
    pub sketch: Option<Sketch>,
    /// A similarity sketch of what the model said.
    pub text_sketch: Option<Sketch>,
    /// The output's length in characters.
    pub output_length: Tokens,
}

/// Turns a raw call into the facts of its event.
#[must_use]
pub fn observe(raw: &RawCall<'_>) -> Facts {
    let arguments = Arguments::read(raw.args);
    let kind = kind_of(raw.tool, &arguments);
    let work = work_of(kind, &arguments);
    let outcome = outcome::of(raw, kind, &work);
    let action = action_of(raw, kind, &arguments);
    let flags = flags_of(&work, &outcome, action.target.as_ref());
    let mut facts = Facts {
        action,
        outcome,
        flags,
        result_digest: None,
        error_digest: None,
        output_hash: None,
        sketch: None,
        text_sketch: raw.text.and_then(|text| sketch_of(text, Volatility::Output)),
        output_length: Tokens::ZERO,
    };
    if let Some(output) = raw.output {
        let normal = normal::normal_bytes(output, Volatility::Output);
        // Recursive searches list files in whatever order the disk gives them.
        let digest = if work.marks.has(Mark::Unordered) { digest::of_lines } else { digest::of };
        facts.result_digest = Some(digest(&normal));
        facts.error_digest =
            (outcome.status == Status::Error && !normal.is_empty()).then(|| digest::of(&normal::mask_digits(&normal)));
        facts.output_hash = Some(digest::of(output.as_bytes()));
        facts.sketch = minhash::sketch(&normal);
        facts.output_length = Tokens::new(u64::try_from(output.chars().count()).unwrap_or(u64::MAX));
    }
    facts
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

fn action_of(raw: &RawCall<'_>, kind: ToolKind, arguments: &Arguments<'_>) -> Action {
    let canonical = arguments.canonical();
    let path = match kind {
        ToolKind::Shell => None,
        ToolKind::Edit | ToolKind::Read | ToolKind::Search | ToolKind::Plan | ToolKind::Wait | ToolKind::Other => {
            arguments.path()
        }
    };
    Action {
        args_digest: Some(digest::of(canonical.as_bytes())),
        args_sketch: minhash::sketch(canonical.as_bytes()),
        signature: Some(signature::signature(raw.tool, kind, arguments, raw.workspace_root)),
        target: path.map(|path| Label::cut(&signature::target(&path, raw.workspace_root))),
        tool: Label::cut(raw.tool),
        kind: None,
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
