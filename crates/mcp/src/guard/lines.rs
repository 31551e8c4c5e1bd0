//! Lines from a pipe, bounded: a message is one line.

use std::io::{self, BufRead, BufReader, Read};
use tripwire_fs::bounded;

/// The longest message that is passed on.
pub(super) const LINE_BYTES_MAX: u64 = 64 << 20;
/// What is read from a pipe at once.
const BUFFER_BYTES: usize = 64 * 1_024;

/// What a pipe gave.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, with its end where it has one.
    Whole(Vec<u8>),
    /// The beginning of a line that is longer than the bound; the rest was read and thrown away.
    TooLong(Vec<u8>),
    /// The other side has closed.
    End,
}

/// The lines of a pipe.
pub(super) struct Lines<R> {
    source: BufReader<R>,
    longest: u64,
}

impl<R: Read> Lines<R> {
    pub(super) fn of(source: R, longest: u64) -> Self {
        Self { source: BufReader::with_capacity(BUFFER_BYTES, source), longest }
    }

    /// The next line.
    pub(super) fn next(&mut self) -> io::Result<Line> {
        let mut line = bounded::read_line(&mut self.source, self.longest)?;
        if line.is_empty() {
            return Ok(Line::End);
        }
        if line.ends_with(b"\n") || u64::try_from(line.len()).is_ok_and(|length| length < self.longest) {
            return Ok(Line::Whole(line));
        }
        line.truncate(BUFFER_BYTES);
        self.skip()?;
        Ok(Line::TooLong(line))
    }

    /// Reads on to the end of the line, in pieces that are thrown away.
    fn skip(&mut self) -> io::Result<()> {
        loop {
            let piece = self.source.fill_buf()?;
            if piece.is_empty() {
                return Ok(());
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(piece.len(), |at| at + 1);
            self.source.consume(used);
            if end.is_some() {
                return Ok(());
            }
        }
    }
}

/// A line without its end.
pub(super) fn body(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcp_4_lines_come_as_they_are_and_one_that_is_too_long_is_skipped_whole() {
        let long = "x".repeat(200_000);
        let text = format!("one\r\n\n{long}\ntwo");
        let mut lines = Lines::of(text.as_bytes(), 100_000);
        assert_eq!(lines.next().unwrap(), Line::Whole(b"one\r\n".to_vec()));
        assert_eq!(lines.next().unwrap(), Line::Whole(b"\n".to_vec()));
        assert!(matches!(lines.next().unwrap(), Line::TooLong(start) if start.len() == BUFFER_BYTES));
        assert_eq!(lines.next().unwrap(), Line::Whole(b"two".to_vec()));
        assert_eq!(lines.next().unwrap(), Line::End);
        assert_eq!((body(b"a\r\n"), body(b"a\n"), body(b"a")), (&b"a"[..], &b"a"[..], &b"a"[..]));
    }
}
