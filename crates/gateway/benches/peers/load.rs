//! A client that speaks plain HTTP over one connection.

use crate::subject::Subject;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

pub(crate) struct Connection {
    host: String,
    reader: BufReader<TcpStream>,
    path: &'static str,
    headers: String,
}

/// How a reply is to come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    Whole,
    Stream,
}

pub(crate) fn median(durations: &mut [Duration]) -> Duration {
    durations.sort_unstable();
    durations.get(durations.len() / 2).copied().unwrap_or_default()
}

impl Connection {
    pub(crate) async fn open(subject: &Subject) -> Self {
        let socket = TcpStream::connect(subject.address).await.expect("it listens");
        socket.set_nodelay(true).expect("a socket");
        Self {
            reader: BufReader::new(socket),
            host: subject.address.to_string(),
            path: subject.path,
            headers: subject.headers.clone(),
        }
    }

    async fn send(&mut self, delivery: Delivery, text: &str) {
        let stream = delivery == Delivery::Stream;
        let body = format!(
            r#"{{"model":"gpt-4o","stream":{stream},"stream_options":{{"include_usage":true}},"max_tokens":1000,"messages":[{{"role":"user","content":"{text}"}}]}}"#
        );
        let body = if stream { body } else { body.replace(r#""stream_options":{"include_usage":true},"#, "") };
        let request = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer sk-bench\r\n{}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.path,
            self.host,
            self.headers,
            body.len()
        );
        self.reader.get_mut().write_all(request.as_bytes()).await.expect("it reads");
    }

    /// Asks and reads the whole reply; how many events it had. `None`, and a word about it, where it was refused.
    pub(crate) async fn ask(&mut self, delivery: Delivery) -> Option<usize> {
        let text = "x".repeat(4_000);
        self.send(delivery, &text).await;
        let (status, length) = self.head().await;
        let mut body = Vec::new();
        match length {
            Some(length) => {
                body.resize(length, 0);
                self.reader.read_exact(&mut body).await.expect("a whole reply");
            }
            None => while self.chunk(&mut body).await {},
        }
        let body = String::from_utf8_lossy(&body);
        if !status.contains(" 200") {
            println!("{}{body}", status.trim());
            return None;
        }
        Some(body.matches("data: ").count())
    }

    /// Begins a stream that does not end, and reads its first event.
    pub(crate) async fn begin_endless(&mut self) {
        self.send(Delivery::Stream, "endless").await;
        let (status, _) = self.head().await;
        assert!(status.contains(" 200"), "{status}");
        assert!(self.chunk(&mut Vec::new()).await, "an event");
    }

    async fn head(&mut self) -> (String, Option<usize>) {
        let (mut status, mut length) = (String::new(), None);
        loop {
            let mut line = String::new();
            let read = self.reader.read_line(&mut line).await.expect("a head");
            assert!(read > 0, "the connection was closed");
            if line == "\r\n" {
                return (status, length);
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok();
            }
            if status.is_empty() {
                status = line;
            }
        }
    }

    async fn chunk(&mut self, into: &mut Vec<u8>) -> bool {
        let mut size = String::new();
        self.reader.read_line(&mut size).await.expect("a chunk");
        let size = usize::from_str_radix(size.trim(), 16).expect("a chunk's size");
        let start = into.len();
        into.resize(start + size, 0);
        self.reader.read_exact(&mut into[start..]).await.expect("a whole chunk");
        self.reader.read_exact(&mut [0; 2]).await.expect("its end");
        size > 0
    }
}
