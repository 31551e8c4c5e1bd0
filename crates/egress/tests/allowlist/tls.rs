//! Tunnels with real TLS at both ends, and hellos that no honest client sends.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;

use rustls::{ClientConfig, ClientConnection, StreamOwned};
use tripwire_egress::{Stage, Verdict};

use crate::support::{
    Pki, Plan, RawServer, TlsServer, World, connect_head, hello_for, hello_message, read_rest, real_hello, record,
    records, ring, server_name, sni,
};

type TlsClient = StreamOwned<ClientConnection, UnixStream>;

pub(crate) fn tls_client(world: &World, port: u16, name: &str, config: &Arc<ClientConfig>) -> TlsClient {
    let connection = ClientConnection::new(Arc::clone(config), server_name(name)).unwrap();
    StreamOwned::new(connection, world.tunnel(port))
}

/// Sends bytes through an echo server and takes them back, while sending.
fn round_trip(client: &mut TlsClient, bytes: &[u8]) {
    for piece in bytes.chunks(8 * 1024) {
        client.write_all(piece).unwrap();
        let mut back = vec![0; piece.len()];
        client.read_exact(&mut back).unwrap();
        assert_eq!(back, piece);
    }
}

#[test]
fn both_versions_of_tls_pass_and_are_logged_at_both_ends() {
    let pki = Pki::new();
    let server = TlsServer::echo(pki.server(ring()));
    let world = Plan::good(server.port).start();
    for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
        let config = Arc::new(pki.client(ring(), &[version]));
        let mut client = tls_client(&world, server.port, "good.test", &config);
        round_trip(&mut client, &vec![42; 256 * 1024]);
        client.conn.send_close_notify();
        client.flush().unwrap();
        client.sock.shutdown(Shutdown::Write).unwrap();
        drop(read_rest(&mut client.sock));
    }
    let ends = world.ended(2);
    for end in &ends {
        assert_eq!((end.verdict, end.reason), (Verdict::Allowed, "closed"));
        assert!(end.bytes_up > 256 * 1024 && end.bytes_down > 256 * 1024, "{end:?}");
        assert_eq!(end.address, Some(([127, 0, 0, 1], server.port).into()));
    }
    let opens: Vec<_> = world.records().into_iter().filter(|r| r.stage == Stage::Open).collect();
    assert_eq!(opens.len(), 2);
    for open in opens {
        assert_eq!((open.verdict, open.reason, open.bytes_up, open.bytes_down), (Verdict::Allowed, "open", 0, 0));
        assert_eq!((open.host.as_deref(), open.port), (Some("good.test"), Some(server.port)));
    }
    let line = serde_json::to_value(&ends[0]).unwrap();
    let mut keys: Vec<_> = line.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(
        keys,
        ["address", "bytes_down", "bytes_up", "connection", "host", "ms", "port", "reason", "stage", "verdict"]
    );
    assert_eq!(line["verdict"], "allowed");
}

#[test]
fn a_hello_in_many_records_reaches_the_server_whole() {
    let pki = Pki::new();
    let server = TlsServer::echo(pki.server(ring()));
    let world = Plan::good(server.port).start();
    let mut config = pki.client(ring(), rustls::ALL_VERSIONS);
    config.max_fragment_size = Some(40);
    let mut client = tls_client(&world, server.port, "good.test", &Arc::new(config));
    round_trip(&mut client, b"in small pieces");
}

#[test]
fn a_retried_handshake_passes_when_both_hellos_name_the_host() {
    let pki = Pki::new();
    let mut picky = ring();
    picky.kx_groups = vec![rustls::crypto::ring::kx_group::SECP384R1];
    let server = TlsServer::echo(pki.server(picky));
    let mut willing = ring();
    willing.kx_groups = vec![rustls::crypto::ring::kx_group::X25519, rustls::crypto::ring::kx_group::SECP384R1];
    let world = Plan::good(server.port).start();
    let config = Arc::new(pki.client(willing, &[&rustls::version::TLS13]));
    let mut client = tls_client(&world, server.port, "good.test", &config);
    round_trip(&mut client, b"after a retry");
    assert_eq!(client.conn.handshake_kind(), Some(rustls::HandshakeKind::FullWithHelloRetryRequest));
}

