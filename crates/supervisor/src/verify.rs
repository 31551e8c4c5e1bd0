//! The person's own test command, run by us at the end: an observed fact that no agent can talk its way around.

use crate::options::{Notifier, StderrUse};
use crate::output_tap::StderrTail;
use std::io;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};
use tripwire_core::chain::event::{AgentEvent, Flag, Flags, Outcome, Status, TestResult};
use tripwire_core::input::{Claim, What};
use tripwire_core::label::Label;
use tripwire_core::units::Count;
use tripwire_observe::{RawCall, observe};
use tripwire_sandbox::{TreeError, TreeExit, TreeSpec, TreeStdio, interrupts};

/// The longest that a test command may take, if no wall clock of the run ends before.
const TIME_MAX: Duration = Duration::from_secs(3_600);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What the test command said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verified {
    /// It exited with 0.
    Passed,
    /// It exited with this code.
    Failed(u8),
    /// It was ended by a signal, the clock or a person.
    Cut,
}

/// Where and how the command runs.
#[derive(Debug)]
pub(crate) struct TestBench<'a> {
    /// The command, for a shell.
    pub(crate) command: &'a str,
    /// Its tree, which sees and writes no more than the client's: it runs code that the agent wrote.
    pub(crate) spec: TreeSpec,
    /// Who has our standard error.
    pub(crate) stderr: StderrUse,
    /// Until when.
    pub(crate) until: Option<Instant>,
}

/// Runs the command in a tree of its own; what it says goes to the person and not into the client's output.
pub(crate) fn run(bench: TestBench<'_>, notifier: &dyn Notifier) -> Result<Verified, TreeError> {
    notifier.say(&format!("tripwire: verifies with `{}`", bench.command));
    let start = |source: io::Error| TreeError::Start { what: "hand on standard error", source };
    let (mut said, mut out) = (None, TreeStdio::Fd(io::stderr().as_fd().try_clone_to_owned().map_err(start)?));
    let mut errors = TreeStdio::Inherit;
    if bench.stderr == StderrUse::ReportOnly {
        let (reader, writer) = io::pipe().map_err(start)?;
        errors = TreeStdio::Fd(writer.try_clone().map_err(start)?.into());
        out = TreeStdio::Fd(writer.into());
        said = Some(StderrTail::start(reader).map_err(start)?);
    }
    let mut tree = bench.spec.stdio(TreeStdio::Null, out, errors).start()?;
    let until = bench.until.unwrap_or_else(|| Instant::now() + TIME_MAX);
    let exit = loop {
        match tree.wait(LOOK_EVERY)? {
            Some(exit) => break Some(exit),
            None if Instant::now() >= until || interrupts::asked().is_some() => break None,
            None => {}
        }
    };
    tree.kill();
    if let Some(last) = said.and_then(StderrTail::last_line) {
        notifier.say(&format!("`{}`: {last}", bench.command));
    }
    Ok(match exit {
        Some(TreeExit::Exited(0)) => Verified::Passed,
        Some(TreeExit::Exited(code)) => Verified::Failed(code),
        Some(TreeExit::Signaled(_)) | None => Verified::Cut,
    })
}

/// The fact that the tests ran, bound to the workspace as it is now.
pub(crate) fn event(command: &str, verified: Verified, workspace_hash: Option<Label>) -> What {
    let arguments = serde_json::json!({ "command": command }).to_string();
    let facts = observe(&RawCall { tool: "Bash", args: &arguments, ..RawCall::default() });
    let (status, test, exit_code) = match verified {
        Verified::Passed => (Status::Ok, TestResult::Passed, Some(0)),
        Verified::Failed(code) => (Status::Error, TestResult::Failed, Some(i32::from(code))),
        Verified::Cut => (Status::Error, TestResult::Failed, None),
    };
    What::Event(AgentEvent {
        action: Some(facts.action),
        outcome: Some(Outcome { status, test: Some(test), exit_code, ..Outcome::default() }),
        flags: Flags::default().with(Flag::Test),
        tool_calls: Count::new(1),
        workspace_hash,
        ..AgentEvent::default()
    })
}

/// The claim, made a second time after the client's own, that the work is done, bound to the workspace as it is now.
pub(crate) const fn claim(workspace_hash: Option<Label>) -> What {
    What::Claim(Claim { closed: true, workspace_hash })
}
