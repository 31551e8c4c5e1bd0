//! The hash chain: each record commits to its body, its index and the record before it.
//!
//! `h = SHA-256(tag, JCS{"b":body,"i":index,"p":previous})`. Wall clock, host and durations stay outside, so the same
//! inputs give the same hash on every machine.

use crate::explain::Explain;
use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt::{self, Debug, Display};
use core::str::FromStr;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use super::canonical::{CanonicalError, INTEGER_LIMIT};

/// What the first record of a chain names as its previous one; the domain keeps chains of different kinds apart.
#[must_use]
pub fn genesis(domain: &str) -> Digest {
    Digest::of_parts([GENESIS_TAG, domain.as_bytes()])
}

/// The hash of one record. `body` must be canonical text already: it is hashed as it is.
///
/// # Errors
/// An index that canonical JSON cannot hold; at a million records a second that is 285 years away.
pub fn link(previous: &Digest, index: u64, body: &str) -> Result<Digest, CanonicalError> {
    if index >= INTEGER_LIMIT {
        return Err(CanonicalError::IntegerOutOfRange(alloc::format!("{index}")));
    }
    let mut number = String::new();
    super::canonical::write(&index, &mut number)?;
    Ok(Digest::of_parts([
        LINK_TAG,
        b"{\"b\":",
        body.as_bytes(),
        b",\"i\":",
        number.as_bytes(),
        b",\"p\":\"",
        &previous.hex(),
        b"\"}",
    ]))
}

/// A SHA-256 digest, written as 64 lower-case hexadecimal digits wherever people or files see it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; DIGEST_BYTES]);

impl Digest {
    /// The digest of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self::of_parts([bytes])
    }

    /// Takes a digest that was computed elsewhere, for instance piece by piece over a large file.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; DIGEST_BYTES]) -> Self {
        Self(bytes)
    }

    /// The raw bytes, for signatures and tree hashes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; DIGEST_BYTES] {
        &self.0
    }

    /// The digest of some pieces one after the other, without copying them together.
    #[must_use]
    pub fn of_parts<'part>(parts: impl IntoIterator<Item = &'part [u8]>) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// The hexadecimal text as bytes, for writers that need no allocation.
    #[must_use]
    pub fn hex(&self) -> [u8; HEX_BYTES] {
        self.digits()
    }

    /// The first 16 hexadecimal digits, which is what people are shown and what seals are cut to.
    #[must_use]
    pub fn short(&self) -> [u8; SHORT_BYTES] {
        self.digits()
    }

    fn digits<const LENGTH: usize>(&self) -> [u8; LENGTH] {
        hex(&self.0)
    }
}

/// As many hexadecimal digits of some bytes as there is room for.
pub(crate) fn hex<const LENGTH: usize>(bytes: &[u8]) -> [u8; LENGTH] {
    let mut text = [b'0'; LENGTH];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        if let [high, low] = pair {
            *high = hex_digit(byte >> 4);
            *low = hex_digit(byte & 0xf);
        }
    }
    text
}

impl Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(core::str::from_utf8(&self.hex()).unwrap_or_default())
    }
}

impl Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, formatter)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    /// Upper case is refused: a digest has one text, else two files could differ and still claim the same hash.
    fn from_str(text: &str) -> Result<Self, DigestError> {
        if text.len() != HEX_BYTES {
            return Err(DigestError);
        }
        let mut bytes = [0; DIGEST_BYTES];
        let mut seen = 0;
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            if let [high, low] = *pair {
                let (high, low) = (hex_value(high), hex_value(low));
                seen |= high | low;
                *byte = (high << 4) | (low & 0xf);
            }
        }
        // One look at the end instead of one per digit: reading a journal parses two digests a line.
        if seen & NOT_HEX != 0 {
            return Err(DigestError);
        }
        Ok(Self(bytes))
    }
}

/// A text that is not 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a digest is 64 lower-case hexadecimal digits")]
pub struct DigestError;

impl Explain for DigestError {
    fn hint(&self) -> Cow<'_, str> {
        Cow::Borrowed("copy the digest whole, as `sha256sum` prints it")
    }
}

