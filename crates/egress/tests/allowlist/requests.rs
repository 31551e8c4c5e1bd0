//! Requests and addresses over the wire: each refusal is answered, logged, and happens before what it must precede.

use std::io::Write;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use tripwire_egress::{Limits, Verdict};

use crate::support::{
    PATIENCE, Plan, RawServer, TableResolver, World, connect_head, hello_for, read_answer, read_rest,
};

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// One request that gets no tunnel: its status and the word in the log.
fn refused(world: &World, head: &str) -> (u16, &'static str) {
    let before = world.records().len();
    let (mut stream, answer) = world.ask(head);
    drop(read_rest(&mut stream));
    let record = world.ended(before + 1).pop().unwrap();
    assert_ne!(record.verdict, Verdict::Allowed);
    assert_eq!((record.bytes_up, record.bytes_down), (0, 0));
    assert!(answer.contains(&format!("X-Tripwire-Reason: {}\r\n", record.reason)), "{answer}");
    (status(&answer), record.reason)
}

#[test]
fn a_name_or_port_that_is_not_allowed_is_refused_before_any_question() {
    let world = Plan::good(8443).start();
    for (host, port, why) in [
        ("evil.test", 8443, "host_not_allowed"),
        ("sub.good.test", 8443, "host_not_allowed"),
        ("good.test.evil.test", 8443, "host_not_allowed"),
        ("test", 8443, "host_not_allowed"),
        ("good.test", 443, "port_not_allowed"),
        ("good.test", 22, "port_not_allowed"),
    ] {
        assert_eq!(refused(&world, &connect_head(host, port)), (403, why), "{host}:{port}");
    }
    assert_eq!(world.resolver.asked(), Vec::<String>::new());
    let record = &world.records()[0];
    assert_eq!((record.host.as_deref(), record.port, record.address), (Some("evil.test"), Some(8443), None));
}

#[test]
fn an_allowed_name_is_asked_for_once_and_opens() {
    let server = RawServer::start(b"");
    let world = Plan::good(server.port).start();
    for head in [
        connect_head("good.test", server.port),
        connect_head("GOOD.Test", server.port),
        connect_head("good.test.", server.port),
        format!("CONNECT good.test:{} HTTP/1.0\r\n\r\n", server.port),
    ] {
        let (_stream, answer) = world.ask(&head);
        assert_eq!(status(&answer), 200, "{head}");
        let version = if head.contains("HTTP/1.0") { "HTTP/1.0 " } else { "HTTP/1.1 " };
        assert!(answer.starts_with(version), "{answer}");
    }
    assert_eq!(world.resolver.asked(), ["good.test"; 4]);
}

#[test]
fn everything_but_connect_is_answered_with_its_status() {
    let world = Plan::good(443).start();
    for (head, answer) in [
        ("GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n", (405, "method_not_allowed")),
        ("POST http://good.test/ HTTP/1.0\r\nContent-Length: 9\r\n\r\nsmuggled!", (405, "method_not_allowed")),
        ("CONNECT 127.0.0.1:443 HTTP/1.0\r\n\r\n", (403, "target_address_literal")),
        ("CONNECT [::1]:443 HTTP/1.0\r\n\r\n", (403, "target_address_literal")),
        ("CONNECT 0x7f000001:443 HTTP/1.0\r\n\r\n", (403, "target_address_literal")),
        ("CONNECT good.test HTTP/1.0\r\n\r\n", (400, "target_port")),
        ("CONNECT good.test:443@evil.test:443 HTTP/1.0\r\n\r\n", (400, "target_user_info")),
        ("CONNECT good.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n", (400, "host_header_mismatch")),
        ("CONNECT good.test:443 HTTP/2.0\r\n\r\n", (505, "head_version")),
        ("CONNECT good.test:443 HTTP/1.0\n\n", (400, "head_bare_line_feed")),
        ("CONNECT good.test:443 HTTP/1.0\r\nX:\ty\r\n\r\n", (400, "head_control_byte")),
    ] {
        assert_eq!(refused(&world, head), answer, "{head:?}");
    }
    let huge = format!("CONNECT good.test:443 HTTP/1.0\r\nX: {}\r\n\r\n", "y".repeat(20_000));
    assert_eq!(refused(&world, &huge), (431, "head_too_large"));
    let many = format!("CONNECT good.test:443 HTTP/1.0\r\n{}\r\n", "X: y\r\n".repeat(100));
    assert_eq!(refused(&world, &many), (431, "head_too_many_headers"));
    assert_eq!(world.resolver.asked(), Vec::<String>::new());
}

