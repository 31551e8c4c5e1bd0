//! `shell`: a command line in the sandbox. Its errors reach the model word for word, its deadline holds (RUN-2, BOX-1).

use super::error::ToolError;
use super::relative::relative;
use super::tool::{TEXT_BYTES_MAX, Tool, ToolDone, ToolEnd, Unfit, Verbatim, World};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;
use tripwire_core::chain::event::ErrorClass;
use tripwire_core::chain::gate::Permit;
use tripwire_core::input::Permission;
use tripwire_session::execution::{CommandEnd, ExecutionError, Stream, Work};
use tripwire_session::memory::{MemoryStore, Visibility};

/// The most bytes of one stream that are shown.
const STREAM_BYTES_MAX: usize = TEXT_BYTES_MAX / 2;
/// Of a long stream so much is shown from its beginning; the rest from its end, where results stand.
const HEAD_BYTES: usize = STREAM_BYTES_MAX / 4;

pub(crate) struct Shell;

/// Arguments of `shell`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShellArguments {
    /// The command line. It runs in the workspace, without a terminal and without input.
    command: String,
    /// End it after so many milliseconds; the session's own limit holds as well.
    #[serde(default)]
    timeout_ms: Option<u64>,
}

/// Result of `shell`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Output {
    /// The exit code, if the command ended by itself.
    exit_code: Option<i32>,
    /// How it ended.
    end: HowEnded,
    /// Whether its time was over.
    timed_out: bool,
    /// What it wrote to its standard output; paths are relative to the workspace.
    stdout: String,
    /// What it wrote to its standard error.
    stderr: String,
    /// How many bytes it wrote to its standard output in truth.
    stdout_bytes: u64,
    /// How many bytes it wrote to its standard error in truth.
    stderr_bytes: u64,
    /// Where all of a cut standard output is kept; `recall` shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout_pointer: Option<String>,
    /// Where all of a cut standard error is kept; `recall` shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr_pointer: Option<String>,
    /// What else happened: a signal, a spent budget, planted files that were put out of action.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum HowEnded {
    Exited,
    Signaled,
    TimedOut,
    Interrupted,
    OverBudget,
}

impl Tool for Shell {
    const NAME: &'static str = "shell";
    const ABOUT: &'static str = "Run a command line in a sandbox: files of the workspace only, no network but to \
        hosts that a person allowed, bounded time and memory, a fixed environment. Everything that it started ends with it.";
    type Arguments = ShellArguments;
    type Result = Output;

    fn check(arguments: &ShellArguments) -> Result<(), Unfit> {
        let unfit = |path, why: &str| Err(Unfit { path, why: why.to_owned() });
        if arguments.command.trim().is_empty() {
            return unfit("/command", "it is empty");
        }
        if arguments.command.contains('\0') {
            return unfit("/command", "it holds a zero byte");
        }
        if arguments.timeout_ms == Some(0) {
            return unfit("/timeout_ms", "it must be at least 1");
        }
        Ok(())
    }

    fn needs(_: &ShellArguments, _: &MemoryStore) -> Vec<Permission> {
        vec![Permission::CanExecuteTasks]
    }

    fn run(permit: Permit, arguments: &ShellArguments, world: &mut World<'_>) -> Result<ToolDone<Output>, ToolError> {
        let asked = arguments.timeout_ms.map_or(Duration::MAX, Duration::from_millis);
        let time_limit = world.time_left(asked.min(world.limits.command_time));
        if time_limit.is_zero() {
            world.spend(permit).map(drop)?;
            return Err(ToolError::Execution(ExecutionError::NotStarted { limit_ms: 0 }));
        }
        let command = [program(), "-c", &arguments.command].map(str::to_owned).to_vec();
        let work = Work { action: world.action, command, time_limit };
        let executed = world.executor.execute(permit, &work).map_err(ToolError::Execution)?;
        let mut notes = notes(executed.end, time_limit, &executed.planted);
        let stdout = StreamView::of(&executed.stdout, "stdout", world, &mut notes);
        let stderr = StreamView::of(&executed.stderr, "stderr", world, &mut notes);
        let observed = match (stdout.whole.as_str(), stderr.whole.as_str()) {
            (out, "") => out.to_owned(),
            ("", err) => err.to_owned(),
            (out, err) => format!("{out}\n{err}"),
        };
        let verbatim = [(stdout.differs, "stdout", executed.stdout), (stderr.differs, "stderr", executed.stderr)];
        let output = Output {
            exit_code: match executed.end {
                CommandEnd::Exited(code) => Some(code),
                CommandEnd::Signaled(_)
                | CommandEnd::TimedOut
                | CommandEnd::Interrupted
                | CommandEnd::OverBudget(_) => None,
            },
            end: how(executed.end),
            timed_out: executed.end == CommandEnd::TimedOut,
            stdout: stdout.shown,
            stderr: stderr.shown,
            stdout_bytes: stdout.total,
            stderr_bytes: stderr.total,
            stdout_pointer: stdout.pointer,
            stderr_pointer: stderr.pointer,
            notes,
        };
        Ok(ToolDone {
            result: output,
            spent: executed.spent,
            observed,
            end: end(executed.end),
            verbatim: verbatim
                .into_iter()
                .filter(|(differs, _, _)| *differs)
                .map(|(_, name, stream)| Verbatim { name, bytes: stream.bytes })
                .collect(),
        })
    }
}

