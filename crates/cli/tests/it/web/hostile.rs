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

#[test]
fn thirty_hostile_requests_read_nothing_and_do_nothing() {
    let place = Place::new();
    place.step(&calls(2)).ended(0);
    let served = Served::start(&place, &[]);
    let (port, cookie, secret) = (served.port, served.cookie(), served.secret.clone());
    let origin = served.origin();
    let (stop, json) = ("POST /api/act/stop", ("content-type", "application/json"));
    let other = format!("http://127.0.0.1:{}", port.wrapping_add(1));
    let with_cookie = ("cookie", cookie.as_str());
    let with_secret = ("x-tripwire-secret", secret.as_str());
    let ours = ("origin", origin.as_str());
    let wrong_secret = format!("tw-{}", "0".repeat(48));
    let wrong_cookie = format!("tripwire-{port}=tw-{}", "0".repeat(48));
    let asked: Vec<(&str, Answer)> = vec![
        ("no cookie", served.ask("GET /api/sessions", &[], "")),
        ("wrong cookie", served.ask("GET /api/sessions", &[("cookie", &wrong_cookie)], "")),
        (
            "the secret as a cookie",
            served.ask("GET /api/sessions", &[("cookie", &format!("tripwire-{port}={secret}"))], ""),
        ),
        ("the secret alone reads nothing", served.ask("GET /api/sessions", &[with_secret], "")),
        (
            "cookie of another console",
            served.ask("GET /api/sessions", &[("cookie", &cookie.replace(&port.to_string(), "1"))], ""),
        ),
        ("read from another origin", served.ask("GET /api/sessions", &[with_cookie, ("origin", &other)], "")),
        ("read from a null origin", served.ask("GET /api/sessions", &[with_cookie, ("origin", "null")], "")),
        (
            "read from another site",
            served.ask("GET /api/sessions", &[with_cookie, ("sec-fetch-site", "cross-site")], ""),
        ),
        (
            "read from another port of this site",
            served.ask("GET /api/sessions", &[with_cookie, ("sec-fetch-site", "same-site")], ""),
        ),
        ("act with the cookie alone", served.ask(stop, &[with_cookie, ours, json], "{}")),
        (
            "act with a wrong secret",
            served.ask(stop, &[with_cookie, ours, json, ("x-tripwire-secret", &wrong_secret)], "{}"),
        ),
        (
            "act with two secrets",
            served.ask(stop, &[with_cookie, ours, json, with_secret, ("x-tripwire-secret", &wrong_secret)], "{}"),
        ),
        (
            "act with the cookie's value as the secret",
            served.ask(
                stop,
                &[with_cookie, ours, json, ("x-tripwire-secret", cookie.split_once('=').unwrap().1)],
                "{}",
            ),
        ),
        ("act without the cookie", served.ask(stop, &[ours, json, with_secret], "{}")),
        ("act without an origin", served.ask(stop, &[with_cookie, json, with_secret], "{}")),
        ("act from another origin", served.ask(stop, &[with_cookie, json, with_secret, ("origin", &other)], "{}")),
        (
            "act from an origin that only begins like ours",
            served.ask(stop, &[with_cookie, json, with_secret, ("origin", &format!("{origin}.evil.example"))], "{}"),
        ),
        ("act as a form", served.ask(stop, &[with_cookie, ours, with_secret, ("content-type", "text/plain")], "{}")),
        ("act by GET", served.ask("GET /api/act/stop", &[with_cookie, with_secret], "")),
        ("act by PUT", served.ask("PUT /api/act/stop", &[with_cookie, ours, json, with_secret], "{}")),
        (
            "another method for another one",
            served.ask("GET /api/act/stop", &[with_cookie, with_secret, ("x-http-method-override", "POST")], ""),
        ),
        ("log in without the secret", served.ask("POST /api/login", &[with_cookie, ours], "")),
        ("log in by GET", served.ask("GET /api/login", &[with_cookie, with_secret], "")),
        ("a path above the page", served.ask("GET /../../../../etc/passwd", &[], "")),
        ("a path with percent signs", served.ask("GET /%2e%2e/%2e%2e/etc/passwd", &[], "")),
        ("a session that is a path", served.ask("GET /api/session?w=x&s=..%2f..%2fetc", &[with_cookie], "")),
        ("a query that cannot be read", served.ask("GET /api/rows?w=%ff", &[with_cookie], "")),
        (
            "a large body",
            served.ask(
                stop,
                &[with_cookie, ours, json, with_secret],
                &format!("{{\"reason\":\"{}\"}}", "x".repeat(64 << 10)),
            ),
        ),
        (
            "a preflight",
            served.ask("OPTIONS /api/act/stop", &[("origin", &other), ("access-control-request-method", "POST")], ""),
        ),
        (
            "a websocket",
            served.ask(
                "GET /api/events",
                &[("upgrade", "websocket"), ("connection", "upgrade"), ("origin", &other)],
                "",
            ),
        ),
    ];
    assert!(asked.len() >= 30);
    for (name, answer) in &asked {
        assert_nothing(&place, name, Some(answer));
        assert!(!answer.head.to_lowercase().contains("access-control-allow"), "{name}: {answer:?}");
        assert!(answer.head.contains("content-security-policy: default-src 'none'"), "{name}: {answer:?}");
    }
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
