//! Fixed-size sketches of a text from which the similarity of two texts is estimated: by its bytes or by its words.

use crate::record::chain::hex;
use crate::units::Ratio;
use core::fmt;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes of a sketch: one lane each.
pub const LANES: usize = 64;

/// The prefix that names the version of the sketching function in JSON.
const VERSION: &str = "m1:";

/// A one-permutation MinHash of a text's shingles: [`LANES`] lanes of eight bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sketch([u8; LANES]);

impl Sketch {
    /// Wraps finished lanes.
    #[must_use]
    pub const fn from_lanes(lanes: [u8; LANES]) -> Self {
        Self(lanes)
    }

    /// The lanes.
    #[must_use]
    pub const fn lanes(&self) -> &[u8; LANES] {
        &self.0
    }

    /// The estimated similarity of the two texts.
    ///
    /// Two unrelated texts still agree in one lane of 256 by chance; the estimate takes that share off.
    #[must_use]
    pub fn similarity(&self, other: &Self) -> Ratio {
        // Counted in bytes, which a machine does for many lanes at once; there are fewer lanes than a byte counts.
        let equal = self.0.iter().zip(&other.0).fold(0_u8, |equal, (a, b)| equal.wrapping_add(u8::from(a == b)));
        let equal = u64::from(equal);
        let lanes = u64::try_from(LANES).unwrap_or(1);
        // (equal/lanes - 1/256) / (1 - 1/256), in whole numbers.
        Ratio::of(equal.saturating_mul(256).saturating_sub(lanes), lanes.saturating_mul(255))
    }
}

impl fmt::Display for Sketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(VERSION)?;
        f.write_str(core::str::from_utf8(&hex::<{ LANES * 2 }>(&self.0)).unwrap_or_default())
    }
}

impl fmt::Debug for Sketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Sketch {
    /// Hexadecimal text in JSON, bare bytes in a snapshot.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { serializer.serialize_bytes(&self.0) }
    }
}

impl<'de> Deserialize<'de> for Sketch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SketchVisitor;
        impl serde::de::Visitor<'_> for SketchVisitor {
            type Value = Sketch;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a sketch: `{VERSION}` and {} hex digits", LANES.saturating_mul(2))
            }
            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Sketch, E> {
                bytes.try_into().map(Sketch).map_err(|_| E::invalid_length(bytes.len(), &self))
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Sketch, E> {
                parse(text)
                    .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(crate::label::cut(text, 40)), &self))
            }
        }
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(SketchVisitor)
        } else {
            deserializer.deserialize_bytes(SketchVisitor)
        }
    }
}

/// Reads the printed form.
fn parse(text: &str) -> Option<Sketch> {
    hex_lanes(text.strip_prefix(VERSION)?).map(Sketch)
}

/// Reads the lanes behind the version.
fn hex_lanes<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte.wrapping_sub(b'0')),
        b'a'..=b'f' => Some(byte.wrapping_sub(b'a').wrapping_add(10)),
        _ => None,
    };
    let mut lanes = [0_u8; N];
    for (lane, [high, low]) in lanes.iter_mut().zip(pairs) {
        *lane = digit(*high)?.wrapping_shl(4) | digit(*low)?;
    }
    Some(lanes)
}

/// Bytes of a word sketch: one lane each. A question or a request has some fifty words; with fewer lanes several of
/// them share one, and the estimate strays by more than the rules can bear.
pub const WORD_LANES: usize = 128;

/// The prefix that names the version of the word sketch in JSON.
const WORDS_VERSION: &str = "w1:";

/// A one-permutation MinHash of a text's distinct words: each word falls into one of [`WORD_LANES`] lanes, and the least
/// value of a lane stays. A lane with no word in it is 0, so that two short questions are compared by their few words.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WordSketch([u8; WORD_LANES]);

impl WordSketch {
    /// Wraps finished lanes; 0 is a lane with no word in it.
    #[must_use]
    pub const fn from_lanes(lanes: [u8; WORD_LANES]) -> Self {
        Self(lanes)
    }

