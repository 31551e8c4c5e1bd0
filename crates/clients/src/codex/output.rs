//! Codex CLI's machine-readable output: what it says at its end.

use crate::launch::exit_message::{ExitMessage, OutputShows, shown};
use serde::Deserialize;
use serde_json::Value;

/// The pieces of work that come from its model.
const WORK: [&str; 6] =
    ["agent_message", "reasoning", "command_execution", "file_change", "mcp_tool_call", "web_search"];

#[derive(Deserialize)]
struct CodexOutputLine {
    #[serde(rename = "type")]
    kind: Option<String>,
    message: Option<Value>,
    error: Option<Value>,
    item: Option<WorkItem>,
}

/// A piece of work, as far as it is a text.
#[derive(Deserialize)]
struct WorkItem {
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Option<String>,
}

pub(super) fn tells_end(own: &[String]) -> bool {
    own.iter().any(|word| word == "--json")
}

pub(super) fn note(line: &[u8], message: &mut ExitMessage) -> OutputShows {
    let Ok(line) = serde_json::from_slice::<CodexOutputLine>(line) else { return OutputShows::Other };
    let kind = line.item.as_ref().and_then(|item| item.kind.as_deref()).unwrap_or_default();
    let shows = match line.kind.as_deref() {
        Some("item.started" | "item.completed") if WORK.contains(&kind) => OutputShows::Work,
        Some(_) | None => OutputShows::Other,
    };
    match line.kind.as_deref() {
        Some("item.completed") => {
            let said = line.item.filter(|item| item.kind.as_deref() == Some("agent_message"));
            message.text = said.and_then(|item| item.text).or(message.text.take());
        }
        Some("turn.completed") => {
            (message.reason, message.error) = (Some("completed".to_owned()), None);
        }
        Some("turn.failed") => {
            message.reason = Some("failed".to_owned());
            message.error = shown(line.error.as_ref().map(|error| error.get("message").unwrap_or(error)));
        }
        Some("error") => message.error = shown(line.message.as_ref()),
        Some(_) | None => {}
    }
    shows
}
