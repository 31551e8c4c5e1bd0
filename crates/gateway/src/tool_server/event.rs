//! Events of a stream, one by one and byte for byte: what a client would read as one event is one here.

use super::messages::Said;
use std::borrow::Cow;
use std::ops::Range;

/// The longest event.
pub(super) const EVENT_BYTES_MAX: usize = 64 << 20;
/// Lines of one event.
const LINES_MAX: usize = 100_000;

/// Why a stream cannot be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum EventFault {
    #[error("an event of the server is larger than 64 MiB")]
    TooLarge,
    #[error("the server's stream begins with a byte order mark, which clients read in different ways")]
    ByteOrderMark,
}

/// Splits a stream into its events.
#[derive(Debug, Default)]
pub(super) struct EventReader {
    event: StreamEvent,
    line_start: usize,
    /// Whether the last byte was a carriage return: a line feed behind it belongs to the same line end.
    end: LineEnd,
    place: StreamPlace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum LineEnd {
    #[default]
    Whole,
    Return,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum StreamPlace {
    #[default]
    Beginning,
    Inside,
}

/// One event, with all its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct StreamEvent {
    raw: Vec<u8>,
    lines: Vec<EventLine>,
    kind: EventKind,
    id: Option<Range<usize>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct EventLine {
    /// With its end.
    whole: Range<usize>,
    /// What it adds to the data, where it is a line of that.
    data: Option<Range<usize>>,
}

/// What an event is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum EventKind {
    /// It carries a message.
    #[default]
    Message,
    /// It names the address for requests, in the older transport.
    Endpoint,
    /// Something else.
    Other,
}

impl EventReader {
    /// Takes the next bytes and gives the events that end in them.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<Vec<StreamEvent>, EventFault> {
        let mut events = Vec::new();
        let mut rest = piece;
        if self.end == LineEnd::Return && !rest.is_empty() {
            self.end = LineEnd::Whole;
            if let Some(behind) = rest.strip_prefix(b"\n") {
                self.event.raw.push(b'\n');
                self.line_start = self.event.raw.len();
                rest = behind;
            }
        }
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, behind) = rest.split_at(at);
            let length = if behind.starts_with(b"\r\n") { 2 } else { 1 };
            if behind == b"\r" {
                self.end = LineEnd::Return;
            }
            let (end, behind) = behind.split_at(length);
            self.event.raw.extend_from_slice(line);
            let text = self.line_start..self.event.raw.len();
            self.event.raw.extend_from_slice(end);
            rest = behind;
            let is_over = text.is_empty();
            self.line(text)?;
            self.line_start = self.event.raw.len();
            if is_over {
                events.push(std::mem::take(&mut self.event));
                self.line_start = 0;
            }
        }
        self.event.raw.extend_from_slice(rest);
        if self.event.raw.len() > EVENT_BYTES_MAX || self.event.lines.len() > LINES_MAX {
            return Err(EventFault::TooLarge);
        }
        Ok(events)
    }

    /// Bytes of the event that has not ended.
    pub(super) fn waiting(&self) -> usize {
        self.event.raw.len()
    }

    fn line(&mut self, text: Range<usize>) -> Result<(), EventFault> {
        let whole = text.start..self.event.raw.len();
        let line = self.event.raw.get(text.clone()).unwrap_or_default();
        if std::mem::replace(&mut self.place, StreamPlace::Inside) == StreamPlace::Beginning
            && line.starts_with(b"\xef\xbb\xbf")
        {
            return Err(EventFault::ByteOrderMark);
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let mut data = None;
        match name {
            b"data" => data = Some(text.end - value.len()..text.end),
            b"event" => {
                self.event.kind = match value {
                    b"" | b"message" => EventKind::Message,
                    b"endpoint" => EventKind::Endpoint,
                    _ => EventKind::Other,
                };
            }
            b"id" => self.event.id = Some(text.end - value.len()..text.end),
            _ => {}
        }
        self.event.lines.push(EventLine { whole, data });
        Ok(())
    }
}

impl StreamEvent {
    pub(super) fn kind(&self) -> EventKind {
        self.kind
    }

    /// Whether a stream can be taken up again behind it.
    pub(super) fn has_id(&self) -> bool {
        self.id.is_some()
    }

    /// What names it, where something does.
    pub(super) fn id(&self) -> Option<&[u8]> {
        self.raw.get(self.id.clone()?)
    }

