//! What is appended, under which conditions, and what became of it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::IgnoredAny;
use tripwire_core::record::chain::Digest;

use crate::blob;
use crate::error::JournalError;
use crate::head::Place;
use crate::limits::{DURATION_NAME_BYTES_MAX, DURATIONS_MAX, LOCK_WAIT, SEGMENT_BYTES};

/// What a journal needs to know about its surroundings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The machine's name, noted outside the hash of each record.
    pub host: String,
    /// A segment that has reached this size is followed by a new one; at most eight megabytes.
    pub segment_bytes: u64,
    /// How long to wait for another process before giving up.
    pub lock_wait: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { host: String::new(), segment_bytes: SEGMENT_BYTES, lock_wait: LOCK_WAIT }
    }
}

/// A record to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'body> {
    /// Canonical JSON text; the journal does not look into it.
    pub body: Cow<'body, str>,
    /// How long things took, outside the hash.
    pub durations_ms: BTreeMap<String, u64>,
    /// The wall clock in milliseconds since 1970, outside the hash.
    pub wall_ms: u64,
}

impl Entry<'_> {
    /// A line must stay one line, and `jq` must be able to read it for ever.
    pub(crate) fn check(&self) -> Result<(), String> {
        // Without an early end, so that it takes many bytes at a time.
        if self.body.bytes().fold(false, |found, byte| found | (byte < 0x20)) {
            return Err("the body holds a control character, so it is not canonical JSON".to_owned());
        }
        if self.body.starts_with(blob::POINTER_PREFIX) {
            return Err(format!("a body may not begin with `{}`", blob::POINTER_PREFIX));
        }
        let is_plain = |name: &String| {
            name.len() <= DURATION_NAME_BYTES_MAX
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        if self.durations_ms.len() > DURATIONS_MAX || !self.durations_ms.keys().all(is_plain) {
            return Err(format!(
                "more than {DURATIONS_MAX} durations, or a name that is not a plain word of at most {DURATION_NAME_BYTES_MAX} bytes"
            ));
        }
        serde_json::from_str::<IgnoredAny>(&self.body)
            .map(|_valid| ())
            .map_err(|error| format!("the body is not JSON: {error}"))
    }
}

/// Records that are written together or, after a crash, as a prefix of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch<'body> {
    /// The records, in order.
    pub entries: Vec<Entry<'body>>,
    /// Whether consequences follow.
    pub durability: Durability,
    /// If set, the batch is written only if exactly this many records are there: a writer that decided on an older state
    /// gets [`Append::Fenced`] instead of being appended behind what it has not seen.
    pub after: Option<u64>,
}

/// When a record must be on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// With the next synced batch: a power cut may lose it, the end of the process does not.
    Grouped,
    /// Before the call returns, together with everything before it.
    Synced,
}

/// What became of a batch.
#[derive(Debug)]
#[must_use = "only an acknowledged batch may have consequences"]
pub enum Append {
    /// It is in the journal.
    Ack(Ack),
    /// Nothing was written: another writer was here first.
    Fenced(Fenced),
    /// It may or may not be in the journal, and this handle is poisoned. Opening the journal again decides.
    Unknown(JournalError),
}

/// An acknowledged batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// The index of its first record.
    pub first: u64,
    /// The place behind its last record.
    pub place: Place,
}

impl Ack {
    /// The hash of the batch's last record.
    #[must_use]
    pub const fn hash(&self) -> Digest {
        self.place.tail.hash
    }
}

/// A batch that was decided on an older state of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fenced {
    /// How many records the writer knew.
    pub expected: u64,
    /// How many there are.
    pub found: u64,
}
