//! Tool calls in replies and tool results in requests, in one form for all APIs: what hooks tell, for clients that have none.

use super::facts::Api;
use super::json::Json;
use serde_json::Value;
use std::collections::BTreeMap;
use tripwire_core::record::chain::Digest;

/// Calls of one reply that are remembered.
const CALLS_MAX: usize = 1_024;

/// Calls of the Responses API that run at the provider.
const PROVIDERS_OWN: [&str; 6] = [
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "tool_search_call",
];

/// A call of a tool, as a reply asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WireCall {
    /// Its id; made from its place where the API gives none.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, as JSON text.
    pub arguments: String,
}

/// The result of a call, as a request carries it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireResult {
    /// The call's id.
    pub id: String,
    /// What the tool gave.
    pub output: String,
    /// Whether the client calls it an error, where it says so.
    pub failed: Option<bool>,
}

/// What a request says of the conversation it goes on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireRequest {
    /// The beginning of the conversation, by which an agent is told from its sub-agents.
    pub conversation: String,
    /// The model.
    pub model: String,
    /// What was said first.
    pub prompt: String,
    /// Whether tools are offered: without any it is a side question, such as for a title.
    pub has_tools: bool,
    /// Results of calls, oldest first.
    pub results: Vec<WireResult>,
    /// Calls without an id so far: those of the reply are numbered on from here.
    calls: usize,
}

/// The calls of a reply, collected while it comes.
#[derive(Debug, Default)]
pub struct CallCollector {
    calls: BTreeMap<(u64, u64), WireCall>,
    /// Where the pieces of a call go on that a stream names by its index.
    slots: BTreeMap<(u64, u64), u64>,
    missed: bool,
}

impl CallCollector {
    /// Whether a call has begun to come.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Whether something could not be read, or was too much: it may ask for anything.
    #[must_use]
    pub const fn has_missed(&self) -> bool {
        self.missed
    }

    pub(super) const fn miss(&mut self) {
        self.missed = true;
    }

    /// The calls, each with an id.
    #[must_use]
    pub fn calls(&self, request: &WireRequest) -> Vec<WireCall> {
        let numbered = self.calls.values().enumerate().map(|(place, call)| {
            let id = if call.id.is_empty() { by_place(request.calls + place) } else { call.id.clone() };
            WireCall { id, name: call.name.clone(), arguments: as_json(&call.arguments) }
        });
        numbered.collect()
    }

    fn at(&mut self, group: u64, index: u64) -> Option<&mut WireCall> {
        if self.calls.len() >= CALLS_MAX && !self.calls.contains_key(&(group, index)) {
            self.missed = true;
            return None;
        }
        Some(self.calls.entry((group, index)).or_default())
    }

    fn put(&mut self, index: u64, id: Option<&Json<'_>>, name: Option<&str>, arguments: String) {
        if let Some(call) = self.at(0, index) {
            let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
            *call = WireCall { id: text(id.and_then(Json::as_str)), name: text(name), arguments };
        }
    }

    /// Takes in an event of a stream, or a whole reply.
    pub(super) fn hear(&mut self, api: Api, value: &Json<'_>) {
        match api {
            Api::Anthropic => self.anthropic(value),
            Api::OpenAiChat => self.chat(value),
            Api::OpenAiResponses => self.responses(value),
            Api::Gemini => self.gemini(value),
        }
    }

    fn anthropic(&mut self, value: &Json<'_>) {
        let index = value.get("index").and_then(Json::as_u64).unwrap_or_default();
        match value.get("type").and_then(Json::as_str).unwrap_or_default() {
            "message" => {
                for (index, block) in listed(value.get("content")).enumerate() {
                    self.block(index as u64, block);
                }
            }
            "content_block_start" => self.block(index, value.get("content_block").unwrap_or(&Json::Null)),
            "content_block_delta" => {
                if let (Some(piece), true) =
                    (value.at(&["delta", "partial_json"]).and_then(Json::as_str), self.calls.contains_key(&(0, index)))
                    && let Some(call) = self.at(0, index)
                {
                    call.arguments.push_str(piece);
                }
            }
            _ => {}
        }
    }

    fn block(&mut self, index: u64, block: &Json<'_>) {
        if block.get("type").and_then(Json::as_str) == Some("tool_use") {
            let input = block.get("input").filter(|input| input.as_object().is_some_and(|map| !map.is_empty()));
            let input = input.map(Json::to_text).unwrap_or_default();
            self.put(index, block.get("id"), block.get("name").and_then(Json::as_str), input);
        }
    }

