//! Pointers into the memory store: `mem:sha256:` and 64 hexadecimal digits.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use tripwire_core::explain::Explain;
use tripwire_core::record::chain::Digest;

/// The address of a content: the digest of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pointer(Digest);

/// A text that is no pointer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a memory pointer")]
pub struct PointerError {
    text: String,
}

impl Explain for PointerError {
    fn hint(&self) -> Cow<'_, str> {
        format!(
            "a pointer is `{SCHEME}` and at least {PREFIX_DIGITS_MIN} hexadecimal digits; see `tripwire memory list`"
        )
        .into()
    }
}

impl Pointer {
    /// The pointer of a content.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Digest::of(bytes))
    }

    /// Reads a full pointer.
    pub fn parse(text: &str) -> Result<Self, PointerError> {
        let hex = text.strip_prefix(SCHEME).ok_or_else(|| PointerError { text: text.to_owned() })?;
        Self::from_hex(hex).map_err(|_| PointerError { text: text.to_owned() })
    }

    /// Reads the digits of a full pointer: lower case, so that one content has one name.
    pub(super) fn from_hex(hex: &str) -> Result<Self, PointerError> {
        hex.parse().map(Self).map_err(|_error| PointerError { text: hex.to_owned() })
    }

    /// The digits.
    #[must_use]
    pub fn hex(&self) -> String {
        self.0.to_string()
    }
}

/// The digits of a full or short pointer as a person types it: with or without the scheme, in any case.
pub(super) fn prefix(text: &str) -> Result<String, PointerError> {
    let digits = text.strip_prefix(SCHEME).unwrap_or(text).to_ascii_lowercase();
    let good = (PREFIX_DIGITS_MIN..=64).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if good { Ok(digits) } else { Err(PointerError { text: text.to_owned() }) }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.0)
    }
}

impl TryFrom<String> for Pointer {
    type Error = PointerError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<Pointer> for String {
    fn from(pointer: Pointer) -> Self {
        pointer.to_string()
    }
}

/// What every pointer starts with.
const SCHEME: &str = "mem:sha256:";
/// The shortest prefix that is looked up.
const PREFIX_DIGITS_MIN: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_the_digest_and_reads_back() {
        let pointer = Pointer::of(b"abc");
        let text = "mem:sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(pointer.to_string(), text);
        assert_eq!(Pointer::parse(text), Ok(pointer));
    }

    #[test]
    fn what_is_no_pointer_is_refused() {
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        for bad in [
            hex,
            "mem:sha256:",
            "mem:sha1:abcd",
            &format!("mem:sha256:{hex}0"),
            &format!("mem:sha256:{}", hex.to_uppercase()),
        ] {
            assert!(Pointer::parse(bad).is_err(), "{bad}");
        }
        for bad in ["", "abc", "mem:sha256:xyzw", "../../../etc", &format!("{hex}0")] {
            assert!(prefix(bad).is_err(), "{bad}");
        }
        assert_eq!(prefix("MEM:sha256:abcd").ok(), None);
        assert_eq!(prefix("mem:sha256:ABCD").as_deref(), Ok("abcd"));
        assert_eq!(prefix("abcd").as_deref(), Ok("abcd"));
    }
}
