//! What each rule is, in the words that `tripwire explain` prints.

/// One rule, explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub id: &'static str,
    /// In a few words.
    pub title: &'static str,
    /// What it does.
    pub what: &'static str,
}

/// Every rule.
pub const CATALOGUE: &[Entry] = &[];

/// The entry of a name.
#[must_use]
pub fn find(id: &str) -> Option<&'static Entry> {
    CATALOGUE.iter().find(|entry| entry.id.eq_ignore_ascii_case(id))
}
