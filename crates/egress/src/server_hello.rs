//! The server's first handshake message, read for one bit: does it ask the client to send its hello again?
//!
//! A second ClientHello (TLS 1.3, after a HelloRetryRequest) travels in the clear like the first and may name another
//! host. So the client's bytes behind the first hello are kept back until the server has answered, and if the answer
//! is a retry, the second hello passes the same check as the first.

use super::limits::SERVER_STREAM_BYTES_MAX;
use super::tls::{ALERT, GatherError, front_record, gather_handshake};

/// Reads the server's answer from the bytes received so far.
pub(super) fn read_server_answer(received: &[u8]) -> ServerProgress {
    let mut rest = received;
    loop {
        match front_record(rest) {
            Err(_) => return ServerProgress::NotTls,
            Ok(None) if received.len() >= SERVER_STREAM_BYTES_MAX => return ServerProgress::NotTls,
            Ok(None) => return ServerProgress::Incomplete,
            Ok(Some(record)) if record.content_type != ALERT => break,
            Ok(Some(record)) if record.length != ALERT_BYTES => return ServerProgress::NotTls,
            Ok(Some(record)) if !record.is_whole() => return ServerProgress::Incomplete,
            Ok(Some(record)) if record.payload.first() == Some(&ALERT_FATAL) => {
                return ServerProgress::Refusal;
            }
            // A warning may come before the hello, for instance that the name is not known.
            Ok(Some(record)) => rest = rest.get(record.wire_bytes()..).unwrap_or_default(),
        }
    }
    match gather_handshake(rest, |_| ANSWER_BYTES) {
        Err(GatherError::NotHandshake | GatherError::TooManyRecords) => ServerProgress::NotTls,
        Ok(gathered) if gathered.message.first().is_some_and(|kind| *kind != SERVER_HELLO) => ServerProgress::NotTls,
        Ok(gathered) if gathered.message.len() < ANSWER_BYTES => ServerProgress::Incomplete,
        Ok(gathered) if gathered.message.ends_with(&RETRY_RANDOM) => ServerProgress::Retry,
        Ok(_) => ServerProgress::Hello,
    }
}

/// What the server's first bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerProgress {
    /// More bytes are needed.
    Incomplete,
    /// The handshake goes on; no further plaintext hello can follow.
    Hello,
    /// The client is asked for a second hello.
    Retry,
    /// The server refused the handshake by a fatal alert.
    Refusal,
    /// No TLS server is at the other end.
    NotTls,
}

const ALERT_BYTES: usize = 2;
const ALERT_FATAL: u8 = 2;
const SERVER_HELLO: u8 = 2;
/// Message header, version and random: all that is needed to tell a retry.
const ANSWER_BYTES: usize = 4 + 2 + 32;
/// The random value by which RFC 8446 marks a ServerHello as a request to retry: SHA-256 of `HelloRetryRequest`.
const RETRY_RANDOM: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11,
    0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(random: [u8; 32], cut: usize) -> Vec<u8> {
        let mut message = vec![2, 0, 0, 40, 3, 3];
        message.extend(random);
        message.extend([0, 0x13, 0x01, 0, 0, 0]);
        message
            .chunks(cut)
            .flat_map(|piece| {
                let mut record = vec![22, 3, 3, 0, u8::try_from(piece.len()).unwrap()];
                record.extend(piece);
                record
            })
            .collect()
    }

    #[test]
    fn a_retry_is_told_from_a_hello_however_it_is_cut() {
        for cut in [1, 3, 37, 38, 200] {
            assert_eq!(read_server_answer(&answer(RETRY_RANDOM, cut)), ServerProgress::Retry, "{cut}");
            assert_eq!(read_server_answer(&answer([7; 32], cut)), ServerProgress::Hello, "{cut}");
            let whole = answer(RETRY_RANDOM, cut);
            let first = (0..whole.len()).find(|n| read_server_answer(&whole[..*n]) != ServerProgress::Incomplete);
            assert_eq!(read_server_answer(&whole[..first.unwrap()]), ServerProgress::Retry);
        }
    }

    #[test]
    fn alerts_before_the_hello_are_warnings_or_the_end() {
        let mut warned = vec![21, 3, 3, 0, 2, 1, 112];
        assert_eq!(read_server_answer(&warned[..6]), ServerProgress::Incomplete);
        assert_eq!(read_server_answer(&warned), ServerProgress::Incomplete);
        warned.extend(answer(RETRY_RANDOM, 200));
        assert_eq!(read_server_answer(&warned), ServerProgress::Retry);
        assert_eq!(read_server_answer(&[21, 3, 3, 0, 2, 2, 40]), ServerProgress::Refusal);
        let endless = [21, 3, 3, 0, 2, 1, 112].repeat(SERVER_STREAM_BYTES_MAX / 7 + 1);
        assert_eq!(read_server_answer(&endless), ServerProgress::NotTls);
    }

    #[test]
    fn what_is_no_tls_server_is_told_at_its_first_byte() {
        for bytes in
            [&b"SSH-2.0"[..], b"HTTP/1.1 400", &[22, 2], &[22, 3, 3, 0, 4, 11, 0, 0, 0], &[21, 3, 3, 0, 3, 1, 0, 0]]
        {
            assert_eq!(read_server_answer(bytes), ServerProgress::NotTls, "{bytes:?}");
        }
        assert_eq!(read_server_answer(&[]), ServerProgress::Incomplete);
    }
}
