//! What kind of error it is: all that it says without what it quotes, so that two errors about two files are one kind. What stands
//! first is often the same whatever went wrong, so the beginning alone would make one kind of a tool's different errors.

use super::digest;
use super::normal::without_escapes;
use super::words::{self, Words};
use alloc::string::String;
use tripwire_core::label::Label;

/// Words that name a kind.
const KIND_WORDS: usize = 200;
/// Characters in which an error says what it is.
const KIND_CHARS: usize = 2_000;
/// What stands in quotes or brackets is left out, if they close within this many characters.
const QUOTE_CHARS: usize = 200;

/// The digest of an error's kind; `said` are the words of the arguments, which are one and the same wherever they occur.
pub(super) fn of(error: &str, said: &Words) -> Label {
    let plain = without_escapes(error);
    let unquoted = unquoted(&plain).to_ascii_lowercase();
    let mut kind = String::new();
    let (mut count, mut starred) = (0_usize, false);
    for word in words::words(&unquoted) {
        let is_own = said.has(words::hash_bytes(word.as_bytes()));
        if is_own && starred {
            continue;
        }
        starred = is_own;
        if count > 0 {
            kind.push(' ');
        }
        if is_own {
            kind.push('*')
        } else {
            push_masked(&mut kind, word)
        }
        count = count.saturating_add(1);
        if count == KIND_WORDS {
            break;
        }
    }
    digest::of(kind.as_bytes())
}

/// The beginning of a text without its quoted parts.
fn unquoted(text: &str) -> String {
    let mut rest = words::first_chars(text, KIND_CHARS);
    let mut out = String::with_capacity(rest.len());
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        let end = closing(c).and_then(|close| {
            let (at, _) = after.char_indices().take(QUOTE_CHARS).find(|(_, inner)| *inner == close)?;
            after.get(at.saturating_add(close.len_utf8())..)
        });
        match end {
            Some(behind) => {
                out.push(' ');
                rest = behind;
            }
            None => {
                out.push(c);
                rest = after;
            }
        }
    }
    out
}

/// What closes a quote or a bracket.
const fn closing(open: char) -> Option<char> {
    match open {
        '"' | '\'' | '`' => Some(open),
        '[' => Some(']'),
        '(' => Some(')'),
        '\u{2018}' => Some('\u{2019}'),
        '\u{201c}' => Some('\u{201d}'),
        _ => None,
    }
}

/// Writes a word with every run of digits as one `#`.
pub(super) fn push_masked(out: &mut String, word: &str) {
    let mut in_digits = false;
    for c in word.chars() {
        if !c.is_ascii_digit() {
            out.push(c);
        } else if !in_digits {
            out.push('#');
        }
        in_digits = c.is_ascii_digit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_differ_in_what_they_quote_are_one_kind() {
        let kind = |error: &str| of(error, &Words::of("src/a.rs b.rs"));
        assert_eq!(kind("String to replace not found: `let x`"), kind("String to replace not found: `fn y(z)`"));
        assert_eq!(kind("no file a.rs on line 3"), kind("no file b.rs on line 17"));
        assert_eq!(kind("it isn't there"), kind("it isn't there"));
    }

    #[test]
    fn different_errors_are_different_kinds() {
        let kind = |error: &str| of(error, &Words::of("x"));
        let checked =
            |found: &str| kind(&alloc::format!("The change was rejected because the checker found problems: {found}"));
        assert_ne!(checked("unused import"), checked("missing semicolon"));
        assert_ne!(checked("unused import; missing semicolon"), checked("unused import"), "a list that shrinks moves");
        assert_ne!(kind("String to replace not found"), kind("File has been modified since it was read"));
        assert_ne!(kind("expected (a) type"), kind("expected (a) name"));
    }
}
