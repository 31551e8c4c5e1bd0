//! What a call is about to do, as far as its words say: the question of a door before the call runs.
//!
//! Unlike the facts of an event this keeps paths and commands as they are, because permissions are about them. What is
//! not understood is [`Doing::Unknown`], and a door treats that as the most it could be.

use super::arguments::patched;
use super::call::{Call, work_of};
use super::raw::RawCall;
use super::tools::{self, ToolKind};
use super::{lines, signature, work};
use alloc::string::String;
use alloc::vec::Vec;
use tripwire_core::chain::event::Flag;

/// What a call does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// It only looks, plans or waits.
    Looks,
    /// It changes the files that are named.
    Edits,
    /// It runs a command line that is not seen to change files.
    Runs,
    /// It runs a command line that changes files.
    RunsAndEdits,
    /// Nobody knows.
    Unknown,
}

/// What a call is about to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nature {
    /// What it does.
    pub doing: Doing,
    /// The paths that it names, relative to the workspace where they are inside; empty if it names none.
    pub targets: Vec<String>,
}

/// Reads what a call is about to do.
#[must_use]
pub fn nature(raw: &RawCall<'_>) -> Nature {
    let call = Call::read(raw);
    let lines = match tools::kind(raw.tool) {
        // What an editor calls a command is the name of an edit.
        ToolKind::Edit => Vec::new(),
        ToolKind::Shell | ToolKind::Read | ToolKind::Search | ToolKind::Plan | ToolKind::Wait | ToolKind::Other => {
            lines::of(raw.tool, &call.arguments)
        }
    };
    let edits = |line: &String| {
        let work = work::of_command(line);
        work.flags.has(Flag::Edit) || work.flags.has(Flag::Install)
    };
    let command = call.arguments.command();
    // A shell's own command is read once.
    let is_read = |line: &&String| call.kind == ToolKind::Shell && command.as_deref() == Some(line.as_str());
    let changes = call.changes(&work_of(call.kind, command.as_deref()), command.as_deref())
        || lines.iter().filter(|line| !is_read(line)).any(edits);
    let doing = match call.kind {
        ToolKind::Edit => Doing::Edits,
        ToolKind::Shell if changes => Doing::RunsAndEdits,
        ToolKind::Shell => Doing::Runs,
        // A tool that waits by its name and has a command runs it, as Claude's `Monitor` does.
        ToolKind::Wait if !lines.is_empty() && changes => Doing::RunsAndEdits,
        ToolKind::Wait if !lines.is_empty() => Doing::Runs,
        ToolKind::Read | ToolKind::Search | ToolKind::Plan | ToolKind::Wait => Doing::Looks,
        ToolKind::Other if call.name.runs() && !lines.is_empty() && changes => Doing::RunsAndEdits,
        ToolKind::Other if call.name.runs() && !lines.is_empty() => Doing::Runs,
        ToolKind::Other if changes => Doing::Edits,
        ToolKind::Other => Doing::Unknown,
    };
    let is_line = matches!(doing, Doing::Runs | Doing::RunsAndEdits);
    let mut targets: Vec<String> =
        patched(&call.said).map(|path| signature::target(path, raw.workspace_root)).collect();
    if targets.is_empty() && !is_line {
        targets.extend(call.arguments.path().map(|path| signature::target(&path, raw.workspace_root)));
    }
    Nature { doing, targets }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tool: &str, args: &str) -> Nature {
        nature(&RawCall { tool, args, workspace_root: Some("/w"), ..RawCall::default() })
    }

    #[test]
    fn perm_1_edits_commands_and_looks_are_told_apart() {
        assert_eq!(of("Edit", r#"{"file_path":"/w/src/a.rs"}"#).targets, ["src/a.rs"]);
        assert_eq!(of("Edit", r#"{"file_path":"/w/src/a.rs"}"#).doing, Doing::Edits);
        assert_eq!(of("Read", r#"{"file_path":"/etc/passwd"}"#).doing, Doing::Looks);
        assert_eq!(of("Bash", r#"{"command":"ls"}"#).doing, Doing::Runs);
        assert_eq!(of("Bash", r#"{"command":"sed -i s/a/b/ x"}"#).doing, Doing::RunsAndEdits);
        assert_eq!(of("a_tool_of_tomorrow", "{}").doing, Doing::Unknown);
    }

    #[test]
    fn perm_1_every_file_of_a_patch_is_a_target() {
        let patch =
            r#"{"input":"*** Begin Patch\n*** Update File: a.rs\n+x\n*** Add File: docs/b.md\n+y\n*** End Patch"}"#;
        assert_eq!(of("apply_patch", patch).targets, ["a.rs", "docs/b.md"]);
    }
}
