//! A client on standard streams before a server with an address: the same decisions, and every header on its way.

use super::fixture::{McpClient, McpFixture, SOON, refusal, server};
use super::http_fixture::has_line;
use crate::gateway::support::{Provider, Seen, begin_stream, chunk, say};
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::process::Child;
use std::time::Instant;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A server with sessions: answers over a stream, with a note before each answer, and over several lines.
fn peer(seen: &Seen, socket: &mut TcpStream) {
    let message: Value = serde_json::from_str(&seen.body).unwrap_or_default();
    let id = &message["id"];
    match (seen.head.split(' ').next().unwrap_or_default(), message["method"].as_str()) {
        ("POST", Some("initialize")) => {
            let body =
                json!({"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": "2025-06-18", "capabilities": {}}});
            let body = serde_json::to_string_pretty(&body).unwrap();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: s9\r\ncontent-length: ";
            socket.write_all(format!("{head}{}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
        }
        ("POST", Some("tools/call")) if message["params"]["name"] == "broken" => {
            begin_stream(socket);
            chunk(socket, "id: e1\ndata: {\"method\":\"notifications/progress\"}\n\n");
            chunk(socket, "");
        }
        ("GET", _) if has_line(seen, "last-event-id: e1") => {
            begin_stream(socket);
            chunk(socket, "id: e2\ndata: {\"id\":7,\"result\":{\"content\":[]}}\n\n");
            chunk(socket, "");
        }
        ("POST", Some("tools/call")) => {
            begin_stream(socket);
            chunk(socket, "data: {\"method\":\"notifications/progress\"}\n\n");
            chunk(socket, &format!("data: {{\"id\":{id},\ndata: \"result\":{{\"content\":[]}}}}\n\n"));
            chunk(socket, "");
        }
        ("POST", Some("nothing")) => say(socket, "401 Unauthorized", "text/plain", b"who are you"),
        ("POST", _) | ("DELETE", _) => say(socket, "202 Accepted", "text/plain", b""),
        _ => say(socket, "405 Method Not Allowed", "text/plain", b""),
    }
}

fn start(files: &McpFixture, entry: &str) -> Child {
    let mut command = files.hooks.command(&["mcp", "--name", "web", "--entry", "MY_ENTRY"]);
    command.env("MY_ENTRY", entry).spawn().unwrap()
}

/// The command lines of a process and of all below it.
fn command_lines(id: u32) -> String {
    let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let below = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    let below: String = below.split_whitespace().filter_map(|id| id.parse().ok()).map(command_lines).collect();
    format!("{}\n{below}", String::from_utf8_lossy(&line).replace('\0', " "))
}

#[test]
fn mcp_5_a_client_on_standard_streams_reaches_an_address_and_its_calls_are_decided() {
    let (files, peer) = (server(), Provider::new(peer));
    let url = format!("http://{}/mcp?key=s3cret1", peer.address);
    let entry = json!({"type": "http", "url": url, "headers": {"Authorization": "Bearer s3cret2", "X-Team": "a"}});
    let mut client = McpClient::of(start(&files, &entry.to_string()));
    client.say(INITIALIZE);
    assert_eq!(client.answer()["result"]["protocolVersion"], "2025-06-18");
    let lines = command_lines(client.id());
    assert!(lines.contains("mcp carry") && !lines.contains("s3cret"), "a key is on no command line: {lines}");
    client.say(INITIALIZED);
    let refused = refusal(&client.call(1, "start_process", &json!({"command": "rm -rf /usr"}))).unwrap();
    assert!(refused.contains("[FLOOR-1]"), "{refused}");
    client.say(&super::fixture::call(2, "echo", &json!({})));
    assert_eq!(client.line().trim(), r#"{"method":"notifications/progress"}"#, "as it came");
    assert_eq!(client.line().trim(), r#"{"id":2, "result":{"content":[]}}"#, "on one line");
    client.say(&super::fixture::call(7, "broken", &json!({})));
    assert_eq!(client.answer()["method"], "notifications/progress");
    assert_eq!(client.answer()["id"], 7, "the stream is taken up again behind its last event");
    client.say(r#"{"jsonrpc":"2.0","id":3,"method":"nothing"}"#);
    let error = client.answer()["error"]["message"].as_str().unwrap().to_owned();
    assert!(error.contains("401") && error.contains("who are you") && error.contains("as a header"), "{error}");
    assert_eq!(client.close().0, Some(0));
    let seen = peer.seen.lock().unwrap().clone();
    let calls = seen.iter().filter(|seen| seen.body.contains("tools/call")).count();
    assert_eq!(calls, 2, "the refused one did not reach the server");
    for one in &seen {
        assert!(one.head.contains("/mcp?key=s3cret1 HTTP/1.1"), "{}", one.head);
        assert!(has_line(one, "authorization: Bearer s3cret2") && has_line(one, "x-team: a"), "{}", one.head);
        let is_first = one.body.contains("\"initialize\"");
        assert_eq!(has_line(one, "mcp-session-id: s9"), !is_first, "{}", one.head);
        assert_eq!(has_line(one, "mcp-protocol-version: 2025-06-18"), !is_first, "{}", one.head);
    }
    assert!(seen.last().is_some_and(|last| last.head.starts_with("DELETE ")), "the session is ended");
    files.verify();
    let journal = files.journal();
    assert!(journal.contains("mcp__web__echo") && !journal.contains("s3cret"), "{journal}");
}

#[test]
fn mcp_5_an_address_where_nobody_listens_is_an_error_and_never_silence() {
    let files = server();
    let mut client = {
        let mut command = files.hooks.command(&["mcp", "--stdio", "--url", "http://127.0.0.1:9/mcp"]);
        McpClient::of(command.spawn().unwrap())
    };
    client.say(INITIALIZE);
    let error = client.answer();
    assert!(error["id"] == 0 && error["error"]["message"].as_str().unwrap().contains("cannot reach"), "{error}");
    let before = Instant::now();
    assert_eq!(client.close().0, Some(0));
    assert!(before.elapsed() < SOON);
}

#[test]
fn mcp_5_the_older_transport_is_refused_by_name_on_standard_streams_too() {
    let (files, peer) = (
        server(),
        Provider::new(|_, socket| {
            begin_stream(socket);
            chunk(socket, "event: endpoint\ndata: /messages\n\n");
            chunk(socket, "");
        }),
    );
    let mut client = McpClient::of(start(&files, &json!({"url": format!("http://{}/sse", peer.address)}).to_string()));
    client.say(INITIALIZE);
    let error = client.answer().to_string();
    assert!(error.contains("older HTTP+SSE transport"), "{error}");
    client.close();
}
