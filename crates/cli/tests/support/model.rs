//! A model that says what it is told: the streaming Messages form, on loopback, counting what it is asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the model was asked, and where it listens.
pub(crate) struct Model {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<String>>>,
    over: Arc<AtomicBool>,
    address: std::net::SocketAddr,
}

impl Model {
    /// Answers the first `calls` requests with the same shell command, and then says that it is done.
    pub(crate) fn repeating(command: &'static str, calls: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let address = listener.local_addr().expect("its address");
        let (asked, over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (seen, ended) = (Arc::clone(&asked), Arc::clone(&over));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(stream), seen) = (stream, Arc::clone(&seen)) else { continue };
                std::thread::spawn(move || serve(stream, &seen, command, calls));
            }
        });
        Self { url: format!("http://{address}"), asked, over, address }
    }

    /// The bodies of the requests so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no test panics while holding it").clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
    }
}

/// Serves one connection, request after request.
fn serve(stream: TcpStream, asked: &Mutex<Vec<String>>, command: &str, calls: usize) {
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    let mut writer = stream;
    while let Some((path, body)) = read_request(&mut reader) {
        let answer = if path.starts_with("/v1/messages") && !path.contains("count_tokens") {
            let mut asked = asked.lock().expect("no test panics while holding it");
            asked.push(body);
            let turn = asked.len();
            sse(&if turn <= calls { tool_use(turn, command) } else { text("Done.") })
        } else {
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}".to_owned()
        };
        if writer.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    let path = first.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, String::from_utf8_lossy(&body).into_owned()))
}

fn sse(events: &[(&str, serde_json::Value)]) -> String {
    let body: String = events.iter().map(|(name, data)| format!("event: {name}\ndata: {data}\n\n")).collect();
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn message(block: serde_json::Value, delta: serde_json::Value, stop: &str) -> Vec<(&'static str, serde_json::Value)> {
    use serde_json::json;
    let usage = json!({"input_tokens": 10, "output_tokens": 5});
    let start = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage});
    vec![
        ("message_start", json!({"type": "message_start", "message": start})),
        ("content_block_start", json!({"type": "content_block_start", "index": 0, "content_block": block})),
        ("content_block_delta", json!({"type": "content_block_delta", "index": 0, "delta": delta})),
        ("content_block_stop", json!({"type": "content_block_stop", "index": 0})),
        (
            "message_delta",
            json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
            "usage": {"output_tokens": 5}}),
        ),
        ("message_stop", json!({"type": "message_stop"})),
    ]
}

fn tool_use(turn: usize, command: &str) -> Vec<(&'static str, serde_json::Value)> {
    use serde_json::json;
    let input = json!({"command": command, "description": "run a command"}).to_string();
    message(
        json!({"type": "tool_use", "id": format!("toolu_{turn}"), "name": "Bash", "input": {}}),
        json!({"type": "input_json_delta", "partial_json": input}),
        "tool_use",
    )
}

fn text(said: &str) -> Vec<(&'static str, serde_json::Value)> {
    use serde_json::json;
    message(json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": said}), "end_turn")
}
