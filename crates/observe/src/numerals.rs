//! Digits and words at the start of a slice of bytes.

/// Whether a byte belongs to a word.
pub(super) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// How many digits stand at the start.
pub(super) fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Whether no word goes on at `length`.
pub(super) fn ends_word(text: &[u8], length: usize) -> bool {
    text.get(length).is_none_or(|byte| !is_word(*byte))
}

/// `.123` or `,123`.
pub(super) fn fraction(text: &[u8]) -> usize {
    match text.split_first() {
        Some((b'.' | b',', places)) if digits(places) > 0 => digits(places).saturating_add(1),
        Some(_) | None => 0,
    }
}

/// The value of some digits.
pub(super) fn value(digits: &[u8]) -> u64 {
    digits.iter().fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit.wrapping_sub(b'0'))))
}

/// `12`, `3.21`, `3,21`, and nothing else.
pub(super) fn is_number(text: &[u8]) -> bool {
    let whole = digits(text);
    let rest = text.get(whole..).unwrap_or_default();
    whole > 0 && fraction(rest) == rest.len()
}