#[test]
fn the_log_keeps_what_was_asked_for_instead_of_a_name() {
    let world = Plan::good(443).start();
    refused(&world, "GET http://metadata.test/latest HTTP/1.0\r\n\r\n");
    refused(&world, "CONNECT 169.254.169.254:80 HTTP/1.0\r\n\r\n");
    let hosts: Vec<_> = world.records().into_iter().map(|record| record.host).collect();
    assert_eq!(hosts, [Some("http://metadata.test/latest".to_owned()), Some("169.254.169.254:80".to_owned())]);
}

#[test]
fn bytes_behind_the_head_are_refused_in_the_same_read_and_in_a_later_one() {
    let server = RawServer::start(b"");
    let world = Plan::good(server.port).start();
    let glued = format!("{}GET / HTTP/1.1\r\n\r\n", connect_head("good.test", server.port));
    assert_eq!(refused(&world, &glued), (400, "head_early_bytes"));

    let mut plan = Plan::good(server.port);
    plan.resolver.delay = Duration::from_secs(3);
    let world = plan.start();
    let mut stream = world.connect();
    stream.write_all(connect_head("good.test", server.port).as_bytes()).unwrap();
    while world.resolver.asked().is_empty() {
        thread::sleep(Duration::from_millis(2));
    }
    stream.write_all(&hello_for("good.test")).unwrap();
    assert_eq!(status(&read_answer(&mut stream)), 400);
    assert_eq!(world.ended(1)[0].reason, "head_early_bytes");
    assert_eq!(server.received(), b"");
}

#[test]
fn a_head_may_come_byte_by_byte() {
    let server = RawServer::start(b"");
    let world = Plan::good(server.port).start();
    let mut stream = world.connect();
    for byte in connect_head("good.test", server.port).bytes() {
        stream.write_all(&[byte]).unwrap();
    }
    assert_eq!(status(&read_answer(&mut stream)), 200);
}

#[test]
fn every_address_that_is_not_public_is_refused_after_resolving() {
    let plan = Plan { allow: vec!["good.test".to_owned()], ..Plan::default() };
    let world = plan.start();
    for (address, why) in [
        ("127.0.0.1", "address_loopback"),
        ("::1", "address_loopback"),
        ("10.1.2.3", "address_private"),
        ("172.20.0.1", "address_private"),
        ("192.168.1.1", "address_private"),
        ("fd12::1", "address_private"),
        ("169.254.7.7", "address_link_local"),
        ("fe80::1", "address_link_local"),
        ("169.254.169.254", "address_metadata"),
        ("fd00:ec2::254", "address_metadata"),
        ("168.63.129.16", "address_metadata"),
        ("100.64.0.1", "address_shared_space"),
        ("224.0.0.1", "address_multicast"),
        ("ff02::1", "address_multicast"),
        ("0.0.0.0", "address_unspecified"),
        ("::", "address_unspecified"),
        ("255.255.255.255", "address_reserved"),
        ("::ffff:127.0.0.1", "address_embedded"),
        ("::ffff:8.8.8.8", "address_embedded"),
        ("64:ff9b::a9fe:a9fe", "address_embedded"),
        ("2002:7f00:1::1", "address_embedded"),
        ("2001:0:7f00:1::1", "address_embedded"),
    ] {
        world.resolver.answer("good.test", &[&[address]]);
        assert_eq!(refused(&world, &connect_head("good.test", 443)), (403, why), "{address}");
        let record = world.records().pop().unwrap();
        assert_eq!(record.address.unwrap().ip().to_string(), address);
        assert_eq!(record.verdict, Verdict::Refused);
    }
}

