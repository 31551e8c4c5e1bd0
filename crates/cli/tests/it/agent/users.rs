//! The users' scenario for our own loop: everything that goes wrong in one night, in one session.

use crate::agent::fixture::{AgentFixture, call, finish, of_kind};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

const OVERLOADED: &str = "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}";

/// A provider that is overloaded: with an error status, and inside a stream that begins well.
fn overloaded_provider() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (n, stream) in listener.incoming().take(16).enumerate() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0_u8; 262_144];
            drop(stream.read(&mut request));
            let answer = match n % 2 {
                0 => format!(
                    "HTTP/1.1 529 Overloaded\r\ncontent-type: application/json\r\nretry-after: 0\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{OVERLOADED}",
                    OVERLOADED.len()
                ),
                _ => format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\nevent: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"some-model\",\"content\":[],\"usage\":{{\"input_tokens\":10,\"output_tokens\":1}}}}}}\n\nevent: error\ndata: {OVERLOADED}\n\n"
                ),
            };
            drop(stream.write_all(answer.as_bytes()));
        }
    });
    format!("http://{address}")
}

/// The answers of the model that takes over.
fn night() -> Vec<Value> {
    let invalid = json!({"text": "oops", "calls": [{"tool": "write", "arguments": "{\"path\": "}]});
    vec![
        call("lst", json!({})),
        call("read_file", json!({"path": "long.txt"})),
        call("search", json!({"pattern": "zebra"})),
        call("list", json!({})),
        call("read_file", json!({"path": "long.txt", "offset": 501})),
        invalid,
        finish(),
    ]
}

fn played() -> AgentFixture {
    let fixture = AgentFixture::new();
    fixture.file("long.txt", &(1..=2_000).map(|n| format!("line {n}\n")).collect::<String>());
    let second = fixture.cassette("second.jsonl", &night());
    let arguments =
        ["agent", "--objective", "survive the night", "--engine", "anthropic:some-model", "--fallback", &second];
    let output = fixture
        .command(&arguments)
        .env("ANTHROPIC_API_KEY", "a-fake-key")
        .env("ANTHROPIC_BASE_URL", overloaded_provider())
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}\n{err}");
    assert!(out.contains("switch: scripted:second.jsonl goes on for anthropic:some-model"), "{out}");
    fixture
}

#[test]
fn users_8_one_bad_night_is_survived_announced_and_the_same_twice() {
    // Most of a night is waiting for the provider: both are played at once.
    let other = std::thread::spawn(played);
    let (one, two) = (played(), other.join().unwrap());
    assert_eq!(one.transcript_text(), two.transcript_text());
    let transcript = one.transcript();
    assert_eq!(of_kind(&transcript, "engineError").len(), 4, "asked again three times, then left");
    assert!(of_kind(&transcript, "engineError").iter().all(|line| line["trouble"] == "overloaded"));
    let faults: Vec<&Value> = of_kind(&transcript, "fault").iter().map(|line| &line["fault"]["kind"]).collect();
    assert_eq!(faults, [&json!("UNKNOWN_TOOL"), &json!("VALIDATION_ERROR")]);
    let text = one.transcript_text();
    for part in ["\\\"lines_remaining\\\":1500", "no matches found", "line 501"] {
        assert!(text.contains(part), "{part}");
    }
    assert!(of_kind(&transcript, "recited").len() >= 3);
    assert!(one.safety_log().contains("ENGINE_SWITCH") && !text.contains("a-fake-key"));
}
