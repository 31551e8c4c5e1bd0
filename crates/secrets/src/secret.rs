//! A key that cannot be printed by accident.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use core::fmt;

/// What stands in a text in the place of the key.
const MARK: &str = "[key]";

/// A provider's key. It has no `Display`, its `Debug` hides it, and it takes itself out of texts that came from outside.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The key, if there is any text at all: an empty variable is no key.
    #[must_use]
    pub fn new(key: &str) -> Option<Self> {
        let key = key.trim();
        (!key.is_empty()).then(|| Self(key.to_owned()))
    }

    /// Whether a header can carry it: a line break or a letter beyond ASCII is a slip in setting it.
    #[must_use]
    pub fn is_sendable(&self) -> bool {
        self.0.chars().all(|c| c.is_ascii_graphic() || c == ' ')
    }

    /// The key itself, for the one header that carries it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// A text without the key: a server may send back what it was sent.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        text.replace(&self.0, MARK)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn a_key_is_never_printed() {
        let key = Secret::new(" sk-very-secret \n").unwrap();
        assert_eq!(key.reveal(), "sk-very-secret");
        assert_eq!(format!("{key:?} {:?}", Some(&key)), "Secret(hidden) Some(Secret(hidden))");
        assert_eq!(key.redact("bad key sk-very-secret, yes sk-very-secret"), "bad key [key], yes [key]");
        assert_eq!(key.redact("nothing here"), "nothing here");
        assert_eq!(Secret::new("  "), None);
    }
}
