//! Stop, pause, signals, and what a kill leaves.

use super::support::{Gateway, Provider, Reply, TOKEN, begin_stream, chunk, config, message, say, until};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const ASK: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":1000,"stream":true,"messages":[]}"#;
const START: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-sonnet-4-5\",\"usage\":{\"input_tokens\":50,\"output_tokens\":1}}}\n\n";
const DELTA: &str = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"thirty bytes of a long story.. \"}}\n\n";

/// A provider whose stream goes on for as long as anybody listens.
fn endless(said: Arc<AtomicUsize>) -> Provider {
    Provider::new(move |_, socket| {
        begin_stream(socket);
        chunk(socket, START);
        let mut number = 0;
        while chunk(socket, &DELTA.replace("story", &format!("story {number}"))) && number < 4_000 {
            said.fetch_add(1, Ordering::Relaxed);
            number += 1;
            std::thread::sleep(Duration::from_millis(5));
        }
    })
}

fn open_stream(gateway: &Gateway) -> TcpStream {
    let mut socket = gateway.connect();
    let head = format!(
        "POST /anthropic/v1/messages HTTP/1.1\r\nhost: g\r\nx-api-key: {TOKEN}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{ASK}",
        ASK.len()
    );
    socket.write_all(head.as_bytes()).unwrap();
    socket
}

#[test]
fn gate_8_gateway_a_stop_cuts_open_streams_and_refuses_new_ones() {
    let said = Arc::new(AtomicUsize::new(0));
    let provider = endless(Arc::clone(&said));
    let gateway = Gateway::start(&config(&provider, ""));
    let mut socket = open_stream(&gateway);
    until("it streams", || said.load(Ordering::Relaxed) > 5);
    let stopped = gateway.verb(&["stop", "--reason", "enough"]);
    let asked = Instant::now();
    assert_eq!(stopped.status.code(), Some(0), "{stopped:?}");
    let reply = Reply::read(&mut socket);
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
    assert!(reply.body.contains("event: error") && reply.body.contains("tripwire resume"), "{}", reply.body);
    let refused = gateway.post("/anthropic/v1/messages", ASK);
    assert!(refused.status == 403 && refused.body.contains("permission_error"), "{refused:?}");
    assert_eq!(provider.requests(), 1);
    let call = gateway.json(&["cost"])["calls"][0].clone();
    assert_eq!((call["call"]["end"].as_str(), call["estimated"].as_bool()), (Some("stopped"), Some(true)));
    assert!(call["call"]["usage"]["output"].as_u64().unwrap() > 20, "what came was paid for: {call}");
    let resumed = gateway.verb(&["resume", "--reason", "go on"]);
    assert!(!gateway.workspace().join(".geometry/STOP").exists(), "{resumed:?}");
}

#[test]
fn gate_8_gateway_a_pause_holds_requests_until_it_ends_and_nothing_is_spent_meanwhile() {
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(10, 10).as_bytes()));
    let gateway = Gateway::start(&config(&provider, ""));
    let pause = gateway.workspace().join(".geometry/PAUSE");
    std::fs::write(&pause, "").unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let status = std::thread::scope(|scope| {
        let held = scope.spawn(|| gateway.post("/anthropic/v1/messages", ASK).status);
        std::thread::sleep(Duration::from_millis(400));
        assert!(!held.is_finished() && provider.requests() == 0);
        std::fs::remove_file(&pause).unwrap();
        held.join().unwrap()
    });
    assert_eq!((status, provider.requests()), (200, 1));
    std::fs::write(&pause, "").unwrap();
    std::thread::sleep(Duration::from_millis(100));
    drop(open_stream(&gateway));
    std::thread::sleep(Duration::from_millis(300));
    std::fs::remove_file(&pause).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(provider.requests(), 1, "a client that hung up while it was held is dropped");
}

#[test]
fn gate_8_gateway_a_client_that_hangs_up_is_charged_for_what_came() {
    let said = Arc::new(AtomicUsize::new(0));
    let provider = endless(Arc::clone(&said));
    let gateway = Gateway::start(&config(&provider, ""));
    let mut socket = open_stream(&gateway);
    let mut some = [0; 600];
    socket.read_exact(&mut some).unwrap();
    drop(socket);
    until("it is settled", || gateway.spent() > 0);
    let call = gateway.json(&["cost"])["calls"][0]["call"].clone();
    assert_eq!((call["end"].as_str(), call["doubt"].as_str()), (Some("cancelled"), Some("unfinished")), "{call}");
    let before = said.load(Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(200));
    assert!(said.load(Ordering::Relaxed) <= before + 20, "the provider's stream is closed as well");
}

