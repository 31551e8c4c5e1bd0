//! Replay parity: one running SHA-256 over all journaled events, and a second one over all decisions.
//!
//! Each record is hashed as its canonical text followed by a line feed. Canonical JSON holds no raw line feed, so the
//! framing is unambiguous, and a person can check the figure with `sha256sum` over a file with one record a line. A
//! text that does hold one is not canonical; it is framed by a byte that UTF-8 never uses and its length, so that even
//! then two different sequences never hash alike.

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::chain::Digest;

/// The two running hashes of a run.
#[derive(Debug, Clone, Default)]
pub struct Parity {
    events: Running,
    decisions: Running,
}

impl Parity {
    /// Starts with nothing seen.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next event's canonical text.
    pub fn push_event(&mut self, canonical: &str) {
        self.events.push(canonical);
    }

    /// Takes the next decision's canonical text.
    pub fn push_decision(&mut self, canonical: &str) {
        self.decisions.push(canonical);
    }

    /// How many events were taken so far.
    #[must_use]
    pub const fn events(&self) -> u64 {
        self.events.count
    }

    /// How many decisions were taken so far.
    #[must_use]
    pub const fn decisions(&self) -> u64 {
        self.decisions.count
    }

    /// Both counts and digests; two runs are equal exactly if these are.
    #[must_use]
    pub fn finish(self) -> ParityDigests {
        ParityDigests { decisions: self.decisions.finish(), events: self.events.finish() }
    }
}

/// What a run comes down to when it is compared with its replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ParityDigests {
    /// Over the canonical text of every decision.
    pub decisions: CountedDigest,
    /// Over the canonical text of every event.
    pub events: CountedDigest,
}

/// A digest together with how many records it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CountedDigest {
    /// How many records were hashed.
    pub count: u64,
    /// SHA-256 over them.
    pub sha256: Digest,
}

#[derive(Debug, Clone, Default)]
struct Running {
    count: u64,
    hasher: Sha256,
}

impl Running {
    fn push(&mut self, canonical: &str) {
        self.count = self.count.saturating_add(1);
        if canonical.as_bytes().contains(&b'\n') {
            let length = u64::try_from(canonical.len()).unwrap_or(u64::MAX);
            self.hasher.update([NEVER_IN_UTF8]);
            self.hasher.update(length.to_be_bytes());
        }
        self.hasher.update(canonical.as_bytes());
        self.hasher.update(b"\n");
    }

    fn finish(self) -> CountedDigest {
        CountedDigest { count: self.count, sha256: Digest::from_bytes(self.hasher.finalize().into()) }
    }
}

const NEVER_IN_UTF8: u8 = 0xff;

#[cfg(test)]
mod tests {
    use super::*;

    fn events(texts: &[&str]) -> CountedDigest {
        let mut parity = Parity::new();
        for text in texts {
            parity.push_event(text);
        }
        parity.finish().events
    }

    #[test]
    fn replay_1_parity_is_the_sha256_of_the_lines() {
        let digest = events(&["{\"a\":1}", "[2]"]);
        assert_eq!(digest.count, 2);
        assert_eq!(digest.sha256, Digest::of(b"{\"a\":1}\n[2]\n"));
    }

    #[test]
    fn replay_1_events_and_decisions_are_counted_and_hashed_apart() {
        let mut parity = Parity::new();
        parity.push_event("1");
        parity.push_decision("2");
        parity.push_decision("3");
        assert_eq!((parity.events(), parity.decisions()), (1, 2));
        let digests = parity.finish();
        assert_eq!(digests.events.sha256, Digest::of(b"1\n"));
        assert_eq!(digests.decisions.sha256, Digest::of(b"2\n3\n"));
    }

    #[test]
    fn nothing_seen_is_the_digest_of_nothing() {
        let digests = Parity::new().finish();
        assert_eq!(digests.events.sha256, Digest::of(b""));
        assert_eq!(digests.events, digests.decisions);
    }

    #[test]
    fn framing_keeps_different_sequences_apart() {
        assert_ne!(events(&["a", "b"]).sha256, events(&["ab"]).sha256);
        assert_ne!(events(&["a", "b"]).sha256, events(&["b", "a"]).sha256);
        assert_ne!(events(&["a\nb"]).sha256, events(&["a", "b"]).sha256);
        assert_ne!(events(&["a\nb", "c"]), events(&["a", "b\nc"]));
        assert_ne!(events(&["", ""]), events(&["\n"]));
    }
}
