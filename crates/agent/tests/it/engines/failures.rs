//! Bad answers: every one is an error with its reason, and none is taken for a whole answer.

use crate::engines::ask::{KEY, LONG, ask, ask_name};
use crate::support::dialects::{ALL, Api, Say};
use crate::support::server::{Server, Step, reply, stream};
use std::time::Duration;
use tripwire_agent::engines::EngineError;
use tripwire_core::explain::Explain as _;

fn fails(api: Api, script: Vec<Step>) -> EngineError {
    let server = Server::start(vec![script]);
    match ask(api, &server).0 {
        Ok(answer) => panic!("{api:?}: taken for whole: {answer:?}"),
        Err(error) => {
            assert!(!format!("{error} {error:?}").contains(KEY), "the key is shown: {error:?}");
            assert!(!error.hint().is_empty());
            error
        }
    }
}

fn error(api: Api, status: u16, kind: &str, message: &str) -> EngineError {
    fails(api, reply(status, &[("content-type", "application/json")], &api.error(status, kind, message).to_string()))
}

#[test]
fn run_4_refusals_have_their_reasons() {
    for api in ALL {
        assert!(matches!(error(api, 401, "authentication_error", "no"), EngineError::KeyRefused { .. }), "{api:?}");
        assert!(matches!(error(api, 403, "PERMISSION_DENIED", "no"), EngineError::KeyRefused { .. }), "{api:?}");
        assert!(matches!(error(api, 404, "not_found_error", "model"), EngineError::UnknownModel { .. }), "{api:?}");
        let long = error(api, 400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum");
        assert!(matches!(long, EngineError::ContextExhausted { .. }), "{api:?} {long}");
        let (status, kind) = api.overload();
        assert!(matches!(error(api, status, kind, "busy"), EngineError::Overloaded { .. }), "{api:?}");
        assert!(matches!(error(api, 500, "odd", "oops"), EngineError::Overloaded { .. }), "{api:?}");
        let other = error(api, 400, "invalid_request_error", "messages: wrong");
        assert!(matches!(other, EngineError::Refused { status: 400, .. }), "{api:?} {other}");
    }
}

#[test]
fn run_4_how_long_to_wait_is_read_in_every_form() {
    for api in ALL {
        let body = api.error(429, "rate_limit_error", "slow down").to_string();
        for (headers, wait) in [
            (vec![("retry-after", "7")], Some(Duration::from_secs(7))),
            (vec![("retry-after-ms", "1500"), ("retry-after", "7")], Some(Duration::from_millis(1_500))),
            (vec![("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")], Some(Duration::ZERO)),
            (
                vec![("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "6m0s")],
                Some(Duration::from_secs(360)),
            ),
            (vec![], None),
        ] {
            let EngineError::RateLimited { retry_after, said, .. } = fails(api, reply(429, &headers, &body)) else {
                panic!("{api:?}: another reason")
            };
            assert_eq!(retry_after, wait, "{api:?} {headers:?}");
            assert!(said.contains("slow down"));
        }
        let EngineError::Overloaded { retry_after, .. } = fails(api, reply(529, &[("retry-after", "3")], "{}")) else {
            panic!("{api:?}: another reason")
        };
        assert_eq!(retry_after, Some(Duration::from_secs(3)));
    }
}

#[test]
fn run_4_gemini_says_the_wait_in_its_body() {
    let body = r#"[{"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details":
        [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}]}}]"#;
    let EngineError::RateLimited { retry_after, .. } = fails(Api::Gemini, reply(429, &[], body)) else {
        panic!("another reason")
    };
    assert_eq!(retry_after, Some(Duration::from_secs(37)));
}

#[test]
fn run_4_an_overload_inside_a_good_stream_is_an_overload() {
    for api in ALL {
        let mut events = api.events(&Say::text(&["half an ", "answer"]));
        events.truncate(3);
        events.push(api.stream_error(api.overload().1, "Overloaded"));
        let error = fails(api, stream(&events));
        assert!(
            matches!(&error, EngineError::Overloaded { said, .. } if said.contains("Overloaded")),
            "{api:?} {error}"
        );
    }
}

#[test]
fn run_4_other_errors_inside_a_stream_keep_their_reason() {
    let error = fails(Api::Chat, stream(&[Api::Chat.stream_error("rate_limit_exceeded", "tokens per min")]));
    assert!(matches!(error, EngineError::RateLimited { .. }), "{error}");
    let event =
        "event: error\ndata: {\"type\":\"error\",\"code\":\"context_length_exceeded\",\"message\":\"too long\"}\n\n";
    let error = fails(Api::Responses, stream(&[event.to_owned()]));
    assert!(matches!(error, EngineError::ContextExhausted { .. }), "{error}");
}

