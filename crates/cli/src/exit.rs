//! The exit codes, each with one meaning (SPEC §12).

use std::process::ExitCode;

/// How the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// An internal error: a defect of tripwire itself.
    Internal,
    /// Wrong usage or bad input; nothing was done with it.
    Usage,
    /// A hook refuses: the code that every client takes for a block.
    Refusal,
    /// What was to be checked does not hold: a replay that differs, a record that was changed, an expectation not met.
    DoesNotHold,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Internal => 1,
            Exit::Usage | Exit::Refusal => 2,
            Exit::DoesNotHold => 9,
        })
    }
}
