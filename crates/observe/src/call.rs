//! A raw call with its arguments read: what it was for, and how it ended.

use super::arguments::{self, Arguments, CallParts};
use super::facts::Facts;
use super::minhash::{self, sketch_of};
use super::names::Name;
use super::pages::{self, CommandWork};
use super::raw::{Neighbours, RawCall};
use super::repeated::{NewResult, RepeatedCalls, ShownResult};
use super::tools::{self, ToolKind};
use super::volatile::Volatility;
use super::words::{self, Words};
use super::work::{self, Mark, Marks, Proof, Work};
use super::{digest, error_kind, lines, normal, outcome, position, retry, screen, signature, text_files, wording};
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::OnceCell;
use tripwire_core::chain::event::{Action, ErrorClass, Flag, Flags, Outcome, Status, TestResult};
use tripwire_core::label::Label;
use tripwire_core::units::Tokens;

/// A raw call with its arguments read.
pub(super) struct Call<'a> {
    pub(super) arguments: Arguments<'a>,
    pub(super) kind: ToolKind,
    pub(super) name: Name,
    /// All texts of the arguments, one after the other.
    pub(super) said: String,
    /// Whether the longest of the arguments is prose.
    pub(super) is_prose: bool,
    /// The words of what was said, once somebody asks for them.
    words: OnceCell<Words>,
}

/// The facts of a call, and what it gave in its normal form.
pub(super) struct ObservedCall<'r> {
    pub(super) facts: Facts,
    pub(super) normal: Cow<'r, [u8]>,
}

/// What a call was for.
struct Purpose {
    work: Work,
    /// Whether it was meant to change something.
    changes: bool,
}

impl<'a> Call<'a> {
    pub(super) fn read(raw: &RawCall<'a>) -> Self {
        Self::read_without(raw, &[])
    }

    /// Reads a call without further arguments that do not matter.
    pub(super) fn read_without(raw: &RawCall<'a>, idle: &[String]) -> Self {
        let names: Vec<&str> = idle.iter().map(String::as_str).collect();
        let mut arguments = Arguments::read(raw.args).without(raw.idle).without(&names);
        let kind = kind_of(raw.tool, &arguments);
        if kind == ToolKind::Shell {
            arguments.squeeze_command();
        }
        let texts = arguments.texts();
        let said = texts.join(" ");
        let is_prose = texts.into_iter().max_by_key(|text| text.len()).is_some_and(words::is_prose);
        Self { arguments, kind, name: Name::of(raw.tool), said, is_prose, words: OnceCell::new() }
    }

    /// The words of all texts of the arguments.
    pub(super) fn words(&self) -> &Words {
        self.words.get_or_init(|| Words::of(&self.said))
    }

