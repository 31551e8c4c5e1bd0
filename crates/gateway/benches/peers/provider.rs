//! A provider on this machine: a reply of 4 KB, a stream of events, a stream that stays open. It runs in threads of its own.

use crate::EVENTS;
use std::net::SocketAddr;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

pub(crate) struct Provider {
    pub(crate) address: SocketAddr,
}

impl Provider {
    pub(crate) fn start() -> Self {
        let (ready, address) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("an address");
                ready.send(listener.local_addr().expect("an address")).expect("someone waits");
                loop {
                    if let Ok((socket, _)) = listener.accept().await {
                        tokio::spawn(serve(socket));
                    }
                }
            });
        });
        Self { address: address.recv().expect("an address") }
    }
}

async fn serve(socket: TcpStream) {
    drop(socket.set_nodelay(true));
    let mut reader = BufReader::new(socket);
    let whole = whole();
    let events: Vec<String> = (0..EVENTS).map(event).collect();
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if !matches!(reader.read_line(&mut line).await, Ok(1..)) {
                return;
            }
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).await.is_err() {
            return;
        }
        let body = String::from_utf8_lossy(&body);
        let socket = reader.get_mut();
        let said = if body.contains("endless") {
            begin(socket).await.is_ok() && send(socket, &events[0]).await.is_ok()
        } else if body.contains("\"stream\":true") || body.contains("\"stream\": true") {
            stream(socket, &events).await.is_ok()
        } else {
            socket.write_all(whole.as_bytes()).await.is_ok()
        };
        if !said {
            return;
        }
    }
}

fn whole() -> String {
    let text = "word ".repeat(760);
    let body = format!(
        r#"{{"id":"c","object":"chat.completion","created":1,"model":"gpt-4o","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":10,"completion_tokens":760,"total_tokens":770}}}}"#
    );
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn event(number: usize) -> String {
    format!(
        "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-4o\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"word {number} \"}},\"finish_reason\":null}}]}}\n\n"
    )
}

async fn begin(socket: &mut TcpStream) -> std::io::Result<()> {
    socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n").await
}

async fn send(socket: &mut TcpStream, text: &str) -> std::io::Result<()> {
    socket.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).await
}

async fn stream(socket: &mut TcpStream, events: &[String]) -> std::io::Result<()> {
    begin(socket).await?;
    for event in events {
        send(socket, event).await?;
        // Each event is a piece of its own on the way.
        tokio::task::yield_now().await;
    }
    let end = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-4o\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    send(socket, end).await?;
    let usage = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-4o\",\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":400,\"total_tokens\":410}}\n\ndata: [DONE]\n\n";
    send(socket, usage).await?;
    socket.write_all(b"0\r\n\r\n").await
}
