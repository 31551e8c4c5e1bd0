//! Reading what a command prints: the first bytes are kept up to a cap, the rest is counted.

use std::os::fd::OwnedFd;
use std::thread::{self, JoinHandle};

use crate::outcome::Captured;
use crate::spec::Bytes;
use crate::sys;

const BUFFER_BYTES: usize = 64 * 1024;

/// A stream being read until its last writer is gone.
#[derive(Debug)]
pub(crate) struct Capture(JoinHandle<Captured>);

impl Capture {
    /// Starts reading. The pipe is always drained, so that a command never waits for a full cap.
    pub(crate) fn start(pipe: OwnedFd, cap: Bytes) -> Self {
        Self(thread::spawn(move || {
            drain(&pipe, usize::try_from(cap.0).unwrap_or(usize::MAX))
        }))
    }

    /// What was read. All writers must be gone.
    pub(crate) fn finish(self) -> Captured {
        self.0.join().unwrap_or_default()
    }
}

fn drain(pipe: &OwnedFd, cap: usize) -> Captured {
    let mut captured = Captured::default();
    let mut buffer = vec![0_u8; BUFFER_BYTES];
    while let Ok(count @ 1..) = sys::read_some(pipe, &mut buffer) {
        let room = cap.saturating_sub(captured.bytes.len()).min(count);
        captured
            .bytes
            .extend_from_slice(buffer.get(..room).unwrap_or_default());
        captured.total += count as u64;
    }
    captured
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(text: &[u8], cap: u64) -> Captured {
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        let capture = Capture::start(reader, Bytes(cap));
        let mut rest = text;
        while !rest.is_empty() {
            let count = rustix::io::write(&writer, rest).expect("write");
            rest = &rest[count..];
        }
        drop(writer);
        capture.finish()
    }

    #[test]
    fn box_3_short_output_is_kept_whole() {
        let captured = capture(b"hello", 100);
        assert_eq!(
            (
                captured.bytes.as_slice(),
                captured.total,
                captured.truncated()
            ),
            (b"hello".as_slice(), 5, false)
        );
    }

    #[test]
    fn box_3_long_output_is_cut_at_the_cap_and_counted_in_full() {
        let captured = capture(&vec![b'x'; 300_000], 1_000);
        assert_eq!(
            (captured.bytes.len(), captured.total, captured.truncated()),
            (1_000, 300_000, true)
        );
    }
}
