//! Keeps a stream whole: what goes to the client ends where an event ends, so that a cut never lands inside one.
//!
//! No byte is changed. The beginning of an event waits for its end, which no client would read before either; an event that is
//! longer than [`PARTIAL_BYTES_MAX`] goes on in pieces.

use crate::limits::PARTIAL_BYTES_MAX;
use bytes::{Bytes, BytesMut};

/// The edge between what has been passed on and what waits.
#[derive(Debug, Default)]
pub(crate) struct EventEdge {
    partial: BytesMut,
    end: CopyEnd,
}

/// Where the client's copy ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum CopyEnd {
    /// Between two events.
    #[default]
    Between,
    /// Inside one that was too long to wait.
    Inside,
}

impl EventEdge {
    /// Takes the next bytes and gives those that may go on; they may be none.
    pub(crate) fn pass(&mut self, data: Bytes) -> Bytes {
        if self.partial.is_empty() && ends_event(&data) {
            self.end = CopyEnd::Between;
            return data;
        }
        self.partial.extend_from_slice(&data);
        // The end of an event may lie across the edge of two pieces, by three bytes at most.
        let old = self.partial.len().saturating_sub(data.len() + 3);
        let end = last_end(self.partial.get(old..).unwrap_or_default()).map(|end| old + end);
        match end {
            Some(end) => {
                self.end = CopyEnd::Between;
                self.partial.split_to(end).freeze()
            }
            None if self.partial.len() > PARTIAL_BYTES_MAX => {
                self.end = CopyEnd::Inside;
                self.rest()
            }
            None => Bytes::new(),
        }
    }

    /// What waits, because nothing follows it.
    pub(crate) fn rest(&mut self) -> Bytes {
        self.partial.split().freeze()
    }

    /// Whether the client's copy ends between two events.
    pub(crate) fn is_clean(&self) -> bool {
        self.end == CopyEnd::Between
    }
}

/// Behind the last event that is whole.
fn last_end(bytes: &[u8]) -> Option<usize> {
    (1..=bytes.len()).rev().find(|end| bytes.get(..*end).is_some_and(ends_event))
}

/// Whether an empty line ends here. Lines end with LF, CR LF or CR.
fn ends_event(bytes: &[u8]) -> bool {
    bytes.ends_with(b"\n\n") || bytes.ends_with(b"\n\r\n") || bytes.ends_with(b"\r\r")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(edge: &mut EventEdge, text: &str) -> String {
        String::from_utf8(edge.pass(Bytes::copy_from_slice(text.as_bytes())).to_vec()).unwrap()
    }

    #[test]
    fn gate_8_whole_events_go_on_and_the_beginning_of_one_waits() {
        let mut edge = EventEdge::default();
        assert_eq!(passed(&mut edge, "data: a\n\n"), "data: a\n\n");
        assert_eq!(passed(&mut edge, "data: b\n\nda"), "data: b\n\n");
        assert_eq!(passed(&mut edge, "ta: c\n"), "");
        assert!(edge.is_clean());
        assert_eq!(passed(&mut edge, "\ndata: d\n\n"), "data: c\n\ndata: d\n\n");
        assert_eq!(passed(&mut edge, "data: e\r\n\r"), "");
        assert_eq!(passed(&mut edge, "\n: ping\r\n"), "data: e\r\n\r\n");
        assert_eq!(edge.rest(), ": ping\r\n");
    }

    #[test]
    fn gate_8_every_byte_goes_on_once_in_any_pieces_and_a_cut_is_always_between_events() {
        let stream =
            "event: a\ndata: {\"x\": 1}\n\n\r\ndata: b\r\n\r\n: ping\n\ndata: ö\rdata: c\r\rdata: [DONE]\n\n\n";
        let bytes = stream.as_bytes();
        for size in 1..bytes.len() {
            let (mut edge, mut all) = (EventEdge::default(), Vec::new());
            for piece in bytes.chunks(size) {
                all.extend_from_slice(&edge.pass(Bytes::copy_from_slice(piece)));
                assert!(all.is_empty() || ends_event(&all), "pieces of {size}");
            }
            all.extend_from_slice(&edge.rest());
            assert_eq!(all, bytes, "pieces of {size}");
        }
    }

    #[test]
    fn gate_8_an_event_without_end_does_not_wait_for_ever() {
        let mut edge = EventEdge::default();
        let piece = "x".repeat(PARTIAL_BYTES_MAX / 4);
        let passed: usize = (0..6).map(|_| passed(&mut edge, &piece).len()).sum();
        assert!(passed > PARTIAL_BYTES_MAX);
        assert!(!edge.is_clean(), "a cut now would land inside it");
        assert!(!self::passed(&mut edge, "\n\n").is_empty());
        assert!(edge.is_clean());
    }
}
