//! Takes the usage chunk out of a Chat Completions stream again, for a client that did not ask for it.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The longest event that is held back until it is whole.
const EVENT_BYTES_MAX: usize = 1 << 20;

/// Passes a stream on, event by event. Every byte is looked at once, however the stream is cut.
#[derive(Debug, Default)]
pub struct UsageChunkFilter {
    /// The beginning of an event that has not ended.
    held: Vec<u8>,
    /// How much of it was looked at.
    looked: usize,
    /// Where in it the last line begins.
    line: usize,
}

impl UsageChunkFilter {
    /// Takes bytes and gives those that go on to the client.
    pub fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let mut out = Vec::with_capacity(bytes.len());
        let mut begin = 0;
        while let Some(end) = self.next_end() {
            let event = self.held.get(begin..end).unwrap_or_default();
            if !is_usage_chunk(event) {
                out.extend_from_slice(event);
            }
            begin = end;
        }
        self.held.drain(..begin);
        self.looked -= begin;
        self.line -= begin;
        if self.held.len() > EVENT_BYTES_MAX {
            out.append(&mut self.rest());
        }
        out
    }

    /// What is left when nothing more comes.
    pub fn rest(&mut self) -> Vec<u8> {
        (self.looked, self.line) = (0, 0);
        std::mem::take(&mut self.held)
    }

    /// Where the next event ends: behind an empty line.
    fn next_end(&mut self) -> Option<usize> {
        while let Some(byte) = self.held.get(self.looked) {
            let next = match byte {
                b'\n' => self.looked + 1,
                b'\r' => match self.held.get(self.looked + 1) {
                    Some(b'\n') => self.looked + 2,
                    Some(_) => self.looked + 1,
                    // Whether a line feed follows is not known yet.
                    None => return None,
                },
                _ => {
                    self.looked += 1;
                    continue;
                }
            };
            let is_empty = self.looked == self.line;
            (self.looked, self.line) = (next, next);
            if is_empty {
                return Some(next);
            }
        }
        None
    }
}

#[derive(Deserialize)]
struct Chunk {
    choices: Vec<IgnoredAny>,
    usage: Option<IgnoredAny>,
}

fn is_usage_chunk(event: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(event) else { return false };
    let mut data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let (Some(first), None) = (data.next(), data.next()) else { return false };
    serde_json::from_str::<Chunk>(first.trim()).is_ok_and(|chunk| chunk.choices.is_empty() && chunk.usage.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}],\"usage\":null}\n\n: ping\r\n\r\n";
    const USAGE: &str = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n";
    const AFTER: &str = "data: [DONE]\n\n";

    #[test]
    fn the_usage_chunk_is_taken_out_however_the_bytes_are_cut_and_nothing_else() {
        let whole = format!("{BEFORE}{USAGE}{AFTER}half");
        for size in 1..whole.len() {
            let mut filter = UsageChunkFilter::default();
            let mut out = Vec::new();
            for piece in whole.as_bytes().chunks(size) {
                out.extend(filter.pass(piece));
            }
            out.extend(filter.rest());
            assert_eq!(String::from_utf8(out).unwrap(), format!("{BEFORE}{AFTER}half"), "in pieces of {size}");
        }
    }

    #[test]
    fn gate_8_each_byte_is_looked_at_once_in_many_tiny_events_and_in_a_long_one_byte_by_byte() {
        // With a walk from the beginning for each event or each piece, either of them would take minutes.
        let blank = "\n".repeat(3 << 20);
        let mut filter = UsageChunkFilter::default();
        assert!(filter.pass(blank.as_bytes()) == blank.as_bytes(), "every byte goes on");
        assert_eq!((filter.looked, filter.held.len()), (0, 0));
        let long = format!("data: {}", "x".repeat(EVENT_BYTES_MAX - 100));
        let mut out = Vec::new();
        for (number, byte) in long.bytes().enumerate() {
            out.extend(filter.pass(&[byte]));
            assert_eq!(filter.looked, number + 1, "nothing is looked at again");
        }
        out.extend(filter.pass(format!("\n\n{USAGE}{AFTER}").as_bytes()));
        assert!(out == format!("{long}\n\n{AFTER}").as_bytes(), "every byte goes on but the usage chunk");
    }
}
