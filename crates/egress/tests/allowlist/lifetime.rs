//! Time, count and end: slow clients, half-closed tunnels, caps, a log that fails, and a stop that really stops.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tripwire_egress::{Limits, Verdict};

use crate::support::{
    KeptLog, PATIENCE, Pki, Plan, RawServer, TableResolver, TlsServer, World, connect_head, hello_for, read_answer,
    read_rest, ring,
};
use crate::tls::tls_client;

/// The shortest beginning of a ServerHello that says the handshake goes on.
const SERVER_HELLO: [u8; 43] = {
    let mut bytes = [9; 43];
    let front = [22, 3, 3, 0, 38, 2, 0, 0, 34, 3, 3];
    let mut at = 0;
    while at < front.len() {
        bytes[at] = front[at];
        at += 1;
    }
    bytes
};

fn short() -> Limits {
    let time = Duration::from_secs(1);
    Limits {
        head_time: time,
        hello_time: time,
        server_time: time,
        idle_time: time,
        half_closed_time: time,
        ..Limits::default()
    }
}

/// A tunnel through which bytes flow, with the server's end in the test's hand.
fn flowing(limits: Limits) -> (World, UnixStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let world = Plan { limits, ..Plan::good(port) }.start();
    let mut client = world.tunnel(port);
    let (mut server, _) = listener.accept().unwrap();
    server.set_read_timeout(Some(PATIENCE)).unwrap();
    let hello = hello_for("good.test");
    client.write_all(&hello).unwrap();
    let mut got = vec![0; hello.len()];
    server.read_exact(&mut got).unwrap();
    server.write_all(&SERVER_HELLO).unwrap();
    let mut answer = [0; SERVER_HELLO.len()];
    client.read_exact(&mut answer).unwrap();
    (world, client, server)
}

#[test]
fn a_head_that_trickles_is_given_up_in_time() {
    let world = Plan { limits: short(), ..Plan::good(443) }.start();
    let mut client = world.connect();
    let started = Instant::now();
    for byte in connect_head("good.test", 443).bytes().cycle() {
        thread::sleep(Duration::from_millis(50));
        if started.elapsed() > PATIENCE || client.write_all(&[byte]).is_err() {
            break;
        }
        if byte == b'H' {
            continue;
        }
    }
    assert!(read_answer(&mut client).starts_with("HTTP/1.1 408 "));
    let end = world.ended(1).remove(0);
    assert_eq!((end.verdict, end.reason), (Verdict::Refused, "head_timeout"));
    assert!(end.ms >= 1_000, "{end:?}");
}

#[test]
fn a_client_that_says_nothing_or_leaves_is_told_apart() {
    let world = Plan { limits: short(), ..Plan::good(443) }.start();
    let mut silent = world.connect();
    drop(world.connect());
    assert!(read_answer(&mut silent).starts_with("HTTP/1.1 408 "));
    let mut reasons: Vec<_> = world.ended(2).iter().map(|end| end.reason).collect();
    reasons.sort_unstable();
    assert_eq!(reasons, ["head_incomplete", "head_timeout"]);
}

#[test]
fn a_hello_that_trickles_is_given_up_in_time() {
    let server = RawServer::start(b"");
    let world = Plan { limits: short(), ..Plan::good(server.port) }.start();
    let mut client = world.tunnel(server.port);
    for byte in hello_for("good.test") {
        thread::sleep(Duration::from_millis(25));
        if client.write_all(&[byte]).is_err() {
            break;
        }
    }
    assert_eq!(read_rest(&mut client), b"");
    let end = world.ended(1).remove(0);
    assert_eq!(end.reason, "hello_timeout");
    assert_eq!(server.received(), b"");
}

#[test]
fn a_hello_that_stops_half_way_is_not_forwarded() {
    let server = RawServer::start(b"");
    let world = Plan::good(server.port).start();
    let mut client = world.tunnel(server.port);
    let hello = hello_for("good.test");
    client.write_all(&hello[..hello.len() - 1]).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_rest(&mut client), b"");
    assert_eq!(world.ended(1)[0].reason, "hello_incomplete");
    assert_eq!(server.received(), b"");
}

#[test]
fn a_server_that_never_answers_is_given_up_in_time() {
    let server = RawServer::start(b"");
    let world = Plan { limits: short(), ..Plan::good(server.port) }.start();
    let mut client = world.tunnel(server.port);
    client.write_all(&hello_for("good.test")).unwrap();
    assert_eq!(read_rest(&mut client), b"");
    assert_eq!(world.ended(1)[0].reason, "server_timeout");
}