    fn chat(&mut self, value: &Json<'_>) {
        for choice in listed(value.get("choices")) {
            let group = choice.get("index").and_then(Json::as_u64).unwrap_or_default();
            let said = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Json::Null);
            for (place, piece) in listed(said.get("tool_calls")).enumerate() {
                let index = piece.get("index").and_then(Json::as_u64).unwrap_or(place as u64);
                let id = piece.get("id").and_then(Json::as_str).unwrap_or_default();
                self.piece(group, index, id, piece.get("function").or_else(|| piece.get("custom")));
            }
            if let Some(function) = said.get("function_call").filter(|function| function.as_object().is_some()) {
                self.piece(group, u64::MAX, "", Some(function));
            }
        }
    }

    fn piece(&mut self, group: u64, index: u64, id: &str, function: Option<&Json<'_>>) {
        let next = self.calls.len() as u64;
        let slot = *self.slots.entry((group, index)).or_insert(next);
        // Some servers give every call the same index: another id is another call.
        let is_other = |call: &WireCall| !id.is_empty() && !call.id.is_empty() && call.id != id;
        let slot = if self.calls.get(&(group, slot)).is_some_and(is_other) { next } else { slot };
        self.slots.insert((group, index), slot);
        let Some(call) = self.at(group, slot) else { return };
        let text = |name: &str| function.and_then(|function| function.get(name)).and_then(Json::as_str);
        if !id.is_empty() {
            id.clone_into(&mut call.id);
        }
        // Some servers repeat the name in every piece.
        if let Some(name) = text("name").filter(|name| call.name != *name) {
            call.name.push_str(name);
        }
        call.arguments.push_str(text("arguments").or_else(|| text("input")).unwrap_or_default());
    }

    fn responses(&mut self, value: &Json<'_>) {
        match value.get("type").and_then(Json::as_str).unwrap_or_default() {
            "response.output_item.added" | "response.output_item.done" => {
                self.item(value.get("item").unwrap_or(&Json::Null));
            }
            "response.completed" => {
                listed(value.at(&["response", "output"])).for_each(|item| self.item(item));
            }
            _ if value.get("object").and_then(Json::as_str) == Some("response") => {
                listed(value.get("output")).for_each(|item| self.item(item));
            }
            _ => {}
        }
    }

    fn item(&mut self, item: &Json<'_>) {
        let kind = item.get("type").and_then(Json::as_str).unwrap_or_default();
        if !kind.ends_with("_call") || PROVIDERS_OWN.contains(&kind) {
            return;
        }
        let id = item.get("call_id").or_else(|| item.get("id"));
        let known = self.calls.iter().find(|(_, call)| id.and_then(Json::as_str) == Some(call.id.as_str()));
        let index = known.map_or(self.calls.len() as u64, |((_, index), _)| *index);
        let arguments = ["arguments", "input", "action", "operation"].into_iter().find_map(|name| item.get(name));
        let arguments = match arguments {
            Some(Json::Text(text)) => text.clone().into_owned(),
            Some(other) => other.to_text(),
            None => item.to_text(),
        };
        let name = item.get("name").map_or(Some(kind.trim_end_matches("_call")), Json::as_str);
        self.put(index, id, name, arguments);
    }

    fn gemini(&mut self, value: &Json<'_>) {
        if let Some(chunks) = value.as_array() {
            chunks.iter().for_each(|chunk| self.gemini(chunk));
            return;
        }
        for candidate in listed(value.get("candidates")) {
            for part in listed(candidate.at(&["content", "parts"])) {
                let Some(call) = part.get("functionCall") else { continue };
                let arguments = call.get("args").map(Json::to_text).unwrap_or_default();
                self.put(self.calls.len() as u64, call.get("id"), call.get("name").and_then(Json::as_str), arguments);
            }
        }
    }
}

