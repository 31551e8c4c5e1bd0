//! Each rule about the ClientHello in pairs: it fires, and it stays quiet beside.

use tripwire_egress::{HelloError, HelloProgress, read_client_hello};

use crate::support::{handshake, hello_for, hello_message, real_hello, record, records, sni};

fn name(bytes: &[u8]) -> String {
    match read_client_hello(bytes) {
        HelloProgress::Complete { hello, used } => {
            assert_eq!(used, bytes.len());
            hello.server_name.to_string()
        }
        other @ (HelloProgress::Incomplete | HelloProgress::Refused(_)) => panic!("{other:?}"),
    }
}

fn error(bytes: &[u8]) -> HelloError {
    match read_client_hello(bytes) {
        HelloProgress::Refused(error) => error,
        other @ (HelloProgress::Incomplete | HelloProgress::Complete { .. }) => panic!("{other:?}"),
    }
}

#[test]
fn a_real_client_is_understood() {
    assert_eq!(name(&real_hello("good.test")), "good.test");
}

#[test]
fn the_case_of_a_name_does_not_matter() {
    assert_eq!(name(&hello_for("GOOD.Test")), "good.test");
}

#[test]
fn exactly_one_host_must_be_named() {
    let one = sni(&[(0, b"good.test")]);
    let other = sni(&[(0, b"other.test")]);
    for (extensions, why) in [
        (vec![], HelloError::NoName),
        (vec![(10, vec![0, 2, 0, 29])], HelloError::NoName),
        (vec![sni(&[])], HelloError::NoName),
        (vec![sni(&[(0, b"good.test"), (0, b"other.test")])], HelloError::SeveralNames),
        (vec![sni(&[(0, b"good.test"), (0, b"good.test")])], HelloError::SeveralNames),
        (vec![sni(&[(0, b"good.test"), (1, b"x")])], HelloError::SeveralNames),
        (vec![sni(&[(1, b"good.test")])], HelloError::BadName),
        (vec![one.clone(), other.clone()], HelloError::SeveralNames),
        (vec![one.clone(), (16, vec![]), one.clone()], HelloError::SeveralNames),
    ] {
        assert_eq!(error(&records(&hello_message(&extensions), 16_384)), why, "{extensions:?}");
    }
    assert_eq!(name(&records(&hello_message(&[(16, vec![]), one, (10, vec![0, 2, 0, 29])]), 16_384)), "good.test");
}

#[test]
fn a_name_that_is_no_exact_host_name_is_refused() {
    for bad in [
        &b""[..],
        b"good.test.",
        b"good.test\0",
        b"good.test\0.evil.test",
        b"127.0.0.1",
        b"2130706433",
        b"::1",
        b"*.test",
        b"good.test:443",
        b"g\xc3\xb6od.test",
        b"good.test\xff",
        b" good.test",
        b"good_.test",
    ] {
        assert_eq!(error(&records(&hello_message(&[sni(&[(0, bad)])]), 16_384)), HelloError::BadName, "{bad:?}");
    }
    let long = "a".repeat(300);
    assert_eq!(error(&hello_for(&long)), HelloError::BadName);
}

#[test]
fn an_encrypted_hello_is_refused_with_or_without_an_outer_name() {
    for kind in [0xfe0d, 0xfe08, 0xfe0a, 0xffce, 0xfd00] {
        let outer = hello_message(&[sni(&[(0, b"good.test")]), (kind, vec![0; 40])]);
        assert_eq!(error(&records(&outer, 16_384)), HelloError::EncryptedHello, "{kind:x}");
        let nameless = hello_message(&[(kind, vec![1])]);
        assert_eq!(error(&records(&nameless, 16_384)), HelloError::EncryptedHello, "{kind:x}");
    }
    let beside = hello_message(&[sni(&[(0, b"good.test")]), (0xfe0e, vec![]), (0x0a0a, vec![])]);
    assert_eq!(name(&records(&beside, 16_384)), "good.test");
}

