//! A tiny HTTP/1.1 server on a free loopback port that plays, connection by connection, what a test tells it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// One thing that the server does on a connection.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Sends bytes as they are, without any framing.
    Raw(Vec<u8>),
    /// Sends the head of an event stream in chunks.
    Streams,
    /// Sends one chunk.
    Chunk(Vec<u8>),
    /// Sends the chunk that ends the body.
    End,
    /// Waits.
    Pause(Duration),
    /// Says nothing more until the client has gone.
    Hang,
}

/// A request as it arrived.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    /// `POST /v1/messages HTTP/1.1`.
    pub(crate) line: String,
    /// The header lines.
    pub(crate) headers: Vec<String>,
    /// The body.
    pub(crate) body: serde_json::Value,
}

impl Request {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|line| {
            let (header, value) = line.split_once(':')?;
            header.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    left: Arc<AtomicUsize>,
}

impl Server {
    /// Starts a server that plays one script for each connection, in order, and then refuses.
    pub(crate) fn start(scripts: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self { address: listener.local_addr().unwrap(), requests: Arc::default(), left: Arc::default() };
        let (requests, left) = (Arc::clone(&server.requests), Arc::clone(&server.left));
        thread::spawn(move || {
            for script in scripts {
                let Ok((stream, _)) = listener.accept() else { return };
                let (requests, left) = (Arc::clone(&requests), Arc::clone(&left));
                thread::spawn(move || play(&stream, &script, &requests, &left));
            }
        });
        server
    }

    /// `http://127.0.0.1:PORT`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Waits until so many clients have closed their connection in the face of a server that hangs.
    pub(crate) fn wait_until_left(&self, clients: usize) {
        for _ in 0..600 {
            if self.left.load(Ordering::SeqCst) >= clients {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("the connection was never closed");
    }
}

fn play(stream: &TcpStream, script: &[Step], requests: &Mutex<Vec<Request>>, left: &AtomicUsize) {
    let mut reader = BufReader::new(stream);
    let Some(request) = read_request(&mut reader) else { return };
    requests.lock().unwrap().push(request);
    let mut out = stream;
    for step in script {
        let sent = match step {
            Step::Raw(bytes) => out.write_all(bytes),
            Step::Streams => out.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nx-new: 1\r\n\r\n",
            ),
            Step::Chunk(bytes) => out
                .write_all(format!("{:x}\r\n", bytes.len()).as_bytes())
                .and_then(|()| out.write_all(bytes))
                .and_then(|()| out.write_all(b"\r\n")),
            Step::End => out.write_all(b"0\r\n\r\n"),
            Step::Pause(time) => {
                thread::sleep(*time);
                Ok(())
            }
            Step::Hang => {
                // The client has nothing more to send, so a read returns only when it has gone.
                let mut rest = [0; 64];
                while matches!(reader.read(&mut rest), Ok(read) if read > 0) {}
                left.fetch_add(1, Ordering::SeqCst);
                return;
            }
        };
        if sent.and_then(|()| out.flush()).is_err() {
            left.fetch_add(1, Ordering::SeqCst);
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> Option<Request> {
    let mut request = Request::default();
    reader.read_line(&mut request.line).ok().filter(|read| *read > 0)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        request.headers.push(line.to_owned());
    }
    let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    request.body = serde_json::from_slice(&body).unwrap_or_default();
    Some(request)
}

/// A whole plain response.
pub(crate) fn reply(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<Step> {
    let mut text = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(body);
    vec![Step::Raw(text.into_bytes())]
}

/// A whole stream, each text a chunk of its own.
pub(crate) fn stream(pieces: &[String]) -> Vec<Step> {
    let mut steps = vec![Step::Streams];
    steps.extend(pieces.iter().map(|piece| Step::Chunk(piece.clone().into_bytes())));
    steps.push(Step::End);
    steps
}
