//! A running page, and requests to it byte by byte.

use crate::session::fixture::Place;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// `tripwire web`, running.
pub(super) struct Served {
    child: Child,
    pub(super) url: String,
    pub(super) port: u16,
    pub(super) secret: String,
}

/// What the server answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Served {
    pub(super) fn start(place: &Place, more: &[&str]) -> Self {
        Self::of(place.command(&[&["web", "--json"], more].concat()))
    }

    /// The page that a command serves.
    pub(super) fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: serde_json::Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let url = told["url"].as_str().unwrap().to_owned();
        let (address, secret) = url.split_once("/#").unwrap();
        let port = address.rsplit(':').next().unwrap().parse().unwrap();
        assert_eq!(told["pid"].as_u64(), Some(child.id().into()));
        Self { port, secret: secret.to_owned(), url: url.clone(), child }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends these bytes and reads the answer; none if the server says nothing.
    pub(super) fn send(&self, bytes: &[u8]) -> Option<Answer> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        // A server that refuses early may close before everything is written.
        socket.write_all(bytes).ok();
        read_answer(&mut BufReader::new(socket))
    }

    /// A request with these headers beside the host.
    pub(super) fn ask(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut text = format!("{line} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: close\r\n", self.port);
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            text.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        text.push_str(&format!("\r\n{body}"));
        self.send(text.as_bytes()).expect("an answer")
    }

    pub(super) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The cookie that a caller with the secret gets.
    pub(super) fn cookie(&self) -> String {
        let origin = self.origin();
        let answer = self.ask("POST /api/login", &[("origin", &origin), ("x-tripwire-secret", &self.secret)], "");
        assert_eq!(answer.status, 200, "{answer:?}");
        let line = answer.head.lines().find(|line| line.to_lowercase().starts_with("set-cookie:")).unwrap();
        assert!(line.contains("HttpOnly") && line.contains("SameSite=Strict"), "{line}");
        line.split_once(':').unwrap().1.split(';').next().unwrap().trim().to_owned()
    }

    /// A reading request with the cookie.
    pub(super) fn read(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path}"), &[("cookie", &self.cookie())], "")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

pub(super) fn read_answer(reader: &mut impl std::io::BufRead) -> Option<Answer> {
    let mut head = String::new();
    loop {
        let before = head.len();
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
        if &head[before..] == "\r\n" {
            break;
        }
    }
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Answer { status, head, body: String::from_utf8_lossy(&body).into_owned() })
}
