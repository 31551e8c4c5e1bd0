//! Keys that stand in a block, a web token, a URL or a header.

use crate::randomness::{is_random, is_varied};
use crate::shape::Letters;
use crate::span::SecretSpan;

/// How a private key begins.
const PEM_BEGIN: &str = "-----BEGIN ";
/// What the first line of a private key says.
const PEM_PRIVATE: &str = "PRIVATE KEY";
/// How a private key ends.
const PEM_END: &str = "-----END ";

/// A secret of one of these forms that begins at `at`, where `byte` stands.
pub(crate) fn at(text: &str, at: usize, byte: u8) -> Option<SecretSpan> {
    let next = text.as_bytes().get(at.saturating_add(1)).copied();
    match byte {
        b'-' if next == Some(b'-') => private_key(text, at),
        b'e' if next == Some(b'y') => web_token(text, at),
        b':' => url_password(text, at),
        b'B' | b'b' | b'T' | b't' if matches!(next, Some(b'a' | b'e' | b'o')) => header(text, at),
        b'h' if next == Some(b't') => webhook(text, at),
        b'0'..=b'9' => bot_token(text, at),
        _ => None,
    }
}

/// A PEM block, to its end or to the end of the text.
fn private_key(text: &str, at: usize) -> Option<SecretSpan> {
    let rest = text.get(at..)?.strip_prefix(PEM_BEGIN)?;
    let line = rest.split(['\n', '\\']).next()?;
    if !line.contains(PEM_PRIVATE) {
        return None;
    }
    let whole = text.get(at..)?;
    let end = match whole.find(PEM_END) {
        Some(end) => {
            let tail = whole.get(end.checked_add(PEM_END.len())?..)?;
            let closes = tail.find("-----").map_or(tail.len(), |close| close.saturating_add(5));
            end.saturating_add(PEM_END.len()).saturating_add(closes)
        }
        None => whole.len(),
    };
    Some(SecretSpan { range: at..at.checked_add(end)?, kind: "private-key" })
}

/// A JSON web token: three parts in base64.
fn web_token(text: &str, at: usize) -> Option<SecretSpan> {
    let bytes = text.as_bytes();
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    if before.is_some_and(|before| Letters::Url.has(*before)) || !text.get(at..)?.starts_with("eyJ") {
        return None;
    }
    let run = bytes.get(at..)?.iter().take_while(|byte| Letters::Dotted.has(**byte)).count();
    let token = text.get(at..at.checked_add(run)?)?;
    let mut parts = token.split('.');
    let is_token = parts.clone().count() == 3
        && parts.next()?.len() >= 10
        && parts.next()?.len() >= 10
        && parts.next()?.len() >= 16;
    is_token.then_some(SecretSpan { range: at..at.checked_add(run)?, kind: "jwt" })
}

/// The longest name before a password in a URL.
const USER_BYTES_MAX: usize = 256;

/// The password in `scheme://user:password@host`; `at` is the colon before it.
fn url_password(text: &str, at: usize) -> Option<SecretSpan> {
    let bytes = text.as_bytes();
    let is_part = |byte: &u8| {
        !matches!(byte, b'/' | b'@' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'?' | b'#') && !byte.is_ascii_whitespace()
    };
    let user =
        bytes.get(..at)?.iter().rev().take(USER_BYTES_MAX).take_while(|byte| is_part(byte) && **byte != b':').count();
    if !text.get(..at.checked_sub(user)?)?.ends_with("://") {
        return None;
    }
    let start = at.checked_add(1)?;
    let run = text.as_bytes().get(start..)?.iter().take_while(|byte| is_part(byte)).count();
    let end = start.checked_add(run)?;
    let password = text.get(start..end)?;
    let is_value = text.as_bytes().get(end) == Some(&b'@') && !crate::stand_in::is_stand_in(password);
    (is_value && !password.is_empty()).then_some(SecretSpan { range: start..end, kind: "url-password" })
}

/// The value of `Bearer`, `Basic` and `token` in a header.
fn header(text: &str, at: usize) -> Option<SecretSpan> {
    let bytes = text.as_bytes();
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    if before.is_some_and(|before| before.is_ascii_alphanumeric()) {
        return None;
    }
    let rest = text.get(at..)?;
    let words: [(&str, usize); 5] = [("Bearer ", 16), ("bearer ", 16), ("Basic ", 16), ("basic ", 24), ("token ", 20)];
    let (word, least) = words.into_iter().find(|(word, _)| rest.starts_with(word))?;
    let start = at.checked_add(word.len())?;
    let run = bytes.get(start..)?.iter().take_while(|byte| Letters::Token.has(**byte)).count();
    let end = start.checked_add(run)?;
    let value = bytes.get(start..end)?;
    let is_value = run >= least && is_varied(value) && (is_random(value) || (run >= 24 && has_digit_and_letter(value)));
    is_value.then_some(SecretSpan { range: start..end, kind: "authorization" })
}

fn has_digit_and_letter(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit) && value.iter().any(u8::is_ascii_alphabetic)
}

/// The secret part of a web hook's address.
fn webhook(text: &str, at: usize) -> Option<SecretSpan> {
    let rest = text.get(at..)?;
    let (kind, start) = WEBHOOKS.iter().find(|(_, start)| rest.starts_with(start))?;
    let start = at.checked_add(start.len())?;
    let run =
        text.as_bytes().get(start..)?.iter().take_while(|byte| Letters::Url.has(**byte) || **byte == b'/').count();
    let end = start.checked_add(run)?;
    (run >= 20 && is_varied(text.as_bytes().get(start..end)?)).then_some(SecretSpan { range: start..end, kind })
}

const WEBHOOKS: [(&str, &str); 5] = [
    ("slack", "https://hooks.slack.com/services/"),
    ("slack", "https://hooks.slack.com/workflows/"),
    ("discord", "https://discord.com/api/webhooks/"),
    ("discord", "https://discordapp.com/api/webhooks/"),
    ("zapier", "https://hooks.zapier.com/hooks/catch/"),
];

/// A Telegram bot's token: digits, a colon, `AA` and 33 letters.
fn bot_token(text: &str, at: usize) -> Option<SecretSpan> {
    let bytes = text.as_bytes();
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    if before.is_some_and(|before| {
        before.is_ascii_alphanumeric() && !text.get(..at).is_some_and(|text| text.ends_with("/bot"))
    }) {
        return None;
    }
    let digits = bytes.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let colon = at.checked_add(digits)?;
    let token = colon.checked_add(1)?;
    if !(8..=10).contains(&digits) || !text.get(colon..)?.starts_with(":AA") {
        return None;
    }
    let run = bytes.get(token..)?.iter().take_while(|byte| Letters::Url.has(**byte)).count();
    (run == 35).then_some(SecretSpan { range: at..token.checked_add(run)?, kind: "telegram" })
}
