//! Texts with placeholders in the place of their secrets.

use crate::encoded;
use crate::known::KnownSecret;
use crate::placeholder::RedactionKey;
use crate::scan::plain;
use crate::span::{SecretSpan, in_order};
use crate::vault::Vault;
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// The kind of a secret that is known by its value.
const KNOWN: &str = "known";

/// Finds and replaces secrets.
#[derive(Debug, Clone)]
pub struct Redactor {
    key: RedactionKey,
    /// What is looked for by its value: each spelling with the value that it is one of.
    known: BTreeMap<String, String>,
}

impl Redactor {
    /// A redactor that knows the forms of keys and no values yet.
    #[must_use]
    pub const fn new(key: RedactionKey) -> Self {
        Self { key, known: BTreeMap::new() }
    }

    /// Looks for this value too, in every spelling.
    pub fn know(&mut self, secret: &KnownSecret) {
        for spelling in spellings(&secret.value) {
            self.known.insert(spelling, secret.value.clone());
        }
    }

    /// The secrets in a text, in order.
    #[must_use]
    pub fn find(&self, text: &str) -> Vec<SecretSpan> {
        let mut found = plain(text);
        found.extend(encoded::spans(text));
        for spelling in self.known.keys() {
            let places = text.match_indices(spelling.as_str());
            found
                .extend(places.map(|(at, _)| SecretSpan { range: at..at.saturating_add(spelling.len()), kind: KNOWN }));
        }
        found.retain(|span| text.get(span.range.clone()).is_none_or(|value| !EXAMPLES.contains(&value)));
        in_order(found)
    }

    /// The text with placeholders in the place of its secrets.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.replace(text, |_, _| {})
    }

    /// The same, and the values are kept in memory.
    #[must_use]
    pub fn redact_into<'a>(&self, text: &'a str, vault: &mut Vault) -> Cow<'a, str> {
        self.replace(text, |placeholder, value| vault.keep(placeholder.to_string(), value))
    }

    fn replace<'a>(&self, text: &'a str, mut keep: impl FnMut(&str, &str)) -> Cow<'a, str> {
        let found = self.find(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut redacted = String::with_capacity(text.len());
        let mut place = 0;
        for SecretSpan { range, kind } in found {
            let value = text.get(range.clone()).unwrap_or_default();
            let placeholder = self.key.placeholder(kind, value);
            redacted.push_str(text.get(place..range.start).unwrap_or_default());
            redacted.push_str(&placeholder);
            keep(&placeholder, value);
            place = range.end;
        }
        redacted.push_str(text.get(place..).unwrap_or_default());
        Cow::Owned(redacted)
    }
}

/// Keys from the providers' own documentation, which open nothing.
const EXAMPLES: [&str; 3] = [
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "sk_test_4eC39HqLyjWDarjtT1zdp7dc",
    "sk_test_BQokikJOvBiI2HlWgH4olfQ2",
];

/// The ways in which a value may be written.
fn spellings(value: &str) -> Vec<String> {
    let mut spellings = alloc::vec![value.to_string()];
    // In base64 a value may begin at each of three places; the letters at its edges also hold bits of its neighbours.
    for skip in 0..3_usize {
        let mut bytes = alloc::vec![0; skip];
        bytes.extend(value.bytes());
        let start = if skip == 0 { 0 } else { skip.saturating_add(1) };
        for text in [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
            let end = bytes.len() / 3 * 4;
            spellings.extend(text.get(start..end).filter(|part| part.len() >= 8).map(str::to_string));
        }
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    let percent = |upper: bool| -> String {
        value
            .bytes()
            .map(|byte| match (plain(byte), upper) {
                (true, _) => char::from(byte).to_string(),
                (false, true) => format!("%{byte:02X}"),
                (false, false) => format!("%{byte:02x}"),
            })
            .collect()
    };
    spellings.extend([percent(true), percent(false)]);
    let json: String = value
        .chars()
        .map(|letter| match letter {
            '"' => "\\\"".to_string(),
            '\\' => "\\\\".to_string(),
            other => other.to_string(),
        })
        .collect();
    spellings.push(json.replace('/', "\\/"));
    spellings.push(json);
    spellings.push(value.bytes().map(|byte| format!("{byte:02x}")).collect());
    spellings
}
