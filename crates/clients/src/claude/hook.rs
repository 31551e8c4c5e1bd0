//! Claude Code's dialect, as measured on the real client.
//!
//! A refused call needs `permissionDecision: "deny"`; to end the turn as well it needs `continue: false` in the same
//! answer, because a denied agent keeps asking its model. `hookEventName` is mandatory, or the whole answer is thrown
//! away. A refused prompt makes no model request at all.

use crate::hooks::answer::Turn;
use crate::hooks::dialect::{AfterTool, CallIds, ContextEvents, HookDialect, Shortening, StepSource, TurnEnd};
use crate::hooks::event::Event;
use crate::hooks::reply::{HookError, Reply};
use crate::hooks::wire::{HookInput, raw, text};
use crate::transcript::ToolOutput;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
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
    shortens: Shortening::ByOutput,
    context: ContextEvents {
        before_tool: Some("PreToolUse"),
        prompt: "UserPromptSubmit",
        agent_start: Some("SubagentStart"),
    },
    project_variables: &["CLAUDE_PROJECT_DIR"],
    step_source: StepSource::Transcript,
    call_ids: CallIds::Shared,
    idle_arguments,
    turn_end: TurnEnd::ByAnswer,
    announces: |_| true,
    shows_run: |_| true,
    agent_transcript,
};

/// What an event means. `PostCompact` tells of a compaction; `SessionStart` after one only takes the briefing.
fn event(wire: &HookInput<'_>) -> Result<Event, HookError> {
    Ok(match wire.hook_event_name.as_ref() {
        "PreToolUse" => Event::Asked(wire.tool()?),
        "PostToolUse" => wire.done(ToolOutput::new(response(wire.tool_response), ended_well(wire.tool_response)))?,
        "PostToolUseFailure" => wire.done(failure(text(wire.error)))?,
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

/// Arguments that do not change what a tool does.
fn idle_arguments(tool: &str) -> &'static [&'static str] {
    match tool {
        "Bash" => &["description", "timeout"],
        "Task" | "Agent" => &["description"],
        "Read" => &["limit"],
        "Grep" => &["head_limit"],
        "BashOutput" | "TaskOutput" => &["timeout", "wait_up_to"],
        _ => &[],
    }
}

/// A result that came back is no failure; of a command that was cut off, or that goes on behind its result, nobody knows.
fn ended_well(response: Option<&RawValue>) -> Option<bool> {
    #[derive(Deserialize)]
    struct OpenShell {
        #[serde(default)]
        interrupted: bool,
        #[serde(rename = "backgroundTaskId")]
        background: Option<String>,
    }
    let open =
        serde_json::from_str::<OpenShell>(raw(response)).is_ok_and(|of| of.interrupted || of.background.is_some());
    (!open).then_some(false)
}

/// What a tool gave, as text: what a command wrote, what was read or found, that a file was changed; else the whole response
/// as the client sent it.
pub(crate) fn response(response: Option<&RawValue>) -> String {
    #[derive(Deserialize)]
    struct Shell {
        stdout: String,
        #[serde(default)]
        stderr: String,
    }
    if let Ok(shell) = serde_json::from_str::<Shell>(raw(response)) {
        let Shell { stdout, stderr } = shell;
        return if stderr.is_empty() { stdout } else { format!("{stdout}\n{stderr}") };
    }
    match serde_json::from_str::<Value>(raw(response)) {
        Ok(Value::Object(fields)) => of_tool(&fields).unwrap_or_else(|| text(response)),
        Ok(Value::Array(blocks)) if blocks.iter().all(|block| block["text"].is_string()) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        Ok(_) | Err(_) => text(response),
    }
}

/// The text in the client's own form of a result; none if it is not one of these.
fn of_tool(fields: &Map<String, Value>) -> Option<String> {
    if let Some(content) = fields.get("file").and_then(|file| file["content"].as_str()) {
        return Some(content.to_owned());
    }
    if fields.contains_key("structuredPatch") {
        let path = fields.get("filePath").and_then(Value::as_str)?;
        return Some(format!("The file {path} has been updated"));
    }
    let found = fields.get("filenames").and_then(Value::as_array)?;
    if let Some(content) = fields.get("content").and_then(Value::as_str).filter(|content| !content.is_empty()) {
        return Some(content.to_owned());
    }
    let names: Vec<&str> = found.iter().filter_map(Value::as_str).collect();
    Some(if names.is_empty() { "No files found".to_owned() } else { names.join("\n") })
}

/// A failed call: the client writes the exit code of a command before what it wrote, and marks what its own tools say.
pub(super) fn failure(text: String) -> ToolOutput {
    let first = text.lines().next().unwrap_or_default();
    let code = first.strip_prefix("Error: ").unwrap_or(first).strip_prefix("Exit code ");
    if let Some(code) = code.and_then(|code| code.trim().parse().ok()) {
        let rest = text.get(first.len()..).unwrap_or_default().trim_start_matches('\n').to_owned();
        // A command that ran: whether its code is a failure is for the observer to say.
        return ToolOutput { text: rest, failed: None, exit_code: Some(code) };
    }
    let own = text.strip_prefix("<tool_use_error>").map(|rest| rest.strip_suffix("</tool_use_error>").unwrap_or(rest));
    ToolOutput::new(own.map(str::to_owned).unwrap_or(text), Some(true))
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
