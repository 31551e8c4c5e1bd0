//! A tool server over HTTP that a test scripts, the guard before it, and a client that speaks plain HTTP.

use super::fixture::{McpFixture, SOON, server};
use crate::gateway::support::{Provider, Reply, Seen};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// The guard of a server, running.
pub(super) struct HttpFixture {
    pub(super) files: McpFixture,
    pub(super) peer: Provider,
    pub(super) address: String,
    child: Child,
}

impl Drop for HttpFixture {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A guard before a server that does this with each request.
pub(super) fn guarded(script: impl Fn(&Seen, &mut TcpStream) + Send + Sync + 'static) -> HttpFixture {
    let files = server();
    HttpFixture::start(files, Provider::new(script), &[])
}

impl HttpFixture {
    pub(super) fn start(files: McpFixture, peer: Provider, words: &[&str]) -> Self {
        let url = format!("http://{}/mcp", peer.address);
        let mut command =
            files.hooks.command(&["mcp", "--name", "demo", "--json", "--listen", "127.0.0.1:0", "--url", &url]);
        let log = std::fs::File::create(files.path("stderr")).unwrap();
        let mut child = command.args(words).stdin(Stdio::null()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("{line:?}: {}", std::fs::read_to_string(files.path("stderr")).unwrap()));
        assert_eq!((&ready["pid"], ready["server"].as_str()), (&Value::from(child.id()), Some(url.as_str())));
        let address = ready["listening"].as_str().unwrap().strip_prefix("http://").unwrap();
        let address = address.strip_suffix("/mcp").expect("the server's own path").to_owned();
        Self { files, peer, address, child }
    }

    pub(super) fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(&self.address).unwrap();
        socket.set_read_timeout(Some(SOON)).unwrap();
        socket
    }

    /// Sends a request; the reply is read by the caller.
    pub(super) fn begin(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
        let mut socket = self.connect();
        let has = |name: &str| headers.iter().any(|(known, _)| *known == name);
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        if !has("host") {
            head.push_str(&format!("host: {}\r\n", self.address));
        }
        if !has("content-type") && method == "POST" {
            head.push_str("content-type: application/json\r\naccept: application/json, text/event-stream\r\n");
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        socket.write_all(&[head.as_bytes(), b"\r\n", body].concat()).unwrap();
        socket
    }

    pub(super) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        Reply::read(&mut self.begin(method, path, headers, body.as_bytes()))
    }

    /// Posts a message of a session.
    pub(super) fn post(&self, body: &str) -> Reply {
        self.send("POST", "/mcp", &[("mcp-session-id", "s1")], body)
    }

    /// Posts a message that is answered with one in JSON.
    pub(super) fn ask(&self, body: &str) -> Value {
        let reply = self.post(body);
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    }

    /// What the guard said on standard error.
    pub(super) fn stderr(&self) -> String {
        std::fs::read_to_string(self.files.path("stderr")).unwrap()
    }

    /// The calls that reached the server.
    pub(super) fn calls(&self) -> usize {
        self.peer.seen.lock().unwrap().iter().filter(|seen| is_call(&seen.body)).count()
    }

    /// Ends it as a person does, and checks the journal.
    pub(super) fn end(mut self) -> String {
        Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {}", self.stderr());
        self.files.verify();
        self.files.journal()
    }
}

/// Whether a server would read this as a call.
fn is_call(body: &str) -> bool {
    let names =
        |value: &Value| value["method"].as_str().is_some_and(|method| method.trim().eq_ignore_ascii_case("tools/call"));
    let value = serde_json::from_str::<Value>(body).unwrap_or_default();
    names(&value) || value.as_array().is_some_and(|parts| parts.iter().any(names))
}

/// The id of a message, as it was written.
pub(super) fn id_of(seen: &Seen) -> String {
    serde_json::from_str::<Value>(&seen.body).unwrap_or_default()["id"].to_string()
}

/// Whether the head of a request has this line.
pub(super) fn has_line(seen: &Seen, line: &str) -> bool {
    seen.head.lines().any(|known| known.eq_ignore_ascii_case(line))
}

/// Reads from a stream until a text has come.
pub(super) fn read_until(socket: &mut TcpStream, text: &str) -> String {
    let (mut all, mut piece) = (Vec::new(), [0_u8; 4_096]);
    loop {
        let count =
            socket.read(&mut piece).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&all)));
        all.extend_from_slice(&piece[..count]);
        let said = String::from_utf8_lossy(&all);
        if said.contains(text) {
            return said.into_owned();
        }
        assert!(count > 0, "it ended without `{text}`: {said}");
    }
}
