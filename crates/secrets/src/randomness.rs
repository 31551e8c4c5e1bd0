//! Whether a value looks as if a machine had made it up.

/// Fewer different letters than this are `xxxx`, `0000` and their kin, which people write in place of a key.
const LETTERS_MIN: usize = 5;

/// How many different bytes there are.
pub(crate) fn distinct(value: &[u8]) -> usize {
    let mut seen = [false; 256];
    value.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    seen.iter().filter(|seen| **seen).count()
}

/// Whether a value has more than a few letters.
pub(crate) fn is_varied(value: &[u8]) -> bool {
    distinct(value) >= LETTERS_MIN.min(value.len())
}

/// Whether a value looks random: letters and digits mixed as no word of a language or a program mixes them.
pub(crate) fn is_random(value: &[u8]) -> bool {
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let upper = value.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    let lower = value.iter().filter(|byte| byte.is_ascii_lowercase()).count();
    let kinds = [digits, upper, lower].iter().filter(|count| **count > 0).count();
    let varied = distinct(value).saturating_mul(5) >= value.len().min(40).saturating_mul(2);
    // Changes between kinds of letters: `aB3xY9` has many, `camelCase2` and `snake_case` few.
    let kind = |byte: &u8| match byte {
        b'0'..=b'9' => 0,
        b'A'..=b'Z' => 1,
        b'a'..=b'z' => 2,
        _ => 3,
    };
    let pairs = value.iter().zip(value.iter().skip(1));
    let changes = pairs.filter(|(one, next)| kind(one) != kind(next)).count();
    varied && digits > 0 && kinds >= 2 && changes.saturating_mul(5) >= value.len()
}
