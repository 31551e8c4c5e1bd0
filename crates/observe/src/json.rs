//! A small reader of foreign JSON that keeps numbers as the text they were, so that no float is ever made of them.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

/// Nesting beyond which a text counts as plain text: arguments are shallow, and the stack is not endless.
const DEPTH_MAX: u8 = 64;

/// A JSON value; numbers stay text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Json<'a> {
    /// `null`, `true`, `false` or a number, as written.
    Bare(&'a str),
    /// A string, unescaped.
    Text(Cow<'a, str>),
    /// A list.
    List(Vec<Self>),
    /// An object, sorted by its keys; a key that comes twice is kept twice, in its order.
    Object(Vec<(Cow<'a, str>, Self)>),
}

impl<'a> Json<'a> {
    /// Reads a whole text; nothing if it is not JSON.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let mut reader = JsonReader { rest: text };
        let value = reader.value(DEPTH_MAX)?;
        reader.space();
        reader.rest.is_empty().then_some(value)
    }

    /// The value behind a key.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(fields) => fields.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            Self::Bare(_) | Self::Text(_) | Self::List(_) => None,
        }
    }

    /// The text, if it is one.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bare(_) | Self::List(_) | Self::Object(_) => None,
        }
    }

    /// Whether there is nothing in it: `null`, an empty text, list or object, or one of nothings.
    pub(super) fn is_nothing(&self) -> bool {
        match self {
            Self::Bare(bare) => *bare == "null",
            Self::Text(text) => text.trim().is_empty(),
            Self::List(items) => items.iter().all(Self::is_nothing),
            Self::Object(fields) => fields.iter().all(|(_, value)| value.is_nothing()),
        }
    }

    /// Whether it has no members at all, and not only empty ones.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Bare(_) | Self::Text(_) => self.is_nothing(),
            Self::List(items) => items.is_empty(),
            Self::Object(fields) => fields.is_empty(),
        }
    }

    /// The value without its empty members, however deep; nothing if nothing is left.
    pub(super) fn without_nothing(self) -> Option<Self> {
        match self {
            Self::Bare(bare) => (bare != "null").then_some(Self::Bare(bare)),
            Self::Text(text) => (!text.trim().is_empty()).then_some(Self::Text(text)),
            Self::List(items) => {
                let empty = items.iter().all(Self::is_nothing);
                (!empty).then_some(Self::List(items))
            }
            Self::Object(fields) => {
                let kept = fields.into_iter().filter_map(|(name, value)| Some((name, value.without_nothing()?)));
                let kept: Vec<(Cow<'a, str>, Self)> = kept.collect();
                (!kept.is_empty()).then_some(Self::Object(kept))
            }
        }
    }

    /// All texts and numbers, depth first.
    pub(super) fn texts<'j>(&'j self, out: &mut Vec<&'j str>) {
        match self {
            Self::Bare("null" | "true" | "false") => {}
            Self::Bare(bare) => out.push(bare),
            Self::Text(text) => out.push(text),
            Self::List(items) => items.iter().for_each(|item| item.texts(out)),
            Self::Object(fields) => fields.iter().for_each(|(_, value)| value.texts(out)),
        }
    }

    /// Writes the canonical form: sorted keys, no spaces, texts passed through `change`.
    pub(super) fn write(&self, out: &mut String, change: for<'t> fn(&'t str) -> Cow<'t, str>) {
        match self {
            Self::Bare(bare) => out.push_str(bare),
            Self::Text(text) => quote(out, &change(text)),
            Self::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { "," });
                    item.write(out, change);
                }
                out.push(']');
            }
            Self::Object(fields) => {
                out.push('{');
                for (index, (name, value)) in fields.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { "," });
                    quote(out, name);
                    out.push(':');
                    value.write(out, change);
                }
                out.push('}');
            }
        }
    }
}

/// Writes a text in quotes; quotes and backslashes are escaped, so that two different values never look the same.
fn quote(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\')) {
        // Both are ASCII, so that the text is cut between characters.
        let (plain, marked) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let (mark, behind) = marked.split_at_checked(1).unwrap_or((marked, ""));
        out.push_str(plain);
        out.push('\\');
        out.push_str(mark);
        rest = behind;
    }
    out.push_str(rest);
    out.push('"');
}

struct JsonReader<'a> {
    rest: &'a str,
}

