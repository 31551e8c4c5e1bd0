//! The words of a text: which there are, whether it is prose, and what it shares with another.

use super::minhash;
use super::normal::strip_escapes;
use alloc::vec::Vec;
use tripwire_core::sketch::{WORD_LANES, WordSketch};

/// Characters of a text whose words count: a page of it, whatever its length.
pub(super) const WORDS_CHARS_MAX: usize = 2_000;

/// The distinct words of a text's beginning, as hashes.
///
/// A list, and a table with open addresses in which they are looked up; 0 is a free place. Every event is read into two of
/// them, and sorting would cost more than everything else that is done with them.
#[derive(Debug, Clone, Default)]
pub(super) struct Words {
    list: Vec<u64>,
    table: Vec<u64>,
}

impl Words {
    /// Reads the words, whatever their case.
    pub(super) fn of(text: &str) -> Self {
        Self::of_bytes(text.as_bytes())
    }

    /// Reads the words of a text in its bytes.
    pub(super) fn of_bytes(text: &[u8]) -> Self {
        let found = hashes(&strip_escapes(head_bytes(text)));
        // A third of the places at least stays free.
        let places = found.len().saturating_add(found.len().div_ceil(2)).max(4).next_power_of_two();
        let mut words = Self { list: Vec::with_capacity(found.len()), table: alloc::vec![0; places] };
        found.into_iter().for_each(|hash| words.insert(minhash::mix(hash)));
        words
    }

    /// The hashes.
    pub(super) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.list.iter().copied()
    }

    /// How many.
    pub(super) const fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether a word is among them.
    pub(super) fn has(&self, word: u64) -> bool {
        let mut place = self.first_place(word);
        // A table is never full, so that the walk ends at a free place.
        loop {
            match self.table.get(place) {
                Some(known) if *known == word => return word != 0,
                Some(0) | None => return false,
                Some(_) => place = self.next_place(place),
            }
        }
    }

    fn insert(&mut self, word: u64) {
        let mut place = self.first_place(word);
        loop {
            match self.table.get_mut(place) {
                Some(known) if *known == word => return,
                Some(free @ 0) => {
                    *free = word;
                    self.list.push(word);
                    return;
                }
                Some(_) => place = self.next_place(place),
                None => return,
            }
        }
    }

    fn first_place(&self, word: u64) -> usize {
        usize::try_from(word).unwrap_or(0) & self.table.len().saturating_sub(1)
    }

    const fn next_place(&self, place: usize) -> usize {
        place.wrapping_add(1) & self.table.len().saturating_sub(1)
    }

    /// The sketch by which two texts are compared; none of a text without words.
    pub(super) fn sketch(&self) -> Option<WordSketch> {
        let mut lanes = [0_u8; WORD_LANES];
        for hash in self.iter() {
            let lane = usize::try_from(hash >> 57).unwrap_or(0);
            let [low, ..] = hash.to_le_bytes();
            // 0 is a lane with no word in it.
            let value = low.max(1);
            if let Some(least) = lanes.get_mut(lane) {
                *least = if *least == 0 { value } else { (*least).min(value) };
            }
        }
        (!self.list.is_empty()).then(|| WordSketch::from_lanes(lanes))
    }
}

/// The hashes of all words of a text, one for each time it stands there. A hash needs the one before it, so that two halves of the
/// text are read side by side.
fn hashes(text: &[u8]) -> Vec<u64> {
    let half = text.len().div_euclid(2);
    let in_word = text.iter().skip(half).take_while(|byte| letter(**byte) != 0).count();
    let (left, right) = text.split_at_checked(half.saturating_add(in_word)).unwrap_or((text, &[]));
    let (mut first, mut second) = (HashedWords::of_length(text.len()), HashedWords::of_length(right.len()));
    for (one, other) in left.iter().zip(right) {
        first.read(*one);
        second.read(*other);
    }
    left.iter().skip(right.len()).for_each(|byte| first.read(*byte));
    right.iter().skip(left.len()).for_each(|byte| second.read(*byte));
    let mut all = first.end();
    all.extend(second.end());
    all
}

/// The hashes of the words that were read. Where a word ends nobody can foresee, so that there is no branch for it: every hash is
/// written down, and only that of a whole word is kept.
struct HashedWords {
    found: Vec<u64>,
    count: usize,
    hash: u64,
}

impl HashedWords {
    fn of_length(bytes: usize) -> Self {
        // A word and what separates it from the next have two bytes at least.
        Self { found: alloc::vec![0; bytes.div_ceil(2)], count: 0, hash: OFFSET }
    }

    fn read(&mut self, byte: u8) {
        let letter = letter(byte);
        if let Some(place) = self.found.get_mut(self.count) {
            *place = self.hash;
        }
        self.count = self.count.wrapping_add(usize::from((letter == 0) & (self.hash != OFFSET)));
        let next = (self.hash ^ u64::from(letter)).wrapping_mul(PRIME);
        self.hash = if letter == 0 { OFFSET } else { next };
    }