/// The shell that most people mean, where the system has it.
fn program() -> &'static str {
    if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" }
}

fn how(end: CommandEnd) -> HowEnded {
    match end {
        CommandEnd::Exited(_) => HowEnded::Exited,
        CommandEnd::Signaled(_) => HowEnded::Signaled,
        CommandEnd::TimedOut => HowEnded::TimedOut,
        CommandEnd::Interrupted => HowEnded::Interrupted,
        CommandEnd::OverBudget(_) => HowEnded::OverBudget,
    }
}

fn end(end: CommandEnd) -> ToolEnd {
    match end {
        CommandEnd::Exited(code) => ToolEnd::Exited(code),
        // As shells count it.
        CommandEnd::Signaled(signal) => ToolEnd::Exited(signal.saturating_add(128)),
        CommandEnd::TimedOut => ToolEnd::Broken(ErrorClass::Timeout),
        // It ran, and did not come to its end.
        CommandEnd::Interrupted | CommandEnd::OverBudget(_) => ToolEnd::Broken(ErrorClass::NonZeroExit),
    }
}

fn notes(end: CommandEnd, limit: Duration, planted: &[String]) -> Vec<String> {
    let mut notes: Vec<String> = planted.iter().map(|text| format!("planted file found: {text}")).collect();
    match end {
        CommandEnd::Exited(_) => {}
        CommandEnd::Signaled(signal) => notes.push(format!("ended by signal {signal}")),
        CommandEnd::TimedOut => {
            notes.push(format!("the command did not end within {} ms and was ended", limit.as_millis()));
        }
        CommandEnd::Interrupted => notes.push("the command was interrupted and ended".to_owned()),
        CommandEnd::OverBudget(budget) => notes.push(format!("the command spent its budget of {budget} and was ended")),
    }
    notes
}

/// One stream as the model sees it.
struct StreamView {
    /// All of it, paths relative.
    whole: String,
    /// What is shown of that.
    shown: String,
    pointer: Option<String>,
    total: u64,
    /// Whether what is shown is not exactly what was written.
    differs: bool,
}

impl StreamView {
    fn of(stream: &Stream, name: &str, world: &World<'_>, notes: &mut Vec<String>) -> Self {
        let text = String::from_utf8_lossy(&stream.bytes);
        let whole = relative(&text, world.files.names());
        let kept = u64::try_from(stream.bytes.len()).unwrap_or(u64::MAX);
        if stream.total > kept {
            notes.push(format!("only the first {kept} bytes of {name} were kept"));
        }
        let differs = whole.as_bytes() != stream.bytes.as_slice();
        if whole.len() <= STREAM_BYTES_MAX {
            return Self { shown: whole.clone(), whole, pointer: None, total: stream.total, differs };
        }
        // The pointer shows what the model would have seen; the very bytes are kept beside it.
        let (pointer, way) = match world.memory.put(whole.as_bytes(), Visibility::Public) {
            Ok(pointer) => (Some(pointer.to_string()), format!("`recall` with pointer `{pointer}` shows all")),
            Err(error) => (None, format!("the rest could not be kept: {error}")),
        };
        Self { shown: middle_cut(&whole, &way), whole, pointer, total: stream.total, differs: true }
    }
}

/// The beginning and the end of a long text, and how much is missing between them.
fn middle_cut(text: &str, way: &str) -> String {
    let head = tripwire_core::label::cut(text, HEAD_BYTES);
    let mut from = text.len().saturating_sub(STREAM_BYTES_MAX - HEAD_BYTES);
    while !text.is_char_boundary(from) {
        from = from.saturating_add(1);
    }
    let tail = text.get(from..).unwrap_or_default();
    let missing = text.len().saturating_sub(head.len()).saturating_sub(tail.len());
    format!("{head}\n[{missing} bytes are not shown; {way}]\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_1_a_long_stream_keeps_both_ends_and_says_what_is_missing() {
        let text = format!("begin{}end", "ü".repeat(40_000));
        let cut = middle_cut(&text, "way");
        assert!(cut.starts_with("begin") && cut.ends_with("end"), "{}", cut.len());
        assert!(cut.contains("bytes are not shown; way]"));
        assert!(cut.len() < STREAM_BYTES_MAX + 100);
    }
}