    /// Its data, as a client reads it; none where it has no line of it.
    pub(super) fn data(&self) -> Option<Cow<'_, [u8]>> {
        let mut parts = self.lines.iter().filter_map(|line| self.raw.get(line.data.clone()?));
        let first = parts.next()?;
        let Some(second) = parts.next() else { return Some(Cow::Borrowed(first)) };
        let mut joined = [first, b"\n", second].concat();
        for part in parts {
            joined.push(b'\n');
            joined.extend_from_slice(part);
        }
        Some(Cow::Owned(joined))
    }

    /// The event as it goes on.
    pub(super) fn rendered(self, said: Said) -> Vec<u8> {
        match said {
            Said::AsItCame => {
                let escaped = self.data().and_then(|data| escaped(&data));
                escaped.map_or_else(|| self.raw.clone(), |text| self.with_data(Some(&text)))
            }
            Said::Changed(text) => {
                let escaped = escaped(text.as_bytes());
                self.with_data(Some(escaped.as_deref().unwrap_or(&text)))
            }
            // Its id stays, so that a client that comes back does not ask for it again.
            Said::Nothing => self.with_data(None),
        }
    }

    /// All bytes, as they came.
    pub(super) fn into_raw(self) -> Vec<u8> {
        self.raw
    }

    /// The event with other data, or with none; its other lines stay.
    fn with_data(&self, text: Option<&str>) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.map_or(0, str::len) + 128);
        let mut text = text;
        for line in &self.lines {
            if line.data.is_none() {
                out.extend_from_slice(self.raw.get(line.whole.clone()).unwrap_or_default());
            } else if let Some(text) = text.take() {
                out.extend_from_slice(&data_lines(text));
            }
        }
        out
    }
}

/// An event with all its bytes, and the data that a client reads in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadEvent {
    /// Its bytes.
    pub raw: Vec<u8>,
    /// Its data; none where it has no line of it.
    pub data: Option<Vec<u8>>,
}

/// The events of a stream that comes in pieces of so many bytes; nothing where the stream is refused. It is what the fuzz target
/// looks at.
#[must_use]
pub fn events_in(stream: &[u8], piece_bytes: usize) -> Option<Vec<ReadEvent>> {
    let mut reader = EventReader::default();
    let mut events = Vec::new();
    for piece in stream.chunks(piece_bytes.max(1)) {
        for event in reader.push(piece).ok()? {
            let data = event.data().map(Cow::into_owned);
            events.push(ReadEvent { raw: event.into_raw(), data });
        }
    }
    Some(events)
}

/// A message of our own as an event.
pub(super) fn event_of(message: &str) -> Vec<u8> {
    [b"event: message\n", data_lines(message).as_slice(), b"\n"].concat()
}

fn data_lines(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 8);
    for line in text.split('\n') {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
    out
}

