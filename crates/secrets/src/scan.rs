//! All places in a text that look like secrets as they are written.

use crate::assignment;
use crate::placeholder;
use crate::shapes;
use crate::span::SecretSpan;
use crate::structured;
use alloc::vec::Vec;

/// The secrets in a text by their form, without a look into encoded parts.
pub(crate) fn plain(text: &str) -> Vec<SecretSpan> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let Some(&byte) = bytes.get(at) else { break };
        if byte == placeholder::FIRST_BYTE
            && let Some(length) = placeholder::length_at(text, at)
        {
            at = at.saturating_add(length);
            continue;
        }
        let here = key_at(bytes, at);
        let here = here.or_else(|| structured::at(text, at, byte)).or_else(|| assignment::at(text, at, byte));
        match here {
            Some(span) => {
                at = span.range.end.max(at.saturating_add(1));
                found.push(span);
            }
            None => at = at.saturating_add(1),
        }
    }
    found
}

/// A beginning so long means a key even in the middle of a word.
const UNMISTAKABLE: usize = 6;

/// The longest key whose form begins here.
fn key_at(bytes: &[u8], at: usize) -> Option<SecretSpan> {
    let (first, second) = (*bytes.get(at)?, *bytes.get(at.checked_add(1)?)?);
    if !shapes::is_beginning(first, second) {
        return None;
    }
    let begins_word = !at.checked_sub(1).and_then(|before| bytes.get(before)).is_some_and(|before| is_of_word(*before));
    let candidates = shapes::starting_with(first).iter();
    let candidates = candidates.filter(|shape| begins_word || shape.start.len() >= UNMISTAKABLE);
    let ends = candidates.filter_map(|shape| Some((shape.end_of(bytes, at)?, shape.kind)));
    ends.max_by_key(|(end, _)| *end).map(|(end, kind)| SecretSpan { range: at..end, kind })
}

const fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
