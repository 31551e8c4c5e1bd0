//! One HTTP call in a thread of its own, so that the asking side never waits longer than a heartbeat.
//!
//! Whatever hangs (name lookup, connect, TLS, headers, body) hangs in that thread. The asking side waits on a channel
//! and leaves when the deadline comes or the listener says so; then the connection is shut down, which ends the thread's
//! read at once. A lookup or a connect in progress cannot be interrupted and ends at its own bound.

use super::limits::{CONNECT_MAX, PIECES_WAITING_MAX, RAW_BYTES_MAX, READ_BYTES, RESOLVE_MAX};
use super::refusal::Fault;
use crate::engines::engine::{HEARTBEAT, Heard, Listener};
use std::io::{ErrorKind, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use tripwire_core::run::fallback::Seat;
use ureq::Agent;

/// What is sent. It holds the key, so it cannot be printed.
pub(super) struct Post {
    /// Where to.
    pub(super) url: String,
    /// The headers, the key's among them.
    pub(super) headers: Vec<(&'static str, String)>,
    /// The body.
    pub(super) body: Vec<u8>,
    /// Whether it stays on this machine, where a proxy of the environment has no business.
    pub(super) place: Seat,
    /// The longest silence once the response has begun, where there is a bound beside the deadline.
    pub(super) silence_max: Option<Duration>,
}

/// The beginning of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// The HTTP status.
    pub(super) status: u16,
    /// The headers, names in lower case.
    pub(super) headers: Vec<(String, String)>,
}

impl Head {
    /// The value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

/// What the connection's thread hands over.
enum Piece {
    Head(Head),
    Bytes(Vec<u8>),
    End,
    Failed(Fault),
}

/// A call under way. Dropping it closes the connection.
pub(super) struct HttpCall {
    pieces: Receiver<Piece>,
    agent: Option<Agent>,
    deadline: Instant,
    heard: Instant,
    raw_bytes: usize,
    silence_max: Option<Duration>,
}

impl HttpCall {
    /// Starts the call.
    pub(super) fn open(post: Post, deadline: Instant) -> Result<Self, Fault> {
        let agent = agent(post.place, deadline);
        let silence_max = post.silence_max;
        let (sender, pieces) = sync_channel(PIECES_WAITING_MAX);
        let (own, now) = (agent.clone(), Instant::now());
        thread::Builder::new()
            .name("model-call".to_owned())
            .spawn(move || work(&own, &post, &sender))
            .map_err(|error| Fault::Unreachable(format!("no thread for the call: {error}")))?;
        Ok(Self { pieces, agent: Some(agent), deadline, heard: now, raw_bytes: 0, silence_max })
    }

    /// Waits for the beginning of the response.
    pub(super) fn head(&mut self, listener: &mut Listener<'_>) -> Result<Head, Fault> {
        match self.next(self.deadline, listener)? {
            Some(Piece::Head(head)) => Ok(head),
            Some(Piece::Bytes(_) | Piece::End) => Err(Fault::Broken("a body came before its headers".to_owned())),
            Some(Piece::Failed(fault)) => Err(fault),
            None => Err(Fault::Deadline),
        }
    }

    /// Waits for the next bytes of the body; `None` at its clean end.
    pub(super) fn bytes(&mut self, listener: &mut Listener<'_>) -> Result<Option<Vec<u8>>, Fault> {
        let Some(silence) = self.silence_max else { return self.bytes_until(self.deadline, listener) };
        let heard = self.bytes_until(Instant::now() + silence, listener);
        let silent = matches!(heard, Err(Fault::Deadline)) && Instant::now() < self.deadline;
        if silent { Err(Fault::Silent(silence)) } else { heard }
    }

    /// Like [`Line::bytes`], with less patience.
    pub(super) fn bytes_until(&mut self, end: Instant, listener: &mut Listener<'_>) -> Result<Option<Vec<u8>>, Fault> {
        match self.next(end.min(self.deadline), listener)? {
            Some(Piece::Bytes(bytes)) => {
                self.raw_bytes = self.raw_bytes.saturating_add(bytes.len());
                if self.raw_bytes > RAW_BYTES_MAX {
                    return Err(Fault::Broken(format!("it is longer than {RAW_BYTES_MAX} bytes")));
                }
                Ok(Some(bytes))
            }
            Some(Piece::End) => Ok(None),
            Some(Piece::Head(_)) => Err(Fault::Broken("a second response came".to_owned())),
            Some(Piece::Failed(fault)) => Err(fault),
            None => Err(Fault::Deadline),
        }
    }

    /// The listener heard something just now, so that no silence is due.
    pub(super) fn was_heard(&mut self) {
        self.heard = Instant::now();
    }

    /// The next piece, or `None` when `end` came first. The listener hears of silence even while pieces that mean nothing
    /// to it (pings, bare bytes) keep coming.
    fn next(&mut self, end: Instant, listener: &mut Listener<'_>) -> Result<Option<Piece>, Fault> {
        loop {
            let now = Instant::now();
            if now >= end {
                return Ok(None);
            }
            if now.duration_since(self.heard) >= HEARTBEAT / 2 {
                self.heard = now;
                if listener(Heard::Silence).is_break() {
                    return Err(Fault::Cut);
                }
            }
            match self.pieces.recv_timeout((end - now).min(HEARTBEAT / 2)) {
                Ok(piece) => return Ok(Some(piece)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(Fault::Broken("the call's thread ended".to_owned())),
            }
        }
    }
}

impl Drop for HttpCall {
    fn drop(&mut self) {
        if let Some(agent) = self.agent.take() {
            agent.shutdown();
        }
    }
}

/// One agent for one call: nothing is shared, so shutting it down ends this call and no other.
fn agent(place: Seat, deadline: Instant) -> Agent {
    // A little later than the deadline itself, which the asking side keeps: this bound is for the thread left behind.
    let bound = deadline.saturating_duration_since(Instant::now()) + Duration::from_secs(2);
    let config = Agent::config_builder()
        .http_status_as_error(false)
        // A redirect would carry the key to the host that it names.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_global(Some(bound))
        .timeout_resolve(Some(RESOLVE_MAX.min(bound)))
        .timeout_connect(Some(CONNECT_MAX.min(bound)))
        .user_agent(concat!("tripwire/", env!("CARGO_PKG_VERSION")))
        .accept("text/event-stream, application/json")
        .max_idle_connections(0);
    match place {
        Seat::Local => config.proxy(None),
        Seat::Remote => config,
    }
    .build()
    .new_agent()
}

/// The thread's work. It ends when the body ends, the connection fails, or the listener has gone.
fn work(agent: &Agent, post: &Post, sender: &SyncSender<Piece>) {
    let failed = |fault: Fault| {
        // The listener may have gone; then there is no one to tell.
        sender.send(Piece::Failed(fault)).ok();
    };
    let mut request = agent.post(&post.url);
    for (name, value) in &post.headers {
        request = request.header(*name, value);
    }
    let response = match request.send(post.body.as_slice()) {
        Ok(response) => response,
        Err(error) => return failed(before_the_head(error)),
    };
    let (head, body) = response.into_parts();
    let text = |value: &ureq::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = head.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
    if sender.send(Piece::Head(Head { status: head.status.as_u16(), headers })).is_err() {
        return;
    }
    let mut reader = body.into_reader();
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let piece = match reader.read(&mut buffer) {
            Ok(0) => return sender.send(Piece::End).unwrap_or_default(),
            Ok(read) => Piece::Bytes(buffer.get(..read).unwrap_or_default().to_vec()),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return failed(Fault::Broken(format!("the connection broke: {error}"))),
        };
        if sender.send(piece).is_err() {
            return;
        }
    }
}

/// What went wrong before any header came: not reached at all, or reached and not understood.
fn before_the_head(error: ureq::Error) -> Fault {
    let torn = |kind| {
        use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        matches!(kind, UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe)
    };
    let broken = matches!(&error, ureq::Error::Io(io) if torn(io.kind()))
        || matches!(&error, ureq::Error::Protocol(_) | ureq::Error::Http(_));
    if broken { Fault::Broken(format!("the connection broke: {error}")) } else { Fault::Unreachable(error.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::net::TcpListener;
    use std::ops::ControlFlow;

    const FAR: Duration = Duration::from_secs(600);

    /// Asks a server that sends the head and one piece, and then nothing for as long as anybody listens.
    fn second_piece(silence_max: Option<Duration>) -> Result<Option<Vec<u8>>, Fault> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nx").unwrap();
            // Until the other side leaves.
            while stream.read(&mut [0; 64]).is_ok_and(|read| read > 0) {}
        });
        let post = Post { url, headers: Vec::new(), body: Vec::new(), place: Seat::Local, silence_max };
        let mut line = HttpCall::open(post, Instant::now() + FAR).unwrap();
        let listen = &mut |_: Heard<'_>| ControlFlow::Continue(());
        line.head(listen).unwrap();
        // The first piece is there already or comes at once; its wait has no bound of its own here.
        assert_eq!(line.bytes_until(Instant::now() + FAR, listen), Ok(Some(b"x".to_vec())));
        let mut beats = 0;
        let heard = line.bytes(&mut |_| {
            beats += 1;
            if beats > 40 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        drop(line);
        server.join().unwrap();
        heard
    }

    #[test]
    fn run_4_a_stream_that_falls_silent_is_noticed_before_the_deadline() {
        let silence = Duration::from_millis(50);
        assert_eq!(second_piece(Some(silence)), Err(Fault::Silent(silence)));
    }

    #[test]
    fn run_4_without_a_bound_on_silence_only_the_listener_or_the_deadline_ends_a_call() {
        assert_eq!(second_piece(None), Err(Fault::Cut));
    }
}