/// Opens a tunnel to a server that must never hear anything, sends bytes, and gives the word in the log with what
/// the client was told.
fn refused_hello(bytes: &[u8]) -> (&'static str, Vec<u8>) {
    let server = RawServer::start(b"");
    let world = Plan::good(server.port).start();
    let mut client = world.tunnel(server.port);
    client.write_all(bytes).unwrap();
    let told = read_rest(&mut client);
    let end = world.ended(1).remove(0);
    assert_eq!((end.verdict, end.bytes_up, end.bytes_down), (Verdict::Refused, 0, 0));
    assert!(world.records().iter().all(|record| record.stage == Stage::End));
    assert_eq!(server.received(), b"", "a byte was forwarded");
    (end.reason, told)
}

#[test]
fn nothing_is_forwarded_for_a_hello_that_does_not_name_the_host() {
    let alert = [21, 3, 1, 0, 2, 2, 49];
    let one = (0, &b"good.test"[..]);
    let two_names = records(&hello_message(&[sni(&[one, (0, b"other.test")])]), 16_384);
    let encrypted = records(&hello_message(&[sni(&[one]), (0xfe0d, vec![0; 64])]), 16_384);
    let nameless = records(&hello_message(&[]), 16_384);
    for (bytes, why) in [
        (real_hello("other.test"), "sni_mismatch"),
        (hello_for("sub.good.test"), "sni_mismatch"),
        (hello_for("good.test."), "sni_bad_name"),
        (two_names, "sni_several"),
        (encrypted, "hello_encrypted"),
        (nameless, "sni_missing"),
        (records(&hello_message(&[sni(&[one]), (21, vec![0; 20_000])]), 16_384), "hello_too_large"),
    ] {
        let (reason, told) = refused_hello(&bytes);
        assert_eq!((reason, &told[..]), (why, &alert[..]));
    }
    for bytes in [&b"GET / HTTP/1.1\r\nHost: good.test\r\n\r\n"[..], b"\0\0\0", b"SSH-2.0-x\r\n"] {
        assert_eq!(refused_hello(bytes), ("hello_not_tls", Vec::new()));
    }
}

#[test]
fn the_case_of_the_server_name_is_free() {
    let server = RawServer::start(b"");
    let world = Plan::good(server.port).start();
    let mut client = world.tunnel(server.port);
    let hello = hello_for("Good.TEST");
    client.write_all(&hello).unwrap();
    assert_eq!(server.wait_for(hello.len()), hello);
}

/// A ServerHello that asks for a second ClientHello, in one record.
const RETRY: [u8; 49] = {
    const RANDOM: [u8; 32] = [
        0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2,
        0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
    ];
    let mut bytes = [0; 49];
    let front = [22, 3, 3, 0, 44, 2, 0, 0, 40, 3, 3];
    let mut at = 0;
    while at < front.len() {
        bytes[at] = front[at];
        at += 1;
    }
    let mut from = 0;
    while from < RANDOM.len() {
        bytes[at + from] = RANDOM[from];
        from += 1;
    }
    bytes
};

