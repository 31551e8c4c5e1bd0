//! Streams that wait while the workspace is paused.

use super::support::{Gateway, Provider, Reply, TOKEN, begin_stream, chunk, config, say};
use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

struct Asked {
    path: &'static str,
    body: &'static str,
    /// What keeps its stream open.
    ping: &'static str,
    /// How an error inside its stream begins.
    error: &'static str,
}

const APIS: [Asked; 4] = [
    Asked {
        path: "/anthropic/v1/messages",
        body: r#"{"model":"claude-sonnet-4-5","max_tokens":100,"stream":true,"messages":[]}"#,
        ping: "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        error: "event: error\ndata: {",
    },
    Asked {
        path: "/openai/v1/chat/completions",
        body: r#"{"model":"gpt-5","stream":true,"max_completion_tokens":100,"messages":[]}"#,
        ping: ": ping\n\n",
        error: "data: {\"error\":",
    },
    Asked {
        path: "/openai/v1/responses",
        body: r#"{"model":"gpt-5","stream":true,"max_output_tokens":100,"input":"x"}"#,
        ping: ": ping\n\n",
        error: "event: response.failed\ndata: {",
    },
    Asked {
        path: "/gemini/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
        body: r#"{"contents":[],"generationConfig":{"maxOutputTokens":100}}"#,
        ping: "\r\n",
        error: "{\"error\":",
    },
];

const REPLY: &str = "data: {\"hello\":1}\n\n";

/// Opens each API's stream while paused, waits for its first ping, lets things go on, and reads the rest.
fn replies_after_a_pause(provider: &Provider, meanwhile: impl Fn(&Gateway)) -> Vec<Reply> {
    let gateway = Gateway::start(&config(provider, ""));
    let pause = gateway.workspace().join(".geometry/PAUSE");
    std::fs::write(&pause, "").unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let sockets: Vec<_> = APIS
        .iter()
        .map(|api| {
            let mut socket = gateway.connect();
            let request = format!(
                "POST {} HTTP/1.1\r\nhost: g\r\nx-api-key: {TOKEN}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{}",
                api.path,
                api.body.len(),
                api.body
            );
            socket.write_all(request.as_bytes()).unwrap();
            socket
        })
        .collect();
    // The first byte of each is the head, and that comes with the first ping.
    for socket in &sockets {
        let mut first = String::new();
        let mut copy = [0; 15];
        assert!(socket.peek(&mut copy).unwrap() > 0);
        BufReader::new(copy.as_slice()).read_line(&mut first).unwrap();
        assert!(first.starts_with("HTTP/1.1 200"), "{first}");
    }
    assert_eq!(provider.requests(), 0);
    meanwhile(&gateway);
    std::fs::remove_file(&pause).unwrap();
    sockets.into_iter().map(|mut socket| Reply::read(&mut socket)).collect()
}

#[test]
fn gate_8_gateway_a_stream_that_waits_gets_pings_and_then_its_reply() {
    let provider = Provider::new(|_, socket| {
        begin_stream(socket);
        chunk(socket, REPLY);
        chunk(socket, "");
    });
    for (api, reply) in APIS.iter().zip(replies_after_a_pause(&provider, |_| {})) {
        let rest = reply.body.trim_start_matches(api.ping);
        assert!(reply.body.len() > rest.len() && reply.is_whole, "{}: {reply:?}", api.path);
        assert_eq!(rest, REPLY, "{}", api.path);
    }
    assert_eq!(provider.requests(), 4);
}

#[test]
fn gate_8_gateway_what_goes_wrong_after_a_pause_is_told_inside_the_stream() {
    let refused = r#"{"error":{"message":"too much to do","type":"overloaded_error"}}"#;
    let provider =
        Provider::new(move |_, socket| say(socket, "529 Overloaded", "application/json", refused.as_bytes()));
    for (api, reply) in APIS.iter().zip(replies_after_a_pause(&provider, |_| {})) {
        let rest = reply.body.trim_start_matches(api.ping);
        assert!(rest.starts_with(api.error) && rest.contains("too much to do"), "{}: {reply:?}", api.path);
    }
    let provider = Provider::new(|_, _| {});
    let stop = |gateway: &Gateway| std::fs::write(gateway.workspace().join(".geometry/STOP"), "").unwrap();
    for (api, reply) in APIS.iter().zip(replies_after_a_pause(&provider, stop)) {
        let rest = reply.body.trim_start_matches(api.ping);
        assert!(rest.starts_with(api.error) && rest.contains("tripwire resume"), "{}: {reply:?}", api.path);
    }
    assert_eq!(provider.requests(), 0);
}
