//! Integers as decimal text, refused where a reader with doubles would round them.

use alloc::string::{String, ToString};

use super::error::{CanonicalError, INTEGER_LIMIT};

/// Writes an unsigned integer below the limit.
pub(super) fn unsigned(value: u64, out: &mut String) -> Result<(), CanonicalError> {
    if value >= INTEGER_LIMIT {
        return Err(CanonicalError::IntegerOutOfRange(value.to_string()));
    }
    digits(value, out);
    Ok(())
}

/// Writes a signed integer whose magnitude is below the limit.
pub(super) fn signed(value: i64, out: &mut String) -> Result<(), CanonicalError> {
    let magnitude = value.unsigned_abs();
    if magnitude >= INTEGER_LIMIT {
        return Err(CanonicalError::IntegerOutOfRange(value.to_string()));
    }
    if value < 0 {
        out.push('-');
    }
    digits(magnitude, out);
    Ok(())
}

/// Writes the digits of any integer; the callers have checked its range.
pub(super) fn digits(value: u64, out: &mut String) {
    let mut buffer = [b'0'; DIGITS_MAX];
    let mut rest = value;
    let mut used = 0_usize;
    for slot in buffer.iter_mut().rev() {
        *slot = b'0'.wrapping_add(u8::try_from(rest % 10).unwrap_or(0));
        used = used.wrapping_add(1);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let text = buffer.get(DIGITS_MAX.saturating_sub(used)..).unwrap_or_default();
    out.push_str(core::str::from_utf8(text).unwrap_or_default());
}

/// The digits of `u64::MAX`.
const DIGITS_MAX: usize = 20;
