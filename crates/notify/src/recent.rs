//! What was sent lately: the same message is not sent twice in a row of minutes, and a storm of different ones is thinned out.

use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tripwire_fs::file;
use tripwire_fs::lock::{FileLock, Wait};

/// Within this time a message of the same words is not sent again.
const SAME_MS: u64 = 10 * 60_000;
/// The span in which messages are counted, and how many of one session are sent in it.
const SPAN_MS: u64 = 60_000;
const IN_SPAN_MAX: usize = 6;
/// How long another process may take to note its own.
const LOCKED_WITHIN: Duration = Duration::from_secs(2);
/// More bytes than the notes of one span and one repetition time have.
const BYTES_MAX: u64 = 64 << 10;

/// Whether a message is sent, and how many were left out since the last one that was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passage {
    /// It is sent.
    Send {
        /// Messages that were left out before it.
        left_out: usize,
    },
    /// It was sent a moment ago.
    Same,
    /// Too many were sent in a minute.
    TooMany,
}

/// The notes of one session's messages in the person's state folder.
#[derive(Debug)]
pub(crate) struct Recent(PathBuf);

/// One message that was looked at.
struct Sent {
    at_ms: u64,
    digest: String,
    was_sent: bool,
}

impl Recent {
    /// The notes of a session.
    pub(crate) fn of_session(state: &Path, session: &str) -> Self {
        let plain: String = session.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-').collect();
        Self(state.join("tripwire").join("notified").join(plain))
    }

    /// Looks whether a message is sent now, and notes it. Notes that cannot be read or written keep nothing back.
    pub(crate) fn pass(&self, text: &str, now_ms: u64) -> Passage {
        let _lock = self.lock();
        let mut sent = self.read(now_ms);
        let digest: String = Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let in_span = sent.iter().filter(|sent| sent.was_sent && now_ms.saturating_sub(sent.at_ms) < SPAN_MS).count();
        let passage = if sent.iter().any(|sent| sent.digest == digest && sent.was_sent) {
            Passage::Same
        } else if in_span >= IN_SPAN_MAX {
            Passage::TooMany
        } else {
            Passage::Send { left_out: sent.iter().rev().take_while(|sent| !sent.was_sent).count() }
        };
        if passage != Passage::Same {
            sent.push(Sent { at_ms: now_ms, digest, was_sent: matches!(passage, Passage::Send { .. }) });
            self.write(&sent);
        }
        passage
    }

    fn lock(&self) -> Option<FileLock> {
        file::make_folder(self.0.parent()?).ok()?;
        FileLock::take(&self.0.with_extension("lock"), Wait::Until(Instant::now() + LOCKED_WITHIN)).ok()
    }

    fn read(&self, now_ms: u64) -> Vec<Sent> {
        let bytes = file::read_bounded(&self.0, BYTES_MAX).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let entry = |line: &str| {
            let mut words = line.split(' ');
            let at_ms = words.next()?.parse().ok()?;
            Some(Sent { at_ms, digest: words.next()?.to_owned(), was_sent: words.next()? == "sent" })
        };
        text.lines().filter_map(entry).filter(|sent: &Sent| now_ms.saturating_sub(sent.at_ms) < SAME_MS).collect()
    }

    fn write(&self, sent: &[Sent]) {
        let line =
            |sent: &Sent| format!("{} {} {}\n", sent.at_ms, sent.digest, if sent.was_sent { "sent" } else { "left" });
        let text: String = sent.iter().map(line).collect();
        file::write_unsynced(&self.0, text.as_bytes()).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_message_is_sent_once_and_again_after_a_while() {
        let state = tempfile::tempdir().unwrap();
        let recent = Recent::of_session(state.path(), "auto-1/../x");
        assert_eq!(recent.pass("held", 1_000), Passage::Send { left_out: 0 });
        assert_eq!(recent.pass("held", 2_000), Passage::Same);
        assert_eq!(recent.pass("stopped", 3_000), Passage::Send { left_out: 0 });
        assert_eq!(recent.pass("held", 1_000 + SAME_MS), Passage::Send { left_out: 0 });
        assert_eq!(
            std::fs::read_dir(state.path().join("tripwire/notified")).unwrap().count(),
            2,
            "it stays in its folder"
        );
    }

    #[test]
    fn a_storm_of_messages_is_thinned_out_and_what_was_left_out_is_counted() {
        let state = tempfile::tempdir().unwrap();
        let recent = Recent::of_session(state.path(), "auto-1");
        let sent =
            (0..20).filter(|n| matches!(recent.pass(&format!("message {n}"), 1_000 + n), Passage::Send { .. })).count();
        assert_eq!(sent, IN_SPAN_MAX);
        assert_eq!(recent.pass("later", 2_000 + SPAN_MS), Passage::Send { left_out: 14 });
        assert_eq!(Recent::of_session(state.path(), "auto-2").pass("message 19", 1_100), Passage::Send { left_out: 0 });
    }
}
