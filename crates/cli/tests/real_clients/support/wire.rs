//! The wire forms of three providers, as far as their clients need them to run a tool or to end.

use serde_json::{Value, json};

/// What a model says in one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Run a command.
    Shell(String),
    /// Write a file.
    Write(String, String),
    /// Call a tool by name, with JSON arguments.
    Call(String, String),
    /// Several calls in one answer.
    Many(Vec<Turn>),
    /// Say something and end the turn.
    Say(String),
}

/// Tokens of one answer: fresh input, cache read, cache write, output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) fresh: u64,
    pub(crate) read: u64,
    pub(crate) write: u64,
    pub(crate) output: u64,
}

/// A provider's way to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Messages,
    Responses,
    Chat,
    Gemini,
}

impl Wire {
    /// The wire that a request's path belongs to; none for requests that ask nothing of the model.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or(path);
        if path.ends_with("/messages") {
            Some(Self::Messages)
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else if path.ends_with("/chat/completions") {
            Some(Self::Chat)
        } else if path.contains("enerateContent") {
            Some(Self::Gemini)
        } else {
            None
        }
    }

    /// Whether the request is a turn of an agent and not a side question (a title, a check), which offers no tools.
    pub(crate) fn is_turn(self, body: &str) -> bool {
        match self {
            Self::Messages | Self::Chat => body.contains("\"tools\":[{"),
            Self::Responses => true,
            Self::Gemini => body.contains("functionDeclarations"),
        }
    }

    /// The model that a request asks, and the most tokens that it wants back.
    pub(crate) fn asked(self, path: &str, body: &str) -> (String, Option<u64>) {
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let limit = match self {
            Self::Messages => &body["max_tokens"],
            Self::Responses => &body["max_output_tokens"],
            Self::Chat if body["max_tokens"].is_null() => &body["max_completion_tokens"],
            Self::Chat => &body["max_tokens"],
            Self::Gemini => &body["generationConfig"]["maxOutputTokens"],
        };
        let in_path = || path.rsplit('/').next().and_then(|last| last.split(':').next()).unwrap_or_default();
        let model = body["model"].as_str().map_or_else(|| in_path().to_owned(), str::to_owned);
        (model, limit.as_u64())
    }

    /// The events of an answer: a name where the wire has names, and the data.
    pub(crate) fn answer(self, number: usize, turn: &Turn, usage: Usage) -> Vec<(String, Value)> {
        match self {
            Self::Messages => messages(number, turn, usage),
            Self::Responses => responses(number, turn, usage),
            Self::Chat => chat(number, turn, usage),
            Self::Gemini => gemini(number, turn, usage),
        }
    }

    /// The tool calls of a turn in the client's own words; none if it only says something.
    fn calls(self, turn: &Turn) -> Vec<(String, Value)> {
        match turn {
            Turn::Many(turns) => turns.iter().flat_map(|turn| self.calls(turn)).collect(),
            Turn::Shell(_) | Turn::Write(..) | Turn::Call(..) | Turn::Say(_) => self.call(turn).into_iter().collect(),
        }
    }

    fn call(self, turn: &Turn) -> Option<(String, Value)> {
        let tool = |name: &str, input: Value| Some((name.to_owned(), input));
        match (self, turn) {
            (_, Turn::Say(_) | Turn::Many(_)) => None,
            (_, Turn::Call(name, input)) => tool(name, serde_json::from_str(input).expect("arguments are JSON")),
            (Self::Messages, Turn::Shell(command)) => tool("Bash", json!({"command": command, "description": "x"})),
            (Self::Messages, Turn::Write(path, text)) => tool("Write", json!({"file_path": path, "content": text})),
            (Self::Responses, Turn::Shell(command)) => tool("exec_command", json!({"cmd": command})),
            (Self::Responses, Turn::Write(path, text)) => {
                tool("exec_command", json!({"cmd": format!("cat > {path} <<'EOF'\n{text}\nEOF")}))
            }
            (Self::Chat, Turn::Shell(command)) => tool("bash", json!({"command": command, "description": "x"})),
            (Self::Chat, Turn::Write(path, text)) => tool("write", json!({"filePath": path, "content": text})),
            (Self::Gemini, Turn::Shell(command)) => {
                tool("run_shell_command", json!({"command": command, "description": "x"}))
            }
            (Self::Gemini, Turn::Write(path, text)) => tool("write_file", json!({"file_path": path, "content": text})),
        }
    }
}

fn said(turn: &Turn) -> &str {
    match turn {
        Turn::Say(text) => text,
        Turn::Shell(_) | Turn::Write(..) | Turn::Call(..) | Turn::Many(_) => "",
    }
}

