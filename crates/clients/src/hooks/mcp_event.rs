//! What the MCP guard asks, in the form of a hook's input, for the supervisor of a run.

use super::event::Event;
use super::hook_call::HookCall;
use serde_json::json;
use serde_json::value::RawValue;

pub use crate::mcp::{ASKED, DONE};

/// The question as bytes that [`super::read`] takes back.
#[must_use]
pub fn written(call: &HookCall) -> Vec<u8> {
    let (tool, outcome) = match &call.event {
        Event::Asked(tool) => (tool, None),
        Event::Done(tool, outcome) => (tool, Some(outcome)),
        Event::SessionStarted(_)
        | Event::SessionEnded
        | Event::Prompt
        | Event::ModelAsked { .. }
        | Event::Claimed(_)
        | Event::AgentStarted
        | Event::AgentEnded
        | Event::Compacting
        | Event::Compacted
        | Event::Other => return b"{}".to_vec(),
    };
    let arguments = RawValue::from_string(tool.input.clone()).ok();
    let mut input = json!({
        "session_id": call.session,
        // A folder whose path is no text cannot be told; without one the guard refuses.
        "cwd": call.cwd.to_str(),
        "hook_event_name": call.event_name,
        "tool_name": tool.name,
        "tool_input": arguments,
        "tool_use_id": tool.call_id,
        "asks": call.asks,
    });
    if let (Some(outcome), Some(fields)) = (outcome, input.as_object_mut()) {
        fields.insert("tool_response".to_owned(), json!(outcome.output));
        fields.insert("duration_ms".to_owned(), json!(outcome.duration_ms));
        if outcome.failed == Some(true) {
            fields.insert("error".to_owned(), json!("the tool reports an error"));
        }
    }
    input.to_string().into_bytes()
}