/// Reads what a request says of its conversation; nothing of a body that is no JSON.
#[must_use]
pub fn read_conversation(api: Api, body: &[u8], model: &str) -> Option<WireRequest> {
    let read = serde_json::from_slice::<Value>(body);
    let body = read.or_else(|_| serde_json::from_slice(&without_lone_surrogates(body))).ok()?;
    let (system, messages) = match api {
        Api::Anthropic => ("system", "messages"),
        Api::OpenAiChat => ("", "messages"),
        Api::OpenAiResponses => ("instructions", "input"),
        Api::Gemini => ("systemInstruction", "contents"),
    };
    let messages = body.get(messages).unwrap_or(&Value::Null);
    let is_first = |message: &&Value| message.get("role").and_then(Value::as_str) == Some("user");
    let first = list(Some(messages)).find(is_first).or_else(|| messages.as_str().map(|_| messages));
    let prompt = first.map(text_of).unwrap_or_default();
    let system = body.get(system).map(Value::to_string).unwrap_or_default();
    let developer = list(Some(messages)).take_while(|message| !is_first(message)).map(Value::to_string);
    let beginning = format!("{system}\n{}\n{prompt}", developer.collect::<String>());
    let mut results = Vec::new();
    let mut calls = 0;
    for message in list(Some(messages)) {
        collect_results(api, message, &mut results, &mut calls);
    }
    Some(WireRequest {
        conversation: Digest::of(beginning.as_bytes()).to_string().chars().take(12).collect(),
        model: model.to_owned(),
        prompt,
        has_tools: ["tools", "functions"].into_iter().any(|name| list(body.get(name)).next().is_some()),
        results,
        calls,
    })
}

fn collect_results(api: Api, message: &Value, results: &mut Vec<WireResult>, calls: &mut usize) {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut put = |id: String, output: Option<&Value>, failed: Option<bool>| {
        results.push(WireResult { id, output: output.map(text_of).unwrap_or_default(), failed });
    };
    match api {
        Api::Anthropic => {
            for block in list(message.get("content")) {
                if block.get("type").and_then(Value::as_str) == Some("tool_result") {
                    let failed = block.get("is_error").and_then(Value::as_bool);
                    put(text(block.get("tool_use_id")), block.get("content"), failed);
                }
            }
        }
        Api::OpenAiChat => {
            if message.get("role").and_then(Value::as_str) == Some("tool") {
                put(text(message.get("tool_call_id")), message.get("content"), None);
            }
        }
        Api::OpenAiResponses => {
            let kind = message.get("type").and_then(Value::as_str).unwrap_or_default();
            if kind.ends_with("_call_output") {
                put(text(message.get("call_id")), message.get("output"), None);
            }
        }
        Api::Gemini => {
            for part in list(message.get("parts")) {
                if part.get("functionCall").is_some() {
                    *calls += 1;
                }
                if let Some(response) = part.get("functionResponse") {
                    let id = text(response.get("id"));
                    let id = if id.is_empty() { by_place(results.len()) } else { id };
                    let output = response.get("response").map(text_of).unwrap_or_default();
                    results.push(WireResult { id, output, failed: None });
                }
            }
        }
    }
}

/// The body with a sign in the place of each half of a pair of escapes: a client that cuts a text inside an emoji writes such, and
/// providers accept it.
fn without_lone_surrogates(body: &[u8]) -> Vec<u8> {
    let half = |at: usize, kinds: &[u8]| {
        let is_escape = body.get(at..at + 3).is_some_and(|three| three.eq_ignore_ascii_case(b"\\ud"));
        is_escape && body.get(at + 3).is_some_and(|kind| kinds.contains(&kind.to_ascii_lowercase()))
    };
    let mut plain = Vec::with_capacity(body.len());
    let mut at = 0;
    while let Some(byte) = body.get(at) {
        let is_high = half(at, b"89ab");
        let length = match byte {
            b'\\' if is_high && half(at + 6, b"cdef") => 12,
            b'\\' if is_high || half(at, b"cdef") => 6,
            b'\\' => 2,
            _ => 1,
        };
        if length == 6 {
            plain.extend(b"\\ufffd");
        } else {
            plain.extend(body.get(at..at + length).unwrap_or_else(|| body.get(at..).unwrap_or_default()));
        }
        at += length;
    }
    plain
}

/// Arguments as JSON; a text that is none becomes one.
fn as_json(arguments: &str) -> String {
    let text = arguments.trim();
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        _ if text.is_empty() => "{}".to_owned(),
        Ok(_) => arguments.to_owned(),
        Err(_) => serde_json::json!({"input": arguments}).to_string(),
    }
}

/// The id of a call that the API gives none: its place among all calls of the conversation.
fn by_place(place: usize) -> String {
    format!("{BY_PLACE}{place}")
}

/// Whether an id was made from a place: it means something inside its conversation only.
#[must_use]
pub fn is_by_place(id: &str) -> bool {
    id.starts_with(BY_PLACE)
}

const BY_PLACE: &str = "call-";

/// The values of a list in a reply.
fn listed<'v, 't>(value: Option<&'v Json<'t>>) -> impl Iterator<Item = &'v Json<'t>> {
    value.and_then(Json::as_array).into_iter().flatten()
}

