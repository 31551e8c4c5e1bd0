//! What a result brought that was not known before: the one observation that needs a memory.

use super::hex;
use super::words::Words;
use alloc::string::String;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tripwire_core::chain::event::Gain;

/// Machine words of one generation: 4,096 bits.
const SLOTS: usize = 64;
/// Bits of one generation.
const BITS: u64 = 4_096;
/// Set bits at which a generation is full: a quarter, so that a word never seen is taken for known once in sixteen.
const FULL: u32 = 1_024;

/// Whether words that the arguments had already are counted: only prose repeats its question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Echoes {
    Count,
    Ignore,
}

/// Which words were seen of late: two generations of a filter that may take a new word for a known one, rarely, and
/// never a known word of these generations for a new one. Two kilobytes of text, whatever the session's length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeenWords {
    now: [u64; SLOTS],
    before: [u64; SLOTS],
}

impl Default for SeenWords {
    fn default() -> Self {
        Self { now: [0; SLOTS], before: [0; SLOTS] }
    }
}

impl SeenWords {
    /// Counts what is new in a result, and remembers it with the arguments that led to it.
    pub(super) fn gain(&mut self, said: &Words, got: &Words, echoes: Echoes) -> Gain {
        let new = got.iter().filter(|word| !self.has(*word) && !said.has(*word)).count();
        let echo = if echoes == Echoes::Count { got.iter().filter(|word| said.has(*word)).count() } else { 0 };
        self.add(said, got);
        let small = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
        Gain { echo: small(echo), new: small(new), total: small(got.len()) }
    }

    /// Remembers the words of a call.
    pub(super) fn add(&mut self, said: &Words, got: &Words) {
        for word in said.iter().chain(got.iter()) {
            for (slot, bit) in places(word) {
                if let Some(bits) = self.now.get_mut(slot) {
                    *bits |= bit;
                }
            }
        }
        if self.now.iter().map(|bits| bits.count_ones()).sum::<u32>() >= FULL {
            self.before = self.now;
            self.now = [0; SLOTS];
        }
    }

    fn has(&self, word: u64) -> bool {
        let holds = |generation: &[u64; SLOTS]| {
            places(word).into_iter().all(|(slot, bit)| generation.get(slot).is_some_and(|bits| bits & bit != 0))
        };
        holds(&self.now) || holds(&self.before)
    }
}

/// The two bits of a word.
fn places(word: u64) -> [(usize, u64); 2] {
    let [low, _, _, _, high, ..] = word.to_le_bytes();
    [(word, low), (word >> 32, high)].map(|(place, byte)| {
        let slot = usize::try_from((place % BITS) >> 6).unwrap_or(0);
        (slot, 1_u64.wrapping_shl(u32::from(byte & 63)))
    })
}

impl Serialize for SeenWords {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::with_capacity(SLOTS.saturating_mul(32));
        for bits in self.now.iter().chain(&self.before) {
            hex::push(&mut text, &bits.to_be_bytes());
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for SeenWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (groups, rest) = text.as_bytes().as_chunks::<16>();
        let mut seen = Self::default();
        let slots = seen.now.iter_mut().chain(seen.before.iter_mut());
        if groups.len() != SLOTS.saturating_mul(2) || !rest.is_empty() {
            return Err(D::Error::custom("the remembered words are not of the expected length"));
        }
        for (slot, group) in slots.zip(groups) {
            *slot = hex::number(group).ok_or_else(|| D::Error::custom("the remembered words are no digits"))?;
        }
        Ok(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn what_was_said_or_seen_is_not_new() {
        let mut seen = SeenWords::default();
        let first = seen.gain(&Words::of("find the river"), &Words::of("the river is long and wide"), Echoes::Count);
        assert_eq!(first, Gain { echo: 2, new: 4, total: 6 });
        let again = seen.gain(&Words::of("find that river"), &Words::of("the river is long and deep"), Echoes::Ignore);
        assert_eq!(again, Gain { echo: 0, new: 1, total: 6 });
    }

    #[test]
    fn old_words_are_forgotten_and_recent_ones_are_not() {
        let mut seen = SeenWords::default();
        let none = Words::default();
        seen.add(&none, &Words::of("unforgettable"));
        for page in 0..40 {
            let text: String = (0..40).map(|word| format!("w{page}x{word} ")).collect();
            seen.add(&none, &Words::of(&text));
        }
        assert_eq!(seen.gain(&none, &Words::of("unforgettable"), Echoes::Ignore).new, 1);
        assert_eq!(seen.gain(&none, &Words::of("w39x7"), Echoes::Ignore).new, 0);
    }

    #[test]
    fn the_memory_survives_the_round_trip_and_is_small() {
        let mut seen = SeenWords::default();
        seen.add(&Words::of("some words"), &Words::of("and others"));
        let text = serde_json::to_string(&seen).unwrap();
        assert!(text.len() < 2_100, "{}", text.len());
        assert_eq!(serde_json::from_str::<SeenWords>(&text).unwrap(), seen);
        for bad in ["\"\"", "\"00\"", &text.replace('0', "x")] {
            assert!(serde_json::from_str::<SeenWords>(bad).is_err());
        }
    }
}