    pub(super) fn facts<'r>(&self, raw: &RawCall<'r>, memory: Option<&mut RepeatedCalls>) -> ObservedCall<'r> {
        let parts = CallParts::of(self.kind, &self.arguments);
        let work = self.shell_work(raw, parts.command.as_deref());
        let purpose = Purpose { changes: self.changes(&work, parts.command.as_deref()), work };
        let outcome = outcome::of(raw, self.kind, &work);
        let action = self.action(raw, &parts, self.command_work(&purpose));
        let mut flags = flags_of(&work, &outcome, action.target.as_ref());
        for flag in self.intentions(&purpose, flags, &action) {
            flags = flags.with(flag);
        }
        if flags.has(Flag::Edit) && self.edits_only_text(&work, &parts, raw.workspace_root) {
            flags = flags.with(Flag::Text);
        }
        if self.is_silent(raw, &outcome) {
            flags = flags.with(Flag::Silent);
        }
        // A command line can sleep before it looks; another tool can only be asked again.
        let asks_again = self.kind == ToolKind::Other && outcome.status == Status::Ok;
        if asks_again && raw.output.is_some_and(screen::tells_of_waiting) {
            flags = flags.with(Flag::Wait);
        }
        if raw.text.is_some_and(retry::tells) {
            flags = flags.with(Flag::Retry);
        }
        let mut facts = Facts {
            action,
            outcome,
            flags,
            result_digest: None,
            error_digest: None,
            error_kind: None,
            error_text: None,
            gain: None,
            ignored: None,
            output_hash: None,
            sketch: None,
            text_sketch: raw.text.and_then(|text| sketch_of(text, Volatility::Output)),
            output_length: Tokens::ZERO,
        };
        let mut normal = Cow::Borrowed(&[][..]);
        if let Some(output) = raw.output {
            normal = self.describe(&mut facts, raw, output, &work);
            // Of a text that was cut off nothing is known but that it differs.
            if let Some(memory) = memory.filter(|_| raw.whole.is_none()) {
                self.remember(memory, &mut facts, &normal);
            }
        }
        ObservedCall { facts, normal }
    }

    /// What the output says; gives its normal form.
    fn describe<'r>(&self, facts: &mut Facts, raw: &RawCall<'r>, output: &'r str, work: &Work) -> Cow<'r, [u8]> {
        let mut normal = normal::normal_answer(output, Volatility::Output, &self.said);
        let compared = raw.neighbours == Neighbours::Compared;
        facts.sketch = compared.then(|| minhash::sketch(&normal)).flatten();
        if facts.outcome.status == Status::Error && !normal.is_empty() {
            let text = String::from_utf8_lossy(&normal);
            let masked = position::masked(&normal);
            facts.error_digest = error_digest(&text, &masked, raw.whole);
            let kind = error_kind::of(&text, self.words());
            // Where only the beginning is known, two errors are of one kind only if their wholes are the same.
            facts.error_kind = Some(match raw.whole {
                Some(whole) => digest::of(alloc::format!("{kind} {whole}").as_bytes()),
                None => kind,
            });
            facts.error_text = wording::error(output, raw.workspace_root);
            // A failing poll shows in its other numbers that something moves: they stay in the result.
            normal = Cow::Owned(masked);
        }
        let output_hash = compared.then(|| digest::of(output.as_bytes()));
        let result = if work.marks.has(Mark::Unordered) {
            // Recursive searches list files in whatever order the disk gives them.
            digest::of_lines(&normal)
        } else {
            // Where nothing but an id or a time came back, that is the answer.
            let whole = facts.outcome.status == Status::Ok && normal::is_only_markers(&normal);
            if whole {
                normal = Cow::Borrowed(output.as_bytes());
            }
            let same = output_hash.as_ref().filter(|_| normal.as_ref() == output.as_bytes());
            same.cloned().unwrap_or_else(|| digest::of(&normal))
        };
        let result = match raw.whole {
            Some(whole) => digest::of(alloc::format!("{result} {whole}").as_bytes()),
            None => result,
        };
        // What a command says in one folder says nothing of another.
        facts.result_digest = Some(match raw.folder.filter(|_| self.kind == ToolKind::Shell) {
            Some(folder) => digest::of(alloc::format!("{result} in {folder}").as_bytes()),
            None => result,
        });
        facts.output_hash = output_hash;
        facts.output_length = Tokens::new(u64::try_from(output.chars().count()).unwrap_or(u64::MAX));
        normal
    }

    /// Shows a result as the one before it, if it differs only in what changes at every repetition of the call.
    fn remember(&self, memory: &mut RepeatedCalls, facts: &mut Facts, normal: &[u8]) {
        let (Some(result), Some(arguments)) = (facts.result_digest.clone(), &facts.action.args_digest) else { return };
        let (tool, said) = (facts.action.tool.as_str(), self.said.as_str());
        let own = ShownResult { result, error: facts.error_digest.clone(), kind: facts.error_kind.clone() };
        let new = NewResult { tool, arguments: arguments.as_str(), said, normal };
        let (shown, ignored) = memory.shown(&new, own);
        facts.result_digest = Some(shown.result);
        facts.error_digest = shown.error;
        facts.error_kind = shown.kind;
        facts.ignored = ignored;
    }

    /// What the numbers of a command line say: only of one that reads they may be pages.
    fn command_work(&self, purpose: &Purpose) -> CommandWork {
        let reads = purpose.work.flags.has(Flag::Read) || purpose.work.flags.has(Flag::Search);
        match self.kind {
            ToolKind::Shell if reads && !purpose.changes => CommandWork::Reads,
            ToolKind::Shell => CommandWork::Other,
            ToolKind::Edit | ToolKind::Read | ToolKind::Search | ToolKind::Plan | ToolKind::Wait | ToolKind::Other => {
                CommandWork::None
            }
        }
    }

    fn action(&self, raw: &RawCall<'_>, parts: &CallParts<'_>, command: CommandWork) -> Action {
        let canonical = self.arguments.canonical();
        let path = match self.kind {
            ToolKind::Shell => None,
            ToolKind::Edit | ToolKind::Read | ToolKind::Search | ToolKind::Plan | ToolKind::Wait | ToolKind::Other => {
                parts.path.as_deref()
            }
        };
        let args_digest = digest::of(canonical.as_bytes());
        let shape = canonical.bytes().any(|byte| byte.is_ascii_digit());
        let shape = shape.then(|| pages::shape(&self.arguments, &canonical, command)).flatten();
        let args_shape = shape.map_or_else(|| args_digest.clone(), |shape| digest::of(shape.as_bytes()));
        Action {
            args_digest: Some(args_digest),
            args_shape: Some(args_shape),
            args_sketch: if self.is_prose { self.words().sketch() } else { None },
            signature: Some(signature::signature(raw.tool, self.kind, parts, raw.workspace_root)),
            target: path.map(|path| Label::cut(&signature::target(path, raw.workspace_root))),
            tool: Label::cut(raw.tool),
            turn_id: None,
            kind: None,
            words: Some(wording::call(raw.tool, self.kind, parts, raw.workspace_root)),
        }
    }

    /// What the call's command does. One that was sent into the background has no end that could speak for its tests.
    fn shell_work(&self, raw: &RawCall<'_>, command: Option<&str>) -> Work {
        /// Under these names clients send a command into the background.
        const BACKGROUND: [&str; 3] = ["run_in_background", "is_background", "background"];
        let mut work = match (self.kind, command, raw.test_command) {
            (ToolKind::Shell, Some(command), Some(tests)) => work::of_command_in(command, tests),
            (kind, command, _) => work_of(kind, command),
        };
        if self.arguments.is_on(&BACKGROUND) {
            work.proof = work.proof.map(|proof| proof.min(Proof::Hidden));
        }
        work
    }

    /// What the call was for, whether or not it came to it: the loop rules count attempts.
    fn intentions(&self, purpose: &Purpose, flags: Flags, action: &Action) -> impl Iterator<Item = Flag> {
        let changed = flags.has(Flag::Edit) || flags.has(Flag::Install);
        let asks = self.name.asks() && action.args_sketch.is_some() && !self.said.contains("://");
        let looks = (self.name.waits() || self.name.types()) && !self.runs_something();
        let waits = self.kind != ToolKind::Shell && (looks || self.pauses());
        let changes = !changed && purpose.changes;
        [(Flag::Change, changes), (Flag::Ask, asks), (Flag::Wait, waits), (Flag::Spawn, self.name.spawns())]
            .into_iter()
            .filter_map(|(flag, holds)| holds.then_some(flag))
    }

    /// Whether a tool that nobody has listed was told to wait, by an argument or by its code.
    fn pauses(&self) -> bool {
        const CODE: [&str; 4] = ["time.sleep(", "asyncio.sleep(", "setTimeout(", "Thread.sleep("];
        const ARGUMENTS: [&str; 6] = ["wait", "wait_seconds", "wait_ms", "wait_for", "wait_until", "delay_seconds"];
        self.kind == ToolKind::Other
            && (CODE.iter().any(|mark| self.said.contains(mark)) || self.arguments.is_given(&ARGUMENTS))
    }

    /// Whether the arguments hold a command, or something to type into a program that runs.
    fn runs_something(&self) -> bool {
        !lines::given(self.name.types(), &self.arguments).is_empty()
    }

    /// Whether the call was meant to change something.
    pub(super) fn changes(&self, work: &Work, command: Option<&str>) -> bool {
        /// How code writes files, and how patches begin.
        const WRITES: [&str; 6] =
            [".write(", "write_text(", "writeFile", "+++ b/", "*** Begin Patch", "*** Update File"];
        if work.flags.has(Flag::Edit) || work.flags.has(Flag::Install) {
            return true;
        }
        if command.is_some_and(|command| WRITES.iter().any(|mark| command.contains(mark))) {
            return true;
        }
        match self.kind {
            ToolKind::Other if self.name.runs() => command.is_some_and(|command| {
                let work = work::of_command(command);
                work.flags.has(Flag::Edit) || work.flags.has(Flag::Install)
            }),
            // What is typed into a program that runs is a command to it.
            ToolKind::Other => self.name.changes() && !self.name.types() && !self.looks(),
            ToolKind::Shell | ToolKind::Edit | ToolKind::Read | ToolKind::Search | ToolKind::Plan | ToolKind::Wait => {
                false
            }
        }
    }

    /// Whether an edit changed plain text and nothing else; an edit whose files are not named may be one of code.
    fn edits_only_text(&self, work: &Work, parts: &CallParts<'_>, root: Option<&str>) -> bool {
        /// Under these names a tool that moves files hands over where to.
        const ELSEWHERE: [&str; 6] = ["destination", "dest", "new_path", "newPath", "to", "target"];
        match self.kind {
            ToolKind::Shell => !work.marks.has(Mark::Code),
            ToolKind::Edit if self.arguments.field(&ELSEWHERE).is_some() => false,
            ToolKind::Edit => {
                let removed = self.said.lines().filter_map(|line| line.strip_prefix("--- a/"));
                let mut files = parts.path.as_deref().into_iter().chain(arguments::patched(&self.said)).chain(removed);
                let is_text = |path: &str| text_files::is_plain_text(&signature::target(path, root));
                files.next().is_some_and(is_text) && files.all(is_text)
            }
            ToolKind::Read | ToolKind::Search | ToolKind::Plan | ToolKind::Wait | ToolKind::Other => false,
        }
    }

    /// Whether a tool that could change something was asked to look.
    fn looks(&self) -> bool {
        let mode = self.arguments.field(&["command", "action", "mode", "operation"]);
        mode.is_some_and(|mode| tools::is_view(&mode))
    }

    /// Whether nothing came back: no output and no word of its end; a message that was written down as its own result; a
    /// picture, of which the text says only that there is one; or the "ok" of a key or a click, whose effect is on a screen.
    fn is_silent(&self, raw: &RawCall<'_>, outcome: &Outcome) -> bool {
        let on_screen =
            |output: &str| self.kind == ToolKind::Other && self.name.is_on_screen() && screen::is_nod(output);
        match raw.output {
            None => raw.error.is_none() && raw.exit_code.is_none(),
            Some(output) => {
                let says_nothing = screen::is_picture(output) || on_screen(output);
                outcome.status == Status::Ok && (says_nothing || is_own_message(&self.said, output))
            }
        }
    }
}

