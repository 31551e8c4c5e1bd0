//! Providers and clients that do what they should not: none leaks a key, hangs, crashes or escapes accounting.

use super::support::{
    Gateway, PROVIDER_KEY, Provider, Reply, TOKEN, begin_stream, chunk, config, everything, message, say, until,
};
use std::io::Write;
use std::net::Shutdown;

const ASK: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[{"role":"user","content":"a question of some length, so that it is not taken for nothing at all"}]}"#;

fn with(script: impl Fn(&mut std::net::TcpStream) + Send + Sync + 'static) -> (Provider, Gateway) {
    let provider = Provider::new(move |_, socket| script(socket));
    let gateway = Gateway::start(&config(&provider, "budget = \"1usd\""));
    (provider, gateway)
}

fn last_call(gateway: &Gateway) -> serde_json::Value {
    gateway.json(&["cost"])["calls"].as_array().unwrap().last().unwrap()["call"].clone()
}

#[test]
fn gate_8_gateway_a_redirect_is_not_followed_and_not_passed_on() {
    let (provider, gateway) = with(|socket| {
        let head = "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/steal\r\ncontent-length: 0\r\n\r\n";
        let _gone = socket.write_all(head.as_bytes());
    });
    let reply = gateway.post("/anthropic/v1/messages", ASK);
    assert_eq!((reply.status, reply.header("location")), (502, None), "{reply:?}");
    assert_eq!((provider.requests(), gateway.spent()), (1, 0));
}

#[test]
fn gate_8_gateway_figures_of_nothing_for_a_long_reply_are_not_believed() {
    let long = message(0, 0).replace("Done.", &"a long story ".repeat(300));
    let (_provider, gateway) = with(move |socket| say(socket, "200 OK", "application/json", long.as_bytes()));
    assert_eq!(gateway.post("/anthropic/v1/messages", ASK).status, 200);
    let call = last_call(&gateway);
    assert_eq!(call["doubt"], "tooLow", "{call}");
    assert!(call["usage"]["output"].as_u64().unwrap() >= 900 && gateway.spent() > 10_000, "{call}");
}

