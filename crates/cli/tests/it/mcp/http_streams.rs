//! Streams of events: each message in them is decided, and a stream can be taken up again.

use super::fixture::{call, refusal};
use super::http_entrance::fine;
use super::http_fixture::{guarded, has_line, id_of, read_until};
use crate::gateway::support::{Reply, begin_stream, chunk, dechunked, say, until};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// The messages in the events of a text.
fn messages(text: &str) -> Vec<Value> {
    text.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect()
}

#[test]
fn mcp_5_a_stream_passes_byte_for_byte_and_in_order_while_it_is_said() {
    const PROGRESS: &str =
        ": hello\r\n\r\nid: 1\r\nevent: message\r\ndata: {\"method\":\"notifications/progress\" }\r\n\r\n";
    const SAMPLING: &str =
        "data: {\"id\":7,\ndata: \"method\":\"sampling/createMessage\"}\n\nevent: ping\ndata: now\n\n";
    const ANSWER: &str = "id: 2\ndata: {\"id\":1,\"result\":{\"content\":[ {\"type\":\"text\",\"text\":\"a\"} ] }}\n\n";
    let (go, gone) = mpsc::channel::<()>();
    let gone = Mutex::new(gone);
    let guard = guarded(move |_, socket| {
        begin_stream(socket);
        chunk(socket, PROGRESS);
        gone.lock().unwrap().recv().unwrap();
        for piece in [SAMPLING, ANSWER] {
            let (one, other) = piece.split_at(17);
            chunk(socket, one);
            chunk(socket, other);
        }
        let _gone = std::io::Write::write_all(socket, b"0\r\n\r\n");
    });
    let body = call(1, "echo", &json!({}));
    let mut socket = guard.begin("POST", "/mcp", &[("mcp-session-id", "s1")], body.as_bytes());
    let first = read_until(&mut socket, "progress");
    assert!(first.contains("text/event-stream"), "it is said while the call runs: {first}");
    go.send(()).unwrap();
    let rest = read_until(&mut socket, "0\r\n\r\n");
    let all = format!("{first}{rest}");
    let (_, chunks) = all.split_once("\r\n\r\n").unwrap();
    let (body, is_whole) = dechunked(chunks.as_bytes());
    assert!(is_whole && body == [PROGRESS, SAMPLING, ANSWER].concat(), "{body}");
    let journal = guard.end();
    assert_eq!(journal.matches("\"what\":{\"event\"").count(), 1, "{journal}");
}

