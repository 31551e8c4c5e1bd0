//! The members of a JSON object, each with the place of its value in the text; a name that stands there twice stays twice.

use super::bound::Finder;
use super::facts::{LimitPlace, WireError};
use super::json::Name;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use tripwire_core::units::Tokens;

/// Members through which a request offers tools, in any of the APIs.
const OFFERS_TOOLS: [&str; 8] = [
    "tools",
    "functions",
    "mcp_servers",
    "previous_response_id",
    "conversation",
    "prompt",
    "cachedContent",
    "cached_content",
];

/// An object inside a text.
#[derive(Debug)]
pub(super) struct Members<'a> {
    /// The whole text, from which places are counted.
    whole: &'a str,
    /// The object's own text.
    text: &'a str,
    list: Vec<Member<'a>>,
}

/// A name and its value; a conversation that was looked through on the way has no text of its own here.
type Member<'a> = (Cow<'a, str>, Option<&'a RawValue>);

/// The members that carry the conversation, in any of the APIs: the longest ones, and nothing else is read of them than what
/// [`Finder`] looks for.
const CONVERSATIONS: [&str; 3] = ["messages", "input", "contents"];

impl<'a> Members<'a> {
    pub(super) fn read(body: &'a [u8]) -> Result<Self, WireError> {
        let whole = std::str::from_utf8(body).map_err(|error| WireError::NotAnObject(error.to_string()))?;
        Self::of(whole, whole)
    }

    /// Reads a body and looks through it in one go. Nothing where that cannot be done to its end: then each has to be tried alone.
    pub(super) fn read_looking(body: &'a [u8], finder: &mut Finder) -> Option<Self> {
        let whole = std::str::from_utf8(body).ok()?;
        let mut reader = serde_json::Deserializer::from_str(whole);
        let list = Listing { finder: Some(finder) }.deserialize(&mut reader).ok()?;
        reader.end().ok()?;
        Some(Self { whole, text: whole, list })
    }

    fn of(whole: &'a str, text: &'a str) -> Result<Self, WireError> {
        let not_read = |error: serde_json::Error| WireError::NotAnObject(error.to_string());
        let mut reader = serde_json::Deserializer::from_str(text);
        let list = Listing { finder: None }.deserialize(&mut reader).map_err(not_read)?;
        reader.end().map_err(not_read)?;
        Ok(Self { whole, text, list })
    }

    pub(super) const fn whole_text(&self) -> &'a str {
        self.whole
    }

    /// The value of a field that goes by any of these names; `null` counts as missing.
    pub(super) fn get(&self, names: &[&str]) -> Result<Option<&'a RawValue>, WireError> {
        let mut found = self.list.iter().filter(|(name, _)| names.contains(&name.as_ref()));
        let first = found.next();
        if let Some((name, _)) = found.next() {
            return Err(WireError::Twice(name.clone().into_owned()));
        }
        Ok(first.and_then(|(_, value)| *value).filter(|value| value.get() != "null"))
    }

    /// A value of a known form.
    pub(super) fn read_as<T: Deserialize<'a>>(&self, name: &'static str) -> Result<Option<T>, WireError> {
        let Some(value) = self.get(&[name])? else { return Ok(None) };
        serde_json::from_str(value.get()).map(Some).map_err(|_| WireError::Field(name))
    }

    pub(super) fn has(&self, name: &str) -> Result<bool, WireError> {
        Ok(self.get(&[name])?.is_some())
    }

    /// Whether a member offers tools, or names something that may: an earlier reply, a stored prompt, a cache.
    pub(super) fn offers_tools(&self) -> Result<bool, WireError> {
        // One look at the names that are there, which are few, instead of a search for each of these.
        if !self.list.iter().any(|(name, _)| OFFERS_TOOLS.contains(&name.as_ref())) {
            return Ok(false);
        }
        for name in OFFERS_TOOLS {
            if self.has(name)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn inner(&self, names: &[&str]) -> Result<Option<Self>, WireError> {
        self.get(names)?.map(|value| Self::of(self.whole, value.get())).transpose()
    }

    /// The output limit under one of these names, and where it stands; a missing one is put first, under the last name.
    pub(super) fn limit(&self, names: &[&'static str]) -> Result<(Option<Tokens>, LimitPlace), WireError> {
        let name = names.last().copied().unwrap_or_default();
        // A `null` has a place of its own: putting the field a second time would be a contradiction.
        if let Some((_, Some(value))) = self.list.iter().find(|(found, _)| names.contains(&found.as_ref())) {
            let place = LimitPlace::At(self.place(value));
            return match self.get(names)? {
                None => Ok((None, place)),
                Some(value) => {
                    let tokens: u64 = serde_json::from_str(value.get()).map_err(|_| WireError::Field(name))?;
                    Ok((Some(Tokens::new(tokens)), place))
                }
            };
        }
        Ok((None, self.insert(format!("\"{name}\":"), "")))
    }

    /// A place at the beginning of the object for a new member.
    pub(super) fn insert(&self, before: String, close: &'static str) -> LimitPlace {
        let after = match (self.list.is_empty(), close) {
            (true, "") => "",
            (true, _) => "}",
            (false, "") => ",",
            (false, _) => "},",
        };
        LimitPlace::Insert { at: self.start() + 1, before, after }
    }

    /// The place of the object's opening brace.
    fn start(&self) -> usize {
        let before = offset(self.whole, self.text);
        before + self.text.bytes().position(|byte| byte == b'{').unwrap_or(0)
    }

    pub(super) fn place(&self, value: &RawValue) -> Range<usize> {
        let start = offset(self.whole, value.get());
        start..start + value.get().len()
    }
}

/// Where a part of a text begins in it.
fn offset(whole: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize)
}

/// Reads the members in their order, and looks through their values where somebody wants to know what is in them.
struct Listing<'f> {
    finder: Option<&'f mut Finder>,
}

impl<'de> DeserializeSeed<'de> for Listing<'_> {
    type Value = Vec<Member<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Listing<'_> {
    type Value = Vec<Member<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Name(name)) = map.next_key()? {
            let value = match &mut self.finder {
                Some(finder) if CONVERSATIONS.contains(&name.as_ref()) => {
                    finder.look_at_next(&name, &mut map)?;
                    None
                }
                Some(finder) => {
                    let value = map.next_value::<&'de RawValue>()?;
                    finder.look_at(&name, value);
                    Some(value)
                }
                None => Some(map.next_value::<&'de RawValue>()?),
            };
            list.push((name, value));
        }
        Ok(list)
    }
}
