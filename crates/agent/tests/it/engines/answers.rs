//! Good answers: text, calls, usage, and requests as each provider wants them.

use crate::engines::ask::{KEY, ask, ask_name, question, tools};
use crate::support::dialects::{ALL, Api, Say};
use crate::support::server::{Server, Step, stream};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use tripwire_agent::engines::{Turn, open};
use tripwire_core::prices;
use tripwire_core::run::record::{Answer, AnswerEnd};
use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;

fn usage([fresh, read, write, output, reasoning]: [u64; 5]) -> Usage {
    Usage {
        fresh_input: Tokens::new(fresh),
        cache_read: Tokens::new(read),
        cache_write: Tokens::new(write),
        output: Tokens::new(output),
        reasoning: Tokens::new(reasoning),
        ..Usage::default()
    }
}

fn good(api: Api, say: &Say) -> (Answer, String) {
    let server = Server::start(vec![stream(&api.events(say))]);
    let (answer, heard) = ask(api, &server);
    (answer.unwrap_or_else(|error| panic!("{api:?}: {error}")), heard)
}

#[test]
fn run_4_text_comes_piece_by_piece_and_whole() {
    for api in ALL {
        let (answer, heard) = good(api, &Say::text(&["Grüße, ", "Welt 🦀", "\n- end"]).usage([10, 0, 0, 5, 0]));
        assert_eq!(answer.text, "Grüße, Welt 🦀\n- end", "{api:?}");
        assert_eq!(*heard, *answer.text, "{api:?}");
        assert_eq!((answer.model.as_str(), &answer.end), ("test-model-1", &AnswerEnd::Finished), "{api:?}");
        assert!(answer.calls.is_empty());
    }
}

