//! The two layers under a TLS handshake message, read from plaintext bytes: records, and bounded fields in them.

use super::limits::{HELLO_RECORDS_MAX, RECORD_BYTES_MAX, RECORD_HEADER_BYTES};

/// Content types that stand in front of, or between, plaintext handshake messages.
pub(super) const CHANGE_CIPHER_SPEC: u8 = 20;
/// Alerts; a server may send a warning before its hello.
pub(super) const ALERT: u8 = 21;
/// Handshake messages.
pub(super) const HANDSHAKE: u8 = 22;
/// Application data; early data comes between the two hellos of a retried handshake.
pub(super) const APPLICATION_DATA: u8 = 23;
/// What a protected record may have beyond the plaintext bound.
const PROTECTED_EXTRA_BYTES: usize = 2048;

/// One record at the front of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub(super) content_type: u8,
    /// What has arrived of the payload.
    pub(super) payload: &'a [u8],
    /// The payload's announced length.
    pub(super) length: usize,
}

impl Record<'_> {
    /// Whether the payload has arrived as a whole.
    pub(super) fn is_whole(&self) -> bool {
        self.payload.len() == self.length
    }

    /// Bytes of the whole record on the wire.
    pub(super) fn wire_bytes(&self) -> usize {
        RECORD_HEADER_BYTES + self.length
    }
}

/// Why bytes are no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotARecord;

/// Reads the record at the front, as far as it has arrived. `None`: its header is not there yet, and what is there
/// is the beginning of one.
pub(super) fn front_record(bytes: &[u8]) -> Result<Option<Record<'_>>, NotARecord> {
    // Each byte is judged as soon as it is there, so that a stream that is no TLS is not waited for.
    let known = |at: usize, good: fn(u8) -> bool| bytes.get(at).is_none_or(|byte| good(*byte));
    let plausible = known(0, |b| (CHANGE_CIPHER_SPEC..=APPLICATION_DATA).contains(&b))
        && known(1, |b| b == 3)
        && known(2, |b| b <= 4);
    if !plausible {
        return Err(NotARecord);
    }
    let Some((&[content_type, _, _, high, low], rest)) = bytes.split_first_chunk::<RECORD_HEADER_BYTES>() else {
        return Ok(None);
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    let most =
        if content_type == APPLICATION_DATA { RECORD_BYTES_MAX + PROTECTED_EXTRA_BYTES } else { RECORD_BYTES_MAX };
    if length == 0 || length > most {
        return Err(NotARecord);
    }
    let payload = rest.get(..length).unwrap_or(rest);
    Ok(Some(Record { content_type, payload, length }))
}

/// A plaintext handshake message gathered from the handshake records at the front of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Gathered {
    /// What the records hold so far, header of the message included; at most `want` bytes.
    pub(super) message: Vec<u8>,
    /// Wire bytes of the records that were looked at, if all of them are whole.
    pub(super) wire: Option<usize>,
    /// Payload bytes of those records beyond `want`.
    pub(super) excess: usize,
}

/// Why no message could be gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GatherError {
    /// The bytes are no TLS records, or not of the handshake.
    NotHandshake,
    /// The message was cut into more records than any honest one.
    TooManyRecords,
}

/// Gathers handshake payload until `want` says that enough is there. `want` sees what was gathered and gives the
/// number of bytes needed in all; it may fall only for a message that is refused by what is there.
pub(super) fn gather_handshake(stream: &[u8], want: fn(&[u8]) -> usize) -> Result<Gathered, GatherError> {
    let mut rest = stream;
    let mut gathered = Gathered { message: Vec::new(), wire: Some(0), excess: 0 };
    let mut records = 0;
    while gathered.message.len() < want(&gathered.message) {
        let Some(record) = front_record(rest).map_err(|_| GatherError::NotHandshake)? else {
            // The type is the first byte of the header and is judged even while the rest of it is missing.
            return match rest.first() {
                None | Some(&HANDSHAKE) => Ok(Gathered { wire: None, ..gathered }),
                Some(_) => Err(GatherError::NotHandshake),
            };
        };
        records += 1;
        if record.content_type != HANDSHAKE {
            return Err(GatherError::NotHandshake);
        }
        if records > HELLO_RECORDS_MAX {
            return Err(GatherError::TooManyRecords);
        }
        gathered.message.extend_from_slice(record.payload);
        gathered.wire = match gathered.wire {
            Some(wire) if record.is_whole() => Some(wire + record.wire_bytes()),
            Some(_) | None => None,
        };
        rest = rest.get(record.wire_bytes()..).unwrap_or_default();
        if !record.is_whole() {
            break;
        }
    }
    let wanted = want(&gathered.message);
    gathered.excess = gathered.message.len().saturating_sub(wanted);
    gathered.message.truncate(wanted);
    Ok(gathered)
}

/// Reads bounded fields from the front of a message; every read says no instead of going past the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(front)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        let (front, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*front)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        let (front, rest) = self.0.split_first_chunk::<2>()?;
        self.0 = rest;
        Some(u16::from_be_bytes(*front))
    }

    /// A field that is preceded by its length in one byte.
    pub(super) fn vector8(&mut self) -> Option<&'a [u8]> {
        let count = self.u8()?;
        self.bytes(usize::from(count))
    }

    /// A field that is preceded by its length in two bytes.
    pub(super) fn vector16(&mut self) -> Option<&'a [u8]> {
        let count = self.u16()?;
        self.bytes(usize::from(count))
    }
}
