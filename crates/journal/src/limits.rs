//! The bounds of a journal and the relations between them.

use std::time::Duration;

use crate::blob::INLINE_BYTES_MAX;

/// A scan of one segment is what a missing `HEAD` costs; eight megabytes take some ten milliseconds.
pub(crate) const SEGMENT_BYTES: u64 = 8 << 20;

/// One write, and what a segment may exceed its limit by.
pub(crate) const BATCH_BYTES_MAX: usize = 4 << 20;

/// By default a hook answers within 25 seconds and keeps 20 of them for locks: this one, and up to 8 for its
/// client's notes. In a storm of hooks each holds the lock for milliseconds, so a longer wait means a fault.
pub(crate) const LOCK_WAIT: Duration = Duration::from_secs(10);

pub(crate) const HOST_BYTES_MAX: usize = 64;
pub(crate) const DURATIONS_MAX: usize = 16;
pub(crate) const DURATION_NAME_BYTES_MAX: usize = 32;

/// A line is a body or a pointer, and a bounded frame around it.
pub(crate) const LINE_BYTES_MAX: usize = INLINE_BYTES_MAX + 4096;
const _: () = assert!(LINE_BYTES_MAX < BATCH_BYTES_MAX, "a single record always fits a batch");

/// More than a segment can reach: its limit, and one batch that began below it.
pub(crate) const SEGMENT_READ_MAX: usize = 16 << 20;
const _: () = assert!(SEGMENT_READ_MAX as u64 > SEGMENT_BYTES + BATCH_BYTES_MAX as u64, "a segment fits a read");

/// What a reader takes at once: several lines, and always at least one.
pub(crate) const PIECE_BYTES: usize = 256 << 10;
const _: () = assert!(PIECE_BYTES > LINE_BYTES_MAX, "a line fits a piece");
