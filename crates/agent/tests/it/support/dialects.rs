//! Answers in the wire formats of the four APIs, written from their public descriptions.

use serde_json::{Value, json};

/// The four APIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    Anthropic,
    Chat,
    Responses,
    Gemini,
}

/// All of them.
pub(crate) const ALL: [Api; 4] = [Api::Anthropic, Api::Chat, Api::Responses, Api::Gemini];

/// What a model says, in neutral words.
#[derive(Debug, Clone, Default)]
pub(crate) struct Say {
    /// The text, piece by piece.
    pub(crate) text: Vec<String>,
    /// Calls: name and arguments.
    pub(crate) calls: Vec<(String, String)>,
    /// Fresh input, cache read, cache write, output, reasoning.
    pub(crate) usage: [u64; 5],
}

impl Say {
    pub(crate) fn text(pieces: &[&str]) -> Self {
        Self { text: pieces.iter().map(|piece| (*piece).to_owned()).collect(), ..Self::default() }
    }

    pub(crate) fn call(mut self, tool: &str, arguments: &str) -> Self {
        self.calls.push((tool.to_owned(), arguments.to_owned()));
        self
    }

    pub(crate) fn usage(mut self, usage: [u64; 5]) -> Self {
        self.usage = usage;
        self
    }
}

impl Api {
    /// The engine's name for a server at this address.
    pub(crate) fn engine(self, url: &str) -> String {
        match self {
            Self::Anthropic => format!("anthropic:test-model@{url}"),
            Self::Chat => format!("openai-chat:test-model@{url}/v1"),
            Self::Responses => format!("openai:test-model@{url}/v1"),
            Self::Gemini => format!("gemini:test-model@{url}"),
        }
    }

    /// The request line that is expected.
    pub(crate) fn request_line(self) -> &'static str {
        match self {
            Self::Anthropic => "POST /v1/messages HTTP/1.1\r\n",
            Self::Chat => "POST /v1/chat/completions HTTP/1.1\r\n",
            Self::Responses => "POST /v1/responses HTTP/1.1\r\n",
            Self::Gemini => "POST /v1beta/models/test-model:streamGenerateContent?alt=sse HTTP/1.1\r\n",
        }
    }

    /// A whole stream, one text for each event.
    pub(crate) fn events(self, say: &Say) -> Vec<String> {
        match self {
            Self::Anthropic => anthropic(say),
            Self::Chat => chat(say),
            Self::Responses => responses(say),
            Self::Gemini => gemini(say),
        }
    }

    /// An error object.
    pub(crate) fn error(self, status: u16, kind: &str, message: &str) -> Value {
        match self {
            Self::Anthropic => json!({"type": "error", "error": {"type": kind, "message": message}}),
            Self::Chat | Self::Responses => json!({"error": {"message": message, "type": kind, "code": kind}}),
            Self::Gemini => json!({"error": {"code": status, "message": message, "status": kind}}),
        }
    }

    /// An error inside a stream that began with 200.
    pub(crate) fn stream_error(self, kind: &str, message: &str) -> String {
        match self {
            Self::Anthropic => named("error", &self.error(0, kind, message)),
            Self::Chat => data(&self.error(0, kind, message)),
            Self::Responses => named(
                "response.failed",
                &json!({"type": "response.failed", "response": {"status": "failed",
                    "error": {"code": kind, "message": message}}}),
            ),
            Self::Gemini => data(&self.error(503, kind, message)),
        }
    }

    /// This API's word for an overload.
    pub(crate) fn overload(self) -> (u16, &'static str) {
        match self {
            Self::Anthropic => (529, "overloaded_error"),
            Self::Chat | Self::Responses => (503, "server_is_overloaded"),
            Self::Gemini => (503, "UNAVAILABLE"),
        }
    }
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn named(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}

/// The arguments in two halves, cut between characters.
fn halves(text: &str) -> [&str; 2] {
    let middle = (text.len() / 2..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let (first, second) = text.split_at(middle);
    [first, second]
}

fn anthropic(say: &Say) -> Vec<String> {
    let [fresh, read, write, output, reasoning] = say.usage;
    let event = |value: Value| named(value["type"].as_str().unwrap(), &value);
    let usage = json!({"input_tokens": fresh, "cache_read_input_tokens": read, "cache_creation_input_tokens": write,
        "output_tokens": 1, "service_tier": "standard"});
    let mut events = vec![
        event(json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "model": "test-model-1",
            "content": [], "usage": usage}})),
        event(json!({"type": "ping"})),
    ];
    let mut index = 0;
    if !say.text.is_empty() {
        events.push(event(
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        ));
        for piece in &say.text {
            let delta = json!({"type": "text_delta", "text": piece});
            events.push(event(json!({"type": "content_block_delta", "index": 0, "delta": delta})));
        }
        events.push(event(json!({"type": "content_block_stop", "index": 0})));
        index = 1;
    }
    for (number, (tool, arguments)) in say.calls.iter().enumerate() {
        let block = json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": tool, "input": {}});
        events.push(event(json!({"type": "content_block_start", "index": index, "content_block": block})));
        for half in halves(arguments) {
            let delta = json!({"type": "input_json_delta", "partial_json": half});
            events.push(event(json!({"type": "content_block_delta", "index": index, "delta": delta})));
        }
        events.push(event(json!({"type": "content_block_stop", "index": index})));
        index += 1;
    }
    let reason = if say.calls.is_empty() { "end_turn" } else { "tool_use" };
    events.push(event(json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
        "usage": {"output_tokens": output + reasoning, "output_tokens_details": {"thinking_tokens": reasoning}}})));
    events.push(event(json!({"type": "message_stop"})));
    events
}

