//! The words of a text: which there are, whether it is prose, and what it shares with another.

use super::minhash;
use super::normal::without_escapes;
use alloc::vec::Vec;
use tripwire_core::sketch::{WORD_LANES, WordSketch};

/// Characters of a text whose words count: a page of it, whatever its length.
pub(super) const WORDS_CHARS_MAX: usize = 2_000;

/// The distinct words of a text's beginning, as hashes, sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Words(Vec<u64>);

impl Words {
    /// Reads the words, whatever their case.
    pub(super) fn of(text: &str) -> Self {
        let plain = without_escapes(head(text));
        let mut hashes: Vec<u64> = words(&plain).map(hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        Self(hashes)
    }

    /// The hashes.
    pub(super) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().copied()
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether a word is among them.
    pub(super) fn has(&self, word: u64) -> bool {
        self.0.binary_search(&word).is_ok()
    }

    /// The sketch by which two texts are compared; none of a text without words.
    pub(super) fn sketch(&self) -> Option<WordSketch> {
        let mut lanes = [0_u8; WORD_LANES];
        for hash in self.iter() {
            let lane = usize::try_from(hash >> 57).unwrap_or(0);
            let [low, ..] = hash.to_le_bytes();
            // 0 is a lane without a word.
            let value = low.max(1);
            if let Some(least) = lanes.get_mut(lane) {
                *least = if *least == 0 { value } else { (*least).min(value) };
            }
        }
        (!self.0.is_empty()).then(|| WordSketch::from_lanes(lanes))
    }
}

/// The beginning of a text.
pub(super) fn head(text: &str) -> &str {
    match text.char_indices().nth(WORDS_CHARS_MAX) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

/// Whether a text is prose: at least four words, three quarters of them free of the characters of code.
pub(super) fn is_prose(text: &str) -> bool {
    const WORDS_MIN: usize = 4;
    let code = |c: char| {
        matches!(
            c,
            '/' | '\\'
                | '='
                | '('
                | ')'
                | '{'
                | '}'
                | '<'
                | '>'
                | '|'
                | '_'
                | '$'
                | '*'
                | '['
                | ']'
                | '^'
                | '+'
                | ';'
                | '~'
        )
    };
    let (mut all, mut plain) = (0_usize, 0_usize);
    for word in head(text).split_ascii_whitespace() {
        all = all.saturating_add(1);
        plain = plain.saturating_add(usize::from(!word.contains(code)));
    }
    all >= WORDS_MIN && plain.saturating_mul(4) >= all.saturating_mul(3)
}

/// Letters, digits, the underscore and everything beyond ASCII make words.
pub(super) const fn is_word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()
}

/// The words of a text in their order.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_word_char(c)).filter(|word| !word.is_empty())
}

/// One word, whatever its case.
fn hash(word: &str) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let joined =
        word.bytes().fold(OFFSET, |all, byte| (all ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(PRIME));
    minhash::mix(joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_core::units::Ratio;

    #[test]
    fn words_are_the_same_whatever_their_case_order_and_number() {
        assert_eq!(Words::of("The cat, the CAT!"), Words::of("cat (the)"));
        assert_eq!(Words::of("a_b c").len(), 2);
        assert_eq!(Words::of("  ... ").sketch(), None);
    }

    #[test]
    fn questions_that_share_words_resemble_each_other_and_others_do_not() {
        let near =
            |one: &str, other: &str| Words::of(one).sketch().unwrap().similarity(&Words::of(other).sketch().unwrap());
        let question = "population of the old town in 1990";
        assert_eq!(near(question, question), Ratio::ONE);
        assert!(near(question, "old town population in 1990 census") > Ratio::from_per_mille(400));
        assert!(near(question, "who wrote the opera about a whale hunter") < Ratio::from_per_mille(300));
    }

    #[test]
    fn prose_is_told_from_code_and_from_single_words() {
        assert!(is_prose("who was the first person to cross it alone?"));
        for text in ["src/main.rs src/lib.rs", "x", "fn main() { let x = [1]; }", "", "one two three"] {
            assert!(!is_prose(text), "{text}");
        }
    }
}
