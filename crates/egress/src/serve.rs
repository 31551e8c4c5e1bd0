//! One connection from its first byte to its record: the five gates in their order.

use std::io::ErrorKind;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::answer;
use super::connect::{ConnectRequest, HeadError, HeadProgress, HttpVersion, read_head};
use super::hello::{HelloError, HelloProgress, read_client_hello};
use super::limits::{
    COPY_BYTES, DRAIN_BYTES_MAX, DRAIN_TIME, HEAD_BYTES_MAX, HELLO_STREAM_BYTES_MAX, SERVER_STREAM_BYTES_MAX,
    TURN_AWAY_TIME,
};
use super::log::{EndReason, Reason, RequestRecord, Stage, Verdict};
use super::name::HostName;
use super::policy::PolicyRefusal;
use super::server_hello::{ServerProgress, read_server_answer};
use super::shared::Shared;
use super::splice::{Moved, splice};
use super::tls::{APPLICATION_DATA, CHANGE_CIPHER_SPEC, front_record};
use super::wire::{Deadline, Side, WireError, read_until, write_until};

/// A client and what is known about its request so far.
pub(super) struct Connection {
    id: u64,
    client: Arc<UnixStream>,
    shared: Arc<Shared>,
    started: Instant,
    asked: Asked,
    moved: Moved,
}

/// What the record will say about the request.
#[derive(Debug, Default)]
struct Asked {
    host: Option<String>,
    port: Option<u16>,
    address: Option<SocketAddr>,
    version: Option<HttpVersion>,
}

impl Connection {
    pub(super) fn new(id: u64, client: Arc<UnixStream>, shared: Arc<Shared>) -> Self {
        Self { id, client, shared, started: Instant::now(), asked: Asked::default(), moved: Moved::default() }
    }

    /// Serves the request and logs its end. The end is logged before the client is answered, because answering may
    /// take a moment.
    pub(super) fn serve(mut self) {
        match self.open() {
            Ok((request, server)) => {
                let reason = self.tunnel(&request.host, &server);
                server.close(Shutdown::Both);
                self.log_end(reason);
                if let Some(alert) = answer::alert(reason) {
                    self.say_and_drain(alert);
                }
            }
            Err(reason) => {
                self.log_end(reason);
                self.answer(reason);
            }
        }
        self.client.close(Shutdown::Both);
    }

    /// Answers a connection that is not served at all, and hears it out for a moment.
    pub(super) fn refuse(self, reason: Reason) {
        self.log_end(reason);
        self.answer(reason);
        self.client.close(Shutdown::Both);
    }

    /// The same without a thread of its own: the answer is written if the socket takes it, and that was it.
    pub(super) fn turn_away(self, reason: Reason) {
        self.log_end(reason);
        let answer = answer::refusal(HttpVersion::Http11, reason, None);
        // A client that does not take the answer learns it from the closed socket.
        self.say(&answer, Deadline::after(TURN_AWAY_TIME)).unwrap_or_default();
        self.client.close(Shutdown::Both);
    }

    fn log_end(&self, reason: Reason) {
        // A socket that was shut by a stop looks like a peer that left; the log tells the truth.
        let stopped = self.shared.is_stopped();
        let reason = match (reason.verdict(), stopped) {
            (Verdict::Failed, true) => Reason::Stopped,
            (Verdict::Allowed, true) => Reason::Ended(EndReason::Stopped),
            (Verdict::Refused, true) | (Verdict::Allowed | Verdict::Failed | Verdict::Refused, false) => reason,
        };
        self.shared.end(&self.record(Stage::End, reason));
    }

    /// Gates one to three, and the answer that opens the tunnel.
    fn open(&mut self) -> Result<(ConnectRequest, Arc<TcpStream>), Reason> {
        let request = self.read_request()?;
        self.shared.has_asked(self.id);
        let destination = self.shared.allow().permit(&request.host, request.port).map_err(|refusal| match refusal {
            PolicyRefusal::Host => Reason::HostNotAllowed,
            PolicyRefusal::Port => Reason::PortNotAllowed,
        })?;
        let shared = Arc::clone(&self.shared);
        let dialled = shared.dialler().dial(destination, &|| shared.is_stopped()).map_err(|error| {
            self.asked.address = error.address;
            error.reason
        })?;
        self.asked.address = Some(dialled.address);
        let server = Arc::new(dialled.stream);
        self.shared.adopt(self.id, Arc::clone(&server))?;
        self.refuse_early_bytes()?;
        let deadline = Deadline::after(self.shared.limits().head_time);
        self.say(&answer::opened(request.version), deadline).map_err(|_| Reason::ClientLeft)?;
        Ok((request, server))
    }

