//! Bounded reads of anything: a file, a pipe, standard input. Nothing is read to its end without a limit.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};
use tripwire_core::explain::Explain;

/// Why a bounded read gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum BoundedError {
    /// The source failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// There is more than the limit.
    #[error("it holds more than {limit} bytes")]
    TooBig {
        /// The limit.
        limit: u64,
    },
}

impl Explain for BoundedError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Io(_) => "check the device or the pipe, then run it again".into(),
            Self::TooBig { .. } => "give a smaller one".into(),
        }
    }
}

impl From<BoundedError> for io::Error {
    fn from(error: BoundedError) -> Self {
        match error {
            BoundedError::Io(error) => error,
            too_big @ BoundedError::TooBig { .. } => Self::new(io::ErrorKind::FileTooLarge, too_big),
        }
    }
}

/// Reads to the end. A source that holds more than `limit` bytes is an error, and at most one byte more is read of it.
///
/// # Errors
/// When reading fails or the source holds more.
pub fn read_whole(source: impl Read, limit: u64) -> Result<Vec<u8>, BoundedError> {
    read_whole_sized(source, limit, 0)
}

/// As [`read_whole`], with room for the expected size from the start: growing step by step costs a system call each.
///
/// # Errors
/// As [`read_whole`].
pub fn read_whole_sized(source: impl Read, limit: u64, expected: u64) -> Result<Vec<u8>, BoundedError> {
    let mut bytes = room_for(expected.min(limit));
    source.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit { Err(BoundedError::TooBig { limit }) } else { Ok(bytes) }
}

/// Reads the beginning: at most `limit` bytes, whatever follows.
///
/// # Errors
/// When reading fails.
pub fn read_beginning(source: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    read_beginning_sized(source, limit, 0)
}

/// As [`read_beginning`], with room for the expected size from the start.
///
/// # Errors
/// When reading fails.
pub fn read_beginning_sized(source: impl Read, limit: u64, expected: u64) -> io::Result<Vec<u8>> {
    let mut bytes = room_for(expected.min(limit));
    source.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Room for an expected size, and a little more, so that the end is seen without growing.
fn room_for(expected: u64) -> Vec<u8> {
    let room = usize::try_from(expected).unwrap_or(0);
    Vec::with_capacity(if room == 0 { 0 } else { room.saturating_add(END_ROOM) })
}

/// Reads one line with its end, or its first `limit` bytes if it is longer; empty at the end of the source.
///
/// # Errors
/// When reading fails.
pub fn read_line(source: &mut impl BufRead, limit: u64) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    source.take(limit).read_until(b'\n', &mut line)?;
    Ok(line)
}

/// Room behind the expected size.
const END_ROOM: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_read_whole_up_to_its_limit_and_not_beyond() {
        assert_eq!(read_whole(&b"12345"[..], 5).unwrap(), b"12345");
        assert_eq!(read_whole_sized(&b"12345"[..], 5, 3).unwrap(), b"12345");
        let mut source = &b"123456789"[..];
        let error = read_whole(&mut source, 4).unwrap_err();
        assert!(matches!(error, BoundedError::TooBig { limit: 4 }), "{error}");
        assert_eq!(source, b"6789", "one byte more is read, to know that there is more");
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_line_ends_behind_its_end_or_at_the_limit() {
        let mut source = &b"one\ntwenty\n"[..];
        let mut line = || String::from_utf8(read_line(&mut source, 5).unwrap()).unwrap();
        assert_eq!([line(), line(), line(), line()], ["one\n", "twent", "y\n", ""]);
    }

    #[test]
    fn a_beginning_ends_at_its_limit() {
        assert_eq!(read_beginning(&b"12345"[..], 3).unwrap(), b"123");
        assert_eq!(read_beginning(&b"12345"[..], 30).unwrap(), b"12345");
    }
}
