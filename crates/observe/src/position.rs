//! Where an error is: line and column numbers move with every edit above them and say nothing about the error.

use alloc::vec::Vec;

/// Words before a number that make it a position.
const WORDS: [&[u8]; 5] = [b"line", b"lines", b"column", b"col", b"ln"];

/// How far back a file's name may begin: a bound, so that a long text costs no more than its length.
const NAME_BYTES: usize = 256;

/// The text with every line and column number as `#`; all other numbers stay, because they may be what moves.
pub(super) fn masked(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        if byte.is_ascii_digit() && is_position(&out) {
            out.push(b'#');
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            rest = rest.get(digits..).unwrap_or_default();
        } else {
            out.push(byte);
            rest = after;
        }
    }
    out
}

/// Whether a number that follows this text is a line or a column: `src/a.rs:`, `src/a.rs:#:`, `line `.
fn is_position(before: &[u8]) -> bool {
    let before = before.get(before.len().saturating_sub(NAME_BYTES)..).unwrap_or_default();
    if let Some(named) = before.strip_suffix(b":") {
        let token = named.rsplit(|byte| byte.is_ascii_whitespace() || b"\"'`([<".contains(byte)).next();
        return token.is_some_and(|token| token.iter().any(|byte| b"./#".contains(byte)));
    }
    let Some(words) = before.strip_suffix(b" ") else { return false };
    let last = words.rsplit(|byte| !byte.is_ascii_alphabetic()).next().unwrap_or_default();
    WORDS.iter().any(|word| last.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    fn shown(text: &str) -> String {
        String::from_utf8(masked(text.as_bytes())).unwrap()
    }

    #[test]
    fn lines_and_columns_are_masked() {
        assert_eq!(shown("error at src/a.rs:10:5: no `x`"), "error at src/a.rs:#:#: no `x`");
        assert_eq!(shown("File \"a.py\", line 12, in f"), "File \"a.py\", line #, in f");
        assert_eq!(shown("Line 3 Column 44"), "Line # Column #");
    }

    #[test]
    fn counts_and_shares_stay() {
        for text in ["3 of 20 ready", "progress: 40%", "state:3", "deadline 5", "exit 1", "v1.2.3", "127 passed"] {
            assert_eq!(shown(text), text);
        }
    }
}
