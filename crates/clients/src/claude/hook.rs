//! Claude Code's dialect, as measured on the real client.
//!
//! A refused call needs `permissionDecision: "deny"`; to end the turn as well it needs `continue: false` in the same
//! answer, because a denied agent keeps asking its model. `hookEventName` is mandatory, or the whole answer is thrown
//! away. A refused prompt makes no model request at all.

use crate::hooks::answer::Turn;
use crate::hooks::dialect::{AfterTool, CallIds, ContextEvents, HookDialect, StepSource, TurnEnd};
use crate::hooks::event::Event;
use crate::hooks::reply::{HookError, Reply};
use crate::hooks::wire::{HookInput, raw, text};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::path::{Path, PathBuf};

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
        "Notification",
        "MessageDisplay",
    ],
    deny,
    block: "block",
    after_tool: AfterTool::EndsTurn,
    context: ContextEvents {
        before_tool: Some("PreToolUse"),
        after_tool: "PostToolUse",
        prompt: "UserPromptSubmit",
        agent_start: Some("SubagentStart"),
    },
    project_variables: &["CLAUDE_PROJECT_DIR"],
    step_source: StepSource::Transcript,
    call_ids: CallIds::Shared,
    turn_end: TurnEnd::ByAnswer,
    agent_transcript,
};

/// What an event means. `PostCompact` tells of a compaction; `SessionStart` after one only takes the briefing.
fn event(wire: &HookInput<'_>) -> Result<Event, HookError> {
    Ok(match wire.hook_event_name.as_ref() {
        "PreToolUse" => Event::Asked(wire.tool()?),
        "PostToolUse" => wire.done(response(wire.tool_response), Some(false))?,
        "PostToolUseFailure" => wire.done(text(wire.error), Some(true))?,
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

/// What a tool gave, as text: what a command wrote, else the whole response as the client sent it.
pub(crate) fn response(response: Option<&RawValue>) -> String {
    #[derive(Deserialize)]
    struct Shell {
        stdout: String,
        #[serde(default)]
        stderr: String,
    }
    match serde_json::from_str::<Shell>(raw(response)) {
        Ok(shell) if shell.stderr.is_empty() => shell.stdout,
        Ok(shell) => format!("{}\n{}", shell.stdout, shell.stderr),
        Err(_) => text(response),
    }
}

fn deny(reason: &str, turn: Turn) -> Reply {
    let decision = json!({
        "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason,
    });
    Reply::json(&match turn {
        Turn::GoesOn => json!({"hookSpecificOutput": decision}),
        Turn::Ends => json!({"continue": false, "stopReason": reason, "hookSpecificOutput": decision}),
    })
}

fn agent_transcript(transcript: &Path, agent: &str) -> Option<PathBuf> {
    let plain = !agent.is_empty() && agent.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let folder = transcript.with_extension("").join("subagents");
    plain.then(|| folder.join(format!("agent-{agent}.jsonl")))
}
