//! Requests that no page of ours sends: none acts, none reads.

use super::served::{Answer, Served};
use crate::session::fixture::{Place, calls};
use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What a hostile request must not get.
fn assert_nothing(place: &Place, name: &str, answer: Option<&Answer>) {
    if let Some(answer) = answer {
        assert!(answer.status >= 400, "{name}: {answer:?}");
        assert!(!answer.body.contains(&place.session()), "{name} read: {answer:?}");
    }
    for order in ["STOP", "PAUSE"] {
        assert!(!place.geometry(order).exists(), "{name} acted: {order}");
    }
}

/// A page, and what a stranger may have got hold of.
struct Stranger {
    served: Served,
    cookie: String,
    secret: String,
    origin: String,
    other: String,
}

const STOP: &str = "POST /api/act/stop";
const JSON: (&str, &str) = ("content-type", "application/json");

impl Stranger {
    fn of(served: Served) -> Self {
        let (cookie, secret, origin) = (served.cookie(), served.secret.clone(), served.origin());
        let other = format!("http://127.0.0.1:{}", served.port.wrapping_add(1));
        Self { served, cookie, secret, origin, other }
    }

    fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.served.ask(&format!("GET {path}"), headers, "")
    }

    /// Requests that read, with something missing or something foreign.
    fn readings(&self) -> Vec<(&'static str, Answer)> {
        let (port, cookie) = (self.served.port, ("cookie", self.cookie.as_str()));
        let of_secret = format!("tripwire-{port}={}", self.secret);
        let wrong = format!("tripwire-{port}=tw-{}", "0".repeat(48));
        let elsewhere = self.cookie.replace(&port.to_string(), "1");
        let all = "/api/sessions";
        vec![
            ("no cookie", self.get(all, &[])),
            ("wrong cookie", self.get(all, &[("cookie", &wrong)])),
            ("the secret as a cookie", self.get(all, &[("cookie", &of_secret)])),
            ("the secret alone", self.get(all, &[("x-tripwire-secret", &self.secret)])),
            ("the cookie of another console", self.get(all, &[("cookie", &elsewhere)])),
            ("another origin", self.get(all, &[cookie, ("origin", &self.other)])),
            ("a null origin", self.get(all, &[cookie, ("origin", "null")])),
            ("another site", self.get(all, &[cookie, ("sec-fetch-site", "cross-site")])),
            ("another port of this site", self.get(all, &[cookie, ("sec-fetch-site", "same-site")])),
            ("a path above the page", self.get("/../../../../etc/passwd", &[])),
            ("a path with percent signs", self.get("/%2e%2e/%2e%2e/etc/passwd", &[])),
            ("a session that is a path", self.get("/api/session?w=x&s=..%2f..%2fetc", &[cookie])),
            ("a query that cannot be read", self.get("/api/rows?w=%ff", &[cookie])),
            ("a websocket", self.get("/api/events", &[("upgrade", "websocket"), ("origin", &self.other)])),
        ]
    }

    /// Requests that act, with something missing or something foreign.
    fn acts(&self) -> Vec<(&'static str, Answer)> {
        let (cookie, secret) = (("cookie", self.cookie.as_str()), ("x-tripwire-secret", self.secret.as_str()));
        let ours = ("origin", self.origin.as_str());
        let (wrong, alike) = (format!("tw-{}", "0".repeat(48)), format!("{}.evil.example", self.origin));
        let of_cookie = self.cookie.split_once('=').unwrap().1;
        let stop = |headers: &[(&str, &str)]| self.served.ask(STOP, headers, "{}");
        vec![
            ("the cookie alone", stop(&[cookie, ours, JSON])),
            ("a wrong secret", stop(&[cookie, ours, JSON, ("x-tripwire-secret", &wrong)])),
            ("two secrets", stop(&[cookie, ours, JSON, secret, ("x-tripwire-secret", &wrong)])),
            ("the cookie's value as the secret", stop(&[cookie, ours, JSON, ("x-tripwire-secret", of_cookie)])),
            ("no cookie", stop(&[ours, JSON, secret])),
            ("no origin", stop(&[cookie, JSON, secret])),
            ("another origin", stop(&[cookie, JSON, secret, ("origin", &self.other)])),
            ("an origin that only begins like ours", stop(&[cookie, JSON, secret, ("origin", &alike)])),
            ("a form", stop(&[cookie, ours, secret, ("content-type", "text/plain")])),
            ("another site", stop(&[cookie, ours, JSON, secret, ("sec-fetch-site", "cross-site")])),
        ]
    }

    /// Other methods, other forms.
    fn forms(&self) -> Vec<(&'static str, Answer)> {
        let (cookie, secret) = (("cookie", self.cookie.as_str()), ("x-tripwire-secret", self.secret.as_str()));
        let ours = ("origin", self.origin.as_str());
        let large = format!("{{\"reason\":\"{}\"}}", "x".repeat(64 << 10));
        let preflight = [("origin", self.other.as_str()), ("access-control-request-method", "POST")];
        vec![
            ("act by GET", self.get("/api/act/stop", &[cookie, secret])),
            ("act by PUT", self.served.ask("PUT /api/act/stop", &[cookie, ours, JSON, secret], "{}")),
            (
                "one method for another",
                self.get("/api/act/stop", &[cookie, secret, ("x-http-method-override", "POST")]),
            ),
            ("log in without the secret", self.served.ask("POST /api/login", &[cookie, ours], "")),
            ("log in by GET", self.get("/api/login", &[cookie, secret])),
            ("a large body", self.served.ask(STOP, &[cookie, ours, JSON, secret], &large)),
            ("a preflight", self.served.ask("OPTIONS /api/act/stop", &preflight, "")),
        ]
    }
}

