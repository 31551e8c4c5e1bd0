//! Counts in sentences for people: `1 file`, `2 files`. Never for what is journaled or hashed, whose words stay as they are.

use alloc::format;
use alloc::string::String;

/// A count with what is counted, in the singular or its regular plural.
#[must_use]
pub fn counted(count: impl TryInto<u64>, what: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    if count == 1 {
        return format!("1 {what}");
    }
    match what.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{count} {stem}ies"),
        Some(_) | None if what.ends_with('s') => format!("{count} {what}es"),
        Some(_) | None => format!("{count} {what}s"),
    }
}

/// The form of a verb that goes with a count.
#[must_use]
pub fn agreeing<'a>(count: impl TryInto<u64>, one: &'a str, many: &'a str) -> &'a str {
    if count.try_into().is_ok_and(|count| count == 1) { one } else { many }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_every_other_number_is_not() {
        for (count, what, expected) in [
            (0, "file", "0 files"),
            (1, "file", "1 file"),
            (2, "file", "2 files"),
            (1, "process", "1 process"),
            (0, "process", "0 processes"),
            (3, "entry", "3 entries"),
            (1, "policy", "1 policy"),
            (2, "key", "2 keys"),
        ] {
            assert_eq!(counted(count, what), expected);
        }
        assert_eq!((agreeing(1_usize, "is", "are"), agreeing(0_u64, "is", "are")), ("is", "are"));
    }
}
