//! A setting that is a list: read once, here, and nowhere split again.

use super::setting::{Setting, SettingError, Text};
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A list of names, patterns or paths that a person writes with commas between them.
///
/// It is frozen and hashed as it was written, blanks and empty items included, so that a policy keeps its hash.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct List {
    written: Text,
    items: Vec<Text>,
}

impl List {
    /// Reads a list: items are separated by commas, blanks around them and empty ones do not count.
    #[must_use]
    pub fn new(written: &str) -> Self {
        let items = written.split(',').map(str::trim).filter(|item| !item.is_empty()).map(Text::new).collect();
        Self { written: Text::new(written), items }
    }

    /// The list as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.written.as_str()
    }

    /// The items, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        self.items.iter().map(Text::as_str)
    }

    /// Whether one of the items is exactly this.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.iter().any(|item| item == name)
    }

    /// Whether the text fits one of the items as a pattern, in which `*` stands for any text.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        self.iter().any(|pattern| fits(pattern, text))
    }
}

/// Whether a text fits a pattern in which `*` stands for any text. No crate of ours is below this one, so the globs of the
/// shell's reader, which know more signs, are out of reach here; a person's list needs no more than this.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut rest = rest;
    let mut last = None;
    for part in parts {
        if let Some(before) = last.replace(part) {
            match rest.split_once(before) {
                Some((_, behind)) => rest = behind,
                None => return false,
            }
        }
    }
    match last {
        Some(last) => rest.ends_with(last),
        None => rest.is_empty(),
    }
}

impl Setting for List {
    fn read(text: &str) -> Result<Self, SettingError> {
        Text::read(text).map(|written| Self::new(written.as_str()))
    }
    fn show(&self) -> String {
        self.written.show()
    }
    fn another(&self) -> String {
        self.written.another()
    }
}

/// A list of patterns that each name something: one that would fit nearly every text is refused.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NarrowList(List);

/// Letters that a pattern must have beside `*`.
const LETTERS_MIN: usize = 4;

impl NarrowList {
    /// The patterns.
    #[must_use]
    pub const fn list(&self) -> &List {
        &self.0
    }
}

impl Setting for NarrowList {
    fn read(text: &str) -> Result<Self, SettingError> {
        let list = List::read(text)?;
        let is_wide = |pattern: &str| pattern.chars().filter(|letter| *letter != '*').count() < LETTERS_MIN;
        if list.iter().any(is_wide) {
            return Err(SettingError::new(text, "patterns with at least 4 letters beside `*`"));
        }
        Ok(Self(list))
    }
    fn show(&self) -> String {
        self.0.show()
    }
    fn another(&self) -> String {
        alloc::format!("{}xxxx", self.0.show())
    }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Text::deserialize(deserializer).map(|written| Self::new(written.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_split_once_and_kept_as_it_was_written() {
        let list = List::new(" main, release/* ,,");
        assert_eq!(list.iter().collect::<Vec<_>>(), ["main", "release/*"]);
        assert!(list.contains("main") && !list.contains("release"));
        assert_eq!(list.as_str(), " main, release/* ,,");
        assert_eq!(List::new("").iter().count(), 0);
    }

    #[test]
    fn const_6_the_frozen_form_of_a_list_is_the_text_alone() {
        let list = List::new("a, b");
        let json = serde_json::to_string(&list).unwrap();
        assert_eq!(json, r#""a, b""#);
        assert_eq!(serde_json::from_str::<List>(&json).unwrap(), list);
        assert_eq!(postcard::to_allocvec(&list).unwrap(), postcard::to_allocvec("a, b").unwrap());
    }
}