#[test]
fn bytes_that_are_no_tls_are_refused_at_the_first_wrong_one() {
    for bytes in [
        &b"GET / HTTP/1.1\r\n"[..],
        b"SSH-2.0-x\r\n",
        b"\0",
        b"\x80\x2e\x01\x03\x01",
        &[22, 2],
        &[22, 3, 5],
        &[22, 3, 1, 0, 0],
        &[22, 3, 1, 0x40, 1],
        &[21, 3, 1, 0, 2, 1, 0],
        &[20, 3, 1, 0, 1, 1],
        &[23],
        &[22, 3, 1, 0, 4, 2, 0, 0, 0],
        &[22, 3, 1, 0, 4, 16],
    ] {
        assert_eq!(error(bytes), HelloError::NotTls, "{bytes:?}");
    }
    for bytes in [&[][..], &[22], &[22, 3], &[22, 3, 1, 0, 4], &[22, 3, 1, 0x40, 0], &[22, 3, 1, 0, 4, 1]] {
        assert_eq!(read_client_hello(bytes), HelloProgress::Incomplete, "{bytes:?}");
    }
}

#[test]
fn a_message_that_breaks_its_own_lengths_is_refused() {
    let message = hello_message(&[sni(&[(0, b"good.test")])]);
    for (at, value) in [(4, 2), (5, 0), (5, 4), (38, 33), (38, 255), (40, 3), (40, 255), (43, 0), (45, 1), (49, 200)] {
        let mut broken = message.clone();
        broken[at] = value;
        assert_eq!(error(&records(&broken, 16_384)), HelloError::Malformed, "byte {at} = {value}");
    }
    let body = &message[4..];
    let mut longer = body.to_vec();
    longer.push(0);
    assert_eq!(error(&records(&handshake(1, &longer), 16_384)), HelloError::Malformed);
    assert_eq!(error(&records(&handshake(1, &body[..body.len() - 1]), 16_384)), HelloError::Malformed);
    assert_eq!(error(&records(&handshake(1, &[]), 16_384)), HelloError::Malformed);
    let doubled = hello_message(&[sni(&[(0, b"good.test")]), (16, vec![]), (16, vec![])]);
    assert_eq!(error(&records(&doubled, 16_384)), HelloError::Malformed);
    // Before extensions existed a hello ended at its compression methods.
    assert_eq!(error(&records(&handshake(1, &body[..41]), 16_384)), HelloError::NoName);
}

#[test]
fn a_second_message_in_the_same_record_is_refused_and_a_next_record_is_not() {
    let message = hello_message(&[sni(&[(0, b"good.test")])]);
    let mut two = message.clone();
    two.extend(hello_message(&[sni(&[(0, b"other.test")])]));
    assert_eq!(error(&record(22, &two)), HelloError::Malformed);
    let mut followed = record(22, &message);
    let used = followed.len();
    followed.extend(record(23, b"early data"));
    match read_client_hello(&followed) {
        HelloProgress::Complete { used: found, .. } => assert_eq!(found, used),
        other @ (HelloProgress::Incomplete | HelloProgress::Refused(_)) => panic!("{other:?}"),
    }
}

#[test]
fn records_may_cut_a_hello_anywhere_but_not_without_end() {
    let hello = hello_message(&[sni(&[(0, b"good.test")])]);
    for cut in [1, 2, 3, 5, 64, hello.len()] {
        assert_eq!(name(&records(&hello, cut)), "good.test", "{cut}");
    }
    let padded = |bytes: usize| hello_message(&[sni(&[(0, b"good.test")]), (21, vec![0; bytes])]);
    assert_eq!(name(&records(&padded(200), 2)), "good.test");
    assert_eq!(error(&records(&padded(1000), 2)), HelloError::TooLarge);
    let mut mixed = records(&hello[..10], 16_384);
    mixed.extend(record(23, &hello[10..]));
    assert_eq!(error(&mixed), HelloError::NotTls);
}

#[test]
fn the_size_of_a_hello_is_bounded_at_its_edge() {
    let bare = hello_message(&[sni(&[(0, b"good.test")]), (21, vec![])]).len();
    let padded =
        |total: usize| records(&hello_message(&[sni(&[(0, b"good.test")]), (21, vec![0; total - bare])]), 16_384);
    assert_eq!(name(&padded(16 * 1024)), "good.test");
    assert_eq!(error(&padded(16 * 1024 + 1)), HelloError::TooLarge);
    assert_eq!(error(&[22, 3, 1, 0, 4, 1, 255, 255, 255]), HelloError::TooLarge);
    let many = |count: u16| {
        let mut extensions = vec![sni(&[(0, b"good.test")])];
        extensions.extend((1000..1000 + count).map(|kind| (kind, vec![])));
        records(&hello_message(&extensions), 16_384)
    };
    assert_eq!(name(&many(127)), "good.test");
    assert_eq!(error(&many(128)), HelloError::Malformed);
}
