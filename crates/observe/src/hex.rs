//! Hexadecimal digits of what an observer remembers: thousands of them, written and read at every result of a hook.

use alloc::string::String;

/// Appends the digits of some bytes, two for each.
pub(crate) fn push(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 0xf));
    }
}

fn digit(nibble: u8) -> char {
    char::from(if nibble < 10 { b'0'.wrapping_add(nibble) } else { b'a'.wrapping_add(nibble).wrapping_sub(10) })
}

/// The number that these digits are, at most sixteen.
pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    let value = |digit: &u8| char::from(*digit).to_digit(16);
    let digits = Some(digits).filter(|digits| (1..=16).contains(&digits.len()))?;
    digits.iter().try_fold(0_u64, |number, digit| Some((number << 4) | u64::from(value(digit)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn numbers_are_written_as_the_language_writes_them_and_read_back() {
        for number in [0, 1, 0xff, 0x0123_4567_89ab_cdef, u64::MAX] {
            let mut text = String::new();
            push(&mut text, &number.to_be_bytes());
            assert_eq!(text, format!("{number:016x}"));
            assert_eq!(super::number(text.as_bytes()), Some(number));
        }
        let mut text = String::new();
        push(&mut text, &0xbeef_u32.to_be_bytes());
        assert_eq!((text.as_str(), super::number(text.as_bytes())), ("0000beef", Some(0xbeef)));
        for bad in ["", "g", "-1", "00000000000000000"] {
            assert_eq!(super::number(bad.as_bytes()), None, "{bad}");
        }
    }
}
