//! Values that are secret by the name that they are given: `API_TOKEN=…`, `"password": "…"`, `--password …`, `-u user:…`.

use crate::known::{NameStrength, strength};
use crate::randomness::{distinct, is_random};
use crate::span::SecretSpan;
use crate::stand_in::is_stand_in;

/// The longest name that is read.
const NAME_BYTES_MAX: usize = 64;
/// The longest value.
const VALUE_BYTES_MAX: usize = 4_096;
/// A value by a name that says it plainly.
const STRONG_BYTES_MIN: usize = 8;
/// A value by a name that may mean something else.
const WEAK_BYTES_MIN: usize = 16;

/// The kind of a value that is a secret by its name.
const ASSIGNED: &str = "assigned";

/// A value that is assigned at `at`, where `byte` stands.
pub(crate) fn at(text: &str, at: usize, byte: u8) -> Option<SecretSpan> {
    match byte {
        b'=' | b':' => assigned(text, at),
        b' ' => option(text, at),
        _ => None,
    }
}

/// `name = value` and `"name": "value"`.
fn assigned(text: &str, at: usize) -> Option<SecretSpan> {
    let strength = strength(name_before(text, at)?)?;
    let bytes = text.as_bytes();
    let mut start = at.checked_add(1)?;
    // `:=`, `=>` and `==`; a comparison is no assignment.
    match bytes.get(start) {
        Some(b'=') if bytes.get(at) == Some(&b'=') => return None,
        Some(b'=' | b'>') => start = start.checked_add(1)?,
        _ => {}
    }
    let is_tight = !bytes.get(start)?.is_ascii_whitespace();
    while bytes.get(start).is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
        start = start.checked_add(1)?;
    }
    let value = Value::at(text, start)?;
    let quotes = match (value.is_quoted, is_tight) {
        (true, _) => Quotes::Quoted,
        (false, true) => Quotes::Tight,
        (false, false) => Quotes::Loose,
    };
    is_secret_value(strength, value.text, quotes).then(|| value.span())
}

/// How a value stands behind its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    /// In quotes.
    Quoted,
    /// Without, right behind the sign.
    Tight,
    /// Without, behind blanks.
    Loose,
}

fn is_secret_value(strength: NameStrength, value: &str, quotes: Quotes) -> bool {
    match (strength, quotes) {
        (NameStrength::Strong, Quotes::Quoted) => value.len() >= STRONG_BYTES_MIN && is_password(value),
        // In a program an unquoted value is a name; in a shell or a settings file it is the value.
        (NameStrength::Strong, Quotes::Tight | Quotes::Loose) => {
            let is_value = is_random(value.as_bytes()) || (quotes == Quotes::Tight && is_password(value));
            is_value && value.len() >= STRONG_BYTES_MIN && !is_expression(value)
        }
        (NameStrength::Weak, _) => {
            let is_value = quotes == Quotes::Quoted || !is_expression(value);
            is_value && value.len() >= WEAK_BYTES_MIN && is_random(value.as_bytes())
        }
    }
}

/// What the value of a field of this name is, if that is a secret.
pub(crate) fn kind_of_field(name: &str, value: &str) -> Option<&'static str> {
    let is_value = value.len() <= VALUE_BYTES_MAX && !value.contains(char::is_whitespace) && !is_stand_in(value);
    (is_value && is_secret_value(strength(name)?, value, Quotes::Quoted)).then_some(ASSIGNED)
}

