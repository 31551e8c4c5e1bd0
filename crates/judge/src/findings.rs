//! What rules find in a call: the code and the programs that it would run in turn, and why it is held.

use crate::hold::Hold;
use crate::line::call::{Call, Place};
use crate::line::stream::Stream;
use crate::reading::CommandReading;
use std::path::PathBuf;

/// What the rules say about one call. A hold ends the judgement of the call: what it runs was found before.
#[derive(Default)]
pub(crate) struct Findings {
    /// What the call runs, in its order; the interpreter walks it.
    pub(crate) runs: Vec<Run>,
    /// What the call is, where the rules read it more closely than the interpreter does.
    pub(crate) commands: Vec<CommandReading>,
    pub(crate) hold: Option<Hold>,
    /// The script that all this stands in, where the run wrote one.
    pub(crate) script: Option<String>,
}

/// Something that a call runs.
pub(crate) enum Run {
    /// A text for a shell.
    Code(RunCode),
    /// A program, which no shell looks up.
    Program(Call),
    /// A program that may run, though nothing says that it will: it is read, and not judged.
    Unlikely(Call),
}

/// Code that a call hands to a shell.
pub(crate) struct RunCode {
    pub(crate) text: String,
    pub(crate) stdin: Stream,
    pub(crate) place: Place,
    /// The folders it runs in, where they are not those of the call.
    pub(crate) folders: Option<Vec<PathBuf>>,
}

impl Findings {
    /// The findings of a call that runs code in its own folder.
    pub(crate) fn of_code(text: String, call: &Call) -> Self {
        Self { runs: vec![Run::code(text, call)], ..Self::default() }
    }

    /// Adds what was found after this.
    pub(crate) fn extend(&mut self, more: Self) {
        self.runs.extend(more.runs);
        self.commands.extend(more.commands);
        self.hold = self.hold.take().or(more.hold);
        self.script = self.script.take().or(more.script);
    }
}

impl From<Option<Hold>> for Findings {
    fn from(hold: Option<Hold>) -> Self {
        Self { hold, ..Self::default() }
    }
}

impl Run {
    /// Code that reads what the call reads, in its folder.
    pub(crate) fn code(text: String, call: &Call) -> Self {
        Self::Code(RunCode { text, stdin: call.stdin.clone(), place: call.place, folders: None })
    }

    /// Code that reads nothing, in the call's folder.
    pub(crate) fn code_without_input(text: String, call: &Call) -> Self {
        Self::Code(RunCode { text, stdin: Stream::Closed, place: call.place, folders: None })
    }
}