#[test]
fn thirty_hostile_requests_read_nothing_and_do_nothing() {
    let place = Place::new();
    place.step(&calls(2)).ended(0);
    let stranger = Stranger::of(Served::start(&place, &[]));
    let mut tried = 0;
    for (name, answer) in stranger.readings().iter().chain(&stranger.acts()).chain(&stranger.forms()) {
        assert_nothing(&place, name, Some(answer));
        assert!(!answer.head.to_lowercase().contains("access-control-allow"), "{name}: {answer:?}");
        assert!(answer.head.contains("content-security-policy: default-src 'none'"), "{name}: {answer:?}");
        tried += 1;
    }
    assert!(tried >= 30, "{tried}");
}

#[test]
fn a_foreign_name_that_points_here_is_refused() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    let served = Served::start(&place, &[]);
    let cookie = served.cookie();
    let port = served.port;
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("127.0.0.1:{}", port.wrapping_add(1)),
        "127.0.0.1".to_owned(),
        format!("0.0.0.0:{port}"),
        String::new(),
    ] {
        let text =
            format!("GET /api/sessions HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\nconnection: close\r\n\r\n");
        assert_nothing(&place, &host, served.send(text.as_bytes()).as_ref());
    }
    let twice = format!(
        "GET /api/sessions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nhost: evil.example\r\ncookie: {cookie}\r\nconnection: close\r\n\r\n"
    );
    assert_nothing(&place, "two hosts", served.send(twice.as_bytes()).as_ref());
    assert_eq!(served.read("/api/sessions").status, 200, "and our own page is served");
}

#[test]
fn bytes_that_are_no_request_and_slow_ones_do_not_stop_the_page() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    let served = Served::start(&place, &[]);
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
    ] {
        assert_nothing(&place, "no request", served.send(bytes).as_ref());
    }
    let long = format!("GET / HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nx: {}\r\n\r\n", served.port, "y".repeat(64 << 10));
    assert_nothing(&place, "a long head", served.send(long.as_bytes()).as_ref());
    // A head that never ends is given up, and others are served meanwhile.
    let mut slow = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nhost: ").unwrap();
    let begun = Instant::now();
    assert_eq!(served.read("/api/sessions").status, 200);
    slow.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).ok();
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

#[test]
fn a_flood_of_streams_is_bounded_and_leaves_the_page_alive() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    let served = Served::start(&place, &[]);
    let cookie = served.cookie();
    let text = format!("GET /api/events HTTP/1.1\r\nhost: 127.0.0.1:{}\r\ncookie: {cookie}\r\n\r\n", served.port);
    let mut open = Vec::new();
    let mut statuses = Vec::new();
    for _ in 0..40 {
        let mut socket = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        socket.write_all(text.as_bytes()).unwrap();
        let mut head = [0; 12];
        BufReader::new(&socket).read_exact(&mut head).unwrap();
        statuses.push(String::from_utf8_lossy(&head).into_owned());
        open.push(socket);
    }
    assert!(statuses.iter().filter(|status| status.ends_with("200")).count() <= 24, "{statuses:?}");
    assert!(statuses.iter().any(|status| status.ends_with("429")), "{statuses:?}");
    assert_eq!(served.read("/api/sessions").status, 200);
    drop(open);
    // Those that left make room again.
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let mut socket = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        socket.write_all(text.as_bytes()).unwrap();
        let mut head = [0; 12];
        BufReader::new(&socket).read_exact(&mut head).unwrap();
        if head.ends_with(b"200") {
            break;
        }
        assert!(Instant::now() < until, "no room was made");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_secret_is_in_no_file_of_the_workspace_and_in_no_command_line() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    let served = Served::start(&place, &[]);
    let line = std::fs::read(format!("/proc/{}/cmdline", served.pid())).unwrap_or_default();
    assert!(!String::from_utf8_lossy(&line).contains(&served.secret));
    let mut folders = vec![place.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                let bytes = std::fs::read(entry.path()).unwrap_or_default();
                assert!(
                    !bytes.windows(served.secret.len()).any(|window| window == served.secret.as_bytes()),
                    "{:?}",
                    entry.path()
                );
            }
        }
    }
    assert!(!served.read("/api/sessions").body.contains(&served.secret));
}
