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
    let mut found: Vec<SecretSpan> = Vec::new();
    let mut at = 0;
    // Where the option or name began in which `at` stands.
    let mut run = 0;
    while let Some(&byte) = bytes.get(at) {
        let next = at.saturating_add(1);
        let span = match KINDS[usize::from(byte)] {
            ByteKind::Dull => {
                (at, run) = (next, next);
                continue;
            }
            ByteKind::Word => match at_word(text, at, byte) {
                Some(span) => Some(span),
                None => {
                    at = rest_of_word(text, next, &mut found);
                    continue;
                }
            },
            ByteKind::Sign => at_sign(text, at, byte, run),
        };
        if !is_of_word(byte) && !matches!(byte, b'-' | b'.') {
            run = next;
        }
        at = match span {
            Some(span) => {
                let end = span.range.end.max(next);
                found.push(span);
                end
            }
            None if byte == placeholder::FIRST_BYTE => at.saturating_add(placeholder::length_at(text, at).unwrap_or(1)),
            None => next,
        };
    }
    found
}

/// What begins where a word begins.
fn at_word(text: &str, at: usize, byte: u8) -> Option<SecretSpan> {
    let key = key_at(text.as_bytes(), at, WordPlace::Begin);
    key.or_else(|| structured::at(text, at, byte))
}

/// What begins at a sign; `run` is where the option or name before it began.
fn at_sign(text: &str, at: usize, byte: u8, run: usize) -> Option<SecretSpan> {
    let is_option = text.as_bytes().get(run) == Some(&b'-');
    let key = key_at(text.as_bytes(), at, WordPlace::Begin).or_else(|| structured::at(text, at, byte));
    key.or_else(|| if byte != b' ' || is_option { assignment::at(text, at, byte) } else { None })
}

/// Passes over the rest of a word, where only few forms begin; gives the place behind it, or behind the key that was found.
fn rest_of_word(text: &str, from: usize, found: &mut Vec<SecretSpan>) -> usize {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(&byte) = bytes.get(at)
        && is_of_word(byte)
    {
        let is_key = shapes::has_first(byte) && three_at(bytes, at).is_some_and(shapes::is_unmistakable_beginning);
        // The number of a bot may stand behind `/bot`.
        let is_link = byte == b'h' && bytes.get(at.saturating_add(1)) == Some(&b't');
        let is_structured =
            is_link || (byte.is_ascii_digit() && text.as_bytes().get(at.wrapping_sub(1)) == Some(&b't'));
        if is_key || is_structured {
            let key = if is_key { key_at(bytes, at, WordPlace::Within) } else { None };
            let span = key.or_else(|| if is_structured { structured::at(text, at, byte) } else { None });
            if let Some(span) = span {
                let end = span.range.end.max(at.saturating_add(1));
                found.push(span);
                return end;
            }
        }
        at = at.saturating_add(1);
    }
    at
}

#[inline]
fn three_at(bytes: &[u8], at: usize) -> Option<[u8; 3]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Where in a word a key may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordPlace {
    Begin,
    Within,
}

/// The longest key whose form begins here.
#[inline]
fn key_at(bytes: &[u8], at: usize, place: WordPlace) -> Option<SecretSpan> {
    let three = three_at(bytes, at)?;
    if shapes::is_beginning(three) { longest_key(bytes, at, three, place) } else { None }
}

fn longest_key(bytes: &[u8], at: usize, [first, second, _]: [u8; 3], place: WordPlace) -> Option<SecretSpan> {
    // A sign before it may also belong to a word; so may the end of a key before it.
    let is_within = |before: u8| place == WordPlace::Within || is_of_word(before);
    let is_free = at.checked_sub(1).and_then(|before| bytes.get(before)).is_none_or(|before| !is_within(*before));
    let candidates = shapes::starting_with(first).iter().filter(|shape| shape.start.as_bytes().get(1) == Some(&second));
    let candidates = candidates.filter(|shape| is_free || shape.start.len() >= shapes::UNMISTAKABLE);
    let ends = candidates.filter_map(|shape| Some((shape.end_of(bytes, at)?, shape.kind)));
    ends.max_by_key(|(end, _)| *end).map(|(end, kind)| SecretSpan { range: at..end, kind })
}

/// What a byte may be the beginning of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteKind {
    /// A word: letters, digits, `_`.
    Word,
    /// A sign with which a form begins, or which has to be looked at for another reason.
    Sign,
    /// Nothing: most signs of JSON and of programs.
    Dull,
}

#[inline]
fn is_of_word(byte: u8) -> bool {
    KINDS[usize::from(byte)] == ByteKind::Word
}

/// The kind of each byte, worked out once when the program is compiled.
static KINDS: [ByteKind; 256] = {
    let mut kinds = [ByteKind::Dull; 256];
    let mut byte = 0_u8;
    loop {
        kinds[byte as usize] = if byte.is_ascii_alphanumeric() || byte == b'_' {
            ByteKind::Word
        } else if matches!(byte, b'-' | b'.' | b':' | b'=' | b' ' | placeholder::FIRST_BYTE) || shapes::has_first(byte)
        {
            ByteKind::Sign
        } else {
            ByteKind::Dull
        };
        if byte == u8::MAX {
            break;
        }
        byte += 1;
    }
    kinds
};
