//! The names of a journal's files.

/// In `.geometry/`: the journals, one folder per session.
pub const JOURNAL: &str = "journal";
/// In `.geometry/`: contents too large for a journal's line, shared by all sessions.
pub const BLOBS: &str = "blobs";
/// In `.geometry/`: the ledger of model calls, a journal of its own.
pub const LEDGER: &str = "ledger";
/// Beside a journal's segments: what of them is durable.
pub(crate) const HEAD: &str = "HEAD";
/// Beside a journal's segments: the folder of its signed checkpoints.
pub(crate) const CHECKPOINTS: &str = "checkpoints";
/// How a segment's name ends.
pub(crate) const SEGMENT_SUFFIX: &str = ".jsonl";
/// How a checkpoint's name ends.
pub(crate) const NOTE_SUFFIX: &str = ".note";

/// The name of a journal's segment, counted from 1.
#[must_use]
pub fn segment(number: u64) -> String {
    format!("{number:08}{SEGMENT_SUFFIX}")
}

/// The name of the checkpoint over so many records.
pub(crate) fn note(size: u64) -> String {
    format!("{size:016}{NOTE_SUFFIX}")
}