/// Whether an output is the message itself, from its beginning: all of it, but for a last word that was cut and a short line
/// behind it that tells how long it took.
fn is_own_message(said: &str, output: &str) -> bool {
    /// A shorter answer may be what was asked for by chance.
    const MESSAGE_WORDS_MIN: usize = 3;
    /// A message that is followed by something else must be longer to be sure.
    const LONG_WORDS_MIN: usize = 8;
    let mut words = said.split_ascii_whitespace();
    let mut expected = output.split_ascii_whitespace().peekable();
    let mut same = 0_usize;
    while let Some(word) = expected.next() {
        let found = words.next();
        let is_last = expected.peek().is_none();
        let is_same = found == Some(word) || (is_last && found.is_some_and(|found| found.starts_with(word)));
        if !is_same {
            if same < LONG_WORDS_MIN {
                return false;
            }
            let behind = output.lines().next_back().unwrap_or_default();
            let counted = expected.count().saturating_add(1) == behind.split_ascii_whitespace().count();
            let timed = || normal::normalise(behind, Volatility::Output).contains("<dur>");
            return counted && timed();
        }
        same = same.saturating_add(1);
    }
    same >= MESSAGE_WORDS_MIN
}

/// The digest of an error: its text without positions. Where only the beginning is known, two errors are one only if their
/// wholes are. A text that tells the exit status and nothing else says nothing.
fn error_digest(normal: &str, masked: &[u8], whole: Option<&str>) -> Option<Label> {
    /// A longer text says something.
    const STATUS_BYTES: usize = 80;
    /// Words around an exit status.
    const STATUS: [&str; 10] =
        ["exit", "exited", "code", "status", "process", "command", "with", "failed", "returned", "error"];
    let is_status = |word: &str| {
        STATUS.iter().any(|known| known.eq_ignore_ascii_case(word)) || word.bytes().all(|byte| byte.is_ascii_digit())
    };
    if normal.len() < STATUS_BYTES && normal.contains(|c: char| c.is_ascii_digit()) {
        let mut words = normal.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        if words.all(is_status) {
            return None;
        }
    }
    Some(match whole {
        Some(whole) => digest::of(&[masked, whole.as_bytes()].concat()),
        None => digest::of(masked),
    })
}

