//! Every bound of the proxy in one place, with the relations between them checked when it compiles.

use std::time::Duration;

/// Bytes of a CONNECT head, its empty line included; the names we accept need a tenth of it.
pub(super) const HEAD_BYTES_MAX: usize = 8 * 1024;
/// Header lines of a CONNECT head; real clients send fewer than ten.
pub(super) const HEADERS_MAX: usize = 64;
/// Bytes of one ClientHello message; a post-quantum hello has about two thousand.
pub(super) const HELLO_BYTES_MAX: usize = 16 * 1024;
/// Bytes read while a ClientHello is awaited: the message, its record headers, and what a client sends right behind it.
pub(super) const HELLO_STREAM_BYTES_MAX: usize = 64 * 1024;
/// Records that one ClientHello may be cut into, so that one-byte records cannot buy endless parsing.
pub(super) const HELLO_RECORDS_MAX: usize = 256;
/// Extensions of one ClientHello; browsers send about twenty.
pub(super) const EXTENSIONS_MAX: usize = 128;
/// Payload of one plaintext TLS record, as the protocol has it.
pub(super) const RECORD_BYTES_MAX: usize = 16 * 1024;
/// Bytes of a TLS record header.
pub(super) const RECORD_HEADER_BYTES: usize = 5;
/// Bytes that are read from the server until its first handshake message is known.
pub(super) const SERVER_STREAM_BYTES_MAX: usize = 16 * 1024;
/// Bytes of one copy buffer; each tunnel has two.
pub(super) const COPY_BYTES: usize = 16 * 1024;
/// Bytes of what a refused client still sends that are read and thrown away, so that it sees the answer.
pub(super) const DRAIN_BYTES_MAX: usize = 64 * 1024;
/// How long a refused client is listened to: one that still writes line by line on a busy machine would else see a reset in
/// place of the answer. A client that closes ends it at once.
pub(super) const DRAIN_TIME: Duration = Duration::from_secs(1);
/// How long the accepting thread itself may spend on a last word.
pub(super) const TURN_AWAY_TIME: Duration = Duration::from_millis(5);
/// Characters of a host name, as DNS has it.
pub(super) const NAME_BYTES_MAX: usize = 253;
/// Characters of one label of a host name, as DNS has it.
pub(super) const LABEL_BYTES_MAX: usize = 63;
/// Entries of one allow-list.
pub(super) const ENTRIES_MAX: usize = 1024;
/// Addresses of one DNS answer that are tried; all of them are checked.
pub(super) const ADDRESSES_TRIED_MAX: usize = 6;
/// Bytes of the hosts file that are read.
pub(super) const HOSTS_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Stack of one connection thread; the deepest call keeps its buffers on the heap.
pub(super) const THREAD_STACK_BYTES: usize = 256 * 1024;
/// How often a thread that waits for something it cannot be woken from looks whether the proxy was stopped.
pub(super) const STOP_POLL: Duration = Duration::from_millis(20);
/// How often the accepting thread looks whether the proxy was stopped, should waking it have failed.
pub(super) const ACCEPT_POLL: Duration = Duration::from_millis(250);

const _: () = assert!(HELLO_BYTES_MAX + HELLO_RECORDS_MAX * RECORD_HEADER_BYTES <= HELLO_STREAM_BYTES_MAX);
const _: () = assert!(LABEL_BYTES_MAX < NAME_BYTES_MAX && NAME_BYTES_MAX * 4 < HEAD_BYTES_MAX);
const _: () = assert!(EXTENSIONS_MAX * 4 < HELLO_BYTES_MAX);
const _: () = assert!(STOP_POLL.as_millis() < ACCEPT_POLL.as_millis());

/// What a caller may tune; each default is a bound that a real tool chain does not meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections served at the same time; one more is answered 503.
    pub concurrent_max: usize,
    /// Connections over the life of the proxy; the next one is answered 503 and the listener closes, which also
    /// bounds the request log.
    pub total_max: u64,
    /// From the first moment of a connection to the end of its CONNECT head.
    pub head_time: Duration,
    /// One DNS question.
    pub resolve_time: Duration,
    /// All connection attempts of one request together.
    pub connect_time: Duration,
    /// From the 200 to the last byte of the ClientHello.
    pub hello_time: Duration,
    /// From the forwarded ClientHello to the server's first handshake message.
    pub server_time: Duration,
    /// A tunnel in which no byte moved in either direction for this long is closed.
    pub idle_time: Duration,
    /// The same once one side has ended its half.
    pub half_closed_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            concurrent_max: 64,
            total_max: 100_000,
            head_time: Duration::from_secs(10),
            resolve_time: Duration::from_secs(10),
            connect_time: Duration::from_secs(10),
            hello_time: Duration::from_secs(10),
            server_time: Duration::from_secs(30),
            idle_time: Duration::from_secs(300),
            half_closed_time: Duration::from_secs(30),
        }
    }
}