#[test]
fn a_second_hello_for_another_host_is_not_forwarded() {
    let change_cipher_spec = record(20, &[1]);
    let early_data = record(23, b"sent before the retry was known");
    for (between, second, why) in [
        (vec![], hello_for("other.test"), "sni_mismatch"),
        (change_cipher_spec.clone(), hello_for("other.test"), "sni_mismatch"),
        ([early_data, change_cipher_spec].concat(), hello_for("other.test"), "sni_mismatch"),
        (vec![], records(&hello_message(&[]), 16_384), "sni_missing"),
        (record(20, &[1, 1]), hello_for("good.test"), "hello_malformed"),
        (record(21, &[1, 0]), hello_for("other.test"), "hello_not_tls"),
    ] {
        let server = RawServer::start(&RETRY);
        let world = Plan::good(server.port).start();
        let mut client = world.tunnel(server.port);
        let first = hello_for("good.test");
        // All at once: an attacker who knows that the retry comes does not wait for it.
        client.write_all(&[&first[..], &between, &second].concat()).unwrap();
        drop(read_rest(&mut client));
        let end = world.ended(1).remove(0);
        assert_eq!((end.verdict, end.reason), (Verdict::Refused, why));
        let received = server.received();
        assert!(!received.windows(10).any(|bytes| bytes == b"other.test"), "{received:?}");
        assert!(received.len() <= first.len() + between.len());
    }
}

#[test]
fn a_second_hello_for_the_same_host_is_forwarded_with_what_stands_between() {
    let server = RawServer::start(&RETRY);
    let world = Plan::good(server.port).start();
    let mut client = world.tunnel(server.port);
    let parts = [hello_for("good.test"), record(20, &[1]), hello_for("GOOD.test"), record(23, b"and on")];
    for part in &parts {
        client.write_all(part).unwrap();
    }
    let all = parts.concat();
    assert_eq!(server.wait_for(all.len()), all);
    let mut answer = vec![0; RETRY.len()];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(answer, RETRY);
}

#[test]
fn a_server_that_speaks_no_tls_is_not_passed_on() {
    let server = RawServer::start(b"SSH-2.0-OpenSSH\r\n");
    let world = Plan::good(server.port).start();
    let mut client = world.tunnel(server.port);
    client.write_all(&hello_for("good.test")).unwrap();
    assert_eq!(read_rest(&mut client), b"");
    let end = world.ended(1).remove(0);
    assert_eq!((end.verdict, end.reason), (Verdict::Failed, "server_not_tls"));
}

#[test]
fn a_refusal_by_the_server_reaches_the_client() {
    let server = RawServer::start(&[21, 3, 3, 0, 2, 2, 40]);
    let world = Plan::good(server.port).start();
    let mut client = world.tunnel(server.port);
    client.write_all(&hello_for("good.test")).unwrap();
    assert_eq!(read_rest(&mut client), [21, 3, 3, 0, 2, 2, 40]);
    assert_eq!(world.ended(1)[0].reason, "server_refused");
}

#[test]
fn fifty_clients_at_once_are_served_and_counted() {
    let pki = Pki::new();
    let server = TlsServer::echo(pki.server(ring()));
    let mut world = Plan::good(server.port).start();
    let config = Arc::new(pki.client(ring(), rustls::ALL_VERSIONS));
    let gate = std::sync::Barrier::new(50);
    thread::scope(|scope| {
        for number in 0..50_u8 {
            let (world, config, gate) = (&world, &config, &gate);
            scope.spawn(move || {
                let mut client = tls_client(world, server.port, "good.test", config);
                gate.wait();
                round_trip(&mut client, &vec![number; 32 * 1024]);
                client.conn.send_close_notify();
                client.flush().unwrap();
                client.sock.shutdown(Shutdown::Write).unwrap();
                drop(read_rest(&mut client.sock));
            });
        }
    });
    world.ended(50);
    let summary = world.stop();
    assert_eq!((summary.connections, summary.allowed, summary.refused, summary.failed), (50, 50, 0, 0));
    assert!(summary.bytes_up > 50 * 32 * 1024 && summary.bytes_down > 50 * 32 * 1024);
    assert_eq!(summary.reasons.into_iter().collect::<Vec<_>>(), [("closed", 50)]);
}

#[test]
fn a_plain_request_for_the_allowed_name_never_becomes_a_tunnel() {
    let server = RawServer::start(b"");
    let world = Plan::good(server.port).start();
    let (_, answer) = world.ask(&connect_head("good.test", server.port).replacen("CONNECT", "GET", 1));
    assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
    assert_eq!(server.received(), b"");
}