fn kind_of(tool: &str, arguments: &Arguments<'_>) -> ToolKind {
    let kind = tools::kind(tool);
    let looks = || arguments.field(&["command", "action"]).is_some_and(|command| tools::is_view(&command));
    match kind {
        ToolKind::Edit if looks() => ToolKind::Read,
        // What types into a program that runs only waits if it types nothing.
        ToolKind::Wait if !lines::given(Name::of(tool).types(), arguments).is_empty() => ToolKind::Other,
        ToolKind::Edit
        | ToolKind::Shell
        | ToolKind::Read
        | ToolKind::Search
        | ToolKind::Plan
        | ToolKind::Wait
        | ToolKind::Other => kind,
    }
}

pub(super) fn work_of(kind: ToolKind, command: Option<&str>) -> Work {
    let with = |flag: Option<Flag>| Work {
        flags: flag.map_or_else(Flags::default, |flag| Flags::default().with(flag)),
        proof: None,
        // A search lists what it found in whatever order.
        marks: if flag == Some(Flag::Search) { Marks::default().with(Mark::Unordered) } else { Marks::default() },
    };
    match kind {
        ToolKind::Shell => command.map_or_else(|| with(None), work::of_command),
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
        Flag::Change | Flag::Ask | Flag::Silent | Flag::Text | Flag::Touched | Flag::Spawn | Flag::Retry => false,
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
