//! Claude Code's machine-readable output: what it says at its end.

use crate::launch::exit_message::{ExitMessage, OutputShows, has_value, shown};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct ClaudeOutputLine {
    #[serde(rename = "type")]
    kind: Option<String>,
    terminal_reason: Option<String>,
    subtype: Option<String>,
    #[serde(default)]
    is_error: bool,
    result: Option<Value>,
}

pub(super) fn tells_end(own: &[String]) -> bool {
    has_value(own, &["--output-format"], "stream-json") || has_value(own, &["--output-format"], "json")
}

pub(super) fn note(line: &[u8], message: &mut ExitMessage) -> OutputShows {
    let Ok(line) = serde_json::from_slice::<ClaudeOutputLine>(line) else { return OutputShows::Other };
    match line.kind.as_deref() {
        Some("assistant") => return OutputShows::Work,
        Some("result") => {
            message.reason = line.terminal_reason.or(line.subtype);
            let result = shown(line.result.as_ref());
            (message.error, message.text) = if line.is_error { (result, None) } else { (None, result) };
        }
        Some(_) | None => {}
    }
    OutputShows::Other
}
