//! The normaliser: takes out of a text what differs between two runs that did the same.
//!
//! It replaces, never guesses: a volatile part becomes a marker such as `<time>`, everything else stays byte for byte.
//! The result of normalising twice is the result of normalising once, so that a text may pass through it at any door.

use super::numerals::is_word;
use super::random;
use super::volatile::{self, Volatility};
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use sha2::{Digest as _, Sha256};

/// Bytes of one text that are normalised; what a longer one has in its middle counts by its plain hash.
pub const OBSERVED_BYTES_MAX: usize = 1 << 20;

/// The text without its volatile parts, escape sequences and trailing white space.
#[must_use]
pub fn normalise(text: &str, volatility: Volatility) -> String {
    normal_text(text, volatility).into_owned()
}

/// The same, borrowed where nothing can change.
pub(super) fn normal_text(text: &str, volatility: Volatility) -> Cow<'_, str> {
    if volatility == Volatility::Arguments && is_normal_argument(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(String::from_utf8(normal_bytes(text, volatility)).unwrap_or_else(|error| {
        // Only ASCII runs are ever replaced, so this does not happen; if it did, nothing would be lost but the markers.
        String::from_utf8_lossy(error.as_bytes()).into_owned()
    }))
}

/// Whether a short text has nothing that is ever replaced in arguments.
fn is_normal_argument(text: &[u8]) -> bool {
    const LOOKED_AT: usize = 256;
    let changes = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'/' | b'\n' | b'\r' | 0x1b);
    text.len() <= LOOKED_AT && !text.iter().any(changes) && text.last().is_none_or(|last| !last.is_ascii_whitespace())
}

/// The same as bytes, for the hashes: no second pass to prove again that it is text.
pub(super) fn normal_bytes(text: &str, volatility: Volatility) -> Vec<u8> {
    normal_answer(text, volatility, "")
}

/// The same of the answer to a question: an id that was asked for is not volatile, it is what the answer is about.
pub(super) fn normal_answer(text: &str, volatility: Volatility, asked: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let normal_part = |bytes: &[u8], volatility: Volatility| normal_part(bytes, volatility, asked);
    if bytes.len() <= OBSERVED_BYTES_MAX {
        return normal_part(bytes, volatility);
    }
    // A huge text keeps its two ends; the middle counts as it is, by its hash, so that no difference is overlooked.
    let half = OBSERVED_BYTES_MAX.div_euclid(2);
    let head = tripwire_core::label::cut(text, half).len();
    let tail = (bytes.len().saturating_sub(half)..bytes.len()).find(|at| text.is_char_boundary(*at));
    let tail = tail.unwrap_or(bytes.len());
    let part = |range: core::ops::Range<usize>| bytes.get(range).unwrap_or_default();
    let mut out = normal_part(part(0..head), volatility);
    out.extend_from_slice(b"\n<");
    out.extend_from_slice(&super::digest::hex(&Sha256::digest(part(head..tail)).into()));
    out.extend_from_slice(b">\n");
    out.extend_from_slice(&normal_part(part(tail..bytes.len()), volatility));
    out
}

fn normal_part(bytes: &[u8], volatility: Volatility, asked: &str) -> Vec<u8> {
    let plain = strip_escapes(bytes);
    let out = Vec::with_capacity(plain.len().saturating_add(16));
    let mut normal = Normal { out, line: 0, volatility, asked };
    normal.run(&plain);
    normal.out
}

