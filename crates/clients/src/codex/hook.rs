//! Codex CLI's dialect, as measured on the real client.
//!
//! A refusal before a tool is a bare deny: with `continue: false` or `stopReason` beside it the client drops the whole
//! answer and runs the command. No hook ends a turn here; the supervisor does. After a tool, `decision: "block"` puts
//! its reason in the place of the result.

use super::transcript::without_frame;
use crate::hooks::answer::Turn;
use crate::hooks::dialect::{AfterTool, CallIds, ContextEvents, HookDialect, Shortening, StepSource, TurnEnd};
use crate::hooks::event::Event;
use crate::hooks::reply::{HookError, Reply};
use crate::hooks::wire::{HookInput, text};
use serde_json::json;

/// The dialect of its hooks.
pub(super) static HOOKS: HookDialect = HookDialect {
    event,
    reports: &[
        "Stop",
        "SubagentStop",
        "SubagentStart",
        "SessionStart",
        "SessionEnd",
        "PreCompact",
        "PostCompact",
        "Interrupt",
    ],
    deny,
    block: "block",
    after_tool: AfterTool::ReplacesResult,
    shortens: Shortening::ByReason,
    context: ContextEvents {
        before_tool: Some("PreToolUse"),
        prompt: "UserPromptSubmit",
        agent_start: Some("SubagentStart"),
    },
    project_variables: &[],
    step_source: StepSource::Transcript,
    call_ids: CallIds::Shared,
    idle_arguments,
    turn_end: TurnEnd::ByEndingTheClient,
    announces: |tool| super::transcript::GUARDED.contains(&tool),
    shows_run: super::transcript::shows_run,
    agent_transcript: |_, _| None,
};

/// Arguments that do not change what a tool does; of its shell tools only the command is told.
fn idle_arguments(tool: &str) -> &'static [&'static str] {
    match tool {
        "write_stdin" => &["yield_time_ms", "max_output_tokens"],
        "Bash" | "exec_command" | "shell" | "shell_command" | "local_shell" => {
            &["yield_time_ms", "max_output_tokens", "timeout_ms", "timeout", "justification", "login"]
        }
        "update_plan" => &["explanation"],
        "read_file" => &["limit"],
        _ => &[],
    }
}

/// What an event means.
fn event(wire: &HookInput<'_>) -> Result<Event, HookError> {
    Ok(match wire.hook_event_name.as_ref() {
        "PreToolUse" => Event::Asked(wire.tool()?),
        // The client does not say whether a command failed; its rollout and the text itself do.
        "PostToolUse" => wire.done(without_frame(text(wire.tool_response)))?,
        "UserPromptSubmit" => Event::Prompt,
        "Stop" => wire.claimed(),
        "SessionStart" => wire.started(),
        "SessionEnd" => Event::SessionEnded,
        "SubagentStart" => Event::AgentStarted,
        "SubagentStop" => Event::AgentEnded,
        "PreCompact" => Event::Compacting,
        "PostCompact" => Event::Compacted,
        _ => Event::Other,
    })
}

fn deny(reason: &str, _turn: Turn) -> Reply {
    Reply::json(&json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason,
    }}))
}
