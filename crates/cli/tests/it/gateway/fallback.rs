//! When the next provider takes over, and when not.

use super::support::{Gateway, PROVIDER_KEY, Provider, TOKEN, begin_stream, chunk, config, message, say};

const ASK: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[]}"#;
const ASK_STREAM: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":1000,"stream":true,"messages":[]}"#;
const START: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-sonnet-4-5\",\"usage\":{\"input_tokens\":50,\"output_tokens\":0}}}\n\n";
const TEXT: &str = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n";
const END: &str = "event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":7}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

fn error(kind: &str) -> String {
    format!("event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"{kind}\",\"message\":\"x\"}}}}\n\n")
}

/// A provider that streams these events.
fn streams(events: &[&str]) -> Provider {
    let events: Vec<String> = events.iter().map(|&event| event.to_owned()).collect();
    Provider::new(move |_, socket| {
        begin_stream(socket);
        let _heard = events.iter().all(|event| chunk(socket, event));
        chunk(socket, "");
    })
}

/// A gateway whose provider `main` gives way to `spare`.
fn gateway(main: &Provider, spare: &Provider, key: &str) -> Gateway {
    let text = config(main, key).replacen("name = \"anthropic\"", "name = \"main\"\nfallback = [\"spare\"]", 1);
    let spare =
        format!("[[provider]]\nname = \"spare\"\napi = \"anthropic\"\nbase_url = \"http://{}\"\n", spare.address);
    Gateway::start(&format!("{text}{spare}"))
}

fn notes(gateway: &Gateway) -> Vec<String> {
    let notes = gateway.json(&["gateway", "usage"])["notes"].clone();
    notes.as_array().unwrap().iter().map(|note| format!("{} {}", note["kind"], note["text"])).collect()
}

#[test]
fn gate_8_gateway_an_overloaded_provider_gives_way_to_the_next_and_is_left_alone() {
    let busy = Provider::new(|_, socket| {
        let reply = "HTTP/1.1 529 Overloaded\r\nretry-after: 40\r\ncontent-length: 2\r\n\r\n{}";
        drop(std::io::Write::write_all(socket, reply.as_bytes()));
    });
    let other = Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(10, 10).as_bytes()));
    let gateway = gateway(&busy, &other, "");
    assert_eq!(gateway.post("/anthropic/v1/messages", ASK).status, 200);
    assert_eq!((busy.requests(), other.requests(), gateway.spent()), (1, 1, 180));
    assert!(!other.last().head.contains(PROVIDER_KEY) && !other.last().head.contains(TOKEN));
    assert_eq!(gateway.post("/anthropic/v1/messages", ASK).status, 200);
    assert_eq!((busy.requests(), other.requests()), (1, 2), "it asked to be left alone for 40 s");
    let notes = notes(&gateway);
    assert!(notes[0].contains("FALLBACK") && notes[0].contains("for 40 s"), "{notes:?}");
    assert!(notes[1].contains("`main` is left alone") && notes[1].contains("`spare` is asked"), "{notes:?}");
    let shown = String::from_utf8(gateway.verb(&["gateway", "usage"]).stdout).unwrap();
    assert!(shown.contains("2 times a provider gave way to the next one (FALLBACK"), "{shown}");
    assert!(gateway.stderr().contains("gives way"), "{}", gateway.stderr());
}

#[test]
fn gate_8_gateway_an_overload_inside_a_stream_gives_way_before_the_model_said_anything() {
    for (begin, booked) in [("", 1), (START, 2)] {
        let busy = streams(
            &[begin, &error("overloaded_error")].iter().filter(|event| !event.is_empty()).copied().collect::<Vec<_>>(),
        );
        let other = streams(&[START, TEXT, END]);
        let gateway = gateway(&busy, &other, "");
        let reply = gateway.post("/anthropic/v1/messages", ASK_STREAM);
        assert_eq!((reply.status, reply.body.as_str(), reply.is_whole), (200, &*[START, TEXT, END].concat(), true));
        let calls = gateway.json(&["cost"])["calls"].clone();
        assert_eq!(calls.as_array().unwrap().len(), booked, "what the first one said it used is booked: {calls}");
        let notes = notes(&gateway);
        assert!(notes.len() == 1 && notes[0].contains("inside its reply"), "{notes:?}");
    }
}

#[test]
fn gate_8_gateway_other_errors_and_a_late_overload_pass_as_they_came() {
    for events in [
        vec![START.to_owned(), error("api_error")],
        vec![START.to_owned(), TEXT.to_owned(), error("overloaded_error")],
        vec![START.to_owned(), TEXT.to_owned(), END.to_owned()],
    ] {
        let main = streams(&events.iter().map(String::as_str).collect::<Vec<_>>());
        let other = streams(&[START, TEXT, END]);
        let gateway = gateway(&main, &other, "");
        let reply = gateway.post("/anthropic/v1/messages", ASK_STREAM);
        assert_eq!((reply.status, reply.body), (200, events.concat()));
        assert_eq!((other.requests(), notes(&gateway).len()), (0, 0));
    }
    let refuses = Provider::new(|_, socket| say(socket, "400 Bad Request", "application/json", b"{}"));
    let other = streams(&[START, TEXT, END]);
    let gateway = gateway(&refuses, &other, "");
    assert_eq!(gateway.post("/anthropic/v1/messages", ASK_STREAM).status, 400);
    assert_eq!(other.requests(), 0);
}

#[test]
fn gate_8_gateway_a_fallback_is_paid_from_the_same_budget() {
    // 1,000 tokens of output at 15 dollars a million are 15,000 micro-dollars; the budget has room for one call.
    let busy = streams(&[START, &error("overloaded_error")]);
    let other = streams(&[START, TEXT, END]);
    let gateway = gateway(&busy, &other, "budget = \"0.02usd/day\"");
    let reply = gateway.post("/anthropic/v1/messages", ASK_STREAM);
    assert_eq!(reply.status, 200, "{reply:?}");
    let asked: serde_json::Value = serde_json::from_str(&other.last().body).unwrap();
    assert!(asked["max_tokens"].as_u64().unwrap() <= 1_000);
    assert!(gateway.spent() <= 20_000 && gateway.spent() > 0);
}