#[test]
fn gate_8_gateway_negative_and_absurd_figures_settle_within_what_was_reserved() {
    for (usage, doubt) in [
        (r#""input_tokens":-5,"output_tokens":-5"#, "absent"),
        (r#""input_tokens":5,"output_tokens":99999999999999"#, "tooHigh"),
    ] {
        let body = format!(r#"{{"type":"message","content":[{{"text":"hello"}}],"usage":{{{usage}}}}}"#);
        let (_provider, gateway) = with(move |socket| say(socket, "200 OK", "application/json", body.as_bytes()));
        assert_eq!(gateway.post("/anthropic/v1/messages", ASK).status, 200);
        let call = last_call(&gateway);
        assert_eq!(call["doubt"], doubt, "{call}");
        assert!(call["microUsd"].as_u64() <= call["reserved"].as_u64() && gateway.spent() > 0, "{call}");
    }
}

#[test]
fn gate_8_gateway_a_call_that_costs_more_than_reserved_closes_the_caller() {
    let (provider, gateway) = with(|socket| say(socket, "200 OK", "application/json", message(10, 50_000).as_bytes()));
    assert_eq!(gateway.post("/anthropic/v1/messages", ASK).status, 200);
    assert_eq!(gateway.spent(), 30 + 750_000, "the excess is booked");
    let refused = gateway.post("/anthropic/v1/messages", ASK);
    assert!(refused.status == 403 && refused.body.contains("is closed"), "{refused:?}");
    assert_eq!(provider.requests(), 1);
    assert!(gateway.stderr().contains("RESERVE_SHORT"));
    assert_eq!(gateway.json(&["gateway", "usage"])["notes"][0]["kind"], "RESERVE_SHORT");
}

#[test]
fn gate_8_gateway_a_provider_that_half_closes_or_breaks_off_is_charged_and_the_client_is_not_fooled() {
    for cut in [false, true] {
        let (_provider, gateway) = with(move |socket| {
            if cut {
                begin_stream(socket);
                chunk(
                    socket,
                    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":70,\"output_tokens\":1}}}\n\n",
                );
            } else {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"type\":";
                let _gone = socket.write_all(head.as_bytes());
            }
            let _gone = socket.shutdown(Shutdown::Write);
        });
        let reply = gateway.post("/anthropic/v1/messages", ASK);
        // A stream has begun and ends without its end; of a reply in one piece nothing had gone on yet.
        assert!(if cut { !reply.is_whole } else { reply.status == 502 }, "{reply:?}");
        let call = last_call(&gateway);
        assert_eq!(call["end"], "broken", "{call}");
        assert!(gateway.spent() > 0);
    }
}

/// What a stream of Responses is booked with that breaks off before its figures.
fn broken_response(more: &str) -> serde_json::Value {
    let provider = Provider::new(|_, socket| {
        begin_stream(socket);
        chunk(socket, "data: {\"type\":\"response.output_text.delta\",\"delta\":\"Hello\"}\n\n");
        let _gone = socket.shutdown(Shutdown::Write);
    });
    let gateway = Gateway::start(&config(&provider, ""));
    let body = format!(r#"{{"model":"gpt-5","max_output_tokens":100,"stream":true,{more}}}"#);
    assert!(!gateway.post("/openai/v1/responses", &body).is_whole);
    let call = last_call(&gateway);
    assert_eq!((call["end"].as_str(), call["doubt"].as_str()), (Some("broken"), Some("unfinished")), "{call}");
    assert!(call["microUsd"].as_u64() <= call["reserved"].as_u64(), "{call}");
    call
}

#[test]
fn gate_8_gateway_a_broken_stream_that_goes_on_with_what_was_not_sent_is_charged_the_models_window() {
    for more in [
        r#""previous_response_id":"resp_1","input":"go on""#,
        r#""conversation":"conv_1","input":"go on""#,
        r#""input":[{"content":[{"type":"input_file","file_id":"file_1"}]}]"#,
        r#""input":[{"content":[{"type":"input_image","image_url":"https://example.org/a.png"}]}]"#,
        r#""input":"look it up","tools":[{"type":"web_search"}]"#,
    ] {
        let call = broken_response(more);
        assert_eq!(call["usage"]["freshInput"], 400_000, "{more}: {call}");
        // 400,000 tokens at $1.25 a million.
        assert!(call["microUsd"].as_u64() >= Some(500_000), "{more}: {call}");
    }
}

#[test]
fn gate_8_gateway_a_broken_stream_whose_input_was_all_sent_is_charged_by_its_bytes() {
    for more in [
        r#""input":"go on""#,
        r#""previous_response_id":null,"input":[{"role":"user","content":"go on"}]"#,
        r#""input":"go on","tools":[{"type":"function","name":"f","parameters":{"file_id":{"type":"string"}}}]"#,
    ] {
        let call = broken_response(more);
        assert!((1..200).contains(&call["usage"]["freshInput"].as_u64().unwrap()), "{more}: {call}");
        assert!(call["microUsd"].as_u64() < Some(10_000), "{more}: {call}");
    }
}

#[test]
fn gate_8_gateway_a_reply_that_repeats_itself_is_cut_and_says_what_was_saved() {
    let (_provider, gateway) = with(|socket| {
        begin_stream(socket);
        let piece =
            "data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"I will look at the file again. \"}}\n\n";
        for _ in 0..4_000 {
            if !chunk(socket, piece) {
                return;
            }
        }
    });
    let reply = gateway.post("/anthropic/v1/messages", &ASK.replace("1000", "50000"));
    let said = reply.body.matches("look at the file").count();
    assert!(said < 4_000 / 8, "{said}");
    assert!(reply.body.contains("LOOP-2.chant") && reply.body.contains("would have cost up to $"), "cut");
    assert_eq!(last_call(&gateway)["end"], "chanted");
}

#[test]
fn gate_8_gateway_packed_replies_are_counted_and_a_bomb_costs_all_that_was_reserved() {
    let plain = message(1_000, 200);
    let packed = gzip(plain.as_bytes());
    let (_provider, gateway) = with(move |socket| {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
            packed.len()
        );
        let _gone = socket.write_all(&[head.as_bytes(), &packed].concat());
    });
    let reply = gateway.post("/anthropic/v1/messages", ASK);
    assert_eq!((reply.status, reply.header("content-encoding"), reply.is_whole), (200, Some("gzip"), true));
    assert_eq!(gateway.spent(), 6_000);
    let (_provider, gateway) = with(|socket| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: rot13\r\ncontent-length: 5\r\n\r\nhello";
        let _gone = socket.write_all(head.as_bytes());
    });
    assert_eq!(gateway.post("/anthropic/v1/messages", ASK).status, 200);
    let call = last_call(&gateway);
    assert_eq!(call["microUsd"], call["reserved"], "what cannot be read is never free: {call}");
}

/// gzip without compression (RFC 1951, section 3.2.4); nobody checks the sum.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap();
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1];
    packed.extend(length.to_le_bytes());
    packed.extend((!length).to_le_bytes());
    packed.extend(bytes);
    packed.extend([0; 8]);
    packed
}

