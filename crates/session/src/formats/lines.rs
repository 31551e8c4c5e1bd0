//! Lines of a stream, one at a time and bounded: a line of any length costs no more memory than the bound.

use std::borrow::Cow;
use std::io::{self, BufRead};
use tripwire_core::explain::Explain;

/// The longest line that is read; a raw tool output fits, a dump does not.
pub const LINE_BYTES_MAX: usize = 16 * 1_024 * 1_024;

/// Why a line could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// It is longer than the bound; the rest of it was skipped.
    #[error("line {line}: longer than {LINE_BYTES_MAX} bytes")]
    TooLong {
        /// Its number, from 1.
        line: u64,
    },
    /// The stream broke.
    #[error("line {line}: cannot be read: {error}")]
    Io {
        /// Its number, from 1.
        line: u64,
        /// Why.
        error: io::Error,
    },
}

impl Explain for LineError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::TooLong { .. } => "shorten the line".into(),
            Self::Io { .. } => "check the device or the pipe, then run it again".into(),
        }
    }
}

/// A reader of lines.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Reads lines from a stream.
    pub const fn new(reader: R) -> Self {
        Self { reader, number: 0 }
    }

    /// The number of the line that was read last, from 1.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Reads the next line into `buffer`, without its end; `false` at the end of the stream.
    ///
    /// # Errors
    /// When the line is too long (the next call goes on behind it) or the stream breaks.
    pub fn next_into(&mut self, buffer: &mut Vec<u8>) -> Result<bool, LineError> {
        buffer.clear();
        self.number += 1;
        let mut skipping = false;
        loop {
            let line = self.number;
            let available = self.reader.fill_buf().map_err(|error| LineError::Io { line, error })?;
            if available.is_empty() {
                return if skipping { Err(LineError::TooLong { line }) } else { Ok(!buffer.is_empty()) };
            }
            let (taken, ended) = match line_end(available) {
                Some(end) => (end, true),
                None => (available.len(), false),
            };
            if !skipping && buffer.len() + taken > LINE_BYTES_MAX {
                skipping = true;
                buffer.clear();
                buffer.shrink_to(64 * 1_024);
            }
            if !skipping {
                buffer.extend_from_slice(&available[..taken]);
            }
            self.reader.consume(taken + usize::from(ended));
            if ended {
                if skipping {
                    return Err(LineError::TooLong { line });
                }
                if buffer.last() == Some(&b'\r') {
                    buffer.pop();
                }
                return Ok(true);
            }
        }
    }
}

/// Where a line ends; whole blocks are tested at once.
fn line_end(text: &[u8]) -> Option<usize> {
    const BLOCK: usize = 64;
    let (blocks, _) = text.as_chunks::<BLOCK>();
    let any = |block: &[u8; BLOCK]| block.iter().fold(false, |any, byte| any | (*byte == b'\n'));
    let skipped = blocks.iter().take_while(|block| !any(block)).count() * BLOCK;
    Some(skipped + text.get(skipped..)?.iter().position(|byte| *byte == b'\n')?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<Result<String, u64>> {
        let mut lines = Lines::new(io::BufReader::with_capacity(7, text));
        let mut buffer = Vec::new();
        let mut read = Vec::new();
        loop {
            match lines.next_into(&mut buffer) {
                Ok(true) => read.push(Ok(String::from_utf8_lossy(&buffer).into_owned())),
                Ok(false) => return read,
                Err(LineError::TooLong { line }) => read.push(Err(line)),
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn lines_come_whole_whatever_the_buffer() {
        let read = all(b"first line\n\nthird\r\nlast without end");
        assert_eq!(read, ["first line", "", "third", "last without end"].map(|line| Ok(line.to_owned())));
        assert!(all(b"").is_empty());
    }

    #[test]
    fn a_line_beyond_the_bound_is_skipped_and_named() {
        let mut text = b"a\n".to_vec();
        text.extend(std::iter::repeat_n(b'x', LINE_BYTES_MAX + 1));
        text.extend(b"\nb\n");
        assert_eq!(all(&text), [Ok("a".to_owned()), Err(2), Ok("b".to_owned())]);
    }
}
