//! Percent signs of URLs.

use alloc::string::String;
use alloc::vec::Vec;

/// A text with each `%41` replaced by what it stands for; nothing if a percent sign is followed by anything else, or the result
/// is no text.
#[must_use]
pub fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        // A sign before the digits is none of them.
        let digits = core::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gate_8_percent_signs_are_replaced_and_broken_ones_are_refused() {
        assert_eq!(decoded("a%20b%C3%B6%25").as_deref(), Some("a b\u{f6}%"));
        assert_eq!(decoded("").as_deref(), Some(""));
        for broken in ["%", "%4", "%zz", "%+1", "%ff"] {
            assert_eq!(decoded(broken), None, "{broken}");
        }
    }
}
