//! Whether a word looks as if nobody had chosen it: letters and digits in no order that a name has.

/// The shortest word that is looked at: shorter ones are too often names of things.
pub(super) const RANDOM_BYTES_MIN: usize = 8;
/// Letters in a row that names have and random words of one case rarely do.
const NAME_RUN: usize = 5;

/// What kind of character a byte is; random words change between the kinds all the time.
const fn kind(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        _ => 2,
    }
}

/// Whether a word of letters and digits looks random: `8f3a2b1c`, `B4f9x2Kq7T`; not `v1alpha1`, `sha256sum`.
pub(super) fn is_random(word: impl Iterator<Item = u8> + Clone) -> bool {
    let mut shape = Shape::default();
    word.for_each(|byte| shape.add(byte));
    if shape.length < RANDOM_BYTES_MIN || !shape.plain {
        return false;
    }
    let [digits, lower, upper] = shape.counts;
    if digits == 0 {
        return false;
    }
    match (lower > 0, upper > 0) {
        // Both cases: a name begins its parts with a capital and writes numbers at their ends.
        (true, true) => shape.changes >= 3 && (shape.is_dense(3) || (shape.irregular > 0 && shape.is_dense(4))),
        (true, false) | (false, true) => shape.changes >= 3 && shape.longest_letters < NAME_RUN,
        (false, false) => false,
    }
}

/// Whether a word of letters alone looks random: it changes its case in the middle of what would be its parts.
pub(super) fn is_mixed_case(word: &[u8]) -> bool {
    // A name with one capital changes its case too rarely, and so does one that has hardly any small letter.
    let capitals = word.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    if capitals < 2 || word.len().saturating_sub(capitals) < 2 {
        return false;
    }
    let mut shape = Shape::default();
    word.iter().for_each(|byte| shape.add(*byte));
    shape.plain && shape.length >= 6 && shape.changes >= 3 && shape.is_dense(3)
}

/// Whether a word might be the end of a random one: letters of both cases, or hex digits alone.
pub(super) fn may_be_random(word: &[u8]) -> bool {
    let inner_capital = word.windows(2).any(|pair| matches!(pair, [b'a'..=b'z', b'A'..=b'Z']));
    word.len() >= 6 && (inner_capital || word.iter().all(u8::is_ascii_hexdigit))
}

/// Whether a word has digits and changes between letters, digits and cases more often than names do.
pub(super) fn changes_kind(word: &[u8]) -> bool {
    let mut shape = Shape::default();
    word.iter().for_each(|byte| shape.add(*byte));
    shape.changes >= 2 && shape.counts.first().is_some_and(|digits| *digits > 0)
}

/// What a word consists of.
#[derive(Debug, Clone, Copy)]
struct Shape {
    length: usize,
    /// Digits, small letters, capitals.
    counts: [usize; 3],
    /// How often the kind changes from one byte to the next; a capital and the small letters behind it are one kind.
    changes: usize,
    /// Changes that names do not have: a digit before a small letter, a capital before a digit.
    irregular: usize,
    longest_letters: usize,
    letters: usize,
    last: Option<u8>,
    /// Nothing but letters and digits.
    plain: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            length: 0,
            counts: [0; 3],
            changes: 0,
            irregular: 0,
            longest_letters: 0,
            letters: 0,
            last: None,
            plain: true,
        }
    }
}

impl Shape {
    /// Whether the kind changes at least once in so many bytes.
    const fn is_dense(&self, bytes: usize) -> bool {
        self.changes.saturating_mul(bytes) >= self.length
    }

    fn add(&mut self, byte: u8) {
        let kind = kind(byte);
        self.plain &= byte.is_ascii_alphanumeric();
        self.length = self.length.saturating_add(1);
        if let Some(count) = self.counts.get_mut(usize::from(kind)) {
            *count = count.saturating_add(1);
        }
        // A capital begins a part of a name.
        let begun = self.last == Some(2) && kind == 1 && self.letters == 1;
        let same = self.last == Some(kind) || begun;
        self.changes = self.changes.saturating_add(usize::from(self.last.is_some() && !same));
        let irregular = matches!((self.last, kind), (Some(0), 1) | (Some(2), 0));
        self.irregular = self.irregular.saturating_add(usize::from(irregular));
        self.letters = match (kind, same) {
            (0, _) => 0,
            (_, true) => self.letters.saturating_add(1),
            (_, false) => 1,
        };
        self.longest_letters = self.longest_letters.max(self.letters);
        self.last = Some(kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_words_are_told_from_names() {
        for word in ["8f3a2b1c", "B4f9x2Kq", "aZ3kP9qL7mXw", "0a1b2c3d4e", "7GhK29sLq1"] {
            assert!(is_random(word.bytes()), "{word}");
        }
        for word in [
            "v1alpha1",
            "sha256sum",
            "utf8mb4",
            "x86x64",
            "test12345",
            "B07HRFSNL4",
            "12345678",
            "HelloWorld2",
            "py3k",
            "TestCase1Part2Sub",
        ] {
            assert!(!is_random(word.bytes()), "{word}");
        }
        assert!(is_mixed_case(b"kXpQzRtB"));
        for word in [&b"getElementById"[..], b"HttpClient", b"HTTPS", b"IDs"] {
            assert!(!is_mixed_case(word), "{word:?}");
        }
    }
}
