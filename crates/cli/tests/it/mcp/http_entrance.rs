//! Who may ask the guard over HTTP, and what of the server's own doors passes.

use super::fixture::{call, refusal, server};
use super::http_fixture::{HttpFixture, guarded, has_line, id_of};
use crate::gateway::support::{Provider, Seen, say};
use serde_json::json;
use std::fs;
use std::io::Write as _;
use std::net::TcpStream;

pub(super) fn fine(seen: &Seen, socket: &mut TcpStream) {
    let body = format!(r#"{{"jsonrpc":"2.0", "id":{},"result" : {{"content":[ ]}}}}"#, id_of(seen));
    say(socket, "200 OK", "application/json", body.as_bytes());
}

#[test]
fn mcp_5_pages_of_other_origins_and_foreign_names_have_nothing_to_ask() {
    let guard = guarded(fine);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let port = guard.address.rsplit(':').next().unwrap();
    let (local, evil) = (format!("localhost:{port}"), format!("evil.example:{port}"));
    for (headers, status) in [
        (vec![("host", local.as_str())], 200),
        (vec![("host", evil.as_str())], 403),
        (vec![("origin", "https://evil.example")], 403),
        (vec![("origin", "http://localhost:3000")], 403),
        (vec![("content-type", "application/json; charset=utf-7")], 415),
        (vec![("content-type", "text/plain")], 415),
        (vec![("content-encoding", "gzip")], 415),
        (vec![("mcp-session-id", "a"), ("mcp-session-id", "b")], 400),
    ] {
        let reply = guard.send("POST", "/mcp", &headers, ping);
        assert_eq!(reply.status, status, "{headers:?}: {reply:?}");
    }
    let own = format!("http://{}", guard.address);
    assert_eq!(guard.send("POST", "/mcp", &[("origin", &own)], ping).status, 200);
    for (method, path, status) in
        [("POST", "/mcp/", 404), ("POST", "//mcp", 404), ("PUT", "/mcp", 405), ("POST", "/.well-known/x", 405)]
    {
        assert_eq!(guard.send(method, path, &[], ping).status, status, "{method} {path}");
    }
    assert_eq!(guard.peer.requests(), 2, "only the two that may");
}

#[test]
fn mcp_5_a_token_is_demanded_where_others_reach_the_guard_and_the_server_never_sees_it() {
    let files = server();
    let output = files.tripwire(&["mcp", "--url", "http://127.0.0.1:9/mcp", "--listen", "0.0.0.0:0"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(11) && text.contains("--token-file"), "{output:?}");
    let token = files.path("token");
    fs::write(&token, "short\n").unwrap();
    let output = files.tripwire(&["mcp", "--url", "http://127.0.0.1:9/mcp", "--token-file", token.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");

    fs::write(&token, "tw-a-token-of-some-length\n").unwrap();
    let guard = HttpFixture::start(files, Provider::new(fine), &["--token-file", token.to_str().unwrap()]);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(guard.send("POST", "/mcp", &[("authorization", "Bearer tw-a-token-of-some-length")], ping).status, 401);
    let headers = [("x-tripwire-token", "tw-a-token-of-some-length"), ("authorization", "Bearer of-the-server")];
    assert_eq!(guard.send("POST", "/mcp", &headers, ping).status, 200);
    assert_eq!(guard.peer.requests(), 1);
    let seen = guard.peer.last();
    assert!(has_line(&seen, "authorization: Bearer of-the-server"), "{}", seen.head);
    assert!(!seen.head.to_lowercase().contains("x-tripwire-token"), "{}", seen.head);
}

#[test]
fn mcp_5_authorisation_and_discovery_pass_unchanged() {
    let guard = guarded(|seen, socket| {
        let challenge = r#"Bearer resource_metadata="https://tools.example/.well-known/oauth-protected-resource/mcp""#;
        if seen.head.starts_with("GET /.well-known/oauth-protected-resource/mcp?a=1 ") {
            return say(socket, "200 OK", "application/json", b"{ \"resource\":\"https://tools.example/mcp\" }");
        }
        let head = format!("HTTP/1.1 401 Unauthorized\r\nwww-authenticate: {challenge}\r\ncontent-length: 2\r\n\r\nno");
        let _gone = socket.write_all(head.as_bytes());
    });
    let reply = guard.post(&call(1, "echo", &json!({})));
    assert_eq!((reply.status, reply.body.as_str()), (401, "no"));
    assert!(reply.header("www-authenticate").unwrap().starts_with("Bearer resource_metadata=\"https://tools.example/"));
    let reply = guard.send("GET", "/.well-known/oauth-protected-resource/mcp?a=1", &[], "");
    assert_eq!((reply.status, reply.body.as_str()), (200, "{ \"resource\":\"https://tools.example/mcp\" }"));
    let journal = guard.end();
    assert!(journal.contains("401 Unauthorized"), "the call has failed: {journal}");
}

#[test]
fn mcp_5_a_redirect_is_neither_followed_nor_passed_on_and_the_old_transport_is_refused_by_name() {
    let guard = guarded(|seen, socket| {
        if seen.head.starts_with("GET ") {
            let event = "event: endpoint\ndata: /messages?s=1\n\n";
            return say(socket, "200 OK", "text/event-stream", event.as_bytes());
        }
        let head = "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/mcp\r\ncontent-length: 0\r\n\r\n";
        let _gone = socket.write_all(head.as_bytes());
    });
    let answer = guard.ask(&call(7, "echo", &json!({})));
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(answer["id"] == 7 && message.contains("redirects to `http://127.0.0.1:1/mcp`"), "{answer}");
    let reply = guard.send("GET", "/mcp", &[("accept", "text/event-stream")], "");
    assert!(reply.status == 501 && reply.body.contains("HTTP+SSE"), "{reply:?}");
    assert!(guard.stderr().contains("older HTTP+SSE"), "{}", guard.stderr());
    assert_eq!(guard.peer.requests(), 2);
}

#[test]
fn mcp_5_a_server_that_is_not_there_or_answers_wrongly_gives_an_error_and_never_silence() {
    let guard = guarded(|seen, socket| {
        let id = id_of(seen);
        match id.as_str() {
            "1" => say(socket, "200 OK", "text/html", b"<p>hello</p>"),
            "2" => say(socket, "200 OK", "application/json", b"{\"id\":2,\"result\":{},\"result\":{}}"),
            "3" => say(socket, "200 OK", "application/json", b"{\"id\":9,\"result\":{}}"),
            "4" => drop(socket.shutdown(std::net::Shutdown::Both)),
            _ => fine(seen, socket),
        }
    });
    for (id, why) in [(1, "text/html"), (2, "occurs twice"), (4, "closed the connection")] {
        let answer = guard.ask(&call(id, "echo", &json!({})));
        let message = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(answer["id"] == id && message.contains(why), "{answer}");
    }
    let both = guard.ask(&call(3, "echo", &json!({})));
    assert!(
        both[0]["id"] == 9 && both[1]["id"] == 3 && both[1]["error"].is_object(),
        "an answer to somebody else: {both}"
    );
    assert_eq!(refusal(&guard.ask(&call(5, "echo", &json!({})))), None, "and it goes on");
    guard.end();
    let files = server();
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let peer = Provider { address: gone, seen: Default::default() };
    let guard = HttpFixture::start(files, peer, &[]);
    let answer = guard.ask(&call(1, "echo", &json!({})));
    assert!(answer["error"]["message"].as_str().unwrap().contains("cannot reach"), "{answer}");
    assert_eq!(guard.post(r#"{"method":"notifications/initialized"}"#).status, 502);
}
