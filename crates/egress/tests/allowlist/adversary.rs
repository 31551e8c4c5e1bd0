//! What an attacker inside the sandbox tries beyond the single rules: the same bytes read in two ways, floods, and
//! moments between two checks.

use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use tripwire_egress::{Limits, Stage, Verdict};

use crate::support::{
    PATIENCE, Plan, RawServer, World, connect_head, hello_for, hello_message, read_answer, read_rest, record, records,
    sni,
};

/// What was sent, and the only verdicts it may lead to.
fn never_opens(world: &World, bytes: &[u8]) -> String {
    let mut stream = world.connect();
    drop(stream.write_all(bytes));
    let answer = read_answer(&mut stream);
    assert!(!answer.contains(" 200 "), "{:?} opened: {answer}", String::from_utf8_lossy(bytes));
    answer
}

#[test]
fn no_spelling_of_another_target_opens_a_tunnel() {
    let server = RawServer::start(b"");
    let port = server.port;
    let world = Plan::good(port).start();
    world.resolver.answer("evil.test", &[&["127.0.0.1"]]);
    let split = "%0d%0aCONNECT";
    for target in [
        format!("good.test:{port}{split}"),
        format!("good.test%00.evil.test:{port}"),
        format!("evil.test#good.test:{port}"),
        format!("evil.test?good.test:{port}"),
        format!("evil.test\\good.test:{port}"),
        format!("good.test:{port}:{port}"),
        format!("good.test:{port},evil.test:{port}"),
        format!("good.test:{port};evil.test"),
        format!("good.test..:{port}"),
        format!(".good.test:{port}"),
        format!("good.test:+{port}"),
        format!("good.test:0{port}"),
        format!("good.test:{}", u32::from(port) + 65_536),
        format!("//good.test:{port}"),
        format!("/good.test:{port}"),
        format!("good.test:{port}/"),
        format!("'good.test':{port}"),
        format!("(good.test):{port}"),
    ] {
        refuses_target(&world, &target);
    }
    for unicode in ["ｇood.test", "good。test", "gооd.test", "good.test\u{200b}", "good.ｔest"] {
        refuses_target(&world, &format!("{unicode}:{port}"));
    }
    assert_eq!(world.resolver.asked(), Vec::<String>::new(), "a question was put to the DNS");
    assert_eq!(server.received(), b"");
}