#[test]
fn one_bad_address_refuses_the_whole_answer_wherever_it_stands() {
    let server = RawServer::start(b"");
    let world = Plan::good(server.port).start();
    for answer in
        [&["127.0.0.1", "10.0.0.1"][..], &["10.0.0.1", "127.0.0.1"], &["127.0.0.1", "::1", "::ffff:127.0.0.1"]]
    {
        world.resolver.answer("good.test", &[answer]);
        let (code, _) = refused(&world, &connect_head("good.test", server.port));
        assert_eq!(code, 403, "{answer:?}");
    }
    world.resolver.answer("good.test", &[&["127.0.0.1", "127.0.0.1"]]);
    drop(world.tunnel(server.port));
}

#[test]
fn loopback_is_reached_only_on_the_named_port_and_its_plain_address() {
    let server = RawServer::start(b"");
    let mut plan = Plan::good(server.port);
    plan.loopback_ports = vec![1];
    assert_eq!(refused(&plan.start(), &connect_head("good.test", server.port)), (403, "address_loopback"));
    let plan = Plan::good(server.port);
    plan.resolver.answer("good.test", &[&["127.0.0.2"]]);
    assert_eq!(refused(&plan.start(), &connect_head("good.test", server.port)), (403, "address_loopback"));
    drop(Plan::good(server.port).start().tunnel(server.port));
}

#[test]
fn a_second_dns_answer_changes_nothing() {
    let server = RawServer::start(b"");
    let world = Plan::good(server.port).start();
    world.resolver.answer("good.test", &[&["127.0.0.1"], &["10.0.0.1"]]);
    drop(world.tunnel(server.port));
    assert_eq!(world.resolver.asked(), ["good.test"]);
    assert_eq!(world.ended(1)[0].address, Some(([127, 0, 0, 1], server.port).into()));
    let (code, why) = refused_after(&world, server.port);
    assert_eq!((code, why), (403, "address_private"));
}

fn refused_after(world: &World, port: u16) -> (u16, &'static str) {
    let (mut stream, answer) = world.ask(&connect_head("good.test", port));
    drop(read_rest(&mut stream));
    (status(&answer), world.ended(2).pop().unwrap().reason)
}

#[test]
fn what_cannot_be_reached_has_failed_and_was_not_refused() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let world = Plan::good(closed).start();
    assert_eq!(refused(&world, &connect_head("good.test", closed)), (502, "connect_failed"));
    assert_eq!(world.records()[0].verdict, Verdict::Failed);

    let plan = Plan { allow: vec!["gone.test".to_owned(), "empty.test".to_owned()], ..Plan::default() };
    plan.resolver.answer("empty.test", &[&[]]);
    let world = plan.start();
    assert_eq!(refused(&world, &connect_head("gone.test", 443)), (502, "resolve_failed"));
    assert_eq!(refused(&world, &connect_head("empty.test", 443)), (502, "resolve_failed"));
}

#[test]
fn a_resolver_that_hangs_is_given_up_and_bounded() {
    let limits = Limits { resolve_time: Duration::from_millis(80), concurrent_max: 2, ..Limits::default() };
    let resolver = TableResolver { delay: PATIENCE * 3, ..TableResolver::default() };
    let plan = Plan { allow: vec!["slow.test".to_owned()], limits, resolver, ..Plan::default() };
    let world = plan.start();
    // Twice the number of connections may wait for the resolver; the next question is not put.
    let answers: Vec<_> = (0..5)
        .map(|_| {
            let (mut stream, answer) = world.ask(&connect_head("slow.test", 443));
            drop(read_rest(&mut stream));
            status(&answer)
        })
        .collect();
    assert_eq!(answers, [504, 504, 504, 504, 503]);
    assert_eq!(world.resolver.asked().len(), 4);
}

#[test]
fn an_address_is_tried_after_one_that_takes_no_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let world = Plan::good(port).start();
    world.resolver.answer("good.test", &[&["::1", "127.0.0.1"]]);
    drop(world.tunnel(port));
}
