//! Codex CLI's dialect, as measured on the real client.
//!
//! A refusal before a tool is a bare deny: with `continue: false` or `stopReason` beside it the client drops the whole
//! answer and runs the command. No hook ends a turn here; the supervisor does. After a tool, `decision: "block"` puts
//! its reason in the place of the result.

use crate::hooks::answer::Answer;
use crate::hooks::event::Event;
use crate::hooks::reply::{HookError, Reply};
use crate::hooks::wire::{HookInput, text};
use serde_json::json;

/// Events that ask for nothing: a broken guard reports and lets them go.
pub(super) const REPORTS: &[&str] =
    &["Stop", "SubagentStop", "SubagentStart", "SessionStart", "SessionEnd", "PreCompact", "PostCompact", "Interrupt"];

/// What an event means.
pub(super) fn event(wire: &HookInput<'_>) -> Result<Event, HookError> {
    Ok(match wire.hook_event_name.as_ref() {
        "PreToolUse" => Event::Asked(wire.tool()?),
        // The client does not say whether a command failed; its rollout and the text itself do.
        "PostToolUse" => wire.done(text(wire.tool_response), None)?,
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

/// The answer in the client's words; what an event cannot carry is not said.
pub(super) fn reply(event: &Event, answer: &Answer) -> Reply {
    match (event, answer) {
        (_, Answer::Pass) => Reply::default(),
        (Event::Asked(_), Answer::Refuse { reason, .. }) => Reply::json(&json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason,
        }})),
        (Event::Asked(_), Answer::Tell(text)) => Reply::context("PreToolUse", text),
        (Event::Done(..), Answer::Tell(text)) => Reply::context("PostToolUse", text),
        (Event::Done(..), Answer::Override { text, result }) => {
            Reply::json(&json!({"decision": "block", "reason": format!("{text}\n\n{result}")}))
        }
        (Event::Done(..) | Event::Prompt, Answer::Refuse { reason, .. })
        | (Event::Claimed(_), Answer::SendBack(reason)) => Reply::json(&json!({"decision": "block", "reason": reason})),
        (Event::Prompt, Answer::Tell(text)) => Reply::context("UserPromptSubmit", text),
        (Event::SessionStarted(_), Answer::Tell(text)) => Reply::context("SessionStart", text),
        (Event::AgentStarted, Answer::Tell(text) | Answer::Refuse { reason: text, .. }) => {
            Reply::context("SubagentStart", text)
        }
        (
            Event::SessionStarted(_)
            | Event::SessionEnded
            | Event::Prompt
            | Event::ModelAsked { .. }
            | Event::Asked(_)
            | Event::Done(..)
            | Event::Claimed(_)
            | Event::AgentStarted
            | Event::AgentEnded
            | Event::Compacting
            | Event::Compacted
            | Event::Other,
            Answer::Refuse { .. } | Answer::Tell(_) | Answer::Override { .. } | Answer::SendBack(_),
        ) => Reply::default(),
    }
}
