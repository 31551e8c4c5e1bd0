//! The wire forms of three providers, as far as a canary needs them: one call of a tool, or the end.

use serde_json::{Value, json};
use std::path::PathBuf;

/// What the model says in one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ModelTurn {
    /// Run a command.
    Shell(String),
    /// Write a file with the client's own tool for that.
    Edit {
        /// The file.
        path: PathBuf,
        /// What is to be in it.
        text: String,
    },
    /// Say that it is done.
    Done,
}

/// A provider's way to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProviderWire {
    /// Anthropic Messages.
    Messages,
    /// OpenAI Responses.
    Responses,
    /// Gemini.
    Gemini,
}

/// An event of an answer: its name, where the wire has names, and its data.
type WireEvent = (&'static str, Value);

impl ProviderWire {
    /// The wire that a request's path belongs to; none for requests that ask nothing of the model.
    pub(super) fn of(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or(path);
        if path.ends_with("/messages") {
            Some(Self::Messages)
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else if path.contains("enerateContent") {
            Some(Self::Gemini)
        } else {
            None
        }
    }

    /// Whether the request is a turn of an agent and not a side question (a title, a check), which offers no tools.
    pub(super) fn is_turn(self, body: &str) -> bool {
        match self {
            Self::Messages => body.contains("\"tools\":[{"),
            Self::Responses => true,
            Self::Gemini => body.contains("functionDeclarations"),
        }
    }

    /// The events of an answer.
    pub(super) fn answer(self, number: usize, turn: &ModelTurn, request: &str) -> Vec<WireEvent> {
        match self {
            Self::Messages => messages(number, turn),
            Self::Responses => responses(number, turn, request),
            Self::Gemini => gemini(number, turn),
        }
    }
}

const SAID: &str = "Done.";

fn messages(number: usize, turn: &ModelTurn) -> Vec<WireEvent> {
    let call = match turn {
        ModelTurn::Shell(command) => Some(("Bash", json!({"command": command, "description": "canary"}))),
        ModelTurn::Edit { path, text } => Some(("Write", json!({"file_path": path, "content": text}))),
        ModelTurn::Done => None,
    };
    let start = json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "claude-opus-4-5",
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 10, "output_tokens": 5}});
    let (block, delta, stop) = match call {
        Some((name, input)) => (
            json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            "tool_use",
        ),
        None => (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": SAID}), "end_turn"),
    };
    let end = json!({"delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": 5}});
    let events = [
        ("message_start", json!({ "message": start })),
        ("content_block_start", json!({"index": 0, "content_block": block})),
        ("content_block_delta", json!({"index": 0, "delta": delta})),
        ("content_block_stop", json!({"index": 0})),
        ("message_delta", end),
        ("message_stop", json!({})),
    ];
    events.into_iter().map(typed).collect()
}

fn responses(number: usize, turn: &ModelTurn, request: &str) -> Vec<WireEvent> {
    let (id, call_id) = (format!("fc_{number}"), format!("call_{number}"));
    let run = |command: &str| {
        let arguments = json!({ "cmd": command }).to_string();
        json!({"type": "function_call", "id": id, "call_id": call_id, "name": "exec_command", "arguments": arguments,
            "status": "completed"})
    };
    let item = match turn {
        ModelTurn::Shell(command) => run(command),
        ModelTurn::Edit { path, text } => {
            let patch = format!("*** Begin Patch\n*** Add File: {}\n+{text}\n*** End Patch", path.display());
            // Some models get the tool itself; the others get it as a command.
            if request.contains("\"name\":\"apply_patch\"") {
                json!({"type": "custom_tool_call", "id": id, "call_id": call_id, "name": "apply_patch", "input": patch,
                    "status": "completed"})
            } else {
                run(&format!("apply_patch <<'EOF'\n{patch}\nEOF"))
            }
        }
        ModelTurn::Done => json!({"type": "message", "id": id, "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": SAID, "annotations": []}]}),
    };
    let response = |status: &str, output: Value, usage: Value| {
        json!({"id": format!("resp_{number}"), "object": "response", "created_at": 1, "status": status, "error": null,
            "incomplete_details": null, "model": "scripted", "output": output, "usage": usage})
    };
    let usage = json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15});
    let events = [
        ("response.created", json!({"response": response("in_progress", json!([]), Value::Null)})),
        ("response.output_item.done", json!({"output_index": 0, "item": item})),
        ("response.completed", json!({"response": response("completed", json!([item]), usage)})),
    ];
    events.into_iter().map(typed).collect()
}

fn gemini(number: usize, turn: &ModelTurn) -> Vec<WireEvent> {
    let call =
        |name: &str, args: Value| json!({"functionCall": {"name": name, "args": args, "id": format!("fc{number}")}});
    let part = match turn {
        ModelTurn::Shell(command) => call("run_shell_command", json!({"command": command, "description": "canary"})),
        ModelTurn::Edit { path, text } => call("write_file", json!({"file_path": path, "content": text})),
        ModelTurn::Done => json!({ "text": SAID }),
    };
    let data = json!({
        "candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        "modelVersion": "scripted", "responseId": format!("r{number}"),
    });
    vec![("", data)]
}

/// Two of the wires repeat an event's name inside its data.
fn typed((name, mut data): WireEvent) -> WireEvent {
    data["type"] = json!(name);
    (name, data)
}
