//! Edits of a body that keep every other byte.

use std::ops::Range;

/// A piece of a body and what stands there instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The bytes that are replaced; an empty range inserts.
    pub range: Range<usize>,
    /// What is put there.
    pub text: String,
}

/// Carries edits out. They do not overlap, because each belongs to a field of its own.
pub(super) fn apply(body: &[u8], mut edits: Vec<Edit>) -> Vec<u8> {
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut out = Vec::with_capacity(body.len() + 64);
    let mut at = 0;
    for edit in edits {
        out.extend_from_slice(body.get(at..edit.range.start).unwrap_or_default());
        out.extend_from_slice(edit.text.as_bytes());
        at = edit.range.end.max(at);
    }
    out.extend_from_slice(body.get(at..).unwrap_or_default());
    out
}