/// Every event but the last, cut off cleanly and in the middle: never a short answer taken for a whole one.
#[test]
fn run_4_a_stream_that_ends_early_is_broken_wherever_it_ends() {
    for api in ALL {
        let events = api.events(&Say::text(&["all of ", "it"]).call("read", r#"{"path":"x"}"#));
        // Chat Completions may leave its mark out: what must be there is why the answer ended.
        let needed = if api == Api::Chat { events.len() - 2 } else { events.len() };
        for kept in 0..needed - 1 {
            let cut = stream(&events[..kept]);
            let error = fails(api, cut.clone());
            assert!(matches!(error, EngineError::Broken { .. }), "{api:?} after {kept} events: {error}");
            let without_end = cut[..cut.len() - 1].to_vec();
            let error = fails(api, without_end);
            assert!(matches!(error, EngineError::Broken { .. }), "{api:?} torn after {kept} events: {error}");
        }
        let last = &events[needed - 1];
        let torn = [events[..needed - 1].concat(), last[..last.len() / 2].to_owned()];
        let error = fails(api, stream(&torn));
        assert!(matches!(error, EngineError::Broken { .. }), "{api:?} in the last event: {error}");
    }
}

#[test]
fn run_4_malformed_chunks_are_quoted_without_the_key() {
    for api in ALL {
        let mut events = api.events(&Say::text(&["a"]));
        events.insert(1, format!("data: {{\"type\": \"x\", not json {KEY}\n\n"));
        let error = fails(api, stream(&events));
        assert!(matches!(&error, EngineError::Broken { why, .. } if why.contains("not json [key]")), "{api:?} {error}");
        let wrong = "data: {\"type\": 7, \"choices\": 7, \"candidates\": 7}\n\n".to_owned();
        assert!(matches!(fails(api, stream(&[wrong])), EngineError::Broken { .. }), "{api:?}");
        let not_utf8 = [Step::Streams, Step::Chunk(b"data: \xff\xfe\n\n".to_vec()), Step::End].to_vec();
        assert!(matches!(fails(api, not_utf8), EngineError::Broken { .. }), "{api:?}");
        let bad_framing = [Step::Streams, Step::Raw(b"zz\r\nhello\r\n".to_vec())].to_vec();
        assert!(matches!(fails(api, bad_framing), EngineError::Broken { .. }), "{api:?}");
    }
}

#[test]
fn run_4_what_is_no_event_stream_is_told_apart() {
    for api in ALL {
        let json = [("content-type", "application/json")];
        let error = fails(api, reply(200, &json, "{\"hello\": \"world\"}"));
        assert!(matches!(&error, EngineError::Broken { why, .. } if why.contains("hello")), "{api:?} {error}");
        let error = fails(api, reply(200, &json, &api.error(200, "overloaded_error", "busy").to_string()));
        assert!(matches!(error, EngineError::Overloaded { .. }), "{api:?} {error}");
        let error = fails(api, reply(502, &[("content-type", "text/html")], "<html>bad gateway</html>"));
        assert!(matches!(&error, EngineError::Overloaded { said, .. } if said.contains("bad gateway")), "{api:?}");
        assert!(matches!(fails(api, reply(200, &[], "")), EngineError::Broken { .. }), "{api:?}");
    }
}

#[test]
fn run_4_an_error_in_the_place_of_the_stream_is_told_in_its_words() {
    for api in ALL {
        for kind in ["application/json", "application/x-ndjson", "text/event-stream", "text/plain"] {
            let body = "{\"error\":\"model requires more system memory\"}\n";
            let error = fails(api, reply(200, &[("content-type", kind)], body));
            let told = "model requires more system memory";
            assert!(matches!(&error, EngineError::Refused { said, .. } if said == told), "{api:?} {kind}: {error}");
        }
    }
    // llama.cpp puts an error beside the data.
    let mut events = Api::Chat.events(&Say::text(&["half"]));
    events.truncate(2);
    events.push("error: {\"code\":500,\"message\":\"the slot is gone\",\"type\":\"server_error\"}\n\n".to_owned());
    let error = fails(Api::Chat, stream(&events));
    let told = |said: &str| said.contains("the slot is gone");
    assert!(matches!(&error, EngineError::Overloaded { said, .. } if told(said)), "{error}");
}

#[test]
fn run_4_a_web_page_is_named_as_one() {
    for api in ALL {
        for kind in ["text/html; charset=utf-8", "text/plain"] {
            let error = fails(api, reply(200, &[("content-type", kind)], "<!DOCTYPE html><title>Open WebUI</title>"));
            let told = |why: &str| why.contains("web page, not with the API: `http://127.0.0.1:");
            assert!(matches!(&error, EngineError::Broken { why, .. } if told(why)), "{api:?} {kind}: {error}");
        }
        for body in ["<html>no model here</html>", "404 page not found", "{\"detail\":\"Not Found\"}"] {
            let error = fails(api, reply(404, &[], body));
            let told =
                |said: &str| said.contains("nothing at this path (`http://") && said.contains("check the base URL");
            assert!(matches!(&error, EngineError::Refused { said, .. } if told(said)), "{api:?} {body}: {error}");
        }
        let unknown = fails(api, reply(404, &[], "{\"error\":{\"message\":\"'test-model' not found\"}}"));
        assert!(matches!(unknown, EngineError::UnknownModel { .. }), "{api:?} {unknown}");
    }
}

#[test]
fn run_4_a_key_that_the_server_sends_back_is_not_shown() {
    for api in ALL {
        let message = format!("Incorrect API key provided: {KEY}.");
        let EngineError::KeyRefused { said, .. } = error(api, 401, "invalid_api_key", &message) else {
            panic!("another reason")
        };
        assert_eq!(said, "Incorrect API key provided: [key]. (invalid_api_key)");
        let plain = format!("you sent {KEY}");
        let EngineError::KeyRefused { said, .. } = fails(api, reply(403, &[], &plain)) else {
            panic!("another reason")
        };
        assert_eq!(said, "you sent [key]");
        let server = Server::start(vec![stream(&api.events(&Say::text(&["your key is ", KEY])))]);
        let (answer, heard) = ask(api, &server);
        assert_eq!(answer.unwrap().text, "your key is [key]", "{api:?}: answers go into transcripts");
        assert!(!heard.contains(KEY));
    }
}

#[test]
fn run_4_a_redirect_is_not_followed_with_the_key() {
    for api in ALL {
        let other = Server::start(vec![stream(&api.events(&Say::text(&["stolen"])))]);
        for status in [301, 302, 307, 308] {
            let error = fails(api, reply(status, &[("location", &other.url())], ""));
            assert!(
                matches!(&error, EngineError::Refused { said, .. } if said.contains("a key is not sent on")),
                "{error}"
            );
        }
        assert!(other.requests().is_empty());
    }
}

#[test]
fn run_4_nobody_there_is_unreachable() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for api in ALL {
        let error = ask_name(&api.engine(&format!("http://{closed}")), LONG).0.unwrap_err();
        assert!(matches!(error, EngineError::Unreachable { .. }), "{api:?} {error}");
    }
}

#[test]
fn run_4_too_many_calls_are_refused_and_not_collected() {
    let call = |index: u64| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":{index},\"id\":\"i\",\
            \"function\":{{\"name\":\"n\",\"arguments\":\"\"}}}}]}}}}]}}\n\n"
        )
    };
    let events: Vec<String> = (0..200).map(call).collect();
    let error = fails(Api::Chat, stream(&events));
    assert!(matches!(&error, EngineError::Broken { why, .. } if why.contains("more than 128 calls")), "{error}");
    // An absurd index is only an index.
    let events = [call(u64::MAX), Api::Chat.events(&Say::text(&["x"]).call("n", "{}")).concat()];
    let server = Server::start(vec![stream(&events)]);
    assert_eq!(ask(Api::Chat, &server).0.unwrap().calls.len(), 2);
}

