//! The words of a result: where each begins and ends, and whether it is a number, a name or drawn at random.

use super::numerals;
use super::random;
use super::words::hash_bytes;

/// One word as a number: its class in the upper two bits, and its value or its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word(pub(super) u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Plain,
    Number,
    /// Nobody chose it.
    Random,
    /// It may be the rare random word that looks like a name.
    Odd,
}

impl Word {
    const CLASS: u32 = 30;
    const VALUE: u32 = (1 << 30) - 1;

    pub(super) fn of(text: &[u8]) -> Self {
        let hash = u32::try_from(hash_bytes(text) & u64::from(Self::VALUE)).unwrap_or(0);
        // Small letters alone, and not all of them hex digits: what most words are.
        if text.iter().all(u8::is_ascii_lowercase) && text.iter().any(|byte| *byte > b'f') {
            return Self(hash);
        }
        if let Some(key) = numerals::is_number(text).then(|| order_of(text)).flatten() {
            return Self(key | (1 << Self::CLASS));
        }
        // The digits of a number change their kind at its point, and nobody drew them for that.
        if text == RANDOM_MARK
            || (!numerals::is_number(text) && random::changes_kind(text))
            || random::is_mixed_case(text)
        {
            return Self(hash | (2 << Self::CLASS));
        }
        if random::may_be_random(text) { Self(hash | (3 << Self::CLASS)) } else { Self(hash) }
    }

    pub(super) const fn class(self) -> Class {
        match self.0 >> Self::CLASS {
            0 => Class::Plain,
            1 => Class::Number,
            2 => Class::Random,
            _ => Class::Odd,
        }
    }
}

/// What stands for an id whose shape gave it away.
pub(super) const RANDOM_MARK: &[u8] = b"<id>";

/// A number such that a greater one has a greater key: the length of its value in millionths, and the first bits of it. Nothing
/// for one beyond all counts, which is a name.
pub(super) fn order_of(text: &[u8]) -> Option<u32> {
    const WHOLE_DIGITS_MAX: usize = 7;
    const PLACES: usize = 6;
    const BITS: u32 = 24;
    let whole = numerals::digits(text);
    let places = text.get(whole..)?.get(1..).unwrap_or_default();
    if whole > WHOLE_DIGITS_MAX {
        return None;
    }
    let millionths = (0..PLACES).fold(numerals::value(text.get(..whole)?), |sum, place| {
        sum.saturating_mul(10).saturating_add(places.get(place).map_or(0, |digit| u64::from(digit.wrapping_sub(b'0'))))
    });
    let length = u64::BITS.saturating_sub(millionths.leading_zeros());
    // The highest bit is always set and need not be kept.
    let first =
        millionths.wrapping_shl(u64::BITS.saturating_sub(length)).wrapping_shl(1).wrapping_shr(u64::BITS - BITS);
    u32::try_from(first).ok().map(|first| (length << BITS) | first)
}

/// A text in words and what stands between them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pieces<'t>(pub(super) &'t [u8]);

#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'t> {
    pub(super) text: &'t [u8],
    pub(super) is_word: bool,
}

impl<'t> Iterator for Pieces<'t> {
    type Item = Piece<'t>;

    fn next(&mut self) -> Option<Piece<'t>> {
        let text = self.0;
        let (length, is_word) = if text.starts_with(RANDOM_MARK) {
            (RANDOM_MARK.len(), true)
        } else {
            match text.first()? {
                byte if byte.is_ascii_digit() && is_number_start(text) => (number_length(text), true),
                byte if in_word(*byte) => (text.iter().take_while(|byte| in_word(**byte)).count(), true),
                _ => {
                    let gap = text.iter().skip(1).take_while(|byte| !in_word(**byte) && **byte != b'<').count();
                    (gap.saturating_add(1), false)
                }
            }
        };
        let (piece, rest) = text.split_at_checked(length)?;
        self.0 = rest;
        Some(Piece { text: piece, is_word })
    }
}

pub(super) const fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// Whether a word is a number and not a name that begins with a digit.
fn is_number_start(text: &[u8]) -> bool {
    text.get(number_length(text)).is_none_or(|byte| !in_word(*byte))
}

/// `12`, `3.21`, `3,21`.
fn number_length(text: &[u8]) -> usize {
    let whole = numerals::digits(text);
    whole.saturating_add(numerals::fraction(text.get(whole..).unwrap_or_default()))
}