fn chat(say: &Say) -> Vec<String> {
    let [fresh, read, _, output, reasoning] = say.usage;
    let delta = |delta: Value, reason: Value| {
        data(
            &json!({"id": "c", "model": "test-model-1", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}),
        )
    };
    let mut events = vec![delta(json!({"role": "assistant", "content": ""}), Value::Null)];
    events.extend(say.text.iter().map(|piece| delta(json!({"content": piece}), Value::Null)));
    // Parallel calls arrive interleaved: first all beginnings, then all ends.
    for half in 0..2 {
        for (index, (tool, arguments)) in say.calls.iter().enumerate() {
            let piece = halves(arguments)[half];
            let call = if half == 0 {
                json!({"index": index, "id": format!("call_{index}"), "type": "function",
                    "function": {"name": tool, "arguments": piece}})
            } else {
                json!({"index": index, "function": {"arguments": piece}})
            };
            events.push(delta(json!({"tool_calls": [call]}), Value::Null));
        }
    }
    events.push(delta(json!({}), Value::from(if say.calls.is_empty() { "stop" } else { "tool_calls" })));
    events.push(data(&json!({"id": "c", "model": "test-model-1", "choices": [], "usage": {
        "prompt_tokens": fresh + read, "completion_tokens": output + reasoning, "total_tokens": fresh + read + output + reasoning,
        "prompt_tokens_details": {"cached_tokens": read}, "completion_tokens_details": {"reasoning_tokens": reasoning}}})));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn responses(say: &Say) -> Vec<String> {
    let [fresh, read, _, output, reasoning] = say.usage;
    let event = |value: Value| named(value["type"].as_str().unwrap(), &value);
    let mut events = vec![event(
        json!({"type": "response.created", "response": {"model": "test-model-1", "status": "in_progress"}}),
    )];
    let mut index = 0;
    let whole = say.text.concat();
    if !say.text.is_empty() {
        let item = |text: &str| json!({"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": text}]});
        events.push(event(json!({"type": "response.output_item.added", "output_index": 0, "item": item("")})));
        for piece in &say.text {
            events.push(event(json!({"type": "response.output_text.delta", "output_index": 0, "delta": piece})));
        }
        events.push(event(json!({"type": "response.output_text.done", "output_index": 0, "text": whole})));
        events.push(event(json!({"type": "response.output_item.done", "output_index": 0, "item": item(&whole)})));
        index = 1;
    }
    for (number, (tool, arguments)) in say.calls.iter().enumerate() {
        let item = |arguments: &str| json!({"type": "function_call", "id": "f", "call_id": format!("call_{number}"), "name": tool, "arguments": arguments});
        events.push(event(json!({"type": "response.output_item.added", "output_index": index, "item": item("")})));
        for half in halves(arguments) {
            events.push(event(
                json!({"type": "response.function_call_arguments.delta", "output_index": index, "delta": half}),
            ));
        }
        events
            .push(event(json!({"type": "response.output_item.done", "output_index": index, "item": item(arguments)})));
        index += 1;
    }
    let usage = json!({"input_tokens": fresh + read, "input_tokens_details": {"cached_tokens": read},
        "output_tokens": output + reasoning, "output_tokens_details": {"reasoning_tokens": reasoning}});
    events.push(event(json!({"type": "response.completed",
        "response": {"model": "test-model-1", "status": "completed", "output": [whole], "usage": usage}})));
    events
}

fn gemini(say: &Say) -> Vec<String> {
    let [fresh, read, _, output, reasoning] = say.usage;
    let usage = |output: u64, reasoning: u64| {
        json!({"promptTokenCount": fresh + read, "cachedContentTokenCount": read, "candidatesTokenCount": output,
            "thoughtsTokenCount": reasoning, "totalTokenCount": fresh + read + output + reasoning})
    };
    let chunk = |parts: Value, usage: Value| {
        json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}], "usageMetadata": usage,
            "modelVersion": "test-model-1"})
    };
    let mut events: Vec<String> =
        say.text.iter().map(|piece| data(&chunk(json!([{"text": piece}]), usage(1, 0)))).collect();
    let parts: Vec<Value> = say
        .calls
        .iter()
        .map(|(tool, arguments)| {
            json!({"functionCall": {"name": tool, "args": serde_json::from_str::<Value>(arguments).unwrap()}})
        })
        .collect();
    let mut last = chunk(Value::Array(parts), usage(output, reasoning));
    last["candidates"][0]["finishReason"] = Value::from("STOP");
    events.push(data(&last));
    events
}