/// A message without the three characters that some clients take for the end of a line, where it has one: they can stand in texts
/// only, and mean the same when they are escaped.
fn escaped(data: &[u8]) -> Option<String> {
    const ENDS: [(&str, &str); 3] = [("\u{85}", "\\u0085"), ("\u{2028}", "\\u2028"), ("\u{2029}", "\\u2029")];
    let may_have = data.windows(2).any(|pair| matches!(pair, b"\xc2\x85" | b"\xe2\x80"));
    let text = may_have.then(|| std::str::from_utf8(data).ok())??;
    let has_one = ENDS.iter().any(|(end, _)| text.contains(end));
    has_one.then(|| ENDS.iter().fold(text.to_owned(), |text, (end, escape)| text.replace(end, escape)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "retry: 5\nid: 1\ndata:\n\n: hello\r\n\r\nevent: message\r\nid: 2\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\n\
         data: x\rid: 3\r\revent: endpoint\ndata: /m\n\nevent: ping\ndata\n\ndata:  y\n\n";

    fn read(text: &[u8], size: usize) -> Vec<StreamEvent> {
        let mut reader = EventReader::default();
        text.chunks(size).flat_map(|piece| reader.push(piece).unwrap()).collect()
    }

    #[test]
    fn mcp_5_events_are_the_same_in_any_pieces_and_keep_every_byte() {
        for size in 1..STREAM.len() {
            let events = read(STREAM.as_bytes(), size);
            let data: Vec<String> = events
                .iter()
                .map(|event| event.data().map_or("-".to_owned(), |data| String::from_utf8_lossy(&data).into_owned()))
                .collect();
            assert_eq!(data, ["", "-", "{\"a\":\n1}", "x", "/m", "", " y"], "pieces of {size}");
            let kinds: Vec<EventKind> = events.iter().map(StreamEvent::kind).collect();
            use EventKind::{Endpoint, Message, Other};
            assert_eq!(kinds, [Message, Message, Message, Message, Endpoint, Other, Message]);
            let ids: Vec<bool> = events.iter().map(StreamEvent::has_id).collect();
            assert_eq!(ids, [true, false, true, true, false, false, false]);
            assert_eq!(events.iter().filter_map(StreamEvent::id).collect::<Vec<_>>(), [b"1", b"2", b"3"]);
            let bytes: Vec<u8> = events.into_iter().flat_map(StreamEvent::into_raw).collect();
            assert_eq!(bytes, STREAM.as_bytes(), "pieces of {size}");
        }
    }

    /// The data of each event that ends, line by line as the standard says it.
    fn plainly(stream: &str) -> Vec<Option<String>> {
        let text = stream.replace("\r\n", "\n").replace('\r', "\n");
        let mut lines: Vec<&str> = text.split('\n').collect();
        // What has no end is no line.
        lines.pop();
        let (mut events, mut data): (Vec<Option<String>>, Option<String>) = (Vec::new(), None);
        for line in lines {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            if line.is_empty() {
                events.push(data.take());
            } else if name == "data" {
                let value = value.strip_prefix(' ').unwrap_or(value);
                data = Some(data.map_or_else(|| value.to_owned(), |known| format!("{known}\n{value}")));
            }
        }
        events
    }

    #[test]
    fn mcp_5_random_streams_are_read_as_the_standard_says_in_any_pieces() {
        const PARTS: [&str; 12] =
            ["data", ":", " ", "\n", "\r", "\r\n", "\n\n", "id: 1", "data: x", "event: endpoint", "é", "\r\r"];
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..3_000 {
            let mut stream = String::new();
            for _ in 0..12 {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                stream.push_str(PARTS[usize::try_from(seed % 12).unwrap()]);
            }
            for size in [1, 2, 3, 1_000] {
                let events = events_in(stream.as_bytes(), size).unwrap();
                let raw: Vec<u8> = events.iter().flat_map(|event| event.raw.clone()).collect();
                assert!(stream.as_bytes().starts_with(&raw), "{stream:?} in pieces of {size}");
                let data = events.into_iter().map(|event| event.data.map(|data| String::from_utf8(data).unwrap()));
                assert_eq!(data.collect::<Vec<_>>(), plainly(&stream), "{stream:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn mcp_5_a_changed_event_keeps_its_other_lines_and_one_that_is_left_out_its_id() {
        let event = &read(STREAM.as_bytes(), 7)[2];
        let changed = event.clone().rendered(Said::Changed("{\"b\":2}".to_owned()));
        assert_eq!(changed, b"event: message\r\nid: 2\r\ndata: {\"b\":2}\n\r\n");
        assert_eq!(event.clone().rendered(Said::Nothing), b"event: message\r\nid: 2\r\n\r\n");
        assert_eq!(event.clone().rendered(Said::AsItCame), event.raw);
        assert_eq!(event_of("{}"), b"event: message\ndata: {}\n\n");
    }

    #[test]
    fn mcp_5_what_some_clients_take_for_a_line_end_is_escaped_and_nothing_else_is() {
        let hidden = "data: {\"a\":\"\u{2028}\u{2028}data: {}\u{85}\u{2029}\"}\n\n";
        let event = read(hidden.as_bytes(), 5).remove(0);
        let sent = String::from_utf8(event.rendered(Said::AsItCame)).unwrap();
        assert_eq!(sent, "data: {\"a\":\"\\u2028\\u2028data: {}\\u0085\\u2029\"}\n\n");
        let plain = "data: {\"a\":\"ü … “x”\"}\n\n";
        assert_eq!(read(plain.as_bytes(), 5).remove(0).rendered(Said::AsItCame), plain.as_bytes());
    }

    #[test]
    fn mcp_5_a_stream_that_clients_read_in_different_ways_is_refused() {
        let mut reader = EventReader::default();
        assert_eq!(reader.push("\u{feff}data: x\n".as_bytes()), Err(EventFault::ByteOrderMark));
        let mut reader = EventReader::default();
        reader.push(b"data: ").unwrap();
        let piece = vec![b'x'; EVENT_BYTES_MAX / 8];
        let fault = (0..9).find_map(|_| reader.push(&piece).err());
        assert_eq!(fault, Some(EventFault::TooLarge));
        assert!(reader.waiting() > EVENT_BYTES_MAX);
    }
}