/// The same in a request.
fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// The texts of a value, whatever it is made of.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n"),
        Value::Object(map) => {
            let named = ["text", "content", "parts", "output", "error"].into_iter().find_map(|name| map.get(name));
            named.map_or_else(|| value.to_string(), text_of)
        }
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(api: Api, events: &[&str]) -> Vec<WireCall> {
        let mut calls = CallCollector::default();
        events.iter().for_each(|event| calls.hear(api, &Json::read(event).unwrap()));
        let request = read_conversation(api, b"{}", "m").unwrap();
        calls.calls(&request)
    }

    fn call(id: &str) -> WireCall {
        WireCall { id: id.to_owned(), name: "bash".to_owned(), arguments: r#"{"command":"ls"}"#.to_owned() }
    }

    #[test]
    fn calls_are_the_same_whichever_api_and_delivery_brings_them() {
        let cases: [(Api, &[&str]); 8] = [
            (
                Api::Anthropic,
                &[
                    r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"bash","input":{}}}"#,
                    r#"{"type":"content_block_delta","index":1,"delta":{"partial_json":"{\"command\":"}}"#,
                    r#"{"type":"content_block_delta","index":1,"delta":{"partial_json":"\"ls\"}"}}"#,
                ],
            ),
            (
                Api::Anthropic,
                &[
                    r#"{"type":"message","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"a","name":"bash","input":{"command":"ls"}}]}"#,
                ],
            ),
            (
                Api::OpenAiChat,
                &[
                    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":""}}]}}]}"#,
                    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"command\":\"ls\"}"}}]}}]}"#,
                ],
            ),
            (
                Api::OpenAiChat,
                &[
                    r#"{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]}}]}"#,
                ],
            ),
            (
                Api::OpenAiResponses,
                &[
                    r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"a","name":"bash","arguments":""}}"#,
                    r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"a","name":"bash","arguments":"{\"command\":\"ls\"}"}}"#,
                ],
            ),
            (
                Api::OpenAiResponses,
                &[
                    r#"{"object":"response","output":[{"type":"reasoning"},{"type":"function_call","call_id":"a","name":"bash","arguments":"{\"command\":\"ls\"}"}]}"#,
                ],
            ),
            (
                Api::Gemini,
                &[
                    r#"{"candidates":[{"content":{"parts":[{"text":"x"},{"functionCall":{"id":"a","name":"bash","args":{"command":"ls"}}}]}}]}"#,
                ],
            ),
            (
                Api::Gemini,
                &[
                    r#"[{"candidates":[{"content":{"parts":[{"functionCall":{"id":"a","name":"bash","args":{"command":"ls"}}}]}}]}]"#,
                ],
            ),
        ];
        for (api, events) in cases {
            assert_eq!(collected(api, events), [call("a")], "{api:?} {events:?}");
        }
    }

    #[test]
    fn calls_in_odd_forms_are_told_apart() {
        let two = |first: &str, second: &str| {
            let event = |call: &str| format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{call}]}}}}]}}"#);
            let calls = collected(Api::OpenAiChat, &[&event(first), &event(second)]);
            calls.iter().map(|call| format!("{} {} {}", call.id, call.name, call.arguments)).collect::<Vec<_>>()
        };
        let whole = |id: &str, index: &str| {
            format!(r#"{{{index}"id":"{id}","function":{{"name":"bash","arguments":"{{}}"}}}}"#)
        };
        let both = ["a bash {}", "b bash {}"];
        assert_eq!(two(&whole("a", r#""index":0,"#), &whole("b", r#""index":0,"#)), both, "all under one index");
        assert_eq!(two(&whole("a", ""), &whole("b", "")), both, "without any index");
        let again = r#"{"index":0,"id":"a","function":{"name":"bash","arguments":"}"}}"#;
        let begun = r#"{"index":0,"id":"a","function":{"name":"bash","arguments":"{"}}"#;
        assert_eq!(two(begun, again), ["a bash {}"], "name and id in every piece");
        let custom = r#"{"index":0,"id":"a","type":"custom","custom":{"name":"patch","input":"*** Begin"}}"#;
        assert_eq!(
            collected(Api::OpenAiChat, &[&format!(r#"{{"choices":[{{"message":{{"tool_calls":[{custom}]}}}}]}}"#)])[0]
                .arguments,
            r#"{"input":"*** Begin"}"#
        );
        let items = [
            r#"{"type":"response.output_item.done","item":{"type":"shell_call","call_id":"a","action":{"commands":["ls"]}}}"#,
            r#"{"type":"response.output_item.done","item":{"type":"apply_patch_call","call_id":"b","operation":{"path":"x"}}}"#,
        ];
        let names: Vec<_> = collected(Api::OpenAiResponses, &items).into_iter().map(|call| call.name).collect();
        assert_eq!(names, ["shell", "apply_patch"]);
    }

    #[test]
    fn a_text_that_was_cut_inside_an_emoji_is_read_and_what_is_no_json_is_not() {
        let body = br#"{"functions":[{}],"messages":[{"role":"user","content":"cut \ud83d here, whole \ud83d\ude00, \\ud83d"}]}"#;
        let read = read_conversation(Api::OpenAiChat, body, "m").unwrap();
        assert_eq!(read.prompt, "cut \u{fffd} here, whole \u{1f600}, \\ud83d");
        assert!(read.has_tools, "functions are tools of an older form");
        assert_eq!(read_conversation(Api::OpenAiChat, b"{\"messages\":", "m"), None);
    }

    #[test]
    fn more_calls_than_are_remembered_are_known_to_be_missed() {
        let mut calls = CallCollector::default();
        for number in 0..=CALLS_MAX {
            assert!(!calls.has_missed());
            let call = serde_json::json!({"functionCall": {"name": "f", "args": {"n": number}}});
            let reply = serde_json::json!({"candidates": [{"content": {"parts": [call]}}]}).to_string();
            calls.hear(Api::Gemini, &Json::read(&reply).unwrap());
        }
        assert!(calls.has_missed());
    }

    #[test]
    fn a_reply_of_text_and_a_providers_own_tool_ask_for_nothing() {
        for (api, event) in [
            (
                Api::Anthropic,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search"}}"#,
            ),
            (Api::Anthropic, r#"{"type":"content_block_delta","index":0,"delta":{"text":"x"}}"#),
            (
                Api::OpenAiResponses,
                r#"{"type":"response.output_item.done","item":{"type":"web_search_call","id":"w"}}"#,
            ),
            (Api::OpenAiChat, r#"{"choices":[{"delta":{"content":"x"}}]}"#),
            (Api::Gemini, r#"{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}"#),
        ] {
            assert_eq!(collected(api, &[event]), [], "{event}");
        }
    }

    #[test]
    fn results_and_the_beginning_of_a_conversation_are_read_from_every_api() {
        let cases = [
            (
                Api::Anthropic,
                r#"{"system":"s","tools":[{}],"messages":[{"role":"user","content":"Do it"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"out"}],"is_error":true}]}]}"#,
                Some(true),
            ),
            (
                Api::OpenAiChat,
                r#"{"tools":[{}],"messages":[{"role":"system","content":"s"},{"role":"user","content":"Do it"},{"role":"tool","tool_call_id":"a","content":"out"}]}"#,
                None,
            ),
            (
                Api::OpenAiResponses,
                r#"{"instructions":"s","tools":[{}],"input":[{"role":"user","content":[{"type":"input_text","text":"Do it"}]},{"type":"function_call_output","call_id":"a","output":"out"}]}"#,
                None,
            ),
            (
                Api::Gemini,
                r#"{"systemInstruction":"s","tools":[{}],"contents":[{"role":"user","parts":[{"text":"Do it"}]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"bash","response":{"output":"out"}}}]}]}"#,
                None,
            ),
        ];
        for (api, body, failed) in cases {
            let read = read_conversation(api, body.as_bytes(), "m").unwrap();
            let result = WireResult { id: "a".to_owned(), output: "out".to_owned(), failed };
            assert_eq!(
                (read.prompt.as_str(), read.has_tools, read.results.as_slice()),
                ("Do it", true, &[result][..]),
                "{api:?}"
            );
            let longer = body.replace("out", "another");
            let other = body.replace("Do it", "Do that");
            let key = |text: &str| read_conversation(api, text.as_bytes(), "m").unwrap().conversation;
            assert_eq!(key(&longer), read.conversation, "it goes on");
            assert_ne!(key(&other), read.conversation, "another agent");
        }
    }

    #[test]
    fn calls_without_an_id_get_one_by_their_place() {
        let body = r#"{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[{"functionCall":{"name":"a"}}]},{"role":"user","parts":[{"functionResponse":{"name":"a","response":{"output":"1"}}}]}]}"#;
        let request = read_conversation(Api::Gemini, body.as_bytes(), "m").unwrap();
        assert_eq!(request.results[0].id, "call-0");
        let mut calls = CallCollector::default();
        let reply = r#"{"candidates": [{"content": {"parts": [{"functionCall": {"name": "b"}}]}}]}"#;
        calls.hear(Api::Gemini, &Json::read(reply).unwrap());
        assert_eq!(calls.calls(&request)[0].id, "call-1");
    }
}