#[test]
fn gate_8_gateway_clients_that_break_the_rules_are_refused_and_nothing_of_them_reaches_the_provider() {
    let (provider, gateway) = with(|socket| say(socket, "200 OK", "application/json", message(1, 1).as_bytes()));
    let key = format!("x-api-key: {TOKEN}\r\n");
    let line = "POST /anthropic/v1/messages HTTP/1.1\r\nhost: g\r\nconnection: close\r\n";
    let long = "a".repeat(200_000);
    for (what, request, expected) in [
        ("a long header", format!("{line}x-long: {long}\r\n\r\n"), 431),
        ("a body without end", format!("{line}{key}content-length: 99999999999\r\n\r\n"), 413),
        (
            "an upgrade",
            format!("{line}{key}connection: upgrade\r\nupgrade: websocket\r\ncontent-length: 0\r\n\r\n"),
            403,
        ),
        ("two lengths", format!("{line}{key}content-length: 5\r\ncontent-length: 6\r\n\r\nhello"), 400),
        ("a bad length", format!("{line}{key}content-length: +5\r\n\r\nhello"), 400),
        ("a line break in a name", format!("{line}{key}x\r : y\r\n\r\n"), 400),
        ("no JSON", format!("{line}{key}content-length: 5\r\n\r\nhello"), 400),
        ("a tunnel", "CONNECT evil:443 HTTP/1.1\r\nhost: evil\r\nconnection: close\r\n\r\n".to_owned(), 404),
        ("another route", format!("GET /etc/passwd HTTP/1.1\r\nhost: g\r\nconnection: close\r\n{key}\r\n"), 404),
        ("no bytes at all", "\r\n\r\n\0\0".to_owned(), 400),
    ] {
        let mut socket = gateway.connect();
        let _cut = socket.write_all(request.as_bytes());
        let reply = Reply::read(&mut socket);
        assert_eq!(reply.status, expected, "{what}: {reply:?}");
    }
    assert_eq!(provider.requests(), 0);
    // A second request hidden behind a length that the chunks contradict stays part of nothing.
    let hidden = format!(
        "{line}{key}transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\nGET /anthropic/v1/models HTTP/1.1\r\nhost: g\r\n{key}\r\n"
    );
    let mut socket = gateway.connect();
    socket.write_all(hidden.as_bytes()).unwrap();
    Reply::read(&mut socket);
    assert!(!provider.seen.lock().unwrap().iter().any(|seen| seen.head.contains("content-length: 4")));
    // A foreign Host changes nothing about where a request goes.
    let foreign = format!(
        "POST /anthropic/v1/messages HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n{key}content-length: {}\r\n\r\n{ASK}",
        ASK.len()
    );
    let mut socket = gateway.connect();
    socket.write_all(foreign.as_bytes()).unwrap();
    assert_eq!(Reply::read(&mut socket).status, 200);
    assert!(provider.last().head.contains(&format!("host: {}", provider.address)), "{}", provider.last().head);
    assert_eq!(gateway.send("GET", "/healthz", "", "").body, "ok\n");
    let all = format!("{}{}", everything(&gateway.workspace()), gateway.stderr());
    assert!(!all.contains(TOKEN) && !all.contains(PROVIDER_KEY));
}