impl<'a> JsonReader<'a> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn eat(&mut self, mark: char) -> Option<()> {
        self.space();
        self.rest = self.rest.strip_prefix(mark)?;
        Some(())
    }

    fn value(&mut self, depth: u8) -> Option<Json<'a>> {
        let deeper = depth.checked_sub(1)?;
        self.space();
        match self.rest.chars().next()? {
            '"' => self.string().map(Json::Text),
            '[' => self.list(deeper),
            '{' => self.object(deeper),
            _ => self.bare(),
        }
    }

    fn list(&mut self, depth: u8) -> Option<Json<'a>> {
        self.eat('[')?;
        let mut items = Vec::new();
        if self.eat(']').is_some() {
            return Some(Json::List(items));
        }
        loop {
            items.push(self.value(depth)?);
            if self.eat(']').is_some() {
                return Some(Json::List(items));
            }
            self.eat(',')?;
        }
    }

    fn object(&mut self, depth: u8) -> Option<Json<'a>> {
        self.eat('{')?;
        let mut fields = Vec::new();
        if self.eat('}').is_some() {
            return Some(Json::Object(fields));
        }
        loop {
            self.space();
            let name = self.string()?;
            self.eat(':')?;
            fields.push((name, self.value(depth)?));
            if self.eat('}').is_some() {
                fields.sort_by(|(one, _), (other, _)| one.cmp(other));
                return Some(Json::Object(fields));
            }
            self.eat(',')?;
        }
    }

    fn bare(&mut self) -> Option<Json<'a>> {
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')));
        let (bare, rest) = self.rest.split_at_checked(end.unwrap_or(self.rest.len()))?;
        let number = bare.strip_prefix('-').unwrap_or(bare).starts_with(|c: char| c.is_ascii_digit())
            && bare.bytes().all(|b| matches!(b, b'0'..=b'9' | b'e' | b'E' | b'+' | b'-' | b'.'));
        if !number && !matches!(bare, "null" | "true" | "false") {
            return None;
        }
        self.rest = rest;
        Some(Json::Bare(bare))
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        self.rest = self.rest.strip_prefix('"')?;
        let first = self.plain()?;
        if let Some(after) = self.rest.strip_prefix('"') {
            self.rest = after;
            return Some(Cow::Borrowed(first));
        }
        let mut out = String::with_capacity(first.len().saturating_mul(2));
        out.push_str(first);
        loop {
            if let Some(after) = self.rest.strip_prefix('"') {
                self.rest = after;
                return Some(Cow::Owned(out));
            }
            let mut characters = self.rest.chars();
            characters.next();
            let escaped = characters.next()?;
            self.rest = characters.as_str();
            out.push(match escaped {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'u' => self.code_point()?,
                '"' | '\\' | '/' => escaped,
                _ => return None,
            });
            out.push_str(self.plain()?);
        }
    }

    /// What stands before the next quote or escape.
    fn plain(&mut self) -> Option<&'a str> {
        let stop = self.rest.bytes().position(|byte| matches!(byte, b'"' | b'\\'))?;
        let (plain, rest) = self.rest.split_at_checked(stop)?;
        self.rest = rest;
        Some(plain)
    }

    /// A `\u` escape, with its second half where it is one of a pair; half a pair becomes the replacement character.
    fn code_point(&mut self) -> Option<char> {
        let first = self.hex4()?;
        if !(0xd800..0xdc00).contains(&first) {
            return Some(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let Some(after) = self.rest.strip_prefix("\\u") else { return Some(char::REPLACEMENT_CHARACTER) };
        let mut ahead = JsonReader { rest: after };
        let second = ahead.hex4()?;
        if !(0xdc00..0xe000).contains(&second) {
            // It is a character of its own, and must not vanish with the half before it.
            return Some(char::REPLACEMENT_CHARACTER);
        }
        self.rest = ahead.rest;
        let joined = 0x1_0000_u32
            .wrapping_add(first.wrapping_sub(0xd800).wrapping_shl(10))
            .wrapping_add(second.wrapping_sub(0xdc00));
        Some(char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex4(&mut self) -> Option<u32> {
        let (digits, rest) = self.rest.split_at_checked(4)?;
        self.rest = rest;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> Option<String> {
        let mut out = String::new();
        Json::parse(text)?.write(&mut out, |text| Cow::Borrowed(text));
        Some(out)
    }

    #[test]
    fn the_same_value_is_written_the_same() {
        let one = canonical(" { \"b\" : [1, 2.50,\"x\\u00e9\\ud83d\\ude00\\n\"], \"a\":null } ");
        assert_eq!(one.as_deref(), Some("{\"a\":null,\"b\":[1,2.50,\"xé😀\n\"]}"));
        assert_eq!(one, canonical("{\"a\":null,\"b\":[1,2.50,\"xé😀\\n\"]}"));
    }

    #[test]
    fn half_a_pair_takes_nothing_with_it() {
        assert_eq!(canonical("\"a\\ud800\\u003bb\"").as_deref(), Some("\"a\u{fffd};b\""));
        assert_eq!(canonical("\"\\ud800\\ud83d\\ude00\"").as_deref(), Some("\"\u{fffd}😀\""));
    }

    #[test]
    fn numbers_keep_every_digit() {
        for text in ["12345678901234567890123", "-0.10", "1e400"] {
            assert_eq!(canonical(text).as_deref(), Some(text));
        }
    }

    #[test]
    fn different_values_are_written_differently() {
        assert_ne!(canonical("[\"a\",\"b\"]"), canonical("[\"a\\\",\\\"b\"]"));
        assert_ne!(canonical("\"1\""), canonical("1"));
        assert_ne!(canonical("{\"a\":1,\"a\":2}"), canonical("{\"a\":2}"));
    }

    #[test]
    fn what_is_no_json_is_refused() {
        let deep = "[".repeat(100) + &"]".repeat(100);
        for text in ["", "{", "[1,]", "{\"a\" 1}", "nul", "\"a", "\"\\x\"", "\"\\u12\"", "1 2", "{'a':1}", "-", &deep] {
            assert_eq!(canonical(text), None, "{text}");
        }
    }
}