    fn read_request(&mut self) -> Result<ConnectRequest, Reason> {
        let deadline = Deadline::after(self.shared.limits().head_time);
        let mut received = Vec::new();
        let mut buffer = vec![0; HEAD_BYTES_MAX];
        loop {
            match read_head(&received) {
                HeadProgress::Incomplete => {}
                HeadProgress::Complete { request, used } => {
                    self.asked.host = Some(request.host.to_string());
                    self.asked.port = Some(request.port.get());
                    self.asked.version = Some(request.version);
                    if received.len() > used {
                        return Err(Reason::Head(HeadError::EarlyBytes));
                    }
                    return Ok(request);
                }
                HeadProgress::Refused(refusal) => {
                    self.asked.host = refusal.target;
                    return Err(Reason::Head(refusal.error));
                }
            }
            let count = read_until(&*self.client, &mut buffer, deadline).map_err(|error| match error {
                WireError::Timeout => Reason::HeadTimeout,
                WireError::Closed => Reason::HeadIncomplete,
            })?;
            received.extend_from_slice(buffer.get(..count).unwrap_or_default());
        }
    }

    /// A client that speaks before it was answered did not wait to learn who is listening.
    fn refuse_early_bytes(&self) -> Result<(), Reason> {
        self.client.set_nonblocking(true).map_err(|_| Reason::ClientLeft)?;
        let early = self.client.read_once(&mut [0]);
        self.client.set_nonblocking(false).map_err(|_| Reason::ClientLeft)?;
        match early {
            Ok(0) => Err(Reason::ClientLeft),
            Ok(_) => Err(Reason::Head(HeadError::EarlyBytes)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            Err(_) => Err(Reason::ClientLeft),
        }
    }

    /// Gates four and five.
    fn tunnel(&self, host: &HostName, server: &TcpStream) -> Reason {
        if let Err(reason) = self.handshake(host, server) {
            return reason;
        }
        match splice(&*self.client, server, &self.moved, self.shared.limits()) {
            Ok(end) => Reason::Ended(end),
            Err(_) => Reason::ThreadUnavailable,
        }
    }

    /// Lets the hello through if it names the host, and a second hello only if it does so too.
    fn handshake(&self, host: &HostName, server: &TcpStream) -> Result<(), Reason> {
        let mut received = Vec::new();
        let used = self.read_hello(host, &mut received)?;
        if self.shared.log(&self.record(Stage::Open, Reason::Open)).is_err() {
            return Err(Reason::LogFailed);
        }
        // What came behind the hello is kept back until the server has said whether it is a second one.
        let behind = received.split_off(used);
        self.forward_up(server, &received)?;
        let mut received = behind;
        match self.read_server_answer(server)? {
            ServerStep::Hello => {}
            ServerStep::Retry => {
                self.forward_between_hellos(server, &mut received)?;
                let used = self.read_hello(host, &mut received)?;
                let behind = received.split_off(used);
                self.forward_up(server, &received)?;
                received = behind;
            }
        }
        self.forward_up(server, &received)
    }

    /// Reads on until `received` begins with a whole hello that names the host; gives its length on the wire.
    fn read_hello(&self, host: &HostName, received: &mut Vec<u8>) -> Result<usize, Reason> {
        let deadline = Deadline::after(self.shared.limits().hello_time);
        loop {
            match read_client_hello(received) {
                HelloProgress::Complete { hello, used } if hello.server_name == *host => {
                    return Ok(used);
                }
                HelloProgress::Complete { .. } => return Err(Reason::NameMismatch),
                HelloProgress::Refused(error) => return Err(Reason::Hello(error)),
                HelloProgress::Incomplete => self.read_more(received, deadline)?,
            }
        }
    }

    fn read_more(&self, received: &mut Vec<u8>, deadline: Deadline) -> Result<(), Reason> {
        if received.len() >= HELLO_STREAM_BYTES_MAX {
            return Err(Reason::Hello(HelloError::TooLarge));
        }
        let mut buffer = vec![0; COPY_BYTES];
        let count = read_until(&*self.client, &mut buffer, deadline).map_err(|error| match error {
            WireError::Timeout => Reason::HelloTimeout,
            WireError::Closed => Reason::HelloIncomplete,
        })?;
        received.extend_from_slice(buffer.get(..count).unwrap_or_default());
        Ok(())
    }

    /// Forwards what may stand between two hellos: the compatibility byte, and early data sent before the retry.
    fn forward_between_hellos(&self, server: &TcpStream, received: &mut Vec<u8>) -> Result<(), Reason> {
        let deadline = Deadline::after(self.shared.limits().hello_time);
        loop {
            let wire = match front_record(received) {
                Err(_) => return Err(Reason::Hello(HelloError::NotTls)),
                Ok(Some(record)) => match record.content_type {
                    CHANGE_CIPHER_SPEC if record.length != 1 => {
                        return Err(Reason::Hello(HelloError::Malformed));
                    }
                    CHANGE_CIPHER_SPEC | APPLICATION_DATA if record.is_whole() => Some(record.wire_bytes()),
                    CHANGE_CIPHER_SPEC | APPLICATION_DATA => None,
                    _ => return Ok(()),
                },
                Ok(None) => None,
            };
            match wire {
                None => self.read_more(received, deadline)?,
                Some(wire) => {
                    let behind = received.split_off(wire);
                    self.forward_up(server, received)?;
                    *received = behind;
                }
            }
        }
    }

    /// Passes the server's first bytes on to the client and says whether it asks for a second hello.
    fn read_server_answer(&self, server: &TcpStream) -> Result<ServerStep, Reason> {
        let deadline = Deadline::after(self.shared.limits().server_time);
        let mut received = Vec::new();
        let mut buffer = vec![0; COPY_BYTES];
        loop {
            let count = read_until(server, &mut buffer, deadline).map_err(|error| match error {
                WireError::Timeout => Reason::ServerTimeout,
                WireError::Closed => Reason::ServerClosed,
            })?;
            let fresh = buffer.get(..count).unwrap_or_default();
            received.extend_from_slice(fresh);
            let progress = read_server_answer(&received);
            if progress == ServerProgress::NotTls || received.len() > SERVER_STREAM_BYTES_MAX + COPY_BYTES {
                return Err(Reason::ServerNotTls);
            }
            write_until(&*self.client, fresh, deadline, &self.moved.down).map_err(|_| Reason::ClientLeft)?;
            match progress {
                ServerProgress::Incomplete | ServerProgress::NotTls => {}
                ServerProgress::Hello => return Ok(ServerStep::Hello),
                ServerProgress::Retry => return Ok(ServerStep::Retry),
                ServerProgress::Refusal => return Err(Reason::ServerRefused),
            }
        }
    }

    fn forward_up(&self, server: &TcpStream, bytes: &[u8]) -> Result<(), Reason> {
        let deadline = Deadline::after(self.shared.limits().server_time);
        write_until(server, bytes, deadline, &self.moved.up).map_err(|error| match error {
            WireError::Timeout => Reason::ServerTimeout,
            WireError::Closed => Reason::ServerClosed,
        })
    }

    fn answer(&self, reason: Reason) {
        let version = self.asked.version.unwrap_or(HttpVersion::Http11);
        let target = match (&self.asked.host, self.asked.port) {
            (Some(host), Some(port)) => Some(format!("{host}:{port}")),
            (Some(host), None) => Some(host.clone()),
            (None, Some(_) | None) => None,
        };
        self.say_and_drain(&answer::refusal(version, reason, target.as_deref()));
    }

    /// Says something of the proxy's own to the client, which is no byte of the tunnel and is not counted as one.
    fn say(&self, word: &[u8], deadline: Deadline) -> Result<(), WireError> {
        write_until(&*self.client, word, deadline, &AtomicU64::new(0))
    }

    /// Says a last word and reads on for a moment: closing a socket with unread bytes in it can take the word back.
    fn say_and_drain(&self, word: &[u8]) {
        let deadline = Deadline::after(DRAIN_TIME);
        if self.say(word, deadline).is_err() {
            return;
        }
        self.client.close(Shutdown::Write);
        let mut buffer = vec![0; COPY_BYTES];
        let mut drained = 0;
        while drained < DRAIN_BYTES_MAX {
            match read_until(&*self.client, &mut buffer, deadline) {
                Ok(count) => drained += count,
                Err(WireError::Timeout | WireError::Closed) => return,
            }
        }
    }

    fn record(&self, stage: Stage, reason: Reason) -> RequestRecord {
        RequestRecord {
            connection: self.id,
            stage,
            host: self.asked.host.clone(),
            port: self.asked.port,
            verdict: reason.verdict(),
            reason: reason.code(),
            address: self.asked.address,
            bytes_up: self.moved.up.load(Ordering::Relaxed),
            bytes_down: self.moved.down.load(Ordering::Relaxed),
            ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }
}

enum ServerStep {
    Hello,
    Retry,
}