/// The target on its own, and with a `Host` that agrees with it.
fn refuses_target(world: &World, target: &str) {
    never_opens(world, format!("CONNECT {target} HTTP/1.0\r\n\r\n").as_bytes());
    never_opens(world, format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").as_bytes());
}

#[test]
fn no_spelling_of_an_address_or_an_odd_name_opens_a_tunnel() {
    let server = RawServer::start(b"");
    let port = server.port;
    let world = Plan::good(port).start();
    for target in [
        format!("[good.test]:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("[::1%25lo]:{port}"),
        format!("::1%lo:{port}"),
        format!("127.0.0.1:{port}"),
        format!("127.1:{port}"),
        format!("0:{port}"),
        format!("0x7f.0x0.0x0.0x1:{port}"),
        format!("0177.0.0.01:{port}"),
        format!("2130706433:{port}"),
        format!("localhost:{port}"),
        format!("evil.test:{port}"),
        format!("xn--good-.test:{port}"),
        format!("{}good.test:{port}", "a.".repeat(130)),
        format!("{}.test:{port}", "g".repeat(64)),
        "*".to_owned(),
        "/".to_owned(),
    ] {
        refuses_target(&world, &target);
    }
    assert_eq!(world.resolver.asked(), Vec::<String>::new(), "a question was put to the DNS");
    assert_eq!(server.received(), b"");
}

#[test]
fn no_split_request_opens_a_tunnel_to_either_target() {
    let server = RawServer::start(b"");
    let port = server.port;
    let world = Plan::good(port).start();
    let good = format!("CONNECT good.test:{port} HTTP/1.1\r\nHost: good.test:{port}");
    for head in [
        format!("{good}\nX: y\r\n\r\n"),
        format!("{good}\rX: y\r\n\r\n"),
        format!("{good}\r\n\n"),
        format!("{good}\r\n\r\r\n"),
        format!("{good}\0\r\n\r\n"),
        format!("{good}\r\n\tfolded\r\n\r\n"),
        format!("{good}\r\n folded\r\n\r\n"),
        format!("{good}\r\nHost: evil.test\r\n\r\n"),
        format!("{good}\r\nhost:good.test:{port}\r\n\r\n"),
        format!("{good}\r\nContent-Length: 0\r\n\r\n"),
        format!("{good}\r\nTransfer-Encoding: identity\r\n\r\n"),
        format!("{good}\r\nTransfer-Encoding : chunked\r\n\r\n"),
        format!("{good}\r\n\r\nCONNECT evil.test:{port} HTTP/1.1\r\n\r\n"),
        format!("{good}\r\n\r\n\r\n"),
        format!("\r\n{good}\r\n\r\n"),
        format!("CONNECT evil.test:{port} HTTP/1.1\r\nHost: good.test:{port}\r\n\r\n"),
        format!("CONNECT good.test:{port} HTTP/1.1\r\nHost: good.test:{port} evil.test\r\n\r\n"),
        format!("CONNECT good.test:{port} HTTP/1.1\r\nHost: user@good.test:{port}\r\n\r\n"),
        format!("CONNECT good.test:{port} HTTP/1.1\r\nHost: http://good.test:{port}\r\n\r\n"),
        format!("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{good}\r\n\r\n"),
    ] {
        never_opens(&world, head.as_bytes());
    }
    never_opens(&world, &hello_for("good.test"));
    never_opens(&world, b"\x05\x01\x00");
    never_opens(&world, b"\x04\x01\x01\xbb\x7f\x00\x00\x01\x00");
    assert_eq!(server.received(), b"");
}

#[test]
fn an_answer_never_carries_a_line_of_the_attacker() {
    let world = Plan::good(443).start();
    let mut stream = world.connect();
    stream.write_all(b"GET http://x/%0d%0aSet-Cookie:a=b HTTP/1.1\r\n\r\n").unwrap();
    let answer = String::from_utf8(read_rest(&mut stream)).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(!head.contains("Set-Cookie"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{answer}");
    assert_eq!(body.lines().count(), 1);
}

#[test]
fn the_name_cannot_be_hidden_in_the_record_layer() {
    let good = hello_message(&[sni(&[(0, b"good.test")])]);
    let other = hello_message(&[sni(&[(0, b"other.test")])]);
    let (front, back) = good.split_at(20);
    for bytes in [
        // An empty, a warning or a cipher record between the halves of a hello.
        [record(22, front), vec![22, 3, 1, 0, 0], record(22, back)].concat(),
        [record(22, front), record(21, &[1, 0]), record(22, back)].concat(),
        [record(22, front), record(20, &[1]), record(22, back)].concat(),
        // A warning or early data before the hello, and another kind of message before it.
        [record(21, &[1, 0]), record(22, &good)].concat(),
        [record(23, b"x"), record(22, &good)].concat(),
        [record(22, &[0, 0, 0, 0]), record(22, &good)].concat(),
        record(22, &[&[0, 0, 0, 0][..], &good].concat()),
        // Two hellos in one record, in either order.
        record(22, &[&good[..], &other].concat()),
        record(22, &[&other[..], &good].concat()),
        // A record that is longer than its hello, with the rest to come later.
        record(22, &[&good[..], &[1]].concat()),
    ] {
        let server = RawServer::start(b"");
        let world = Plan::good(server.port).start();
        let mut client = world.tunnel(server.port);
        client.write_all(&bytes).unwrap();
        drop(read_rest(&mut client));
        let end = world.ended(1).remove(0);
        assert_eq!(end.verdict, Verdict::Refused, "{bytes:?}");
        assert_eq!(server.received(), b"", "{bytes:?}");
    }
}

#[test]
fn a_second_hello_behind_the_first_waits_for_the_server() {
    let server = RawServer::start(b"");
    let limits = Limits { server_time: Duration::from_millis(200), ..Limits::default() };
    let world = Plan { limits, ..Plan::good(server.port) }.start();
    let mut client = world.tunnel(server.port);
    let first = hello_for("good.test");
    client.write_all(&[first.clone(), hello_for("other.test")].concat()).unwrap();
    drop(read_rest(&mut client));
    assert_eq!(world.ended(1)[0].reason, "server_timeout");
    assert_eq!(server.received(), first);
}

#[test]
fn a_name_that_moves_inside_between_two_requests_is_refused_each_time() {
    let server = RawServer::start(b"");
    let world = Plan::good(server.port).start();
    let inside = &["10.0.0.1"][..];
    let here = &["127.0.0.1"][..];
    world.resolver.answer("good.test", &[here, inside, here, inside]);
    let answers: Vec<bool> =
        (0..4).map(|_| world.ask(&connect_head("good.test", server.port)).1.starts_with("HTTP/1.1 200 ")).collect();
    assert_eq!(answers, [true, false, true, false]);
    assert_eq!(world.resolver.asked().len(), 4);
}

#[test]
fn a_long_dns_answer_is_checked_to_its_end() {
    let server = RawServer::start(b"");
    let world = Plan::good(server.port).start();
    let mut addresses = vec!["127.0.0.1"; 2000];
    world.resolver.answer("good.test", &[&addresses]);
    drop(world.tunnel(server.port));
    addresses.push("169.254.169.254");
    world.resolver.answer("good.test", &[&addresses]);
    let (_, answer) = world.ask(&connect_head("good.test", server.port));
    assert!(answer.contains("X-Tripwire-Reason: address_metadata"), "{answer}");
}

#[test]
fn one_byte_records_and_reads_cost_little_time() {
    let server = RawServer::start(b"");
    let world = Plan::good(server.port).start();
    let started = Instant::now();
    let mut client = world.tunnel(server.port);
    let long = hello_message(&[sni(&[(0, b"good.test")]), (21, vec![0; 16_000])]);
    for byte in records(&long, 64) {
        if client.write_all(&[byte]).is_err() {
            break;
        }
    }
    server.wait_for(16_000);
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
}

#[test]
fn slow_clients_do_not_keep_honest_ones_out_for_longer_than_their_time() {
    let server = RawServer::start(b"");
    let limits = Limits { concurrent_max: 4, head_time: Duration::from_millis(150), ..Limits::default() };
    let world = Plan { limits, ..Plan::good(server.port) }.start();
    let slow: Vec<_> = (0..4).map(|_| world.connect()).collect();
    let started = Instant::now();
    while !world.ask_once(&connect_head("good.test", server.port)).starts_with("HTTP/1.1 200 ") {
        assert!(started.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(10));
    }
    drop(slow);
}

#[test]
fn box_1_150_connections_that_say_nothing_do_not_keep_out_one_that_asks() {
    let server = RawServer::start(b"");
    let world = Plan::good(server.port).start();
    let half = &connect_head("good.test", server.port)[..20];
    let silent: Vec<_> = (0..150)
        .map(|number| {
            let mut stream = world.connect();
            // Some begin to speak, none comes to the end; those that went by now cannot be written to.
            if number % 2 == 0 {
                drop(stream.write_all(half.as_bytes()));
            }
            stream
        })
        .collect();
    for _ in 0..5 {
        assert!(world.ask_once(&connect_head("good.test", server.port)).starts_with("HTTP/1.1 200 "));
    }
    drop(silent);
}

#[test]
fn every_connection_leaves_exactly_one_end_in_the_log() {
    let server = RawServer::start(b"");
    let mut world = Plan::good(server.port).start();
    let heads = [
        connect_head("good.test", server.port),
        connect_head("evil.test", server.port),
        "GET / HTTP/1.0\r\n\r\n".to_owned(),
        "\0".to_owned(),
        String::new(),
    ];
    for head in heads.iter().cycle().take(60) {
        let mut stream = world.connect();
        stream.write_all(head.as_bytes()).unwrap();
        if !head.is_empty() && head.len() % 2 == 0 {
            drop(stream.read(&mut [0; 5]));
        }
    }
    world.ended(60);
    let summary = world.stop();
    let records = world.records();
    let mut ids: Vec<_> = records.iter().filter(|r| r.stage == Stage::End).map(|r| r.connection).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=60).collect::<Vec<u64>>());
    assert_eq!(summary.connections, 60);
    assert_eq!(summary.allowed + summary.refused + summary.failed, 60);
    assert!(records.iter().all(|record| !record.reason.is_empty()));
}
