//! Gemini CLI's machine-readable output: what it says at its end.

use crate::launch::exit_message::{ExitMessage, OutputShows, has_value, shown};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct GeminiOutputLine {
    #[serde(rename = "type")]
    kind: Option<String>,
    status: Option<String>,
    message: Option<Value>,
    error: Option<Value>,
    role: Option<String>,
    content: Option<Value>,
    delta: Option<Value>,
}

pub(super) fn tells_end(own: &[String]) -> bool {
    has_value(own, &["--output-format", "-o"], "stream-json")
}

pub(super) fn note(line: &[u8], message: &mut ExitMessage) -> OutputShows {
    let Ok(line) = serde_json::from_slice::<GeminiOutputLine>(line) else { return OutputShows::Other };
    match line.kind.as_deref() {
        Some("message") if line.role.as_deref() == Some("assistant") => {
            let piece = shown(line.content.as_ref()).unwrap_or_default();
            let is_piece = line.delta.is_some_and(|delta| delta == true);
            let before = message.text.take().filter(|_| is_piece).unwrap_or_default();
            message.text = Some(before + &piece);
            return OutputShows::Work;
        }
        // What it says after a call is another text than before it.
        Some("tool_use") => {
            message.text = None;
            return OutputShows::Work;
        }
        Some("result") => {
            message.reason = line.status;
            message.error = shown(line.error.as_ref());
        }
        Some("error") => message.error = shown(line.message.as_ref()),
        Some(_) | None => {}
    }
    OutputShows::Other
}
