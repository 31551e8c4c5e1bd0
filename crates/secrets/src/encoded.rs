//! Secrets in another spelling: base64, percent signs, JSON escapes. A part that holds one is taken as a whole.

use crate::scan::plain;
use crate::span::SecretSpan;
use alloc::string::String;
use alloc::vec::Vec;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// The shortest part that is decoded: shorter ones hold no key.
const PART_BYTES_MIN: usize = 24;
/// The longest: a picture is no key.
const PART_BYTES_MAX: usize = 64 * 1024;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_allow_trailing_bits(true)
    .with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// The parts of a text that hold a secret once they are decoded.
pub(crate) fn spans(text: &str) -> Vec<SecretSpan> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = bytes.get(at..).unwrap_or_default();
        let run = rest.iter().position(|byte| !IS_OF_PART[usize::from(*byte)]).unwrap_or(rest.len());
        if run >= PART_BYTES_MIN
            && let Some(part) = text.get(at..at.saturating_add(run))
            && let Some(kind) = kind_within(part)
        {
            found.push(SecretSpan { range: at..at.saturating_add(run), kind });
        }
        at = at.saturating_add(run).saturating_add(1);
    }
    found
}

/// For each byte whether it is one of an encoded part.
static IS_OF_PART: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = is_of_part(byte);
        byte += 1;
    }
    table
};

/// Letters of an encoded part: those of base64, percent signs, backslashes.
const fn is_of_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-' | b'%' | b'\\' | b'.' | b'~')
}

/// The kind of the first secret within an encoded part.
fn kind_within(part: &str) -> Option<&'static str> {
    let by_signs = if part.contains(['%', '\\']) { unescaped(part) } else { None };
    if let Some(text) = by_signs
        && let Some(span) = plain(&text).first()
    {
        return Some(span.kind);
    }
    // The base64 part alone, behind a `name=` or a path.
    let inner = part.rsplit(['.', '%', '\\']).next().unwrap_or(part);
    let inner = inner.trim_end_matches('=');
    let inner = inner.rsplit('=').next().unwrap_or(inner);
    if !(PART_BYTES_MIN..=PART_BYTES_MAX).contains(&inner.len()) {
        return None;
    }
    if !may_be_text(inner) {
        return None;
    }
    let engine = if inner.contains(['-', '_']) { URL_SAFE } else { STANDARD };
    let decoded = String::from_utf8(engine.decode(inner).ok()?).ok()?;
    plain(&decoded).first().map(|span| span.kind)
}

/// Whether a part in base64 may stand for a text: the first letter of each four then begins an ASCII byte. Paths and names, which
/// have the same letters, are told apart by that without being decoded.
fn may_be_text(part: &str) -> bool {
    let firsts = part.bytes().step_by(4).take(8);
    firsts.filter(|first| !matches!(first, b'A'..=b'Z' | b'a'..=b'f')).count() <= 2
}

/// A text with its percent signs and JSON escapes resolved.
fn unescaped(part: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = part.as_bytes();
    while let [first, tail @ ..] = rest {
        let (byte, left) = match (first, tail) {
            (b'%', [high, low, tail @ ..]) => (hex(*high)?.checked_mul(16)?.checked_add(hex(*low)?)?, tail),
            (b'\\', [b'u', b'0', b'0', high, low, tail @ ..]) => {
                (hex(*high)?.checked_mul(16)?.checked_add(hex(*low)?)?, tail)
            }
            (b'\\', [b'/', tail @ ..]) => (b'/', tail),
            (b'\\', [b'n', tail @ ..]) => (b'\n', tail),
            _ => (*first, tail),
        };
        bytes.push(byte);
        rest = left;
    }
    String::from_utf8(bytes).ok()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}
