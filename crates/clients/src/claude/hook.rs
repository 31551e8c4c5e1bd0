//! Claude Code's dialect, as measured on the real client.
//!
//! A refused call needs `permissionDecision: "deny"`; to end the turn as well it needs `continue: false` in the same
//! answer, because a denied agent keeps asking its model. `hookEventName` is mandatory, or the whole answer is thrown
//! away. A refused prompt makes no model request at all.

use crate::hooks::answer::{Answer, Turn};
use crate::hooks::event::Event;
use crate::hooks::reply::{HookError, Reply};
use crate::hooks::wire::{HookInput, raw, text};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

/// Events that ask for nothing: a broken guard reports and lets them go.
pub(super) const REPORTS: &[&str] = &[
    "Stop",
    "SubagentStop",
    "SubagentStart",
    "SessionStart",
    "SessionEnd",
    "PreCompact",
    "PostCompact",
    "Notification",
    "MessageDisplay",
];

/// What an event means. `PostCompact` tells of a compaction; `SessionStart` after one only takes the briefing.
pub(super) fn event(wire: &HookInput<'_>) -> Result<Event, HookError> {
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

/// The answer in the client's words; what an event cannot carry is not said.
pub(super) fn reply(event: &Event, answer: &Answer) -> Reply {
    match (event, answer) {
        (_, Answer::Pass) => Reply::default(),
        (Event::Asked(_), Answer::Refuse { reason, turn }) => deny(reason, *turn),
        (Event::Asked(_), Answer::Tell(text)) => Reply::context("PreToolUse", text),
        (Event::Done(..), Answer::Tell(text) | Answer::Override { text, .. }) => Reply::context("PostToolUse", text),
        (Event::Done(..), Answer::Refuse { reason, turn: Turn::Ends }) => {
            Reply::json(&json!({"continue": false, "stopReason": reason}))
        }
        (Event::Prompt, Answer::Refuse { reason, .. }) | (Event::Claimed(_), Answer::SendBack(reason)) => {
            Reply::json(&json!({"decision": "block", "reason": reason}))
        }
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

fn deny(reason: &str, turn: Turn) -> Reply {
    let decision = json!({
        "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason,
    });
    Reply::json(&match turn {
        Turn::GoesOn => json!({"hookSpecificOutput": decision}),
        Turn::Ends => json!({"continue": false, "stopReason": reason, "hookSpecificOutput": decision}),
    })
}