/// Replaces the digits of an error text by one marker per run: line numbers, counts and sizes vary, the wall does not.
pub(super) fn mask_digits(normal: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(normal.len());
    let mut rest = normal;
    while let Some(at) = rest.iter().position(u8::is_ascii_digit) {
        let (plain, digits) = rest.split_at_checked(at).unwrap_or((rest, &[]));
        out.extend_from_slice(plain);
        out.push(b'#');
        let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        rest = digits.get(length..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    out
}

/// Bytes at which the scan must look closer; all others are copied in one go.
///
/// The slash and the ten digits are neighbours, and so are the capitals: one comparison each finds them all. A capital may
/// stand in a random word, which only an output has.
const fn is_special(byte: u8, volatility: Volatility) -> bool {
    let capital = match volatility {
        Volatility::Output => byte.wrapping_sub(b'A') < 26,
        Volatility::Arguments => false,
    };
    (byte.wrapping_sub(b'/') <= 10) | capital | (byte == b'\n') | (byte == b'\r')
}

/// How many bytes may be copied before the scan must look closer; whole blocks are tested at once.
fn plain_length(text: &[u8], volatility: Volatility) -> usize {
    const BLOCK: usize = 16;
    let (blocks, _) = text.as_chunks::<BLOCK>();
    let any_special = |block: &[u8; BLOCK]| block.iter().fold(false, |any, byte| any | is_special(*byte, volatility));
    let skipped = blocks.iter().take_while(|block| !any_special(block)).count().saturating_mul(BLOCK);
    let rest = text.get(skipped..).unwrap_or_default();
    skipped.saturating_add(rest.iter().position(|byte| is_special(*byte, volatility)).unwrap_or(rest.len()))
}

/// The lines that Codex puts before every result; the id has no shape by which it could be told elsewhere.
const CHUNK_ID: &[u8] = b"Chunk ID: ";

struct Normal<'t> {
    out: Vec<u8>,
    /// Where the line begins that is being written.
    line: usize,
    volatility: Volatility,
    /// What was asked for: ids in it are no accident.
    asked: &'t str,
}

impl Normal<'_> {
    fn run(&mut self, text: &[u8]) {
        let mut rest = self.start_line(text);
        loop {
            let plain = plain_length(rest, self.volatility);
            let Some((copied, tail)) = rest.split_at_checked(plain) else { break };
            self.out.extend_from_slice(copied);
            let Some((byte, after)) = tail.split_first() else { break };
            rest = match byte {
                b'\r' if self.volatility == Volatility::Output => self.carriage_return(tail, after),
                b'\n' | b'\r' => self.end_line(tail),
                b'/' => self.slash(tail, after),
                b'A'..=b'Z' => self.capital(tail),
                _ => self.number(tail),
            };
        }
        let kept = self.out.trim_ascii_end().len();
        self.out.truncate(kept);
    }

    /// What a terminal would show: what follows is written over the line, as progress bars do.
    fn carriage_return<'a>(&mut self, tail: &'a [u8], after: &'a [u8]) -> &'a [u8] {
        match after.first() {
            Some(b'\n') => self.end_line(tail),
            // A line that ends in one shows what it held.
            Some(b'\r') | None => after,
            Some(_) => {
                self.out.truncate(self.line);
                self.start_line(after)
            }
        }
    }

    /// Ends a line, however it is ended, and drops the white space before its end.
    fn end_line<'a>(&mut self, tail: &'a [u8]) -> &'a [u8] {
        let after = tail.strip_prefix(b"\r\n").or_else(|| tail.get(1..)).unwrap_or_default();
        while self.out.last().is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
            self.out.pop();
        }
        self.out.push(b'\n');
        self.line = self.out.len();
        self.start_line(after)
    }

    fn start_line<'a>(&mut self, line: &'a [u8]) -> &'a [u8] {
        match line.strip_prefix(CHUNK_ID) {
            Some(id) if self.volatility == Volatility::Output => {
                self.out.extend_from_slice(CHUNK_ID);
                self.out.extend_from_slice(b"<id>");
                let end = id.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(id.len());
                id.get(end..).unwrap_or_default()
            }
            Some(_) | None => line,
        }
    }

    fn slash<'a>(&mut self, tail: &'a [u8], after: &'a [u8]) -> &'a [u8] {
        let inside_path =
            self.out.last().is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
        match volatile::temporary(tail) {
            Some(name) if !inside_path => {
                self.out.extend_from_slice(tail.get(..name.keep).unwrap_or_default());
                self.out.extend_from_slice(b"<tmp>");
                tail.get(name.end..).unwrap_or_default()
            }
            Some(_) | None => {
                self.out.push(b'/');
                after
            }
        }
    }

    /// Looks at the word in which a capital stands: one of letters alone may be random too.
    fn capital<'a>(&mut self, tail: &'a [u8]) -> &'a [u8] {
        let letters = tail.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (mine, rest) = tail.split_at_checked(letters).unwrap_or((tail, &[]));
        let inside = self.out.last().is_some_and(|byte| is_word(*byte));
        // A marker right behind it is what became of its own digits.
        let ends =
            rest.first().is_none_or(|byte| !is_word(*byte)) && !MARKERS.iter().any(|marker| rest.starts_with(marker));
        if self.volatility == Volatility::Output && ends && (inside || letters >= random::RANDOM_BYTES_MIN) {
            let before =
                self.out.iter().rev().take(WORD_BYTES_MAX).take_while(|byte| byte.is_ascii_alphabetic()).count();
            let start = self.out.len().saturating_sub(before);
            let head = self.out.get(start..).unwrap_or_default();
            let letters = || head.iter().chain(mine);
            let long = before.saturating_add(mine.len()) >= random::RANDOM_BYTES_MIN;
            if long && random::is_mixed_case(letters()) && !self.asks_for(&[head, mine].concat()) {
                self.out.truncate(start);
                self.out.extend_from_slice(b"<id>");
                return rest;
            }
        }
        self.out.extend_from_slice(mine);
        rest
    }

    /// Looks at the word in which a digit stands: the letters before it are already in `out`.
    fn number<'a>(&mut self, tail: &'a [u8]) -> &'a [u8] {
        let word = tail.iter().position(|byte| !is_word(*byte)).unwrap_or(tail.len());
        let before = self.out.iter().rev().take(WORD_BYTES_MAX).take_while(|byte| is_word(**byte)).count();
        let output = self.volatility == Volatility::Output;
        if output && self.is_placeholder(before) {
            let start = self.out.len().saturating_sub(before);
            let (mine, rest) = tail.split_at_checked(word).unwrap_or((tail, &[]));
            if !self.asks_for(&[self.out.get(start..).unwrap_or_default(), mine].concat()) {
                self.out.truncate(start);
                self.out.extend_from_slice(b"<id>");
                return rest;
            }
        }
        let found = match before {
            0 => volatile::at_word(tail, &self.out, self.volatility),
            _ if output => volatile::inside_word(tail, &self.out),
            _ => None,
        };
        let found = found.filter(|found| !self.is_asked_for(tail, found)).or_else(|| {
            (output && before.saturating_add(word) >= volatile::ID_HEX_MIN_JOINED)
                .then(|| self.generated_id(tail, before, word))
                .flatten()
        });
        if let Some(found) = found {
            self.out.extend_from_slice(found.marker.as_bytes());
            return tail.get(found.length..).unwrap_or_default();
        }
        let (copied, rest) = tail.split_at_checked(word).unwrap_or((tail, &[]));
        self.out.extend_from_slice(copied);
        rest
    }

    /// A word that a machine made up, or the part of it behind its last underscore; its letters before the first digit are
    /// taken back.
    fn generated_id(&mut self, tail: &[u8], before: usize, word: usize) -> Option<volatile::VolatileWord> {
        let start = self.out.len().saturating_sub(before);
        let head = self.out.get(start..)?;
        let part = head.iter().rposition(|byte| *byte == b'_').map_or(0, |at| at.saturating_add(1));
        let own = head.get(part..)?;
        let found = volatile::generated_id(own, tail, word)?;
        let whole = [own, tail.get(..word)?].concat();
        if self.asks_for(&whole) {
            return None;
        }
        self.out.truncate(start.saturating_add(part));
        Some(found)
    }

    /// Whether the digits of a redacted secret stand here, so many bytes after their beginning: the secret itself would have been
    /// taken for a random word.
    fn is_placeholder(&self, before: usize) -> bool {
        let head = self.out.get(..self.out.len().saturating_sub(before)).unwrap_or_default();
        let Some(head) = head.strip_suffix(b":") else { return false };
        let is_of_kind = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
        let kind = head.iter().rev().take(WORD_BYTES_MAX).take_while(|byte| is_of_kind(byte)).count();
        head.get(..head.len().saturating_sub(kind)).is_some_and(|head| head.ends_with("\u{2039}secret:".as_bytes()))
    }

    /// Whether a number or an id is one that the call named.
    fn is_asked_for(&self, tail: &[u8], found: &volatile::VolatileWord) -> bool {
        matches!(found.marker, "<port>" | "<id>") && tail.get(..found.length).is_some_and(|word| self.asks_for(word))
    }

    fn asks_for(&self, word: &[u8]) -> bool {
        !self.asked.is_empty() && core::str::from_utf8(word).is_ok_and(|word| self.asked.contains(word))
    }
}