    /// The share of words that both texts have: equal lanes among those filled in either.
    #[must_use]
    pub fn similarity(&self, other: &Self) -> Ratio {
        let (mut filled, mut equal) = (0_u8, 0_u8);
        for (a, b) in self.0.iter().zip(&other.0) {
            filled = filled.wrapping_add(u8::from((a | b) != 0));
            equal = equal.wrapping_add(u8::from((a == b) & (*a != 0)));
        }
        Ratio::of(u64::from(equal), u64::from(filled))
    }

    /// How many lanes hold a word: about as many as the text has distinct words, for short texts.
    #[must_use]
    pub fn filled(&self) -> usize {
        self.0.iter().filter(|lane| **lane != 0).count()
    }
}

impl fmt::Display for WordSketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(WORDS_VERSION)?;
        f.write_str(core::str::from_utf8(&hex::<{ WORD_LANES * 2 }>(&self.0)).unwrap_or_default())
    }
}

impl fmt::Debug for WordSketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for WordSketch {
    /// Hexadecimal text in JSON, bare bytes in a snapshot.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { serializer.serialize_bytes(&self.0) }
    }
}

impl<'de> Deserialize<'de> for WordSketch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordSketchVisitor;
        impl serde::de::Visitor<'_> for WordSketchVisitor {
            type Value = WordSketch;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a word sketch: `{WORDS_VERSION}` and {} hex digits", WORD_LANES.saturating_mul(2))
            }
            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<WordSketch, E> {
                bytes.try_into().map(WordSketch).map_err(|_| E::invalid_length(bytes.len(), &self))
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<WordSketch, E> {
                let lanes = text.strip_prefix(WORDS_VERSION).and_then(hex_lanes);
                lanes
                    .map(WordSketch)
                    .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(crate::label::cut(text, 40)), &self))
            }
        }
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(WordSketchVisitor)
        } else {
            deserializer.deserialize_bytes(WordSketchVisitor)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn equal_sketches_are_fully_similar_and_different_ones_are_not() {
        let one = Sketch::from_lanes([7; LANES]);
        assert_eq!(one.similarity(&one), Ratio::ONE);
        assert_eq!(one.similarity(&Sketch::from_lanes([8; LANES])), Ratio::ZERO);
    }

    #[test]
    fn a_sketch_survives_the_round_trip_and_another_version_is_refused() {
        let mut lanes = [0; LANES];
        lanes[3] = 0xaf;
        let sketch = Sketch::from_lanes(lanes);
        let text = serde_json::to_string(&sketch).unwrap();
        assert_eq!(serde_json::from_str::<Sketch>(&text).unwrap(), sketch);
        for bad in [text.replace("m1:", "m2:"), text.replace("af", "AF"), text.replace("af", "")] {
            let error = serde_json::from_str::<Sketch>(&bad).unwrap_err().to_string();
            assert!(error.contains("hex digits"), "{error}");
        }
    }

    #[test]
    fn word_sketches_compare_filled_lanes_only_and_survive_the_round_trip() {
        let lanes = |filled: &[(usize, u8)]| {
            let mut lanes = [0; WORD_LANES];
            filled.iter().for_each(|(lane, value)| lanes[*lane] = *value);
            WordSketch::from_lanes(lanes)
        };
        let (one, other) = (lanes(&[(1, 5), (2, 6), (3, 7)]), lanes(&[(1, 5), (2, 9), (4, 7)]));
        assert_eq!(one.similarity(&one), Ratio::ONE);
        assert_eq!(one.similarity(&other), Ratio::of(1, 4));
        assert_eq!((one.filled(), lanes(&[]).similarity(&lanes(&[]))), (3, Ratio::ZERO));
        let text = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<WordSketch>(&text).unwrap(), one);
        assert!(serde_json::from_str::<WordSketch>(&text.replace("w1:", "m1:")).is_err());
    }
}
