//! Properties of the two readers: arbitrary bytes never panic, and no cut of a stream changes the answer.

use proptest::prelude::*;
use tripwire_egress::{HeadProgress, HelloProgress, classify, read_client_hello, read_head};

use crate::support::{hello_message, records, sni};

/// The first answer that a reader gives as the stream grows by one byte at a time.
fn first_head_answer(bytes: &[u8]) -> HeadProgress {
    (0..=bytes.len())
        .map(|count| read_head(&bytes[..count]))
        .find(|progress| *progress != HeadProgress::Incomplete)
        .unwrap_or(HeadProgress::Incomplete)
}

fn first_hello_answer(bytes: &[u8]) -> HelloProgress {
    (0..=bytes.len())
        .map(|count| read_client_hello(&bytes[..count]))
        .find(|progress| *progress != HelloProgress::Incomplete)
        .unwrap_or(HelloProgress::Incomplete)
}

/// Bytes near a real head: its pieces, in some order, with damage.
fn head_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"CONNECT ".to_vec()),
        Just(b"good.test:443".to_vec()),
        Just(b" HTTP/1.1\r\n".to_vec()),
        Just(b" HTTP/1.0\r\n".to_vec()),
        Just(b"Host: good.test:443\r\n".to_vec()),
        Just(b"X: y\r\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\r\n\r\n".to_vec()),
        proptest::collection::vec(any::<u8>(), 1..3),
    ];
    proptest::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

/// Bytes near a real hello: any extensions, cut anywhere, with damage and a tail.
fn hello_like() -> impl Strategy<Value = Vec<u8>> {
    let extension = prop_oneof![
        Just(sni(&[(0, b"good.test")])),
        Just(sni(&[(0, b"good.test"), (0, b"other.test")])),
        (any::<u16>(), proptest::collection::vec(any::<u8>(), 0..20)),
    ];
    let damage = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    let tail = proptest::collection::vec(any::<u8>(), 0..20);
    (proptest::collection::vec(extension, 0..6), 1_usize..200, damage, tail).prop_map(
        |(extensions, cut, damage, tail)| {
            let mut bytes = records(&hello_message(&extensions), cut);
            for (at, value) in damage {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            bytes.extend(tail);
            bytes
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_head_reader_answers_any_bytes_the_same_however_they_are_cut(bytes in head_like()) {
        prop_assert_eq!(read_head(&bytes), first_head_answer(&bytes));
    }

    #[test]
    fn the_hello_reader_answers_any_bytes_the_same_however_they_are_cut(bytes in hello_like()) {
        prop_assert_eq!(read_client_hello(&bytes), first_hello_answer(&bytes));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        prop_assert_eq!(read_head(&bytes), first_head_answer(&bytes));
        prop_assert_eq!(read_client_hello(&bytes), first_hello_answer(&bytes));
        let mut framed = vec![22, 3, 1];
        framed.extend(u16::try_from(bytes.len()).unwrap().to_be_bytes());
        framed.extend(&bytes);
        prop_assert_eq!(read_client_hello(&framed), first_hello_answer(&framed));
    }

    #[test]
    fn an_accepted_name_is_lower_case_and_no_address(bytes in hello_like()) {
        if let HelloProgress::Complete { hello, used } = read_client_hello(&bytes) {
            prop_assert!(used <= bytes.len());
            let name = hello.server_name.as_str();
            prop_assert!(name.parse::<std::net::IpAddr>().is_err());
            prop_assert_eq!(name, name.to_ascii_lowercase());
        }
    }

    #[test]
    fn an_ipv6_address_is_public_only_in_the_global_block(bits in any::<u128>()) {
        let address = std::net::Ipv6Addr::from(bits);
        let public = classify(address.into()) == tripwire_egress::AddressClass::Public;
        prop_assert!(!public || (address.segments()[0] & 0xe000) == 0x2000);
    }
}
