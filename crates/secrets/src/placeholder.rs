//! What stands in the place of a secret.

use alloc::format;
use alloc::string::String;
use core::fmt;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

/// How a placeholder begins.
const OPEN: &str = "\u{2039}secret:";
/// The first byte of a placeholder.
pub(crate) const FIRST_BYTE: u8 = 0xe2;
/// How it ends.
const CLOSE: &str = "\u{203a}";
/// Hex digits of the keyed digest: enough that two secrets of a session are told apart.
const DIGITS: usize = 8;

/// The key of the placeholders: it lives outside of every record.
#[derive(Clone, PartialEq, Eq)]
pub struct RedactionKey([u8; 32]);

impl RedactionKey {
    /// A key of these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key of one session: the same secret looks different in another one.
    #[must_use]
    pub fn for_session(&self, session: &str) -> Self {
        Self(self.digest(session.as_bytes()))
    }

    fn digest(&self, bytes: &[u8]) -> [u8; 32] {
        // A key of 32 bytes is never too long for this.
        Hmac::<Sha256>::new_from_slice(&self.0).map_or([0; 32], |mut mac| {
            mac.update(bytes);
            mac.finalize().into_bytes().into()
        })
    }

    /// The placeholder of a secret of this kind.
    pub(crate) fn placeholder(&self, kind: &str, value: &str) -> String {
        let mut text = format!("{OPEN}{kind}:");
        for byte in self.digest(value.as_bytes()).iter().take(DIGITS / 2) {
            text.push_str(&format!("{byte:02x}"));
        }
        text + CLOSE
    }
}

impl fmt::Debug for RedactionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RedactionKey")
    }
}

/// The placeholders in a text, with their places.
pub(crate) fn placeholders(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices(OPEN).filter_map(move |(at, _)| {
        let rest = text.get(at..)?;
        let end = rest.find(CLOSE)?.checked_add(CLOSE.len())?;
        rest.get(..end).filter(|found| is_placeholder(found)).map(|found| (at, found))
    })
}

/// The length of the placeholder that begins at a place, if one does.
pub(crate) fn length_at(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..).filter(|rest| rest.starts_with(OPEN))?;
    placeholders(rest).next().filter(|(at, _)| *at == 0).map(|(_, found)| found.len())
}

/// The placeholders in a text, in order.
pub fn all_placeholders(text: &str) -> impl Iterator<Item = &str> {
    placeholders(text).map(|(_, placeholder)| placeholder)
}

/// Whether a text is one placeholder and nothing else.
#[must_use]
pub fn is_placeholder(text: &str) -> bool {
    let inner = text.strip_prefix(OPEN).and_then(|rest| rest.strip_suffix(CLOSE));
    let Some((kind, digits)) = inner.and_then(|inner| inner.rsplit_once(':')) else { return false };
    let is_kind =
        !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    is_kind && digits.len() == DIGITS && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