#[test]
fn gate_8_gateway_a_kill_loses_no_settled_cent_and_frees_what_was_reserved() {
    let provider = Provider::new(|seen, socket| {
        if seen.body.contains("stall") {
            std::thread::sleep(Duration::from_secs(30));
        }
        let asked: serde_json::Value = serde_json::from_str(&seen.body).unwrap();
        let output = asked["max_tokens"].as_u64().unwrap().min(280);
        say(socket, "200 OK", "application/json", message(50, output).as_bytes());
    });
    let text = config(&provider, "budget = \"0.06usd/month\"");
    let mut gateway = Gateway::start(&text);
    let ask = r#"{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[]}"#;
    for round in 1..=5 {
        assert_eq!(gateway.post("/anthropic/v1/messages", ask).status, 200, "{round}");
        let mut stalled = gateway.connect();
        let body = r#"{"model":"claude-sonnet-4-5","max_tokens":900,"messages":["stall"]}"#;
        let head = format!(
            "POST /anthropic/v1/messages HTTP/1.1\r\nhost: g\r\nx-api-key: {TOKEN}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stalled.write_all(head.as_bytes()).unwrap();
        until("it arrived", || provider.requests() == round * 2);
        gateway = Gateway::start_in(gateway.kill(), &text);
        assert_eq!(gateway.spent(), 4_350 * round as u64, "after kill {round}");
    }
    let metrics = gateway.send("GET", "/metrics", "", "");
    assert!(metrics.body.contains("tripwire_gateway_open_calls 0"), "{}", metrics.body);
    for _ in 0..20 {
        gateway.post("/anthropic/v1/messages", ask);
    }
    assert!(gateway.spent() <= 60_000, "the month goes on over restarts: {}", gateway.spent());
}

#[test]
fn gate_8_gateway_a_reload_takes_a_new_configuration_and_keeps_the_old_one_when_it_is_broken() {
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(1, 1).as_bytes()));
    let text = config(&provider, "");
    let gateway = Gateway::start(&text);
    let file = gateway.dir.path().join("gateway.toml");
    let ask = || gateway.post("/anthropic/v1/messages", ASK).status;
    assert_eq!(ask(), 200);
    std::fs::write(&file, "[[key]\nname = 1").unwrap();
    gateway.signal("-HUP");
    until("it says so", || gateway.stderr().contains("the old one stays") && gateway.stderr().contains("line 1"));
    assert_eq!(ask(), 200);
    std::fs::write(&file, text.replace("name = \"ci\"", "name = \"ci\"\nmodels = [\"gpt-*\"]")).unwrap();
    gateway.signal("-HUP");
    until("it is taken", || gateway.stderr().contains("was read again"));
    assert_eq!(ask(), 403);
}

#[test]
fn gate_8_gateway_ends_when_it_is_told_to_and_lets_replies_finish() {
    let provider = Provider::new(|_, socket| {
        std::thread::sleep(Duration::from_millis(500));
        say(socket, "200 OK", "application/json", message(10, 10).as_bytes());
    });
    let mut gateway = Gateway::start(&config(&provider, ""));
    let mut socket = open_stream(&gateway);
    until("it arrived", || provider.requests() == 1);
    gateway.signal("-TERM");
    let reply = Reply::read(&mut socket);
    assert_eq!((reply.status, reply.is_whole), (200, true));
    assert!(gateway.wait().success());
    assert_eq!(gateway.spent(), 180);
}

#[test]
fn gate_8_gateway_a_stop_cuts_requests_without_a_price_and_free_ones() {
    let provider = Provider::new(|_, _| std::thread::sleep(Duration::from_secs(30)));
    let gateway = Gateway::start(&config(&provider, ""));
    let headers = format!("x-api-key: {TOKEN}\r\n");
    std::thread::scope(|scope| {
        let free = scope.spawn(|| gateway.send("GET", "/openai/v1/models", &headers, ""));
        let unpriced = scope.spawn(|| gateway.post("/openai/v1/embeddings", "{}"));
        until("both arrived", || provider.requests() == 2);
        assert!(gateway.verb(&["stop"]).status.success());
        // The provider says nothing: only the stop can be what answers.
        for reply in [free.join().unwrap(), unpriced.join().unwrap()] {
            assert!(reply.status == 403 && reply.body.contains("tripwire resume"), "{reply:?}");
        }
    });
}

#[test]
fn gate_8_gateway_replies_without_a_price_have_a_share_of_the_bytes_that_are_held_at_once() {
    let provider = Provider::new(|seen, socket| {
        let bytes = if seen.head.contains("long") { 3 << 20 } else { 1 << 10 };
        say(socket, "200 OK", "application/json", &vec![b' '; bytes]);
    });
    let gateway = Gateway::start(&format!("buffered_mib = 1\n{}", config(&provider, "")));
    let headers = format!("x-api-key: {TOKEN}\r\n");
    let refused = gateway.send("GET", "/openai/v1/models/long", &headers, "");
    assert!(refused.status == 503 && refused.body.contains("buffered_mib"), "{refused:?}");
    assert_eq!(gateway.send("GET", "/openai/v1/models/short", &headers, "").status, 200);
}

#[test]
fn gate_8_gateway_that_ends_takes_no_new_request_and_cuts_streams_with_the_apis_error() {
    let said = Arc::new(AtomicUsize::new(0));
    let provider = endless(Arc::clone(&said));
    let mut gateway = Gateway::start(&config(&provider, ""));
    let (mut stream, mut late, mut idle) = (open_stream(&gateway), gateway.connect(), gateway.connect());
    let (line, rest) = ("POST /anthropic/v1/messages HTTP/1.1\r\n", format!("host: g\r\nx-api-key: {TOKEN}\r\n"));
    late.write_all(line.as_bytes()).unwrap();
    until("it streams", || said.load(Ordering::Relaxed) > 5);
    gateway.signal("-TERM");
    until("it listens no longer", || TcpStream::connect(&gateway.address).is_err());
    assert_eq!(idle.read(&mut [0; 10]).unwrap(), 0, "a connection that nobody uses is closed");
    late.write_all(format!("{rest}content-length: {}\r\n\r\n{ASK}", ASK.len()).as_bytes()).unwrap();
    let refused = Reply::read(&mut late);
    assert_eq!((refused.status, refused.header("connection")), (503, Some("close")), "{refused:?}");
    assert!(refused.body.contains("overloaded_error") && refused.body.contains("the gateway ends"), "{refused:?}");
    assert_eq!(provider.requests(), 1);
    let cut = Reply::read(&mut stream);
    assert!(cut.body.contains("event: error") && cut.body.contains("the gateway ends"), "{}", cut.body);
    assert!(gateway.wait().success());
    assert_eq!(gateway.json(&["cost"])["calls"][0]["call"]["end"], "stopped");
}
