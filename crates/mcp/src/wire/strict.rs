//! One JSON value that every reader understands the same way, or none at all.
//!
//! A guard that decides on one reading of a message and forwards bytes that a server may read differently decides nothing. So
//! whatever two readers may take differently is refused: a name that occurs twice in an object, in whatever spelling; text that
//! is not UTF-8; a second value behind the first; nesting that some readers cut; and a carriage return inside the line, which
//! readers with universal line ends take for the end of the message.

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

/// Why a line is not one plain JSON value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    /// It is not text.
    #[error("the message is not UTF-8")]
    NotUtf8,
    /// It would be two lines for some readers.
    #[error("the message holds a carriage return, which some servers read as its end")]
    CarriageReturn,
    /// It is no JSON, more than one value, nested too deeply, or a name occurs twice.
    #[error("the message is refused: {0}")]
    Form(String),
}

/// What carries a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// A line of a pipe.
    Line,
    /// The body of a request, or the data of an event: its length is known, and a carriage return is a blank.
    Body,
}

/// Checks a message, a line of a pipe without its end, and gives its text.
///
/// # Errors
/// See [`JsonFault`].
pub fn check(message: &[u8], carrier: Carrier, depth_max: usize) -> Result<&str, JsonFault> {
    let text = std::str::from_utf8(message).map_err(|_| JsonFault::NotUtf8)?;
    if carrier == Carrier::Line && message.contains(&b'\r') {
        return Err(JsonFault::CarriageReturn);
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let form = |error: serde_json::Error| JsonFault::Form(error.to_string());
    PlainValue { deeper: depth_max }.deserialize(&mut reader).map_err(form)?;
    reader.end().map_err(form)?;
    Ok(text)
}

/// A message with every half of a character that an escape names alone (`\ud83d` without its second half) replaced by
/// `\ufffd`; nothing where there is none.
///
/// Programs that cut a text in the middle of a character write such halves, and readers disagree about them.
#[must_use]
pub fn without_lone_surrogates(text: &str) -> Option<String> {
    let mut whole = String::with_capacity(text.len());
    let (mut rest, mut differs) = (text, false);
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        whole.push_str(before);
        let (kept, length) = match (escaped_unit(escape), escape.get(6..).and_then(escaped_unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (escape.get(..12), 12),
            (Some(0xd800..=0xdfff), _) => (None, 6),
            (Some(_), _) => (escape.get(..6), 6),
            // The letter behind it belongs to it, and may be a backslash itself.
            (None, _) => {
                let length = 1 + escape.chars().nth(1).map_or(0, char::len_utf8);
                (escape.get(..length), length)
            }
        };
        differs |= kept.is_none();
        whole.push_str(kept.unwrap_or("\\ufffd"));
        rest = escape.get(length..).unwrap_or_default();
    }
    whole.push_str(rest);
    differs.then_some(whole)
}

/// The code unit that an escape at the beginning of a text names.
fn escaped_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}

/// A value whose objects name everything once, at most so deep.
struct PlainValue {
    deeper: usize,
}

impl PlainValue {
    fn inner<E: serde::de::Error>(&self) -> Result<Self, E> {
        match self.deeper.checked_sub(1) {
            Some(deeper) => Ok(Self { deeper }),
            None => Err(E::custom("it is nested too deeply")),
        }
    }
}

impl<'de> DeserializeSeed<'de> for PlainValue {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for PlainValue {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        loop {
            let inner = self.inner::<A::Error>()?;
            if items.next_element_seed(inner)?.is_none() {
                return Ok(());
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut names: HashSet<Cow<'de, str>> = HashSet::new();
        while let Some(name) = members.next_key_seed(Name)? {
            let inner = self.inner::<A::Error>()?;
            if names.contains(&name) {
                return Err(A::Error::custom(format!("the name `{name}` occurs twice in one object")));
            }
            names.insert(name);
            members.next_value_seed(inner)?;
        }
        Ok(())
    }
}

/// A member's name, as readers see it: without escapes.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcp_1_what_two_readers_may_take_differently_is_refused() {
        let deep = format!("{}1{}", "[".repeat(9), "]".repeat(9));
        for line in [
            &br#"{"a":1,"a":2}"#[..],
            br#"{"a":1,"\u0061":2}"#,
            br#"{"x":[{"a":1,"a":1}]}"#,
            b"{\"a\":\"\xff\"}",
            b"{\"a\":\"\xc0\xaf\"}",
            br#"{"a":1}{"b":2}"#,
            br#"{"a":1} {"b":2}"#,
            b"{\"a\":\r1}",
            b"{\"a\":\"x\ry\"}",
            b"{\"a\":\"x\x0by\"}",
            b"\xef\xbb\xbf{}",
            b"{'a':1}",
            b"{\"a\":1,}",
            b"{\"a\":NaN}",
            br#"{"a":"\ud800"}"#,
            deep.as_bytes(),
        ] {
            assert!(check(line, Carrier::Line, 8).is_err(), "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn mcp_4_a_carriage_return_is_a_blank_where_a_message_has_a_length() {
        assert!(check(b"{\r\n\"a\":\r\n1}\r\n", Carrier::Body, 8).is_ok());
        assert!(check(b"{\"a\":\"x\ry\"}", Carrier::Body, 8).is_err(), "inside a text it is not JSON");
    }

    #[test]
    fn mcp_4_plain_values_pass() {
        let deep = format!("{}1{}", "[".repeat(8), "]".repeat(8));
        for line in [
            &br#"{"a":{"a":1},"b":[{"a":1},{"a":1}]}"#[..],
            "{\"a\":\"\u{2028}\u{202e}ü\",\"A\":1}".as_bytes(),
            br#" {"a" : 1.5e3 , "b":null,"c":"\ud83d\ude00"} "#,
            deep.as_bytes(),
        ] {
            assert_eq!(check(line, Carrier::Line, 8).err(), None, "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn mcp_3_half_a_character_is_replaced_and_every_other_escape_stays() {
        for (text, whole) in [
            (r#"{"a":"cut \ud83d"}"#, r#"{"a":"cut \ufffd"}"#),
            (r#"{"a":"\ude00\ud83d\ud83d\ude00"}"#, r#"{"a":"\ufffd\ufffd\ud83d\ude00"}"#),
            (r#"{"a":"\\\uD83Dx"}"#, r#"{"a":"\\\ufffdx"}"#),
        ] {
            assert_eq!(without_lone_surrogates(text).as_deref(), Some(whole), "{text}");
            assert!(check(whole.as_bytes(), Carrier::Line, 8).is_ok(), "{whole}");
        }
        for text in [r#"{"a":"\ud83d\ude00\n\u0061"}"#, r#"{"a":"\\ud83d"}"#, "{\"a\":\"\u{1f600}\"}", r#""\u12"#, "\\"]
        {
            assert_eq!(without_lone_surrogates(text), None, "{text}");
        }
    }
}