#[test]
fn run_4_parallel_calls_keep_order_arguments_and_ids() {
    for api in ALL {
        let say =
            Say::text(&["two"]).call("read", r#"{"path":"ä/ü.txt"}"#).call("write", r#"{"path":"b","text":"\n"}"#);
        let (answer, _) = good(api, &say);
        let calls: Vec<_> = answer.calls.iter().map(|call| (call.tool.as_str(), call.arguments.as_str())).collect();
        assert_eq!(calls, [("read", r#"{"path":"ä/ü.txt"}"#), ("write", r#"{"path":"b","text":"\n"}"#)], "{api:?}");
        assert!(!answer.calls[0].id.is_empty() && answer.calls[0].id != answer.calls[1].id, "{api:?}");
    }
}

#[test]
fn run_4_calls_without_text_and_without_arguments() {
    for api in ALL {
        let (answer, heard) = good(api, &Say::default().call("finish", "{}"));
        assert_eq!((answer.text.as_str(), heard.as_str()), ("", ""), "{api:?}");
        assert_eq!((answer.calls[0].tool.as_str(), answer.calls[0].arguments.as_str()), ("finish", "{}"), "{api:?}");
    }
}

#[test]
fn ctx_1_usage_is_split_into_classes_that_do_not_overlap() {
    // Cached tokens are beside the input for Anthropic and inside it for the others; reasoning is inside the output for
    // OpenAI and beside it for Gemini. Only Anthropic tells what was written to the cache.
    let (answer, _) = good(Api::Anthropic, &Say::text(&["x"]).usage([12, 1_000, 500, 20, 5]));
    assert_eq!(answer.usage, usage([12, 1_000, 500, 20, 5]));
    assert_eq!(answer.usage.input(), Tokens::new(1_512));
    for api in [Api::Chat, Api::Responses, Api::Gemini] {
        let (answer, _) = good(api, &Say::text(&["x"]).usage([12, 1_000, 0, 20, 5]));
        assert_eq!(answer.usage, usage([12, 1_000, 0, 20, 5]), "{api:?}");
        assert_eq!(answer.usage.input(), Tokens::new(1_012), "{api:?}");
    }
}

#[test]
fn ctx_1_half_a_million_cached_tokens_cost_cents() {
    for api in ALL {
        let (answer, _) = good(api, &Say::text(&["x"]).usage([100, 500_000, 0, 40, 0]));
        // 100 x $5 + 500,000 x $0.50 + 40 x $25, each per million.
        let cost = prices::cost("claude-opus-4-5", &answer.usage);
        assert_eq!(cost.micro_usd.get(), 500 + 250_000 + 1_000, "{api:?}");
    }
}

#[test]
fn a_server_that_tells_no_usage_is_estimated_and_never_free() {
    let events: Vec<String> = Api::Chat
        .events(&Say::text(&["hello there"]))
        .into_iter()
        .filter(|event| !event.contains("prompt_tokens"))
        .collect();
    let server = Server::start(vec![stream(&events)]);
    let answer = ask(Api::Chat, &server).0.unwrap();
    assert!(answer.usage.fresh_input > Tokens::new(10) && answer.usage.output >= Tokens::new(4), "{:?}", answer.usage);
}

#[test]
fn a_chat_answer_that_said_why_it_ended_is_whole_without_the_mark() {
    let mut events = Api::Chat.events(&Say::text(&["all"]).usage([10, 0, 0, 5, 0]));
    assert_eq!(events.pop().as_deref(), Some("data: [DONE]\n\n"));
    let answer = ask(Api::Chat, &Server::start(vec![stream(&events)])).0.unwrap();
    assert_eq!((answer.text.as_str(), answer.usage), ("all", usage([10, 0, 0, 5, 0])));
}

#[test]
fn empty_texts_do_not_go_back_to_gemini() {
    let signed = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"},{\"thoughtSignature\":\"S1\",\
        \"functionCall\":{\"name\":\"read\",\"args\":{}}},{\"text\":\"\"}]},\"finishReason\":\"STOP\"}]}\n\n";
    let done = stream(&Api::Gemini.events(&Say::text(&["done"])));
    let server = Server::start(vec![stream(&[signed.to_owned()]), done]);
    let mut engine = open(&Api::Gemini.engine(&server.url()), &|_| Some(KEY.to_owned())).unwrap();
    let (mut turns, tools) = (vec![Turn::User(String::new())], tools());
    let far = Instant::now() + Duration::from_secs(60);
    let first = engine.ask(&question(&turns, &tools), far, &mut |_| ControlFlow::Continue(())).unwrap();
    turns.push(Turn::Model { text: first.text.into_string(), calls: first.calls });
    turns.push(Turn::Model { text: String::new(), calls: Vec::new() });
    engine.ask(&question(&turns, &tools), far, &mut |_| ControlFlow::Continue(())).unwrap();
    let body = server.requests()[1].body.to_string();
    assert!(body.contains("\"S1\"") && !body.contains("\"text\":\"\""), "{body}");
}

#[test]
fn bytes_may_be_cut_anywhere_and_lines_end_in_any_way() {
    for api in ALL {
        let say = Say::text(&["ä🦀", "漢字"]).call("read", r#"{"path":"🦀"}"#).usage([1, 2, 0, 3, 4]);
        let whole = good(api, &say).0;
        let noise =
            ": a comment\r\n\r\nevent: unheard_of\r\nid: 1\r\ndata: {\"type\": \"unheard_of\", \"new\": [1]}\r\n\r\n";
        let text = format!("{noise}{}", api.events(&say).concat());
        for (size, text) in [(1, text.clone()), (3, text.replace('\n', "\r\n").replace("\r\r", "\r")), (7, text)] {
            let pieces = text.into_bytes().chunks(size).map(|bytes| Step::Chunk(bytes.to_vec())).collect::<Vec<_>>();
            let script = [vec![Step::Streams], pieces, vec![Step::End]].concat();
            let answer =
                ask(api, &Server::start(vec![script])).0.unwrap_or_else(|error| panic!("{api:?} {size}: {error}"));
            // The server of each has a port of its own.
            let answer = Answer { engine: whole.engine.clone(), ..answer };
            assert_eq!(answer, whole, "{api:?} in pieces of {size}");
        }
    }
}

#[test]
fn an_answer_of_ten_megabytes_is_whole() {
    for api in ALL {
        let piece = "0123456789abcde\n".repeat(4_096);
        let say = Say { text: vec![piece; 160], ..Say::default() };
        let (answer, heard) = good(api, &say.usage([1, 0, 0, 2, 0]));
        assert_eq!(answer.text.len(), 160 * 4_096 * 16, "{api:?}");
        assert!(*heard == *answer.text, "{api:?}");
        assert_eq!(answer.usage, usage([1, 0, 0, 2, 0]), "{api:?}");
    }
}

#[test]
fn arguments_of_ten_megabytes_are_whole() {
    let text = "x".repeat(10 << 20);
    for api in ALL {
        let arguments = json!({"path": "a", "text": text}).to_string();
        let (answer, _) = good(api, &Say::default().call("write", &arguments));
        assert!(*answer.calls[0].arguments == *arguments, "{api:?}");
    }
}

#[test]
fn run_4_the_request_says_everything_in_the_words_of_the_provider() {
    for api in ALL {
        let server = Server::start(vec![stream(&api.events(&Say::text(&["ok"])))]);
        ask(api, &server).0.unwrap();
        let request = server.requests().remove(0);
        assert_eq!(request.line, api.request_line());
        let key = match api {
            Api::Anthropic => ("x-api-key", KEY.to_owned()),
            Api::Chat | Api::Responses => ("authorization", format!("Bearer {KEY}")),
            Api::Gemini => ("x-goog-api-key", KEY.to_owned()),
        };
        assert_eq!(request.header(key.0), Some(key.1.as_str()), "{api:?}");
        let body = request.body.to_string();
        assert!(!body.contains(KEY) && body.contains("be brief") && body.contains("Reads a file"), "{api:?} {body}");
        check_conversation(api, &request.body);
    }
}

fn check_conversation(api: Api, body: &Value) {
    match api {
        Api::Anthropic => {
            let roles: Vec<_> = body["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
            assert_eq!(roles, ["user", "assistant", "user"], "results and our words are one message");
            let last = &body["messages"][2]["content"];
            assert_eq!(last[0]["tool_use_id"], "call_a");
            assert_eq!((&last[1]["is_error"], &last[2]["text"]), (&json!(true), &json!("go on")));
            assert_eq!(body["messages"][1]["content"][2]["input"], json!({"unreadable_arguments": "{broken"}));
            assert_eq!((&body["max_tokens"], &body["stream"]), (&json!(1_000), &json!(true)));
            assert_eq!(last[2]["cache_control"]["type"], "ephemeral");
        }
        Api::Chat => {
            assert_eq!(body["stream_options"]["include_usage"], true);
            let written = &body["messages"][2]["tool_calls"][1]["function"]["arguments"];
            assert_eq!(written, r#"{"unreadable_arguments":"{broken"}"#, "strict servers take only JSON back");
            assert_eq!(
                body["messages"][4],
                json!({"role": "tool", "tool_call_id": "call_b", "content": "[error] bad"})
            );
            assert_eq!(body["max_tokens"], 1_000, "other servers know only the old name");
        }
        Api::Responses => {
            assert_eq!((&body["store"], &body["instructions"]), (&json!(false), &json!("be brief")));
            let kinds: Vec<_> = body["input"].as_array().unwrap().iter().map(|item| item["type"].as_str()).collect();
            let (call, output) = (Some("function_call"), Some("function_call_output"));
            assert_eq!(kinds, [None, None, call, call, output, output, None]);
        }
        Api::Gemini => {
            let response = &body["contents"][2]["parts"];
            assert_eq!(response[0]["functionResponse"]["response"], json!({"output": "42"}));
            assert_eq!(response[1]["functionResponse"]["response"], json!({"error": "bad"}));
            assert_eq!(body["generationConfig"]["maxOutputTokens"], 1_000);
            assert_eq!(body["tools"][0]["functionDeclarations"][0]["name"], "read");
        }
    }
}

/// What a provider signs in its own answer must come back to it unchanged with the results.
#[test]
fn signed_thinking_goes_back_to_the_provider_that_signed_it() {
    let anthropic = {
        let mut events = Api::Anthropic.events(&Say::default().call("read", r#"{"path":"x"}"#));
        let thinking = [
            "{\"type\":\"content_block_start\",\"index\":9,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}",
            "{\"type\":\"content_block_delta\",\"index\":9,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}",
            "{\"type\":\"content_block_delta\",\"index\":9,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"S1\"}}",
        ];
        events.splice(2..2, thinking.map(|event| format!("data: {event}\n\n")));
        events
    };
    let responses = {
        let mut events = Api::Responses.events(&Say::default().call("read", r#"{"path":"x"}"#));
        let item = r#"{"type":"response.output_item.done","output_index":7,"item":{"type":"reasoning","encrypted_content":"S1"}}"#;
        events.insert(1, format!("data: {item}\n\n"));
        events
    };
    let gemini = Api::Gemini.events(&Say::default().call("read", r#"{"path":"x"}"#))[0]
        .replace("{\"functionCall\"", "{\"thoughtSignature\":\"S1\",\"functionCall\"");
    for (api, events) in [(Api::Anthropic, anthropic), (Api::Responses, responses), (Api::Gemini, vec![gemini])] {
        let done = stream(&api.events(&Say::text(&["done"])));
        let server = Server::start(vec![stream(&events), done]);
        let mut engine = open(&api.engine(&server.url()), &|_| Some(KEY.to_owned())).unwrap();
        let (mut turns, tools) = (vec![Turn::User("go".to_owned())], tools());
        let far = Instant::now() + Duration::from_secs(60);
        let first = engine.ask(&question(&turns, &tools), far, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!((first.text.as_str(), first.calls.len()), ("", 1), "{api:?}: thinking is not text");
        turns.push(Turn::Model { text: first.text.to_string(), calls: first.calls.clone() });
        engine.ask(&question(&turns, &tools), far, &mut |_| ControlFlow::Continue(())).unwrap();
        let body = server.requests()[1].body.to_string();
        assert!(body.contains("\"S1\"") && body.contains("\"path\""), "{api:?}: {body}");
    }
}

#[test]
fn why_an_answer_ended_is_told_in_our_words() {
    for (api, from, to, end) in [
        (Api::Anthropic, "end_turn", "max_tokens", AnswerEnd::OutputLimit),
        (Api::Anthropic, "end_turn", "refusal", AnswerEnd::Refused),
        (Api::Anthropic, "end_turn", "novelty", AnswerEnd::Other),
        (Api::Chat, "\"stop\"", "\"length\"", AnswerEnd::OutputLimit),
        (Api::Chat, "\"stop\"", "\"content_filter\"", AnswerEnd::Refused),
        (Api::Gemini, "STOP", "MAX_TOKENS", AnswerEnd::OutputLimit),
        (Api::Gemini, "STOP", "SAFETY", AnswerEnd::Refused),
        (
            Api::Responses,
            "\"status\":\"completed\"",
            "\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"}",
            AnswerEnd::OutputLimit,
        ),
    ] {
        let events: Vec<String> = api.events(&Say::text(&["x"])).iter().map(|event| event.replace(from, to)).collect();
        let answer = ask(api, &Server::start(vec![stream(&events)])).0.unwrap();
        assert_eq!(answer.end, end, "{api:?} {to}");
    }
}

#[test]
fn lm_studio_and_ollama_need_no_key_and_get_none() {
    let say = stream(&Api::Chat.events(&Say::text(&["local"])));
    let server = Server::start(vec![say.clone(), say]);
    for provider in ["lmstudio", "ollama"] {
        let answer = ask_name(&format!("{provider}:m@{}/v1", server.url()), Duration::from_secs(60)).0.unwrap();
        assert_eq!(answer.text, "local");
    }
    assert!(server.requests().iter().all(|request| request.header("authorization").is_none()));
}

/// Ollama gives parallel calls one index, some servers give none and no ids: still two calls.
#[test]
fn calls_of_servers_that_number_them_badly_are_told_apart() {
    let whole = |fields: &str, path: &str| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{{fields}\"function\":{{\"name\":\"read\",\
            \"arguments\":\"{path}\"}}}}]}}}}]}}\n\n"
        )
    };
    for (first, second) in [("\"index\":0,\"id\":\"a\",", "\"index\":0,\"id\":\"b\","), ("", "")] {
        let mut events = Api::Chat.events(&Say::text(&["x"]));
        events.splice(1..1, [whole(first, "1"), whole(second, "2")]);
        let answer = ask(Api::Chat, &Server::start(vec![stream(&events)])).0.unwrap();
        let arguments: Vec<_> = answer.calls.iter().map(|call| call.arguments.as_str()).collect();
        assert_eq!(arguments, ["1", "2"]);
        assert_ne!(answer.calls[0].id, answer.calls[1].id);
    }
}

/// A proxy of the environment has no business on loopback. The environment is set in a child, which is this same test.
#[test]
fn run_4_a_proxy_of_the_environment_is_not_used_on_loopback() {
    const NAME: &str = "engines::answers::run_4_a_proxy_of_the_environment_is_not_used_on_loopback";
    if let Ok(url) = std::env::var("TRIPWIRE_TEST_URL") {
        let answer = ask_name(&Api::Chat.engine(&url), Duration::from_secs(60)).0;
        assert_eq!(answer.map(|answer| answer.text), Ok("direct".into()));
        return;
    }
    let server = Server::start(vec![stream(&Api::Chat.events(&Say::text(&["direct"])))]);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", NAME]).env_clear().env("TRIPWIRE_TEST_URL", server.url());
    for variable in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        child.env(variable, format!("http://{closed}"));
    }
    let output = child.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(server.requests().len(), 1, "the child asked the server itself");
}
