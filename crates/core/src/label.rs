//! Short bounded strings (tool names, digests, ids) and their 64-bit fingerprints.

use crate::limits::LABEL_BYTES_MAX;
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An identifier from outside: at most [`LABEL_BYTES_MAX`] bytes, so that one label cannot fill the state.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Label(Box<str>);

impl Label {
    /// Takes a text that is short enough.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        (text.len() <= LABEL_BYTES_MAX).then(|| Self(text.into()))
    }

    /// Takes a text and cuts it at the bound, on a character boundary.
    #[must_use]
    pub fn cut(text: &str) -> Self {
        Self(cut(text, LABEL_BYTES_MAX).into())
    }

    /// The text.
    #[must_use]
    pub const fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether there is no text.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fingerprint under which the engine remembers this label.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.0.as_bytes())
    }
}

/// The longest prefix of at most `bytes` bytes that ends on a character boundary.
#[must_use]
pub fn cut(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    loop {
        match text.get(..end) {
            Some(prefix) => return prefix,
            None => end = end.saturating_sub(1),
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Label {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.len() > LABEL_BYTES_MAX {
            return Err(D::Error::custom(format_args!(
                "a text of {} bytes is longer than the {LABEL_BYTES_MAX} allowed here",
                text.len()
            )));
        }
        Ok(Self(text.into()))
    }
}

/// A stable 64-bit hash: the same on every machine and in every version of one state format.
///
/// It tells repeats apart from news. It is not a security boundary: an agent that forges a collision can only make
/// itself look *more* repetitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(u64);

/// Odd constants with well spread bits (from the fractional parts of the square roots of 2 and 3).
const MIX_A: u64 = 0x6a09_e667_f3bc_c909;
const MIX_B: u64 = 0xbb67_ae85_84ca_a73b;

impl Fingerprint {
    /// No content: what an absent field counts as.
    pub const NONE: Self = Self(0);

    /// Hashes bytes, eight at a time.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<8>();
        let mut hash = MIX_A ^ u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        for word in words {
            hash = mix(hash, u64::from_le_bytes(*word));
        }
        let mut last = [0_u8; 8];
        for (to, from) in last.iter_mut().zip(rest) {
            *to = *from;
        }
        Self(mix(hash, u64::from_le_bytes(last)))
    }

    /// Joins two fingerprints; the order matters.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(mix(self.0, other.0))
    }

    /// Whether there is any content behind it.
    #[must_use]
    pub const fn is_some(self) -> bool {
        self.0 != 0
    }

    /// The bare number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// One round of a multiply-and-fold hash: every bit of both words reaches every bit of the result.
const fn mix(hash: u64, word: u64) -> u64 {
    let folded = (hash ^ word.wrapping_mul(MIX_A)).wrapping_mul(MIX_B);
    folded ^ (folded >> 29) ^ (folded >> 47)
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::format;

    #[test]
    fn fingerprints_of_many_short_labels_do_not_collide() {
        let distinct: BTreeSet<_> = (0..100_000).map(|n| Fingerprint::of(format!("tool-{n}").as_bytes())).collect();
        assert_eq!(distinct.len(), 100_000);
    }

    #[test]
    fn fingerprints_are_the_same_on_every_machine() {
        assert_eq!(format!("{}", Fingerprint::of(b"")), format!("{}", Fingerprint::of(b"")));
        assert_ne!(Fingerprint::of(b"ab"), Fingerprint::of(b"ab\0"));
        let (a, b) = (Fingerprint::of(b"a"), Fingerprint::of(b"b"));
        assert_ne!(a.and(b), b.and(a));
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!(cut("aé", 2), "a");
        assert_eq!(cut("aé", 3), "aé");
        assert_eq!(cut("é", 0), "");
    }

    #[test]
    fn a_label_that_is_too_long_is_refused_and_says_so() {
        let long = format!("\"{}\"", "x".repeat(LABEL_BYTES_MAX + 1));
        let error = serde_json::from_str::<Label>(&long).unwrap_err();
        assert!(format!("{error}").contains("longer than the 1024"));
        assert!(Label::new("short").is_some());
    }
}