#[test]
fn either_side_may_end_its_half_and_still_hear_the_other() {
    let (world, mut client, mut server) = flowing(Limits::default());
    client.write_all(b"last words").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut heard = Vec::new();
    server.read_to_end(&mut heard).unwrap();
    assert_eq!(heard, b"last words");
    server.write_all(b"a long answer").unwrap();
    drop(server);
    assert_eq!(read_rest(&mut client), b"a long answer");
    let end = world.ended(1).remove(0);
    assert_eq!((end.reason, end.verdict), ("closed", Verdict::Allowed));
    assert_eq!(end.bytes_down, u64::try_from(SERVER_HELLO.len() + 13).unwrap());

    let (world, mut client, mut server) = flowing(Limits::default());
    server.write_all(b"goodbye").unwrap();
    server.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_rest(&mut client), b"goodbye");
    client.write_all(b"wait, one more").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut heard = Vec::new();
    server.read_to_end(&mut heard).unwrap();
    assert_eq!(heard, b"wait, one more");
    assert_eq!(world.ended(1)[0].reason, "closed");
}

#[test]
fn a_server_that_cuts_an_upload_short_is_still_heard() {
    let (world, mut client, mut server) = flowing(Limits::default());
    server.write_all(b"too large").unwrap();
    // Closing with unread bytes resets the connection, as a server does that refuses an upload.
    client.write_all(&[0; 4096]).unwrap();
    thread::sleep(Duration::from_millis(50));
    drop(server);
    let mut cut = false;
    for _ in 0..200 {
        if client.write_all(&[0; 65_536]).is_err() {
            cut = true;
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    assert!(cut, "the upload goes nowhere for ever");
    assert_eq!(read_rest(&mut client), b"too large");
    assert_eq!(world.ended(1)[0].bytes_down, u64::try_from(SERVER_HELLO.len() + 9).unwrap());
}

#[test]
fn a_half_open_tunnel_does_not_stay() {
    let limits = Limits { half_closed_time: Duration::from_millis(150), ..Limits::default() };
    let (world, client, server) = flowing(limits);
    client.shutdown(Shutdown::Write).unwrap();
    let end = world.ended(1).remove(0);
    assert_eq!(end.reason, "idle");
    drop((client, server));
}

#[test]
fn an_idle_tunnel_is_closed_and_a_slow_one_is_not() {
    let limits = Limits { idle_time: Duration::from_secs(3), ..Limits::default() };
    let (world, mut client, mut server) = flowing(limits);
    for _ in 0..6 {
        thread::sleep(Duration::from_millis(150));
        server.write_all(b".").unwrap();
        client.read_exact(&mut [0]).unwrap();
    }
    assert!(world.records().iter().all(|record| record.reason == "open"));
    assert_eq!(read_rest(&mut client), b"");
    let end = world.ended(1).remove(0);
    assert_eq!((end.reason, end.verdict), ("idle", Verdict::Allowed));
}

#[test]
fn a_reader_that_stops_reading_does_not_hold_a_tunnel_for_ever() {
    let (world, client, mut server) = flowing(short());
    server.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let block = vec![0; 1 << 20];
    while server.write_all(&block).is_ok() {}
    let end = world.ended(1).remove(0);
    assert!(matches!(end.reason, "idle" | "broken"), "{end:?}");
    drop(client);
}

#[test]
fn one_more_than_the_cap_is_turned_away_and_room_is_given_back() {
    let limits = Limits { concurrent_max: 2, ..Limits::default() };
    let server = RawServer::start(b"");
    let world = Plan { limits, ..Plan::good(server.port) }.start();
    let first = world.tunnel(server.port);
    let second = world.tunnel(server.port);
    let (_, answer) = world.ask(&connect_head("good.test", server.port));
    assert!(answer.starts_with("HTTP/1.1 503 too many connections at the same time"), "{answer}");
    assert_eq!(world.ended(1)[0].reason, "too_many_connections");
    drop(first);
    let started = Instant::now();
    loop {
        let (_, answer) = world.ask(&connect_head("good.test", server.port));
        if answer.starts_with("HTTP/1.1 200 ") {
            break;
        }
        assert!(answer.starts_with("HTTP/1.1 503 ") && started.elapsed() < PATIENCE, "{answer}");
        thread::sleep(Duration::from_millis(5));
    }
    drop(second);
}

#[test]
fn a_flood_of_connections_is_counted_and_outlived() {
    let limits = Limits { concurrent_max: 2, ..Limits::default() };
    let server = RawServer::start(b"");
    let mut world = Plan { limits, ..Plan::good(server.port) }.start();
    let flood: Vec<_> = (0..200).map(|_| world.connect()).collect();
    world.ended(198);
    drop(flood);
    let ends = world.ended(200);
    let silent = ["too_many_connections", "head_incomplete"];
    assert!(ends.iter().filter(|end| silent.contains(&end.reason)).count() >= 196);
    let started = Instant::now();
    while !world.ask_once(&connect_head("good.test", server.port)).starts_with("HTTP/1.1 200 ") {
        assert!(started.elapsed() < PATIENCE, "no room was given back");
        thread::sleep(Duration::from_millis(5));
    }
    assert!(world.stop().connections >= 201);
}

#[test]
fn the_total_is_bounded_and_with_it_the_log() {
    let limits = Limits { total_max: 3, ..Limits::default() };
    let world = Plan { limits, ..Plan::good(443) }.start();
    for _ in 0..3 {
        let (_, answer) = world.ask(&connect_head("evil.test", 443));
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    }
    world.ended(3);
    let (_, answer) = world.ask(&connect_head("evil.test", 443));
    assert!(answer.starts_with("HTTP/1.1 503 too many connections in all"), "{answer}");
    world.ended(4);
    let started = Instant::now();
    while UnixStream::connect(&world.path).is_ok() {
        assert!(started.elapsed() < PATIENCE, "the listener still answers");
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(world.records().len(), 4);
}

#[test]
fn a_log_that_cannot_be_written_refuses_the_request() {
    let server = RawServer::start(b"");
    let log = KeptLog { full_after: Some(0), ..KeptLog::default() };
    let mut world = Plan { log, ..Plan::good(server.port) }.start();
    let mut client = world.tunnel(server.port);
    client.write_all(&hello_for("good.test")).unwrap();
    assert_eq!(read_rest(&mut client), b"");
    let summary = world.stop();
    assert_eq!(server.received(), b"");
    assert_eq!((summary.refused, summary.log_failures), (1, 2));
    assert_eq!(summary.reasons.into_iter().collect::<Vec<_>>(), [("log_failed", 1)]);
}

#[test]
fn stop_closes_every_tunnel_and_logs_each() {
    let pki = Pki::new();
    let server = TlsServer::echo(pki.server(ring()));
    let mut world = Plan::good(server.port).start();
    let config = Arc::new(pki.client(ring(), rustls::ALL_VERSIONS));
    let mut open = tls_client(&world, server.port, "good.test", &config);
    open.write_all(b"x").unwrap();
    open.read_exact(&mut [0]).unwrap();
    let mut waiting = world.tunnel(server.port);
    let mut silent = world.connect();
    thread::sleep(Duration::from_millis(300));
    let started = Instant::now();
    let summary = world.stop();
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
    assert_eq!((summary.connections, summary.allowed, summary.failed), (3, 1, 2));
    assert_eq!(summary.reasons.into_iter().collect::<Vec<_>>(), [("stopped", 3)]);
    assert_eq!(read_rest(&mut open.sock), b"");
    assert_eq!(read_rest(&mut waiting), b"");
    drop(read_rest(&mut silent));
    let error = UnixStream::connect(&world.path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn stop_does_not_wait_for_a_resolver_that_hangs() {
    let resolver = TableResolver { delay: PATIENCE * 3, ..TableResolver::default() };
    let plan = Plan { allow: vec!["slow.test".to_owned()], resolver, ..Plan::default() };
    let mut world = plan.start();
    let mut client = world.connect();
    client.write_all(connect_head("slow.test", 443).as_bytes()).unwrap();
    while world.resolver.asked().is_empty() {
        thread::sleep(Duration::from_millis(2));
    }
    let started = Instant::now();
    let summary = world.stop();
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
    assert_eq!(summary.reasons.into_iter().collect::<Vec<_>>(), [("stopped", 1)]);
}

#[test]
fn a_dropped_handle_stops_too() {
    let server = RawServer::start(b"");
    let mut world = Plan::good(server.port).start();
    let mut client = world.tunnel(server.port);
    world.drop_handle();
    assert_eq!(read_rest(&mut client), b"");
    assert_eq!(world.ended(1)[0].reason, "stopped");
    assert!(UnixStream::connect(&world.path).is_err());
}
