//! The TLS ClientHello: the one message in which a client says in the clear which host it wants.
//!
//! The parser reads that message whole, however it is cut into records and reads, and accepts it only if it names
//! exactly one host. A hello that hides a second name (encrypted client hello) is refused: what its outer name says
//! is then no statement about where the bytes go.
//!
//! INVARIANT: once [`read_client_hello`] has answered for some bytes, it gives the same answer for those bytes with
//! any others behind them.

use std::collections::BTreeSet;

use super::limits::{EXTENSIONS_MAX, HELLO_BYTES_MAX};
use super::name::HostName;
use super::tls::{Fields, GatherError, gather_handshake};

/// Reads a ClientHello from the bytes received so far.
#[must_use]
pub fn read_client_hello(received: &[u8]) -> HelloProgress {
    match gather_handshake(received, wanted_bytes) {
        Err(GatherError::NotHandshake) => HelloProgress::Refused(HelloError::NotTls),
        Err(GatherError::TooManyRecords) => HelloProgress::Refused(HelloError::TooLarge),
        Ok(gathered) => {
            if gathered.message.first().is_some_and(|kind| *kind != CLIENT_HELLO) {
                return HelloProgress::Refused(HelloError::NotTls);
            }
            if announced_bytes(&gathered.message).is_some_and(|bytes| bytes > HELLO_BYTES_MAX) {
                return HelloProgress::Refused(HelloError::TooLarge);
            }
            // A second message in the same record would pass without having been read.
            if gathered.excess > 0 {
                return HelloProgress::Refused(HelloError::Malformed);
            }
            let whole = gathered.message.len() == wanted_bytes(&gathered.message);
            match gathered.wire {
                Some(used) if whole => match parse(&gathered.message) {
                    Ok(hello) => HelloProgress::Complete { hello, used },
                    Err(error) => HelloProgress::Refused(error),
                },
                Some(_) | None => HelloProgress::Incomplete,
            }
        }
    }
}

/// How far a ClientHello has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HelloProgress {
    /// More bytes are needed.
    Incomplete,
    /// A whole hello, and how many bytes of the stream its records took.
    Complete {
        /// What the hello says.
        hello: ClientHello,
        /// Bytes of its records; what was received beyond them is the client's next flight.
        used: usize,
    },
    /// Nothing that may be forwarded.
    Refused(HelloError),
}

/// What the proxy needs to know of a ClientHello.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientHello {
    /// The one host that the hello names.
    pub server_name: HostName,
}

/// Why a ClientHello is not forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HelloError {
    /// The bytes are no TLS handshake with a ClientHello in front.
    NotTls,
    /// Longer, or in more pieces, than any honest hello.
    TooLarge,
    /// The message does not follow its own lengths, repeats an extension, or has something behind it.
    Malformed,
    /// No host is named.
    NoName,
    /// More than one host is named.
    SeveralNames,
    /// The name is no host name as TLS wants it: an address, a trailing dot, a strange byte.
    BadName,
    /// The hello has an encrypted inner hello, whose name cannot be seen.
    EncryptedHello,
}

const CLIENT_HELLO: u8 = 1;
const HANDSHAKE_HEADER_BYTES: usize = 4;
const RANDOM_BYTES: usize = 32;
const SESSION_ID_BYTES_MAX: usize = 32;
const LEGACY_VERSIONS: std::ops::RangeInclusive<u16> = 0x0301..=0x0303;
const SERVER_NAME: u16 = 0;
const HOST_NAME_TYPE: u8 = 0;
/// The final code point of the encrypted client hello, the drafts before it, the first design of it, and the inner
/// hello's reference list.
const ENCRYPTED_HELLO: [u16; 8] = [0xfe0d, 0xfe08, 0xfe09, 0xfe0a, 0xfe0b, 0xfe0c, 0xffce, 0xfd00];

/// Bytes of the message with its header, as the header announces them.
fn announced_bytes(message: &[u8]) -> Option<usize> {
    let (&[_, high, middle, low], _) = message.split_first_chunk::<HANDSHAKE_HEADER_BYTES>()?;
    let body = u32::from_be_bytes([0, high, middle, low]);
    usize::try_from(body).ok().map(|body| HANDSHAKE_HEADER_BYTES + body)
}

/// Bytes to gather: the header first, then what it announces. What is refused by its kind or its announced length
/// wants nothing more.
fn wanted_bytes(message: &[u8]) -> usize {
    if message.first().is_some_and(|kind| *kind != CLIENT_HELLO) {
        return 1;
    }
    match announced_bytes(message) {
        Some(bytes) if bytes <= HELLO_BYTES_MAX => bytes,
        Some(_) | None => HANDSHAKE_HEADER_BYTES,
    }
}

fn parse(message: &[u8]) -> Result<ClientHello, HelloError> {
    let mut body = Fields(message.get(HANDSHAKE_HEADER_BYTES..).unwrap_or_default());
    let extensions = skip_to_extensions(&mut body).ok_or(HelloError::Malformed)?;
    let mut server_name = None;
    let mut seen = BTreeSet::new();
    let mut extensions = Fields(extensions);
    while !extensions.is_empty() {
        let kind = extensions.u16().ok_or(HelloError::Malformed)?;
        let data = extensions.vector16().ok_or(HelloError::Malformed)?;
        let fresh = seen.insert(kind);
        if kind == SERVER_NAME && !fresh {
            return Err(HelloError::SeveralNames);
        }
        if !fresh || seen.len() > EXTENSIONS_MAX {
            return Err(HelloError::Malformed);
        }
        if ENCRYPTED_HELLO.contains(&kind) {
            return Err(HelloError::EncryptedHello);
        }
        if kind == SERVER_NAME {
            server_name = Some(parse_server_name(data)?);
        }
    }
    server_name.map(|server_name| ClientHello { server_name }).ok_or(HelloError::NoName)
}

/// Reads the fixed part and gives the extension block, which is empty in a hello that has none.
fn skip_to_extensions<'a>(body: &mut Fields<'a>) -> Option<&'a [u8]> {
    let version = body.u16()?;
    body.bytes(RANDOM_BYTES)?;
    let session = body.vector8()?;
    let suites = body.vector16()?;
    let compressions = body.vector8()?;
    let lengths_good = session.len() <= SESSION_ID_BYTES_MAX
        && suites.len() >= 2
        && suites.len().is_multiple_of(2)
        && !compressions.is_empty();
    if !LEGACY_VERSIONS.contains(&version) || !lengths_good {
        return None;
    }
    if body.is_empty() {
        return Some(&[]);
    }
    let extensions = body.vector16()?;
    body.is_empty().then_some(extensions)
}

fn parse_server_name(data: &[u8]) -> Result<HostName, HelloError> {
    let mut outer = Fields(data);
    let mut list = Fields(outer.vector16().ok_or(HelloError::Malformed)?);
    if !outer.is_empty() {
        return Err(HelloError::Malformed);
    }
    if list.is_empty() {
        return Err(HelloError::NoName);
    }
    let kind = list.u8().ok_or(HelloError::Malformed)?;
    let name = list.vector16().ok_or(HelloError::Malformed)?;
    if kind != HOST_NAME_TYPE {
        return Err(HelloError::BadName);
    }
    if !list.is_empty() {
        return Err(HelloError::SeveralNames);
    }
    let text = str::from_utf8(name).map_err(|_| HelloError::BadName)?;
    // TLS names carry no trailing dot; servers differ in what they make of one.
    if text.ends_with('.') {
        return Err(HelloError::BadName);
    }
    HostName::parse(text).map_err(|_| HelloError::BadName)
}