/// What volatile parts are replaced by.
const MARKERS: [&[u8]; 8] = [b"<addr>", b"<dur>", b"<id>", b"<pid>", b"<port>", b"<rate>", b"<time>", b"<tmp>"];

/// Letters before a digit that are looked back on; no generated id is longer.
const WORD_BYTES_MAX: usize = 128;

/// The text without terminal escape sequences, for readers of words.
pub(super) fn without_escapes(text: &str) -> Cow<'_, str> {
    match strip_escapes(text.as_bytes()) {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(plain) => Cow::Owned(String::from_utf8_lossy(&plain).into_owned()),
    }
}

/// Takes terminal escape sequences out: colours, cursor movements, titles.
pub(super) fn strip_escapes(bytes: &[u8]) -> Cow<'_, [u8]> {
    const ESCAPE: u8 = 0x1b;
    if !bytes.contains(&ESCAPE) {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == ESCAPE) {
        let (copied, sequence) = rest.split_at_checked(at).unwrap_or((rest, &[]));
        out.extend_from_slice(copied);
        rest = after_escape(sequence.get(1..).unwrap_or_default());
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

/// What follows one escape sequence; an unfinished one loses only what certainly belongs to it.
fn after_escape(sequence: &[u8]) -> &[u8] {
    /// A title longer than this is no title.
    const TITLE_BYTES_MAX: usize = 1_024;
    let skip = match sequence.first() {
        Some(b'[') => {
            let body = sequence.get(1..).unwrap_or_default();
            let parameters = body.iter().take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
            let last = body.get(parameters).is_some_and(|byte| matches!(byte, 0x40..=0x7e));
            parameters.saturating_add(1).saturating_add(usize::from(last))
        }
        Some(b']') => {
            let end = sequence.iter().take(TITLE_BYTES_MAX).position(|byte| matches!(byte, 0x07 | 0x1b | b'\n'));
            match end.and_then(|at| Some((at, *sequence.get(at)?))) {
                Some((at, 0x07)) => at.saturating_add(1),
                Some((at, 0x1b)) => at,
                Some(_) | None => 1,
            }
        }
        Some(0x20..=0x7e) => 1,
        Some(_) | None => 0,
    };
    sequence.get(skip..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(text: &str) -> String {
        normalise(text, Volatility::Output)
    }

    /// Pairs of texts that differ in volatile parts only, with what is left of them.
    const SAME: &[(&str, &str, &str)] = &[
        ("\u{1b}[1;31mFAILED\u{1b}[0m x", "FAILED x", "FAILED x"),
        ("\u{1b}]0;title\u{7}done", "done", "done"),
        ("5 passed in 0.12s", "5 passed in 3.4s", "5 passed in <dur>"),
        ("took 350 ms", "took 12 ms", "took <dur>"),
        ("real\t0m0.003s", "real\t1m12.400s", "real\t<dur>"),
        ("Finished in 2 seconds", "Finished in 31 seconds", "Finished in <dur>"),
        ("took 12.5µs", "took 1.25µs", "took <dur>"),
        ("at 2026-01-31T10:00:00Z", "at 2026-02-01T11:30:59.123+02:00", "at <time>"),
        ("at 2026-01-31 10:00:00", "at 2026-02-01 11:30", "at <time>"),
        ("on 2026-01-31", "on 2026-02-01", "on <time>"),
        ("[10:00:00,123] go", "[23:59:59.5] go", "[<time>] go"),
        ("id 20260131T100000Z", "id 20260201T110000Z", "id <time>"),
        ("t=1767225600", "t=1767225600123", "t=<time>"),
        ("pid 4711 exited", "pid 12 exited", "pid <pid> exited"),
        ("{\"pid\": 4711}", "{\"pid\": 9}", "{\"pid\": <pid>}"),
        ("Process Group PGID: 21106", "Process Group PGID: 21324", "Process Group PGID: <pid>"),
        ("[1] 4711", "[1] 4712", "[1] <pid>"),
        ("at 0x7ffd12345678", "at 0x55aa1234", "at <addr>"),
        ("6f1c0b1e-0d3a-4c55-9b1e-aa00bb11cc22", "0f1c0b1e-0d3a-4c55-9b1e-aa00bb11cc23", "<id>"),
        ("req abcdef12-0d3a-4c55-9b1e-aa00bb11cc22", "req 12345678-0d3a-4c55-9b1e-aa00bb11cc22", "req <id>"),
        ("container a1b2c3d4e5f6", "container ffeeddccbba1", "container <id>"),
        ("open /tmp/tmpab12cd34/x.py", "open /tmp/tmpzz99yy_8/x.py", "open /tmp/tmp<tmp>/x.py"),
        ("open /tmp/tmp.Ab12Cd34Ef", "open /tmp/tmp.zz12Cd34Eg", "open /tmp/tmp.<tmp>"),
        ("in /tmp/build-x7Gh2k/o", "in /tmp/build-Q2w3e4/o", "in /tmp/build-<tmp>/o"),
        ("in /tmp/TestIt1234567/001", "in /tmp/TestIt999999/001", "in /tmp/TestIt<tmp>/001"),
        (
            "Chunk ID: 198eff\nWall time: 0.0000 seconds\nx",
            "Chunk ID: abcdef\nWall time: 1.5 seconds\nx",
            "Chunk ID: <id>\nWall time: <dur>\nx",
        ),
        ("a  \nb\t\r\nc\n\n", "a\nb\nc", "a\nb\nc"),
    ];

    #[test]
    fn volatile_parts_are_stripped() {
        for (one, other, normal) in SAME {
            assert_eq!(output(one), *normal);
            assert_eq!(output(other), *normal, "{other}");
        }
    }

    /// Texts that must come through as they are: they say something.
    const KEPT: &[&str] = &[
        "5 passed, 1 failed",
        "version 1.2.3",
        "v10.0.1s2",
        "line 12, column 5",
        "12:30",
        "src/main.rs:10:5: error",
        "3 s",
        "512m",
        "process 12 files",
        "0x1f",
        "commit 1234567",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "sha256 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "1234567890",
        "2500000000",
        "123456789012345",
        "/tmp/repro.py",
        "/tmp/test1.py",
        "/tmp/out2/log",
        "/tmp/my-TestThing/log",
        "src/tmp/tmpab12cd34/x",
        "  indented\n    more",
        "see Chunk ID: 198eff",
        "stupid 12",
        "deadbeefcafe_1",
        "ünïcödé 東京 7",
        "",
    ];

    #[test]
    fn what_says_something_is_kept() {
        for text in KEPT {
            assert_eq!(output(text), *text);
        }
    }

    #[test]
    fn arguments_lose_only_time_stamps_and_temporary_names() {
        let arguments = |text| normalise(text, Volatility::Arguments);
        assert_eq!(arguments("touch -d 2026-01-31T10:00:00Z /tmp/tmpab12cd34"), "touch -d <time> /tmp/tmp<tmp>");
        for text in ["search 2026-01-31", "sleep 30s", "kill pid 4711", "x 0x7ffd12345678", "show a1b2c3d4e5f6"] {
            assert_eq!(arguments(text), text);
        }
    }

    #[test]
    fn digits_of_an_error_are_masked_run_by_run() {
        assert_eq!(mask_digits(b"main.rs:10:5: 3 errors"), b"main.rs:#:#: # errors");
        assert_eq!(mask_digits(b"no digits"), b"no digits");
    }

    #[test]
    fn an_unfinished_escape_sequence_loses_nothing_but_itself() {
        assert_eq!(output("a\u{1b}"), "a");
        assert_eq!(output("a\u{1b}[12"), "a");
        assert_eq!(output("a\u{1b}]no end of title\nb"), "ano end of title\nb");
        assert_eq!(output("a\u{1b}é"), "aé");
        assert_eq!(output("12\u{1b}[0m:34:56"), "<time>");
    }

    #[test]
    fn a_huge_text_is_bounded_and_its_middle_still_counts() {
        let line = "a plain line of text\n";
        let huge = line.repeat(OBSERVED_BYTES_MAX / line.len() + 1000);
        let normal = output(&huge);
        assert!(normal.len() < OBSERVED_BYTES_MAX + 100);
        let mut other = huge.clone();
        other.replace_range(huge.len() / 2..huge.len() / 2 + 1, "?");
        assert!(output(&other) != normal, "a change in the middle is seen");
        assert!(output(&huge) == normal, "and the same text is the same");
    }
}