/// Streams with events torn, doubled, swapped and bytes changed: an answer or an error, never a panic and never a hang.
#[test]
fn run_4_damaged_streams_never_panic_or_hang() {
    const ROUNDS: usize = 60;
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = move |bound: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % 1_000_003).unwrap() % bound.max(1)
    };
    for api in ALL {
        let whole = api.events(&Say::text(&["a", "b"]).call("read", r#"{"path":"x"}"#).call("read", "{}"));
        let mut scripts = Vec::new();
        for _ in 0..ROUNDS {
            let mut events = whole.clone();
            let (one, other) = (below(events.len()), below(events.len()));
            match below(4) {
                0 => events.swap(one, other),
                1 => events.insert(one, whole[other].clone()),
                2 => drop(events.remove(one)),
                _ => {
                    let values = ["null", "7", "\"x\"", "[]", "{}", "-1", "1e99"];
                    let (value, quoted) = (values[below(values.len())], events[one].matches(':').count());
                    let nth = below(quoted);
                    let at = events[one].match_indices(':').nth(nth).map_or(0, |(at, _)| at + 1);
                    let rest = events[one][at..].find([',', '}', '\n']).map_or(events[one].len(), |end| at + end);
                    events[one].replace_range(at..rest, value);
                }
            }
            scripts.push(stream(&events));
        }
        let server = Server::start(scripts);
        for _ in 0..ROUNDS {
            if let Err(error) = ask(api, &server).0 {
                assert!(!matches!(error, EngineError::Deadline { .. } | EngineError::Unreachable { .. }), "{error}");
            }
        }
        assert_eq!(server.requests().len(), ROUNDS, "{api:?}");
    }
}
