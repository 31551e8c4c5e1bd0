//! Takes the usage chunk out of a Chat Completions stream again, for a client that did not ask for it.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The longest event that is held back until it is whole.
const EVENT_BYTES_MAX: usize = 1 << 20;

/// Passes a stream on, event by event.
#[derive(Debug, Default)]
pub struct UsageChunkFilter {
    held: Vec<u8>,
}

impl UsageChunkFilter {
    /// Takes bytes and gives those that go on to the client.
    pub fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let mut out = Vec::with_capacity(self.held.len());
        while let Some(end) = event_end(&self.held) {
            let event: Vec<u8> = self.held.drain(..end).collect();
            if !is_usage_chunk(&event) {
                out.extend_from_slice(&event);
            }
        }
        if self.held.len() > EVENT_BYTES_MAX {
            out.append(&mut self.held);
        }
        out
    }

    /// What is left when nothing more comes.
    pub fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

/// Where the first event ends: behind an empty line.
fn event_end(bytes: &[u8]) -> Option<usize> {
    let mut line = 0;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let next = match byte {
            b'\n' => at + 1,
            b'\r' if bytes.get(at + 1) == Some(&b'\n') => at + 2,
            // Whether a line feed follows is not known yet.
            b'\r' if at + 1 == bytes.len() => return None,
            b'\r' => at + 1,
            _ => {
                at += 1;
                continue;
            }
        };
        if at == line {
            return Some(next);
        }
        line = next;
        at = next;
    }
    None
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
}
