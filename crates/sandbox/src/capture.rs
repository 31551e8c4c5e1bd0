//! Reading what a command prints: the first bytes are kept up to a cap, the rest is counted.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::outcome::Captured;
use crate::spec::Bytes;
use crate::sys;

const BUFFER_BYTES: usize = 64 * 1024;

/// A stream being read until its last writer is gone.
#[derive(Debug)]
pub(crate) struct Capture {
    /// `None` once the last writer is gone.
    pipe: Option<OwnedFd>,
    cap: usize,
    captured: Captured,
    buffer: Vec<u8>,
}

impl Capture {
    pub(crate) fn new(pipe: OwnedFd, cap: Bytes) -> Self {
        let cap = usize::try_from(cap.0).unwrap_or(usize::MAX);
        Self { pipe: Some(pipe), cap, captured: Captured::default(), buffer: Vec::new() }
    }

    /// The pipe, as long as somebody may write to it.
    pub(crate) fn waiting(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// One read. The pipe is always emptied, so that a command never waits for a full cap.
    pub(crate) fn read_once(&mut self) {
        let Some(pipe) = &self.pipe else {
            return;
        };
        self.buffer.clear();
        self.buffer.reserve(BUFFER_BYTES);
        match sys::append_some(pipe, &mut self.buffer) {
            Ok(count @ 1..) => {
                let room = self.cap.saturating_sub(self.captured.bytes.len()).min(count);
                let kept = self.buffer.get(..room).unwrap_or_default();
                self.captured.bytes.extend_from_slice(kept);
                self.captured.total += count as u64;
            }
            Ok(0) | Err(_) => self.pipe = None,
        }
    }

    /// Everything that was written. All writers must be gone.
    pub(crate) fn finish(mut self) -> Captured {
        while self.pipe.is_some() {
            self.read_once();
        }
        self.captured
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn capture(text: &[u8], cap: u64) -> Captured {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let text = text.to_vec();
        let writing = std::thread::spawn(move || {
            let mut writer = writer;
            writer.write_all(&text).expect("write");
        });
        let captured = Capture::new(reader.into(), Bytes(cap)).finish();
        writing.join().expect("the writer ends");
        captured
    }

    #[test]
    fn box_3_short_output_is_kept_whole() {
        let captured = capture(b"hello", 100);
        assert_eq!((captured.bytes.as_slice(), captured.total, captured.truncated()), (b"hello".as_slice(), 5, false));
    }

    #[test]
    fn box_3_long_output_is_cut_at_the_cap_and_counted_in_full() {
        let captured = capture(&vec![b'x'; 300_000], 1_000);
        assert_eq!((captured.bytes.len(), captured.total, captured.truncated()), (1_000, 300_000, true));
    }
}
