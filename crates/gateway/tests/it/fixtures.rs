//! Replies in the forms that the four APIs give them, written by hand after their public documentation.

use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;
use tripwire_gateway::wire::Api;

/// One reply and what it used.
pub(crate) struct Fixture {
    pub(crate) name: &'static str,
    pub(crate) api: Api,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
    pub(crate) usage: Usage,
    pub(crate) model: &'static str,
    pub(crate) said_min: u64,
}

/// In the order fresh, cache read, cache write, long cache write, output, reasoning.
fn usage(figures: [u64; 6]) -> Usage {
    let [fresh_input, cache_read, cache_write, cache_write_long, output, reasoning] = figures.map(Tokens::new);
    Usage { fresh_input, cache_read, cache_write, cache_write_long, output, reasoning }
}

const SSE: &str = "text/event-stream; charset=utf-8";
const JSON: &str = "application/json";

/// Events with names, as Anthropic and the Responses API send them.
fn named(events: &[(&str, &str)]) -> String {
    events.iter().map(|(name, data)| format!("event: {name}\ndata: {data}\n\n")).collect()
}

fn plain(events: &[&str]) -> String {
    events.iter().map(|data| format!("data: {data}\n\n")).collect()
}

pub(crate) fn all() -> Vec<Fixture> {
    let mut all = streams();
    all.extend(whole());
    all
}

pub(crate) fn streams() -> Vec<Fixture> {
    vec![
        Fixture {
            name: "anthropic stream",
            api: Api::Anthropic,
            content_type: SSE,
            body: named(&[
                ("message_start", r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5-20250929","content":[],"usage":{"input_tokens":12,"cache_creation_input_tokens":300,"cache_read_input_tokens":4000,"cache_creation":{"ephemeral_5m_input_tokens":200,"ephemeral_1h_input_tokens":100},"output_tokens":1}}}"#),
                ("content_block_start", r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#),
                ("content_block_delta", r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Grüße 🦀, let me think"}}"#),
                ("ping", r#"{"type":"ping"}"#),
                ("content_block_start", r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}}"#),
                ("content_block_delta", r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"command\":\"ls\"}"}}"#),
                ("message_delta", r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":57}}"#),
                ("message_stop", r#"{"type":"message_stop"}"#),
            ]),
            usage: usage([12, 4_000, 200, 100, 57, 0]),
            model: "claude-sonnet-4-5-20250929",
            said_min: 30,
        },
        Fixture {
            name: "chat stream",
            api: Api::OpenAiChat,
            content_type: SSE,
            body: plain(&[
                r#"{"id":"c","object":"chat.completion.chunk","model":"gpt-5-2025-08-07","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":null}],"usage":null}"#,
                r#"{"id":"c","object":"chat.completion.chunk","model":"gpt-5-2025-08-07","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"f","arguments":"{\"a\":1}"}}]},"finish_reason":null}]}"#,
                r#"{"id":"c","object":"chat.completion.chunk","model":"gpt-5-2025-08-07","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
                r#"{"id":"c","object":"chat.completion.chunk","model":"gpt-5-2025-08-07","choices":[],"usage":{"prompt_tokens":900,"completion_tokens":80,"total_tokens":980,"prompt_tokens_details":{"cached_tokens":512,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":64}}}"#,
                "[DONE]",
            ]),
            usage: usage([388, 512, 0, 0, 16, 64]),
            model: "gpt-5-2025-08-07",
            said_min: 12,
        },
        Fixture {
            name: "responses stream",
            api: Api::OpenAiResponses,
            content_type: SSE,
            body: named(&[
                ("response.created", r#"{"type":"response.created","response":{"id":"resp_1","model":"gpt-5.2-codex","status":"in_progress","output":[],"usage":null}}"#),
                ("response.output_item.added", r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","content":[]}}"#),
                ("response.output_text.delta", r#"{"type":"response.output_text.delta","output_index":0,"delta":"Working on it"}"#),
                ("response.function_call_arguments.delta", r#"{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"cmd\":[\"ls\"]}"}"#),
                ("response.completed", r#"{"type":"response.completed","response":{"id":"resp_1","model":"gpt-5.2-codex","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Working on it"}]}],"usage":{"input_tokens":2000,"input_tokens_details":{"cached_tokens":1500},"output_tokens":90,"output_tokens_details":{"reasoning_tokens":30},"total_tokens":2090}}}"#),
            ]),
            usage: usage([500, 1_500, 0, 0, 60, 30]),
            model: "gpt-5.2-codex",
            said_min: 25,
        },
        Fixture {
            name: "gemini stream",
            api: Api::Gemini,
            content_type: SSE,
            body: [
                r#"{"candidates":[{"content":{"parts":[{"text":"Hal"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":1},"modelVersion":"gemini-2.5-pro"}"#,
                r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":"b"}}}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":40,"toolUsePromptTokenCount":5,"candidatesTokenCount":20,"thoughtsTokenCount":33},"modelVersion":"gemini-2.5-pro"}"#,
            ]
            .iter()
            .map(|data| format!("data: {data}\r\n\r\n"))
            .collect(),
            usage: usage([65, 40, 0, 0, 20, 33]),
            model: "gemini-2.5-pro",
            said_min: 12,
        },
    ]
}

fn whole() -> Vec<Fixture> {
    vec![
        Fixture {
            name: "anthropic json",
            api: Api::Anthropic,
            content_type: JSON,
            body: r#"{"id":"msg_1","type":"message","model":"claude-opus-4-5","content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn","usage":{"input_tokens":7,"cache_creation_input_tokens":0,"cache_read_input_tokens":9,"output_tokens":3}}"#.to_owned(),
            usage: usage([7, 9, 0, 0, 3, 0]),
            model: "claude-opus-4-5",
            said_min: 5,
        },
        Fixture {
            name: "chat json",
            api: Api::OpenAiChat,
            content_type: JSON,
            body: r#"{"id":"c","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}"#.to_owned(),
            usage: usage([10, 0, 0, 0, 2, 0]),
            model: "gpt-4o",
            said_min: 4,
        },
        Fixture {
            name: "responses json",
            api: Api::OpenAiResponses,
            content_type: JSON,
            body: r#"{"id":"r","object":"response","status":"completed","error":null,"model":"gpt-5","output":[{"type":"message","content":[{"type":"output_text","text":"Yes."}]}],"usage":{"input_tokens":10,"output_tokens":5,"output_tokens_details":{"reasoning_tokens":3}}}"#.to_owned(),
            usage: usage([10, 0, 0, 0, 2, 3]),
            model: "gpt-5",
            said_min: 4,
        },
        Fixture {
            name: "gemini list",
            api: Api::Gemini,
            content_type: JSON,
            body: r#"[{"candidates":[{"content":{"parts":[{"text":"Y"}]}}],"modelVersion":"gemini-2.5-flash"},
                {"candidates":[{"content":{"parts":[{"text":"es"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":2}}]"#.to_owned(),
            usage: usage([4, 0, 0, 0, 2, 0]),
            model: "gemini-2.5-flash",
            said_min: 3,
        },
    ]
}