    fn end(mut self) -> Vec<u64> {
        self.found.truncate(self.count);
        self.found.extend((self.hash != OFFSET).then_some(self.hash));
        self.found
    }
}

/// The beginning of a text: so many characters.
pub(super) fn first_chars(text: &str, count: usize) -> &str {
    let plain = text.as_bytes().get(..count).is_none_or(<[u8]>::is_ascii);
    let end = if plain { Some(count) } else { text.char_indices().nth(count).map(|(end, _)| end) };
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// The beginning of a text.
fn head_bytes(text: &[u8]) -> &[u8] {
    if text.len() <= WORDS_CHARS_MAX {
        return text;
    }
    if let Some(start) = text.get(..WORDS_CHARS_MAX).filter(|start| start.is_ascii()) {
        return start;
    }
    // The bytes behind the first of a character begin with the bits 10.
    let mut starts = (0_usize..).zip(text).filter(|(_, byte)| **byte & 0xc0 != 0x80);
    match starts.nth(WORDS_CHARS_MAX) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

/// Whether a text is prose: at least four words, three quarters of them free of the characters of code.
pub(super) fn is_prose(text: &str) -> bool {
    is_prose_bytes(text.as_bytes())
}

/// The same of a text in its bytes.
pub(super) fn is_prose_bytes(text: &[u8]) -> bool {
    const WORDS_MIN: usize = 4;
    let (mut all, mut plain) = (0_usize, 0_usize);
    // What the word consists of that is being read; no branch depends on it, as nobody can foresee where a word ends.
    let mut word = ProseByte::Space;
    for byte in head_bytes(text).iter().chain(b" ") {
        let byte = PROSE_BYTES.get(usize::from(*byte)).copied().unwrap_or(ProseByte::Plain);
        let ends = byte == ProseByte::Space;
        all = all.wrapping_add(usize::from(ends & (word != ProseByte::Space)));
        plain = plain.wrapping_add(usize::from(ends & (word == ProseByte::Plain)));
        word = if ends { ProseByte::Space } else { word.max(byte) };
    }
    all >= WORDS_MIN && plain.saturating_mul(4) >= all.saturating_mul(3)
}

/// What a byte is to prose; a word is what the greatest of its bytes is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ProseByte {
    Space,
    Plain,
    /// It stands in code.
    Code,
}

const PROSE_BYTES: [ProseByte; 256] = {
    let mut table = [ProseByte::Plain; 256];
    let mut rest: &mut [ProseByte] = &mut table;
    let mut byte = 0_u8;
    while let Some((place, behind)) = rest.split_first_mut() {
        if byte.is_ascii_whitespace() {
            *place = ProseByte::Space;
        } else if matches!(byte, b'/' | b'\\' | b'=' | b'(' | b')' | b'{' | b'}' | b'<' | b'>' | b'|')
            || matches!(byte, b'_' | b'$' | b'*' | b'[' | b']' | b'^' | b'+' | b';' | b'~')
        {
            *place = ProseByte::Code;
        }
        byte = byte.wrapping_add(1);
        rest = behind;
    }
    table
};

/// A byte of a word in small letters, as [`is_word_char`] has it: all bytes of a character beyond ASCII are. 0 for all others.
fn letter(byte: u8) -> u8 {
    LETTERS.get(usize::from(byte)).copied().unwrap_or(0)
}

const LETTERS: [u8; 256] = {
    let mut table = [0_u8; 256];
    let mut rest: &mut [u8] = &mut table;
    let mut byte = 0_u8;
    while let Some((place, behind)) = rest.split_first_mut() {
        if byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii() {
            *place = byte.to_ascii_lowercase();
        }
        byte = byte.wrapping_add(1);
        rest = behind;
    }
    table
};

/// Letters, digits, the underscore and everything beyond ASCII make words.
pub(super) const fn is_word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()
}

/// The words of a text in their order.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_word_char(c)).filter(|word| !word.is_empty())
}

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// One word as it is.
pub(super) fn hash_bytes(word: &[u8]) -> u64 {
    minhash::mix(word.iter().fold(OFFSET, |all, byte| (all ^ u64::from(*byte)).wrapping_mul(PRIME)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_core::units::Ratio;

    #[test]
    fn words_are_the_same_whatever_their_case_order_and_number() {
        let sorted = |text: &str| {
            let mut words: Vec<u64> = Words::of(text).iter().collect();
            words.sort_unstable();
            words
        };
        assert_eq!(sorted("The cat, the CAT!"), sorted("cat (the)"));
        let many: alloc::string::String = (0..400).map(|n| alloc::format!("{n} ")).collect();
        assert_eq!((Words::of(&many).len(), sorted(&many).len()), (400, 400));
        assert!(sorted(&many).iter().all(|word| Words::of(&many).has(*word)));
        assert!(!Words::of("cat").has(sorted("dog").into_iter().sum()));
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
