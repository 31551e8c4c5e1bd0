//! A call's arguments, made legible: everything behind here reads the same text, and what cannot be read is not judged.
//!
//! Models write half of a surrogate pair now and then. The clients pass it on, strict readers stumble over it, and
//! whatever stood beside it would go unjudged; so half a pair becomes the replacement character, which is what a program
//! gets that is given such a text. Anything else that cannot be read is a reason to refuse the call.

use serde_json::Value;
use std::borrow::Cow;

/// Deepest nesting of arguments that is read; the engine's own reader has the same bound.
const DEPTH_MAX: usize = 63;

/// The arguments with every half of a surrogate pair replaced.
pub(crate) fn readable(raw: &str) -> Cow<'_, str> {
    if !raw.contains("\\ud") && !raw.contains("\\uD") {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let length = match unit(escape) {
            None => escape.char_indices().nth(2).map_or(escape.len(), |(end, _)| end),
            Some(0xd800..0xdc00) if matches!(escape.get(6..).and_then(unit), Some(0xdc00..0xe000)) => 12,
            Some(0xd800..0xe000) => {
                out.push_str("\\ufffd");
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            Some(_) => 6,
        };
        let (kept, after) = escape.split_at(length);
        out.push_str(kept);
        rest = after;
    }
    Cow::Owned(out + rest)
}

/// The number of a `\u` escape at the start of a text.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}

/// The arguments as a value.
///
/// # Errors
/// Why they cannot be read, in words for a person.
pub(crate) fn read(input: &str) -> Result<Value, String> {
    if input.is_empty() {
        return Ok(Value::Null);
    }
    let value: Value =
        serde_json::from_str(input).map_err(|error| format!("the call's arguments cannot be read: {error}"))?;
    if is_deeper(&value, DEPTH_MAX) {
        return Err(format!("the call's arguments are nested more than {DEPTH_MAX} levels deep: they are not read"));
    }
    Ok(value)
}

fn is_deeper(value: &Value, most: usize) -> bool {
    let inner = |item: &Value| most == 0 || is_deeper(item, most - 1);
    match value {
        Value::Array(items) => items.iter().any(inner),
        Value::Object(fields) => fields.values().any(inner),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_pair_is_replaced_and_everything_else_stays() {
        for (raw, expected) in [
            (r#"{"a":"x\ud800y"}"#, "x\u{fffd}y"),
            (r#"{"a":"\uD83D"}"#, "\u{fffd}"),
            (r#"{"a":"\udc00\ud83d\ude00"}"#, "\u{fffd}😀"),
            (r#"{"a":"echo \ud800\u003brm"}"#, "echo \u{fffd};rm"),
            (r#"{"a":"\\ud800 \"\\\ud800"}"#, "\\ud800 \"\\\u{fffd}"),
            (r#"{"a":"\u00e9 é"}"#, "é é"),
        ] {
            assert_eq!(read(&readable(raw)).unwrap()["a"], expected, "{raw}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(read(&nested(64)).is_ok());
        assert!(read(&nested(65)).unwrap_err().contains("nested"));
        assert!(read(&nested(200)).unwrap_err().contains("cannot be read"));
        assert!(read(r#"{"a":1e999}"#).is_err());
        assert_eq!(read(""), Ok(Value::Null));
    }

    proptest::proptest! {
        #[test]
        fn reading_never_panics_and_changes_no_sound_text(text in "\\PC{0,80}", escapes in "(\\\\u[dD][89abcdef0][0-9]{2}|\\\\|u){0,6}") {
            let sound = serde_json::to_string(&text).unwrap();
            proptest::prop_assert_eq!(read(&readable(&sound)).unwrap(), Value::String(text));
            readable(&escapes);
        }
    }
}
