//! Repetition inside one reply, seen while it streams by (LOOP-2). The rule itself is `observe`'s.
//!
//! Speech that repeats is a chant after two kilobytes. What is no speech (numbers, base64, a run of one character without
//! blanks) may repeat much longer: a table of zeros and an empty picture do.

use tripwire_observe::chant::chanted;

/// The end of a text that is looked at: the longest piece that the rule knows, as often as it asks for.
const TAIL_BYTES: usize = 8 << 10;
/// New bytes after which it is looked again.
const LOOK_BYTES: usize = 256;
/// Bytes for which something that is no speech may repeat.
const DATA_BYTES_MAX: usize = 32 << 10;

/// Watches one reply.
#[derive(Debug, Default)]
pub struct ReplyWatch {
    tail: String,
    /// Bytes since the last look.
    new: usize,
    /// Bytes for which data has repeated so far.
    data: usize,
    found: bool,
}

impl ReplyWatch {
    /// Takes the next piece of the text.
    pub fn say(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() && !self.found {
            let mut end = rest.len().min(LOOK_BYTES);
            while !rest.is_char_boundary(end) {
                end += 1;
            }
            let (piece, after) = rest.split_at(end);
            self.push(piece);
            rest = after;
        }
    }

    /// Whether it chants.
    #[must_use]
    pub const fn is_chant(&self) -> bool {
        self.found
    }

    fn push(&mut self, piece: &str) {
        self.tail.push_str(piece);
        self.new += piece.len();
        if self.new < LOOK_BYTES {
            return;
        }
        let new = std::mem::take(&mut self.new);
        if self.tail.len() > 2 * TAIL_BYTES {
            let mut cut = self.tail.len() - TAIL_BYTES;
            while !self.tail.is_char_boundary(cut) {
                cut += 1;
            }
            self.tail.drain(..cut);
        }
        match chanted(&self.tail) {
            None => self.data = 0,
            Some(piece) if is_speech(piece) => self.found = true,
            Some(_) => {
                self.data += new;
                self.found = self.data > DATA_BYTES_MAX;
            }
        }
    }
}

/// Whether a piece has words: letters, and blanks between them.
fn is_speech(piece: &str) -> bool {
    piece.chars().any(char::is_alphabetic) && piece.chars().any(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    /// How many bytes of a text pass before it is cut.
    fn passed(text: &str, chunk: usize) -> Option<usize> {
        let mut watch = ReplyWatch::default();
        let mut passed = 0;
        for piece in text.as_bytes().chunks(chunk) {
            watch.say(&String::from_utf8_lossy(piece));
            passed += piece.len();
            if watch.is_chant() {
                return Some(passed);
            }
        }
        None
    }

    #[test]
    fn loop_2_a_reply_that_repeats_itself_is_cut_soon_after_the_proof() {
        let opening = "I will look at the file first. ";
        for piece in [
            "the tests pass now, let me check again. ",
            "I need to run the build and then look at what it says about the parser, because it failed before.\n",
            "wait, ",
        ] {
            let text = format!("{opening}{}", piece.repeat(100_000 / piece.len()));
            for chunk in [1, 7, 64, 4_096] {
                let cut = passed(&text, chunk).unwrap();
                let proof = opening.len() + 2_048.max(12 * piece.len());
                assert!(cut <= proof + 2_000 + chunk, "{piece:?} in chunks of {chunk}: {cut}");
                assert!(cut <= text.len() / 8, "{piece:?}: {cut}");
            }
        }
        let zeros = "A".repeat(400_000);
        assert!(passed(&zeros, 100).is_some_and(|cut| cut <= zeros.len() / 8), "even data must end");
    }

    #[test]
    fn loop_2_long_tables_code_lists_base64_and_generated_tests_pass() {
        let mut table = String::from("| id | name | value |\n|---|---|---|\n");
        let mut code = String::new();
        let mut tests = String::new();
        for n in 0..2_000 {
            writeln!(table, "| {n} | row {n} | {} |", n * 37 % 911).unwrap();
            writeln!(code, "    case {n}: return table[{n}];").unwrap();
            writeln!(tests, "#[test]\nfn adds_{n}() {{\n    assert_eq!(add({n}, 1), {});\n}}\n", n + 1).unwrap();
        }
        let base64 = format!("data:image/png;base64,{}", "A".repeat(20_000));
        let zeros = "0, 0, 0, 0, 0, 0, 0, 0,\n".repeat(800);
        let line = format!("{}\n", "-".repeat(9_000));
        let ended = format!("{} That was the song.", "la la la ".repeat(200));
        for text in [table, code, tests, base64, zeros, line, ended] {
            assert_eq!(passed(&text, 50), None, "{}", &text[..60]);
        }
    }
}