impl Serialize for Digest {
    /// Hexadecimal text in JSON, bare bytes in a snapshot.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.serialize_str(core::str::from_utf8(&self.hex()).unwrap_or_default());
        }
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return deserializer.deserialize_str(HexVisitor);
        }
        Deserialize::deserialize(deserializer).map(Self)
    }
}

struct HexVisitor;

impl Visitor<'_> for HexVisitor {
    type Value = Digest;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("64 lower-case hexadecimal digits")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Digest, E> {
        text.parse().map_err(|_error: DigestError| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}

/// Branch-free, so that the loop over a digest becomes vector code: letters start 39 places after the digits end.
const fn hex_digit(nibble: u8) -> u8 {
    let is_letter = nibble.wrapping_add(6) >> 4;
    b'0'.wrapping_add(nibble).wrapping_add(is_letter.wrapping_mul(39))
}

/// The value of a digit, or something with a high bit.
const fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit.wrapping_sub(b'0'),
        b'a'..=b'f' => digit.wrapping_sub(b'a').wrapping_add(10),
        _ => NOT_HEX,
    }
}

const NOT_HEX: u8 = 0xf0;
const DIGEST_BYTES: usize = 32;
const HEX_BYTES: usize = 64;
const SHORT_BYTES: usize = 16;

/// Tags keep a hash of one kind from ever being a hash of another kind; both end in a byte that JSON cannot begin with.
const GENESIS_TAG: &[u8] = b"tripwire/genesis/v1\n";
const LINK_TAG: &[u8] = b"tripwire/record/v1\n";

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString;

    use super::*;
    use crate::record::canonical;

    #[derive(Serialize)]
    struct Preimage {
        b: [u8; 2],
        i: u64,
        p: Digest,
    }

    /// The pieces that are hashed are the canonical text that the design names, byte for byte.
    #[test]
    fn log_1_link_hashes_the_canonical_text_of_body_index_and_previous() {
        let previous = genesis("test");
        let body = [1, 2];
        let text = canonical::to_string(&Preimage { b: body, i: 7, p: previous }).unwrap();
        let whole = format!("tripwire/record/v1\n{text}");
        assert_eq!(link(&previous, 7, "[1,2]").unwrap(), Digest::of(whole.as_bytes()));
    }

    #[test]
    fn every_part_of_a_link_changes_the_hash() {
        let previous = genesis("test");
        let base = link(&previous, 7, "[1,2]").unwrap();
        assert_ne!(base, link(&previous, 8, "[1,2]").unwrap());
        assert_ne!(base, link(&previous, 7, "[1,3]").unwrap());
        assert_ne!(base, link(&genesis("other"), 7, "[1,2]").unwrap());
        assert_eq!(base, link(&previous, 7, "[1,2]").unwrap());
    }

    #[test]
    fn an_index_beyond_canonical_json_is_refused() {
        let previous = genesis("test");
        assert!(link(&previous, INTEGER_LIMIT, "1").is_err());
        assert!(link(&previous, INTEGER_LIMIT - 1, "1").is_ok());
    }

    #[test]
    fn the_digest_of_abc_is_the_published_one() {
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of(b"abc").to_string(), text);
        assert_eq!(text.parse::<Digest>().unwrap(), Digest::of(b"abc"));
        assert_eq!(format!("{:?}", Digest::of(b"abc")), text);
        assert_eq!(Digest::of(b"abc").short(), *b"ba7816bf8f01cfea");
    }

    #[test]
    fn a_digest_has_one_text() {
        let text = Digest::of(b"abc").to_string();
        assert!(text.to_uppercase().parse::<Digest>().is_err());
        assert!(text.get(1..).unwrap().parse::<Digest>().is_err());
        for wrong in ["g0", "0g", "gg"] {
            assert!(format!("{wrong}{}", text.get(2..).unwrap()).parse::<Digest>().is_err(), "{wrong}");
        }
        assert!(format!("{text}0").parse::<Digest>().is_err());
        assert!(text.replace('b', "g").parse::<Digest>().is_err());
        let json = serde_json::to_string(&Digest::of(b"abc")).unwrap();
        assert_eq!(json, format!("\"{text}\""));
        assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), Digest::of(b"abc"));
        assert!(serde_json::from_str::<Digest>("\"ab\"").is_err());
        assert!(serde_json::from_str::<Digest>("7").is_err());
    }
}