#[test]
fn mcp_5_a_stream_can_be_taken_up_again_and_its_answers_are_still_decided() {
    let tools = json!({"tools": [{"name": "read"}, {"name": "new"}]});
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let guard = guarded(move |seen, socket| {
        let n = count.fetch_add(1, Ordering::SeqCst);
        let list = |tools: &Value| format!("id: a-2\ndata: {}\n\n", json!({"id": 5, "result": tools}));
        match n {
            // The first list pins one tool.
            0 => say(socket, "200 OK", "application/json", br#"{"id":4,"result":{"tools":[{"name":"read"}]}}"#),
            // The stream of the second one ends before its answer, as newer servers do.
            1 => say(socket, "200 OK", "text/event-stream", b"id: a-1\ndata: \n\n"),
            2 | 3 => {
                assert!(has_line(seen, "last-event-id: a-1") && has_line(seen, "mcp-session-id: s1"), "{}", seen.head);
                say(socket, "200 OK", "text/event-stream", list(&tools).as_bytes());
            }
            // A call, and its result on another stream, twice.
            4 => say(socket, "200 OK", "text/event-stream", b"id: b-1\ndata:\n\n"),
            _ => {
                let text = "x".repeat(3_000_000);
                let result = json!({"id": 6, "result": {"content": [{"type": "text", "text": text}]}});
                say(socket, "200 OK", "text/event-stream", format!("data: {result}\n\n").as_bytes());
            }
        }
    });
    guard.ask(r#"{"id":4,"method":"tools/list"}"#);
    let reply = guard.post(r#"{"id":5,"method":"tools/list"}"#);
    assert_eq!(reply.body, "id: a-1\ndata: \n\n", "no error: the client can come back");
    let resume = |event: &str| {
        let headers = [("mcp-session-id", "s1"), ("last-event-id", event), ("accept", "text/event-stream")];
        guard.send("GET", "/mcp", &headers, "").body
    };
    for time in ["first", "second"] {
        let body = resume("a-1");
        let said = messages(&body);
        assert_eq!(said[0]["result"]["tools"], json!([{"name": "read"}]), "{time}: {body}");
        assert!(body.starts_with("id: a-2\n"), "{body}");
    }
    assert_eq!(guard.post(&call(6, "read", &json!({}))).body, "id: b-1\ndata:\n\n");
    for time in ["first", "second"] {
        let body = resume("b-1");
        assert!(body.len() < 1_200_000 && body.contains("tripwire memory get"), "{time}: {}", body.len());
    }
    let journal = guard.end();
    assert_eq!(journal.matches("\"request\"").count(), 1, "{journal}");
    assert_eq!(journal.matches("\"what\":{\"event\"").count(), 1, "a result that is said again counts once: {journal}");
}

#[test]
fn mcp_5_a_stream_that_ends_without_an_answer_and_without_a_way_back_gives_an_error() {
    let guard = guarded(|seen, socket| match id_of(seen).as_str() {
        "1" => say(socket, "200 OK", "text/event-stream", b"data: {\"method\":\"notifications/x\"}\n\n"),
        "2" => {
            begin_stream(socket);
            chunk(socket, "data: {\"met");
            drop(socket.shutdown(std::net::Shutdown::Both));
        }
        "3" => say(socket, "200 OK", "text/event-stream", b"data: {\"id\":3,\"result\":{},\"result\":1}\n\n"),
        _ => say(socket, "200 OK", "text/event-stream", "\u{feff}data: {\"id\":4,\"result\":{}}\n\n".as_bytes()),
    });
    for (id, why) in [(1, "without an answer"), (2, "broke off"), (3, "occurs twice"), (4, "byte order mark")] {
        let reply = guard.post(&call(id, "echo", &json!({})));
        let answer = messages(&reply.body).pop().unwrap_or_else(|| panic!("{reply:?}"));
        assert!(answer["id"] == id && answer["error"]["message"].as_str().unwrap().contains(why), "{answer}");
    }
    guard.end();
}

#[test]
fn mcp_5_the_servers_own_stream_is_guarded_and_ends_with_its_client() {
    let closed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&closed);
    let guard = guarded(move |seen, socket| {
        if !seen.head.starts_with("GET ") {
            return fine(seen, socket);
        }
        begin_stream(socket);
        chunk(socket, "data: {\"id\":99,\"result\":{\"tools\":[{\"name\":\"x\"}]}}\n\n");
        chunk(socket, "data: {\"method\":\"notifications/tools/list_changed\"}\n\n");
        while chunk(socket, ": still here\n\n") {
            std::thread::sleep(Duration::from_millis(20));
        }
        count.fetch_add(1, Ordering::SeqCst);
    });
    let headers = [("mcp-session-id", "s1"), ("accept", "text/event-stream")];
    let mut socket = guard.begin("GET", "/mcp", &headers, b"");
    let said = read_until(&mut socket, "list_changed");
    assert!(!said.contains("\"tools\""), "a list that nobody asked for is not shown: {said}");
    assert_eq!(refusal(&guard.ask(&call(1, "echo", &json!({})))), None, "calls go on beside it");
    drop(socket);
    until("the server's stream ends too", || closed.load(Ordering::SeqCst) == 1);
    let reply = guard.send("DELETE", "/mcp", &[("mcp-session-id", "s1")], "");
    assert_eq!(reply.status, 200);
    assert!(has_line(&guard.peer.last(), "mcp-session-id: s1") && guard.peer.last().head.starts_with("DELETE /mcp "));
    guard.end();
}

#[test]
fn mcp_5_a_large_event_passes_cut_and_one_without_end_breaks_its_stream_alone() {
    let (megabytes, endless) = tripwire_testing::sized((3, 1), (50, 70));
    let guard = guarded(move |seen, socket| {
        begin_stream(socket);
        let piece = "x".repeat(1_000_000);
        let (count, end) = if id_of(seen) == "1" { (megabytes, "\"}]}}\n\n") } else { (endless, "") };
        chunk(socket, "data: {\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"");
        for _ in 0..count {
            chunk(socket, &piece);
        }
        chunk(socket, if end.is_empty() { " " } else { end });
        let _gone = std::io::Write::write_all(socket, b"0\r\n\r\n");
    });
    let body = call(1, "big", &json!({}));
    let mut socket = guard.begin("POST", "/mcp", &[("mcp-session-id", "s1")], body.as_bytes());
    socket.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let reply = Reply::read(&mut socket);
    assert!(reply.body.len() < 1_200_000 && reply.body.contains("tripwire memory get"), "{}", reply.body.len());
    let reply = guard.post(&call(2, "big", &json!({})));
    let why = tripwire_testing::sized("without an answer", "larger than 64 MiB");
    assert!(reply.body.contains(why), "{}", reply.body.len());
    guard.end();
}
