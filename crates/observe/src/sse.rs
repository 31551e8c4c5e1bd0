//! Server-sent events out of bytes, however the network cuts them.
//!
//! Lines are decoded only when they are whole, so a character may be split over two reads. CRLF, LF and CR end a line,
//! comments and unknown fields are skipped, several `data` lines are one text.

use alloc::borrow::{Cow, ToOwned as _};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The longest line of an event stream: a whole reply may stand in one.
pub const LINE_BYTES_MAX: usize = 32 << 20;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// Its name; empty where the stream gives none.
    pub name: String,
    /// Its text.
    pub data: String,
    /// Whether it is an error that stands outside of the data, as llama.cpp sends it.
    pub is_error: bool,
}

/// Why bytes are no event stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SseError {
    /// A line has no end.
    LineTooLong,
    /// A line is no text.
    NotUtf8,
}

impl fmt::Display for SseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LineTooLong => write!(f, "a line of the stream is longer than {LINE_BYTES_MAX} bytes"),
            Self::NotUtf8 => f.write_str("a line of the stream is not UTF-8"),
        }
    }
}

impl core::error::Error for SseError {}

/// What becomes of a line that is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Tolerance {
    #[default]
    Strict,
    Lenient,
}

/// Reads an event stream piece by piece.
#[derive(Debug, Default)]
pub struct EventReader {
    line: Vec<u8>,
    lines: u64,
    skip_newline: bool,
    name: String,
    data: Option<String>,
    tolerance: Tolerance,
}

impl EventReader {
    /// A reader that takes what is no UTF-8 for replacement characters: for someone who only counts what passes by.
    #[must_use]
    pub fn lenient() -> Self {
        Self { tolerance: Tolerance::Lenient, ..Self::default() }
    }

    /// Takes the next bytes and gives the events that they complete.
    ///
    /// # Errors
    /// When a line has no end, or is no text and the reader is not lenient.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>, SseError> {
        let mut events = Vec::new();
        while let Some(first) = bytes.first() {
            if core::mem::take(&mut self.skip_newline) && *first == b'\n' {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = end.map_or(bytes, |end| bytes.get(..end).unwrap_or_default());
            if self.line.len().saturating_add(part.len()) > LINE_BYTES_MAX {
                return Err(SseError::LineTooLong);
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { break };
            self.skip_newline = bytes.get(end) == Some(&b'\r');
            bytes = bytes.get(end.saturating_add(1)..).unwrap_or_default();
            events.extend(self.line_ended()?);
        }
        Ok(events)
    }

    /// Whether something is left over that no empty line has completed.
    #[must_use]
    pub fn is_in_the_middle(&self) -> bool {
        !self.line.is_empty() || self.data.is_some()
    }

    fn line_ended(&mut self) -> Result<Option<Event>, SseError> {
        let line = core::mem::take(&mut self.line);
        let line = match core::str::from_utf8(&line) {
            Ok(line) => Cow::Borrowed(line),
            Err(_) if self.tolerance == Tolerance::Lenient => String::from_utf8_lossy(&line),
            Err(_) => return Err(SseError::NotUtf8),
        };
        let mut line = line.as_ref();
        if self.lines == 0 {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        self.lines = self.lines.saturating_add(1);
        if line.is_empty() {
            let name = core::mem::take(&mut self.name);
            return Ok(self.data.take().map(|data| Event { name, data, is_error: false }));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                let data = match self.data.take() {
                    Some(before) => alloc::format!("{before}\n{value}"),
                    None => value.to_owned(),
                };
                if data.len() > LINE_BYTES_MAX {
                    return Err(SseError::LineTooLong);
                }
                self.data = Some(data);
            }
            "event" => value.clone_into(&mut self.name),
            "error" => {
                let name = core::mem::take(&mut self.name);
                return Ok(Some(Event { name, data: value.to_owned(), is_error: true }));
            }
            // A comment (an empty field), `id`, `retry` or something newer than we are.
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn event(name: &str, data: &str) -> Event {
        Event { name: name.to_owned(), data: data.to_owned(), is_error: false }
    }

    const STREAM: &str =
        "\u{feff}: hello\n\nevent: ping\r\ndata: {}\r\n\r\nid: 7\rdata: grüße 🦀\rdata:two\r\rdata\n\n";

    fn expected() -> Vec<Event> {
        vec![event("ping", "{}"), event("", "grüße 🦀\ntwo"), event("", "")]
    }

    #[test]
    fn all_line_ends_comments_and_several_data_lines_are_read() {
        let mut reader = EventReader::default();
        assert_eq!(reader.feed(STREAM.as_bytes()), Ok(expected()));
        assert!(!reader.is_in_the_middle());
    }

    #[test]
    fn every_way_to_cut_the_bytes_gives_the_same_events() {
        let bytes = STREAM.as_bytes();
        for size in 1..bytes.len() {
            let mut reader = EventReader::default();
            let mut events = Vec::new();
            for chunk in bytes.chunks(size) {
                events.extend(reader.feed(chunk).unwrap());
            }
            assert_eq!(events, expected(), "in pieces of {size}");
        }
    }

    #[test]
    fn an_error_beside_the_data_is_told_at_once() {
        let mut reader = EventReader::default();
        let events = reader.feed(b"data: 1\n\nerror: {\"code\":500}\n").unwrap();
        let error = Event { name: String::new(), data: "{\"code\":500}".to_owned(), is_error: true };
        assert_eq!(events, [event("", "1"), error]);
        assert!(!reader.is_in_the_middle());
    }

    #[test]
    fn what_is_not_complete_is_known_to_be_so() {
        let mut reader = EventReader::default();
        assert_eq!(reader.feed(b"data: half"), Ok(vec![]));
        assert!(reader.is_in_the_middle());
        assert_eq!(reader.feed(b"\n"), Ok(vec![]));
        assert!(reader.is_in_the_middle());
        assert_eq!(reader.feed(b"\n"), Ok(vec![event("", "half")]));
        assert!(!reader.is_in_the_middle());
    }

    #[test]
    fn a_lenient_reader_goes_on_behind_bytes_that_are_no_text() {
        let mut reader = EventReader::lenient();
        let events = reader.feed(b"data: a\xffb\n\ndata: 2\n\n").unwrap();
        assert_eq!(events, [event("", "a\u{fffd}b"), event("", "2")]);
    }

    #[test]
    fn bytes_that_are_no_text_and_lines_without_end_are_refused() {
        assert_eq!(EventReader::default().feed(b"data: \xff\xfe\n"), Err(SseError::NotUtf8));
        let mut reader = EventReader::default();
        let piece = vec![b'a'; 8 << 20];
        let error = (0..8).find_map(|_| reader.feed(&piece).err());
        assert_eq!(error, Some(SseError::LineTooLong));
    }
}