fn messages(number: usize, turn: &Turn, usage: Usage) -> Vec<(String, Value)> {
    let counted = json!({"input_tokens": usage.fresh, "cache_read_input_tokens": usage.read,
        "cache_creation_input_tokens": usage.write, "output_tokens": usage.output});
    let start = json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "claude-opus-4-5",
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": counted});
    let calls = Wire::Messages.calls(turn);
    let stop = if calls.is_empty() { "end_turn" } else { "tool_use" };
    let mut blocks: Vec<(Value, Value)> = Vec::new();
    for (place, (name, input)) in calls.into_iter().enumerate() {
        blocks.push((
            json!({"type": "tool_use", "id": format!("toolu_{}", call_id(number, place)), "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": input.to_string()}),
        ));
    }
    if blocks.is_empty() {
        blocks.push((json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": said(turn)})));
    }
    let mut events = vec![("message_start", json!({"message": start}))];
    for (index, (block, delta)) in blocks.into_iter().enumerate() {
        events.push(("content_block_start", json!({"index": index, "content_block": block})));
        events.push(("content_block_delta", json!({"index": index, "delta": delta})));
        events.push(("content_block_stop", json!({"index": index})));
    }
    let figures = json!({"output_tokens": usage.output});
    events.push(("message_delta", json!({"delta": {"stop_reason": stop, "stop_sequence": null}, "usage": figures})));
    events.push(("message_stop", json!({})));
    events.into_iter().map(|(name, data)| typed(name, data)).collect()
}

/// The number of a call in its session; the first of an answer has the answer's own.
fn call_id(number: usize, place: usize) -> String {
    if place == 0 { number.to_string() } else { format!("{number}_{place}") }
}

fn typed(name: &str, mut data: Value) -> (String, Value) {
    data["type"] = json!(name);
    (name.to_owned(), data)
}

fn responses(number: usize, turn: &Turn, usage: Usage) -> Vec<(String, Value)> {
    let input = usage.fresh + usage.read + usage.write;
    let call = |(place, (name, arguments)): (usize, (String, Value))| {
        let id = call_id(number, place);
        let mut item = json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": format!("call_{id}"),
            "name": name, "arguments": arguments.to_string(), "status": "completed"});
        // Codex offers the tools of a server in a namespace of its own.
        if let Some((server, tool)) = name.strip_prefix("mcp__").and_then(|name| name.split_once("__")) {
            item["namespace"] = json!(format!("mcp__{server}"));
            item["name"] = json!(tool);
        }
        item
    };
    let mut items: Vec<Value> = Wire::Responses.calls(turn).into_iter().enumerate().map(call).collect();
    if items.is_empty() {
        items
            .push(json!({"type": "message", "id": format!("msg_{number}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": said(turn), "annotations": []}]}));
    }
    let response = |status: &str, output: Value, usage: Value| {
        json!({"id": format!("resp_{number}"), "object": "response", "created_at": 1, "status": status, "error": null,
            "incomplete_details": null, "model": "scripted", "output": output, "usage": usage})
    };
    let counted = json!({"input_tokens": input, "input_tokens_details": {"cached_tokens": usage.read},
        "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + usage.output});
    let mut events = vec![("response.created", json!({"response": response("in_progress", json!([]), Value::Null)}))];
    for (index, item) in items.iter().enumerate() {
        events.push(("response.output_item.done", json!({"output_index": index, "item": item})));
    }
    events.push(("response.completed", json!({"response": response("completed", json!(items), counted)})));
    events.into_iter().map(|(name, data)| typed(name, data)).collect()
}

fn chat(number: usize, turn: &Turn, usage: Usage) -> Vec<(String, Value)> {
    let input = usage.fresh + usage.read + usage.write;
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({"id": format!("chat_{number}"), "object": "chat.completion.chunk", "created": 1,
            "model": "scripted", "choices": choices, "usage": usage});
        (String::new(), chunk)
    };
    let call = |(place, (name, arguments)): (usize, (String, Value))| {
        json!({"index": place, "id": format!("call_{}", call_id(number, place)), "type": "function",
            "function": {"name": name, "arguments": arguments.to_string()}})
    };
    let calls: Vec<Value> = Wire::Chat.calls(turn).into_iter().enumerate().map(call).collect();
    let (delta, reason) = if calls.is_empty() {
        (json!({"role": "assistant", "content": said(turn)}), "stop")
    } else {
        (json!({"role": "assistant", "content": null, "tool_calls": calls}), "tool_calls")
    };
    let counted = json!({"prompt_tokens": input, "completion_tokens": usage.output, "total_tokens": input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.read}});
    vec![
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null),
        chunk(json!([{"index": 0, "delta": {}, "finish_reason": reason}]), Value::Null),
        chunk(json!([]), counted),
    ]
}

fn gemini(number: usize, turn: &Turn, usage: Usage) -> Vec<(String, Value)> {
    let call = |(place, (name, args)): (usize, (String, Value))| json!({"functionCall": {"name": name, "args": args, "id": format!("fc{}", call_id(number, place))}});
    let mut parts: Vec<Value> = Wire::Gemini.calls(turn).into_iter().enumerate().map(call).collect();
    if parts.is_empty() {
        parts.push(json!({"text": said(turn)}));
    }
    let input = usage.fresh + usage.read + usage.write;
    let data = json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "index": 0, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": input, "cachedContentTokenCount": usage.read,
            "candidatesTokenCount": usage.output, "totalTokenCount": input + usage.output},
        "modelVersion": "scripted", "responseId": format!("r{number}"),
    });
    vec![(String::new(), data)]
}

/// Any tool can be named, also one that the client does not have.
#[test]
#[ignore = "needs the real clients: just test-clients"]
fn a_call_by_name_is_played_as_it_is_written() {
    let turn = Turn::Call("no_such_tool".to_owned(), r#"{"a":1}"#.to_owned());
    for wire in [Wire::Messages, Wire::Responses, Wire::Chat, Wire::Gemini] {
        assert_eq!(wire.call(&turn), Some(("no_such_tool".to_owned(), json!({"a": 1}))));
    }
}
