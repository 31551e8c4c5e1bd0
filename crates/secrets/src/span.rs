//! Where a secret stands in a text.

use alloc::vec::Vec;
use core::ops::Range;

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretSpan {
    /// Its bytes.
    pub range: Range<usize>,
    /// What it is: who gives such keys out, or how it was found.
    pub kind: &'static str,
}

/// Sorted; of those that overlap the first one is stretched over all of them, so that nothing of them is left.
pub(crate) fn in_order(mut found: Vec<SecretSpan>) -> Vec<SecretSpan> {
    found.sort_by_key(|span| (span.range.start, core::cmp::Reverse(span.range.end)));
    let mut ordered: Vec<SecretSpan> = Vec::with_capacity(found.len());
    for span in found {
        match ordered.last_mut() {
            Some(last) if span.range.start < last.range.end => last.range.end = last.range.end.max(span.range.end),
            _ => ordered.push(span),
        }
    }
    ordered
}
