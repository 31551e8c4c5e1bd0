//! Texts with placeholders in the place of their secrets.

use crate::assignment;
use crate::encoded;
use crate::known::KnownSecret;
use crate::known_spellings::{KnownSpellings, spellings};
use crate::placeholder::RedactionKey;
use crate::scan::plain;
use crate::span::{SecretSpan, in_order};
use crate::vault::Vault;
use alloc::borrow::Cow;
use alloc::string::{String, ToString as _};
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde_json::{Map, Value};
use tripwire_core::policy::List;

/// Finds and replaces secrets.
#[derive(Debug, Clone)]
pub struct Redactor {
    key: RedactionKey,
    /// Shared by copies: there may be many.
    known: Arc<KnownSpellings>,
    allowed: List,
}

impl Default for Redactor {
    /// A redactor whose placeholders are the same everywhere: for looks that leave nothing behind.
    fn default() -> Self {
        Self::new(RedactionKey::new([0; 32]))
    }
}

impl Redactor {
    /// A redactor that knows the forms of keys and no values yet.
    #[must_use]
    pub fn new(key: RedactionKey) -> Self {
        Self { key, known: Arc::default(), allowed: List::default() }
    }

    /// Looks for this value too, in every spelling.
    pub fn know(&mut self, secret: &KnownSecret) {
        let known = Arc::make_mut(&mut self.known);
        spellings(&secret.value).into_iter().for_each(|spelling| known.add(spelling));
    }

    /// Lets values pass that fit one of these patterns; `*` stands for any text.
    pub fn allow(&mut self, patterns: List) {
        self.allowed = patterns;
    }

    /// The secrets in a text, in order.
    #[must_use]
    pub fn find(&self, text: &str) -> Vec<SecretSpan> {
        let mut found = plain(text);
        found.extend(encoded::spans(text));
        found.extend(self.known.spans(text));
        found.retain(|span| text.get(span.range.clone()).is_none_or(|value| !self.is_harmless(value)));
        in_order(found)
    }

    /// Whether there is any value that is looked for.
    #[must_use]
    pub fn knows_values(&self) -> bool {
        !self.known.is_empty()
    }

    /// Whether a text holds one of the values that are looked for, in any spelling.
    #[must_use]
    pub fn carries_known(&self, text: &str) -> bool {
        let spans = self.known.spans(text).into_iter();
        spans.filter_map(|span| text.get(span.range)).any(|value| !self.is_harmless(value))
    }

    fn is_harmless(&self, value: &str) -> bool {
        EXAMPLES.contains(&value) || self.allowed.matches(value)
    }

    /// A JSON text with placeholders in the place of its secrets; it stays JSON. A value is also a secret by the name of its
    /// field. What is no JSON is taken as a plain text.
    #[must_use]
    pub fn redact_json<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.json(text, &mut |_, _| {})
    }

    /// The same, and the values are kept in memory.
    #[must_use]
    pub fn redact_json_into<'a>(&self, text: &'a str, vault: &mut Vault) -> Cow<'a, str> {
        self.json(text, &mut |placeholder, value| vault.keep(placeholder, value))
    }

    fn json<'a>(&self, text: &'a str, keep: &mut dyn FnMut(&str, &str)) -> Cow<'a, str> {
        // Escapes may hide a secret from a look at the text as it is written.
        let is_escaped = text.contains("\\u") || text.contains("\\/");
        if !is_escaped && self.find(text).is_empty() {
            return Cow::Borrowed(text);
        }
        match serde_json::from_str(text) {
            Ok(mut value) => {
                let changed = self.redact_value(&mut value, "", keep);
                if changed { Cow::Owned(value.to_string()) } else { Cow::Borrowed(text) }
            }
            Err(_) => self.replace(text, keep),
        }
    }

    /// Replaces the secrets in a JSON value; says whether there were any. `name` is that of the field that holds it.
    fn redact_value(&self, value: &mut Value, name: &str, keep: &mut dyn FnMut(&str, &str)) -> bool {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
            Value::String(text) => match self.redact_field(name, text, keep) {
                Some(redacted) => {
                    *text = redacted;
                    true
                }
                None => false,
            },
            Value::Array(values) => {
                values.iter_mut().fold(false, |changed, value| self.redact_value(value, name, keep) | changed)
            }
            Value::Object(fields) => {
                let mut changed = false;
                let mut redacted = Map::new();
                for (name, mut value) in core::mem::take(fields) {
                    changed |= self.redact_value(&mut value, &name, keep);
                    let clean = self.replace(&name, keep).into_owned();
                    changed |= clean != name;
                    redacted.insert(clean, value);
                }
                *fields = redacted;
                changed
            }
        }
    }

    fn redact_field(&self, name: &str, text: &str, keep: &mut dyn FnMut(&str, &str)) -> Option<String> {
        if let Cow::Owned(redacted) = self.replace(text, keep) {
            return Some(redacted);
        }
        let kind = assignment::kind_of_field(name, text).filter(|_| !self.is_harmless(text))?;
        let placeholder = self.key.placeholder(kind, text);
        keep(&placeholder, text);
        Some(placeholder)
    }

    /// The text with placeholders in the place of its secrets.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.replace(text, &mut |_, _| {})
    }

    /// The same, and the values are kept in memory.
    #[must_use]
    pub fn redact_into<'a>(&self, text: &'a str, vault: &mut Vault) -> Cow<'a, str> {
        self.replace(text, &mut |placeholder, value| vault.keep(placeholder, value))
    }

    fn replace<'a>(&self, text: &'a str, keep: &mut dyn FnMut(&str, &str)) -> Cow<'a, str> {
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