#[test]
fn gate_8_gateway_bytes_that_are_no_text_and_a_million_tiny_events_are_counted() {
    let provider = Provider::new(|_, socket| {
        begin_stream(socket);
        chunk(
            socket,
            "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":80,\"output_tokens\":1}}}\n\n",
        );
        let _gone = socket.write_all(b"7\r\ndata: \xff\r\n2\r\n\n\n\r\n");
        let many = ":\n\n".repeat(20_000);
        for _ in 0..50 {
            chunk(socket, &many);
        }
        chunk(
            socket,
            "data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":9}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
        );
        let _gone = socket.write_all(b"0\r\n\r\n");
    });
    let gateway = Gateway::start(&config(&provider, ""));
    let reply = gateway.post("/anthropic/v1/messages", ASK);
    assert!(reply.is_whole && reply.body.len() > 3_000_000);
    assert_eq!(gateway.spent(), 240 + 135);
}

#[test]
fn gate_8_gateway_the_bytes_of_all_requests_together_have_a_bound_and_are_free_again() {
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(10, 10).as_bytes()));
    let gateway = Gateway::start(&format!("buffered_mib = 1\n{}", config(&provider, "")));
    let long = |bytes: usize| {
        let content = "x".repeat(bytes);
        format!(
            r#"{{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{{"role":"user","content":"{content}"}}]}}"#
        )
    };
    assert_eq!(gateway.post("/anthropic/v1/messages", &long(700_000)).status, 200);
    assert!(gateway.verb(&["pause"]).status.success());
    // A request that waits holds its bytes.
    std::thread::scope(|scope| {
        // The one that asks beside it may have the room first.
        let waits = scope.spawn(|| {
            let mut replies = std::iter::repeat_with(|| gateway.post("/anthropic/v1/messages", &long(700_000)));
            replies.find(|reply| reply.status != 503).unwrap()
        });
        let mut refused = None;
        until("the second finds no room", || {
            let reply = gateway.post("/anthropic/v1/messages", &long(700_001).replace("\"model\"", "\"model \""));
            refused = Some(reply);
            assert!(!waits.is_finished(), "a request passed the pause");
            refused.as_ref().is_some_and(|reply| reply.status == 503)
        });
        let refused = refused.unwrap();
        assert!(refused.body.contains("overloaded_error") && refused.body.contains("buffered_mib"), "{refused:?}");
        assert!(gateway.verb(&["resume"]).status.success());
        assert_eq!(waits.join().unwrap().status, 200);
    });
    assert_eq!(gateway.post("/anthropic/v1/messages", &long(700_000)).status, 200, "its bytes are free again");
    assert_eq!(provider.requests(), 3);
}

#[test]
fn gate_8_gateway_a_stop_inside_an_event_leaves_the_client_with_whole_events_and_the_error() {
    let (_provider, gateway) = with(|socket| {
        begin_stream(socket);
        chunk(
            socket,
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":7,\"output_tokens\":1}}}\n\n",
        );
        chunk(
            socket,
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"half a sen",
        );
        std::thread::sleep(std::time::Duration::from_secs(30));
    });
    std::thread::scope(|scope| {
        let reading = scope
            .spawn(|| gateway.post("/anthropic/v1/messages", &ASK.replace("{\"model\"", "{\"stream\":true,\"model\"")));
        until("the stream runs", || gateway.send("GET", "/metrics", "", "").body.contains("open_streams 1"));
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert!(gateway.verb(&["stop"]).status.success());
        let reply = reading.join().unwrap();
        let events: Vec<&str> = reply.body.split("\n\n").filter(|event| !event.is_empty()).collect();
        assert_eq!(events.len(), 2, "{reply:?}");
        assert!(
            events[0].starts_with("event: message_start") && events[1].starts_with("event: error\ndata: {"),
            "{reply:?}"
        );
        assert!(!reply.body.contains("half a sen"), "{reply:?}");
    });
}
