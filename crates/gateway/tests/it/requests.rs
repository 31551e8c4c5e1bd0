//! Requests: what they may cost at most, and edits that keep every other byte.

use serde_json::Value;
use tripwire_core::explain::Explain as _;
use tripwire_core::prices::CacheUse;
use tripwire_core::units::Tokens;
use tripwire_gateway::wire::{
    Api, Delivery, Family, InputBound, PathKind, RequestFacts, WireError, ask_for_usage, edited, path_kind,
    read_request,
};

fn read(api: Api, body: &str) -> Result<RequestFacts, WireError> {
    read_request(api, body.as_bytes(), Some("gemini-2.5-pro"), Delivery::Stream)
}

#[test]
fn gate_8_the_output_limit_is_put_into_the_body_and_every_other_byte_stays() {
    for (api, body, expected) in [
        (
            Api::Anthropic,
            r#"{ "model":"m",  "max_tokens" : 4096 ,"messages":[{"max_tokens":1}] }"#,
            r#"{ "model":"m",  "max_tokens" : 77 ,"messages":[{"max_tokens":1}] }"#,
        ),
        (Api::Anthropic, "\n{\"model\":\"m\"}", "\n{\"max_tokens\":77,\"model\":\"m\"}"),
        (
            Api::OpenAiChat,
            r#"{"model":"m","max_completion_tokens":9000,"n":2}"#,
            r#"{"model":"m","max_completion_tokens":77,"n":2}"#,
        ),
        (Api::OpenAiChat, r#"{"model":"m","max_tokens":9000}"#, r#"{"model":"m","max_tokens":77}"#),
        (Api::OpenAiChat, r#"{"model":"m"}"#, r#"{"max_completion_tokens":77,"model":"m"}"#),
        (Api::OpenAiChat, r#"{"model":"m","max_tokens":null}"#, r#"{"model":"m","max_tokens":77}"#),
        (Api::OpenAiResponses, r#"{"model":"m","input":"é"}"#, r#"{"max_output_tokens":77,"model":"m","input":"é"}"#),
        (
            Api::OpenAiResponses,
            r#"{"model":"m","max_output_tokens":100000}"#,
            r#"{"model":"m","max_output_tokens":77}"#,
        ),
        (
            Api::Gemini,
            r#"{"contents":[],"generationConfig":{"temperature":1,"maxOutputTokens":65536}}"#,
            r#"{"contents":[],"generationConfig":{"temperature":1,"maxOutputTokens":77}}"#,
        ),
        (
            Api::Gemini,
            r#"{"contents":[],"generation_config":{ }}"#,
            r#"{"contents":[],"generation_config":{"maxOutputTokens":77 }}"#,
        ),
        (Api::Gemini, r#"{"contents":[]}"#, r#"{"generationConfig":{"maxOutputTokens":77},"contents":[]}"#),
        (Api::Gemini, "{}", r#"{"generationConfig":{"maxOutputTokens":77}}"#),
    ] {
        let facts = read(api, body).unwrap();
        let edit = facts.set_limit(Tokens::new(77));
        let out = String::from_utf8(edited(body.as_bytes(), vec![edit])).unwrap();
        assert_eq!(out, expected, "{body}");
        serde_json::from_str::<Value>(&out).unwrap();
        assert_eq!(read(api, &out).unwrap().limit, Some(Tokens::new(77)), "{out}");
    }
}

#[test]
fn gate_8_a_chat_stream_is_asked_for_its_usage_once() {
    for (body, expected) in [
        (
            r#"{"model":"m","stream":true}"#,
            Some(r#"{"stream_options":{"include_usage":true},"model":"m","stream":true}"#),
        ),
        (
            r#"{"model":"m","stream":true,"stream_options":{"include_usage":false}}"#,
            Some(r#"{"model":"m","stream":true,"stream_options":{"include_usage":true}}"#),
        ),
        (
            r#"{"model":"m","stream":true,"stream_options":{"include_obfuscation":false}}"#,
            Some(r#"{"model":"m","stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false}}"#),
        ),
        (
            r#"{"model":"m","stream":true,"stream_options":{}}"#,
            Some(r#"{"model":"m","stream":true,"stream_options":{"include_usage":true}}"#),
        ),
        (r#"{"model":"m","stream":true,"stream_options":{"include_usage":true}}"#, None),
        (r#"{"model":"m"}"#, None),
    ] {
        let facts = read(Api::OpenAiChat, body).unwrap();
        let edit = ask_for_usage(&facts, body.as_bytes()).unwrap();
        let out = edit.map(|edit| String::from_utf8(edited(body.as_bytes(), vec![edit])).unwrap());
        assert_eq!(out.as_deref(), expected, "{body}");
    }
}

#[test]
fn gate_8_text_is_bounded_by_its_bytes_and_what_does_not_stand_in_the_request_by_the_window() {
    let bytes = |body: &str| InputBound::Bytes(body.len() as u64);
    for (api, body) in [
        (Api::Anthropic, r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"image"}]}]}"#),
        (
            Api::Anthropic,
            r#"{"model":"m","tools":[{"name":"f","input_schema":{"type":"object","properties":{"file_id":{"type":"file"}}}}]}"#,
        ),
        (
            Api::Anthropic,
            r#"{"model":"m","tools":[{"type":"bash_20250124","name":"bash"},{"type":"custom","name":"x"}]}"#,
        ),
        (
            Api::OpenAiResponses,
            r#"{"model":"m","input":"x","previous_response_id":null,"tools":[{"type":"function","name":"f"}]}"#,
        ),
        (
            Api::Gemini,
            r#"{"contents":[{"parts":[{"text":"x"}]}],"tools":[{"functionDeclarations":[{"name":"google_search"}]}]}"#,
        ),
    ] {
        let facts = read(api, body).unwrap();
        assert_eq!((facts.input, facts.server_calls), (bytes(body), 0), "{body}");
    }
    for (api, body) in [
        (Api::Anthropic, r#"{"model":"m","messages":[{"content":[{"type":"image","source":{}}]}]}"#),
        (
            Api::Anthropic,
            r#"{"model":"m","messages":[{"content":[{"type":"tool_result","content":[{"type":"document"}]}]}]}"#,
        ),
        (Api::OpenAiChat, r#"{"model":"m","messages":[{"content":[{"type":"image_url","image_url":{"url":"u"}}]}]}"#),
        (Api::OpenAiResponses, r#"{"model":"m","previous_response_id":"resp_1"}"#),
        (Api::OpenAiResponses, r#"{"model":"m","conversation":{"id":"c"}}"#),
        (Api::OpenAiResponses, r#"{"model":"m","input":[{"content":[{"type":"input_file","file_id":"f"}]}]}"#),
        (Api::Gemini, r#"{"contents":[{"parts":[{"inlineData":{"data":"AA"}}]}]}"#),
        (Api::Gemini, r#"{"contents":[],"cachedContent":"cachedContents/1"}"#),
    ] {
        assert_eq!(read(api, body).unwrap().input, InputBound::Window, "{body}");
    }
    for (api, body, calls) in [
        (Api::Anthropic, r#"{"model":"m","tools":[{"type":"web_search_20250305","max_uses":3}]}"#, 3),
        (Api::Anthropic, r#"{"model":"m","tools":[{"type":"web_search_20250305"}]}"#, 32),
        (Api::OpenAiResponses, r#"{"model":"m","tools":[{"type":"web_search"}]}"#, 32),
        (Api::Gemini, r#"{"contents":[],"tools":[{"googleSearch":{}}]}"#, 32),
    ] {
        let facts = read(api, body).unwrap();
        assert_eq!((facts.input, facts.server_calls), (InputBound::Window, calls), "{body}");
    }
    let deep = format!(r#"{{"model":"m","x":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    assert_eq!(
        read(Api::Anthropic, &deep).unwrap().input,
        InputBound::Window,
        "nested too deeply to be looked through"
    );
}

#[test]
fn gate_8_names_inside_earlier_calls_and_schemas_put_nothing_in() {
    for (api, body) in [
        (
            Api::Anthropic,
            r#"{"model":"m","messages":[{"content":[{"type":"tool_use","name":"run","input":{"container":"web","type":"image"}}]}]}"#,
        ),
        (
            Api::Gemini,
            r#"{"contents":[{"parts":[{"functionCall":{"name":"f","args":{"file_id":"x","conversation":{"a":[1]}}}}]}]}"#,
        ),
        (
            Api::Gemini,
            r#"{"contents":[{"parts":[{"functionResponse":{"name":"f","response":{"image_url":"u"}}}]}],"generationConfig":{"responseSchema":{"properties":{"container":{}}}}}"#,
        ),
        (
            Api::OpenAiChat,
            r#"{"model":"m","response_format":{"type":"json_schema","json_schema":{"schema":{"properties":{"file_id":{"type":"file"}}}}}}"#,
        ),
    ] {
        let facts = read(api, body).unwrap();
        assert_eq!((facts.input, facts.server_calls), (InputBound::Bytes(body.len() as u64), 0), "{body}");
    }
}

#[test]
fn gate_8_what_stands_beside_earlier_calls_still_puts_in_the_window() {
    for (api, body) in [
        (Api::Anthropic, r#"{"model":"m","container":"c","messages":[{"content":[{"type":"tool_use","input":{}}]}]}"#),
        (
            Api::Anthropic,
            r#"{"model":"m","messages":[{"content":[{"type":"tool_use","input":{}},{"type":"image","source":{}}]}]}"#,
        ),
        (Api::OpenAiResponses, r#"{"model":"m","input":[{"type":"input_image","image_url":"u"}]}"#),
        (
            Api::Gemini,
            r#"{"contents":[{"parts":[{"functionResponse":{"response":{},"parts":[{"inlineData":{"data":"AA"}}]}}]}]}"#,
        ),
    ] {
        assert_eq!(read(api, body).unwrap().input, InputBound::Window, "{body}");
    }
}

#[test]
fn gate_8_a_search_before_every_answer_is_known_from_the_request() {
    let facts = read(Api::OpenAiChat, r#"{"model":"gpt-4o-search-preview","web_search_options":{}}"#).unwrap();
    assert_eq!((facts.server_calls, facts.server_calls_min), (1, 1));
    for body in [r#"{"model":"m"}"#, r#"{"model":"m","web_search_options":null}"#] {
        let facts = read(Api::OpenAiChat, body).unwrap();
        assert_eq!((facts.server_calls, facts.server_calls_min), (0, 0), "{body}");
    }
    let offered = read(Api::OpenAiResponses, r#"{"model":"m","tools":[{"type":"web_search"}]}"#).unwrap();
    assert_eq!(offered.server_calls_min, 0, "the model may search, and the reply says so");
}

#[test]
fn gate_8_what_makes_a_request_dearer_is_read() {
    let facts = read(Api::OpenAiChat, r#"{"model":"m","n":4,"service_tier":"priority"}"#).unwrap();
    assert_eq!((facts.replies, facts.price_per_mille), (4, 2_500));
    let facts =
        read(Api::Gemini, r#"{"generationConfig":{"candidateCount":3,"thinkingConfig":{"thinkingBudget":500}}}"#);
    let facts = facts.unwrap();
    assert_eq!((facts.replies, facts.limit_min), (3, Tokens::new(501)));
    let facts = read(Api::Anthropic, r#"{"model":"m","thinking":{"type":"enabled","budget_tokens":2000}}"#).unwrap();
    assert_eq!(facts.limit_min, Tokens::new(2_001));
    for (control, cache) in [
        (r#""x""#, CacheUse::None),
        (r#"{"type":"text","cache_control":{"type":"ephemeral"}}"#, CacheUse::Short),
        (r#"{"type":"text","cache_control":{"type":"ephemeral","ttl":"1h"}}"#, CacheUse::Long),
    ] {
        let body = format!(r#"{{"model":"m","system":[{control}]}}"#);
        assert_eq!(read(Api::Anthropic, &body).unwrap().cache, cache, "{control}");
    }
}

#[test]
fn gate_8_a_request_that_two_readers_could_read_differently_is_refused() {
    for (api, body, expected) in [
        (
            Api::Anthropic,
            r#"{"model":"m","max_tokens":1,"max_tokens":99999}"#,
            WireError::Twice("max_tokens".to_owned()),
        ),
        (
            Api::Anthropic,
            r#"{"model":"m","max_tokens":1,"max\u005ftokens":99}"#,
            WireError::Twice("max_tokens".to_owned()),
        ),
        (Api::Anthropic, r#"{"model":"a","model":"b"}"#, WireError::Twice("model".to_owned())),
        (
            Api::Gemini,
            r#"{"generationConfig":{},"generation_config":{}}"#,
            WireError::Twice("generation_config".to_owned()),
        ),
        (Api::Anthropic, r#"{"model":"m","max_tokens":-1}"#, WireError::Field("max_tokens")),
        (Api::OpenAiChat, r#"{"model":"m","n":"5"}"#, WireError::Field("n")),
        (Api::OpenAiChat, r#"{"messages":[]}"#, WireError::NoModel),
        (Api::OpenAiResponses, r#"{"model":"m","background":true}"#, WireError::Background),
    ] {
        assert_eq!(read(api, body), Err(expected), "{body}");
    }
    for body in ["", "[]", "{", "{} {}", "null", "\u{feff}{}"] {
        assert!(matches!(read(Api::Anthropic, body), Err(WireError::NotAnObject(_))), "{body}");
    }
    assert!(read_request(Api::Anthropic, b"{\"model\":\"\xff\"}", None, Delivery::Whole).is_err());
}

#[test]
fn gate_8_a_reply_in_the_background_is_refused_with_advice_that_helps_and_any_other_passes() {
    let refused = read(Api::OpenAiResponses, r#"{"model":"m","background":true}"#).unwrap_err();
    assert_eq!(refused, WireError::Background);
    assert_eq!(refused.hint(), "leave `background` out", "a path without a price may be allowed, this may not");
    for body in [r#"{"model":"m"}"#, r#"{"model":"m","background":false}"#, r#"{"model":"m","background":null}"#] {
        assert!(read(Api::OpenAiResponses, body).is_ok(), "{body}");
    }
}

#[test]
fn gate_8_a_request_that_names_a_cache_or_an_earlier_reply_may_call_tools_in_either_spelling() {
    for (api, body) in [
        (Api::Gemini, r#"{"contents":[],"cachedContent":"cachedContents/1"}"#),
        (Api::Gemini, r#"{"contents":[],"cached_content":"cachedContents/1"}"#),
        (Api::Gemini, r#"{"contents":[],"tools":[{"function_declarations":[]}]}"#),
        (Api::OpenAiResponses, r#"{"model":"m","previous_response_id":"r"}"#),
    ] {
        assert!(read(api, body).unwrap().may_call_tools, "{body}");
    }
}

#[test]
fn gate_8_a_request_that_offers_nothing_may_call_no_tools() {
    for body in [r#"{"contents":[]}"#, r#"{"contents":[],"cached_content":null}"#, r#"{"contents":["cached_content"]}"#]
    {
        assert!(!read(Api::Gemini, body).unwrap().may_call_tools, "{body}");
    }
}

#[test]
fn gate_8_every_path_is_priced_free_or_refused() {
    let kind = |family: Family, method: &str, path: &str| match path_kind(family, method, path) {
        PathKind::Priced { model, delivery, .. } => format!("priced {} {delivery:?}", model.unwrap_or_default()),
        PathKind::Free => "free".to_owned(),
        PathKind::Unpriced => "unpriced".to_owned(),
    };
    for (family, method, path, expected) in [
        (Family::Anthropic, "POST", "/v1/messages", "priced  Whole"),
        (Family::Anthropic, "POST", "/v1/messages/count_tokens", "free"),
        (Family::Anthropic, "GET", "/v1/models", "free"),
        (Family::Anthropic, "POST", "/v1/messages/batches", "unpriced"),
        (Family::Anthropic, "POST", "/v1/messages/", "unpriced"),
        (Family::OpenAi, "POST", "/v1/chat/completions", "priced  Whole"),
        (Family::OpenAi, "POST", "/chat/completions", "priced  Whole"),
        (Family::OpenAi, "POST", "/v1/responses", "priced  Whole"),
        (Family::OpenAi, "GET", "/v1/models/gpt-5", "free"),
        (Family::OpenAi, "POST", "/v1/images/generations", "unpriced"),
        (Family::OpenAi, "GET", "/v1/responses/resp_1", "unpriced"),
        (Family::OpenAi, "POST", "/v1/images/../responses", "unpriced"),
        (Family::OpenAi, "POST", "/v1/threads/runs", "unpriced"),
        (Family::Gemini, "POST", "/v1beta/models/gemini-2.5-pro:generateContent", "priced gemini-2.5-pro Whole"),
        (Family::Gemini, "POST", "/v1beta/models/gemini-2.5-pro:streamGenerateContent", "priced gemini-2.5-pro Stream"),
        (Family::Gemini, "POST", "/v1beta/models/gemini-2.5-pro:countTokens", "free"),
        (Family::Gemini, "POST", "/v1beta/models/gemini-2.5-pro:embedContent", "unpriced"),
        (Family::Gemini, "POST", "/v1beta/models/a/../b:generateContent", "unpriced"),
        (Family::Gemini, "POST", "/upload/v1beta/files", "unpriced"),
    ] {
        assert_eq!(kind(family, method, path), expected, "{method} {path}");
    }
}