/// `--password VALUE`, `-u USER:VALUE`.
fn option(text: &str, at: usize) -> Option<SecretSpan> {
    let bytes = text.as_bytes();
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let length = bytes.get(..at)?.iter().rev().take(NAME_BYTES_MAX).take_while(|byte| is_of_word(byte)).count();
    let start = at.checked_sub(length)?;
    if bytes.get(start) != Some(&b'-') {
        return None;
    }
    let word = text.get(start..at)?;
    let value = || Value::at(text, at.checked_add(1)?);
    if matches!(word, "-u" | "--user" | "--proxy-user") {
        let value = value()?;
        let colon = value.text.find(':')?;
        let start = value.start.checked_add(colon)?.checked_add(1)?;
        let end = value.start.checked_add(value.text.len())?;
        let password = text.get(start..end)?;
        let is_secret =
            password.len() >= 4 && !is_stand_in(password) && !password.bytes().all(|byte| byte.is_ascii_digit());
        return is_secret.then_some(SecretSpan { range: start..end, kind: "password" });
    }
    let name = word.strip_prefix("--")?;
    if name.len() > NAME_BYTES_MAX || strength(name)? == NameStrength::Weak && name != "token" {
        return None;
    }
    let value = value()?;
    let is_secret = value.text.len() >= STRONG_BYTES_MIN && !value.text.starts_with('-') && is_password(value.text);
    (is_secret && !is_expression(value.text)).then(|| value.span())
}

/// The name that stands before an assignment.
fn name_before(text: &str, at: usize) -> Option<&str> {
    let mut before = text.as_bytes().get(..at)?;
    while let [rest @ .., b' ' | b'\t'] = before {
        before = rest;
    }
    if let [rest @ .., b'"' | b'\'' | b'`'] = before {
        before = rest;
    }
    if let [rest @ .., b'\\'] = before {
        before = rest;
    }
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let length = before.iter().rev().take(NAME_BYTES_MAX).take_while(is_name).count();
    text.get(before.len().checked_sub(length)?..before.len()).filter(|name| !name.is_empty())
}

/// A value and where it stands.
struct Value<'a> {
    text: &'a str,
    start: usize,
    is_quoted: bool,
}

impl<'a> Value<'a> {
    fn at(text: &'a str, start: usize) -> Option<Self> {
        let rest = text.get(start..)?;
        let unescaped = rest.strip_prefix('\\').unwrap_or(rest);
        let quote = unescaped.chars().next().filter(|first| matches!(first, '"' | '\'' | '`'));
        let (inner, is_quoted) = match quote {
            Some(_) => (unescaped.get(1..)?, true),
            None => (rest, false),
        };
        let start = text.len().checked_sub(inner.len())?;
        let ends = |byte: &u8| match quote {
            Some(quote) => *byte == quote as u8 || matches!(byte, b'\n' | b'\\'),
            None => {
                byte.is_ascii_whitespace()
                    || matches!(
                        byte,
                        b'"' | b'\'' | b'`' | b',' | b';' | b')' | b'}' | b']' | b'&' | b'|' | b'<' | b'>' | b'\\'
                    )
            }
        };
        let length = inner
            .bytes()
            .take(VALUE_BYTES_MAX)
            .position(|byte| ends(&byte))
            .unwrap_or(inner.len().min(VALUE_BYTES_MAX));
        let value = inner.get(..length)?;
        let is_value = !value.is_empty() && !value.contains(' ') && !is_stand_in(value);
        is_value.then_some(Self { text: value, start, is_quoted })
    }

    fn span(&self) -> SecretSpan {
        SecretSpan { range: self.start..self.start.saturating_add(self.text.len()), kind: ASSIGNED }
    }
}

/// Whether a value may be a password: not a plain word, which would be the name of something.
fn is_password(value: &str) -> bool {
    let has = |wanted: fn(&u8) -> bool| value.as_bytes().iter().any(wanted);
    let digit = has(u8::is_ascii_digit);
    let letter = has(u8::is_ascii_alphabetic);
    let sign =
        has(|byte| matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'+' | b'=' | b'?' | b'~'));
    let is_path = value.starts_with(['/', '.', '~']) || value.contains("://") || value.contains("::");
    letter && (digit || sign) && !is_path && distinct(value.as_bytes()) >= 5
}

/// Whether an unquoted value is a piece of a program: a call, a field, a type.
fn is_expression(value: &str) -> bool {
    value.contains(['(', '{', '[', '/', '$', '*']) || value.contains("::") || value.contains("->") || {
        let is_name = |part: &str| part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        value.contains('.') && value.split('.').all(is_name)
    }
}
