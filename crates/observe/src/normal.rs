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

/// The same, borrowed where nothing changes.
pub(super) fn normal_text(text: &str, volatility: Volatility) -> Cow<'_, str> {
    match normal_bytes(text, volatility) {
        // What is borrowed is the text, but for white space at its end.
        Cow::Borrowed(start) => Cow::Borrowed(text.get(..start.len()).unwrap_or(text)),
        Cow::Owned(normal) => Cow::Owned(String::from_utf8(normal).unwrap_or_else(|error| {
            // Only ASCII runs are ever replaced, so this does not happen; if it did, nothing would be lost but the markers.
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        })),
    }
}

/// The same as bytes, for the hashes: no second pass to prove again that it is text.
pub(super) fn normal_bytes(text: &str, volatility: Volatility) -> Cow<'_, [u8]> {
    normal_answer(text, volatility, "")
}

/// The same of the answer to a question: an id that was asked for is not volatile, it is what the answer is about.
pub(super) fn normal_answer<'t>(text: &'t str, volatility: Volatility, asked: &str) -> Cow<'t, [u8]> {
    let bytes = text.as_bytes();
    if bytes.len() <= OBSERVED_BYTES_MAX {
        return normal_part(bytes, volatility, asked);
    }
    // A huge text keeps its two ends; the middle counts as it is, by its hash, so that no difference is overlooked.
    let half = OBSERVED_BYTES_MAX.div_euclid(2);
    let head = tripwire_core::label::cut(text, half).len();
    let tail = (bytes.len().saturating_sub(half)..bytes.len()).find(|at| text.is_char_boundary(*at));
    let tail = tail.unwrap_or(bytes.len());
    let part = |range: core::ops::Range<usize>| bytes.get(range).unwrap_or_default();
    let mut out = normal_part(part(0..head), volatility, asked).into_owned();
    out.extend_from_slice(b"\n<");
    out.extend_from_slice(&super::digest::hex(&Sha256::digest(part(head..tail)).into()));
    out.extend_from_slice(b">\n");
    out.extend_from_slice(&normal_part(part(tail..bytes.len()), volatility, asked));
    Cow::Owned(out)
}

fn normal_part<'t>(bytes: &'t [u8], volatility: Volatility, asked: &str) -> Cow<'t, [u8]> {
    match strip_escapes(bytes) {
        Cow::Borrowed(plain) => Normal::new(plain, volatility, asked).run(),
        Cow::Owned(plain) => Cow::Owned(Normal::new(&plain, volatility, asked).run().into_owned()),
    }
}

/// Whether nothing but markers is left of a text: then they are not around an answer, they stand for it.
pub(super) fn is_only_markers(normal: &[u8]) -> bool {
    let (mut rest, mut found) = (normal, false);
    while let Some((first, behind)) = rest.split_first() {
        let marker = MARKERS.iter().find_map(|marker| rest.strip_prefix(*marker));
        if marker.is_none() && (first.is_ascii_alphanumeric() || !first.is_ascii()) {
            return false;
        }
        found |= marker.is_some();
        rest = marker.unwrap_or(behind);
    }
    found
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

/// Where a byte is one at which the scan must look closer; all others are passed over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Special {
    Nowhere,
    /// A capital may stand in a random word, which only an output has.
    InOutput,
    Everywhere,
}

const SPECIAL: [Special; 256] = {
    let mut table = [Special::Nowhere; 256];
    let mut rest: &mut [Special] = &mut table;
    let mut byte = 0_u8;
    while let Some((place, behind)) = rest.split_first_mut() {
        *place = match byte {
            b'0'..=b'9' | b'/' | b'\n' | b'\r' => Special::Everywhere,
            b'A'..=b'Z' => Special::InOutput,
            _ => Special::Nowhere,
        };
        byte = byte.wrapping_add(1);
        rest = behind;
    }
    table
};

/// The lines that Codex puts before every result; the id has no shape by which it could be told elsewhere.
const CHUNK_ID: &[u8] = b"Chunk ID: ";

/// A text that is being normalised. What stays as it is, is written in pieces as large as possible, and not at all if nothing
/// is replaced.
struct Normal<'t, 'q> {
    text: &'t [u8],
    /// How far the text is read.
    at: usize,
    /// From where on it is read and not yet written.
    pending: usize,
    out: Vec<u8>,
    /// Where the line begins that is being read, in what is written and pending.
    line: usize,
    volatility: Volatility,
    /// What was asked for: ids in it are no accident.
    asked: &'q str,
}

impl<'t, 'q> Normal<'t, 'q> {
    const fn new(text: &'t [u8], volatility: Volatility, asked: &'q str) -> Self {
        Self { text, at: 0, pending: 0, out: Vec::new(), line: 0, volatility, asked }
    }

    fn run(mut self) -> Cow<'t, [u8]> {
        self.start_line();
        while let Some(byte) = self.next_special() {
            match byte {
                b'\r' if self.volatility == Volatility::Output => self.carriage_return(),
                b'\n' | b'\r' => self.end_line(),
                b'/' => self.slash(),
                b'A'..=b'Z' => self.capital(),
                _ => self.number(),
            }
        }
        if self.out.is_empty() && self.pending == 0 {
            return Cow::Borrowed(self.text.trim_ascii_end());
        }
        self.write();
        let kept = self.out.trim_ascii_end().len();
        self.out.truncate(kept);
        Cow::Owned(self.out)
    }

    /// Reads on to the next byte that must be looked at.
    fn next_special(&mut self) -> Option<u8> {
        let output = self.volatility == Volatility::Output;
        let is_special = |byte: &u8| match SPECIAL.get(usize::from(*byte)) {
            Some(Special::Everywhere) => true,
            Some(Special::InOutput) => output,
            Some(Special::Nowhere) | None => false,
        };
        let rest = self.rest();
        let plain = rest.iter().position(is_special).unwrap_or(rest.len());
        self.at = self.at.saturating_add(plain);
        rest.get(plain).copied()
    }

    /// What is still to be read.
    fn rest(&self) -> &'t [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Writes what is pending.
    fn write(&mut self) {
        if self.out.capacity() == 0 {
            self.out.reserve(self.text.len().saturating_add(16));
        }
        self.out.extend_from_slice(self.text.get(self.pending..self.at).unwrap_or_default());
        self.pending = self.at;
    }

    /// Reads so many bytes and leaves them as they are.
    const fn keep(&mut self, length: usize) {
        self.at = self.at.saturating_add(length);
    }

    /// Takes so many bytes back, reads so many, and writes something else.
    fn replace(&mut self, back: usize, length: usize, by: &[u8]) {
        self.write();
        self.out.truncate(self.out.len().saturating_sub(back));
        self.out.extend_from_slice(by);
        self.at = self.at.saturating_add(length);
        self.pending = self.at;
    }

    /// The byte before the place that is being read.
    fn last(&self) -> Option<u8> {
        let read = self.text.get(self.pending..self.at).unwrap_or_default();
        read.last().or_else(|| self.out.last()).copied()
    }

    /// What stands before the place that is being read, as far as anything looks back.
    fn before(&mut self) -> &[u8] {
        let is_enough = self.at.saturating_sub(self.pending) >= LOOK_BACK_BYTES;
        if is_enough || self.out.is_empty() {
            return self.text.get(self.pending..self.at).unwrap_or_default();
        }
        self.write();
        &self.out
    }

    /// The letters of the word that is being read, as far as they are read. They are all pending: what was written before them
    /// ends in a marker or a line.
    fn head(&self, is_part: impl Fn(u8) -> bool) -> &'t [u8] {
        let read = self.text.get(self.pending..self.at).unwrap_or_default();
        let length = read.iter().rev().take(WORD_BYTES_MAX).take_while(|byte| is_part(**byte)).count();
        read.get(read.len().saturating_sub(length)..).unwrap_or_default()
    }

    /// The text from so many bytes before the place that is being read to so many behind it.
    fn around(&self, back: usize, length: usize) -> &'t [u8] {
        self.text.get(self.at.saturating_sub(back)..self.at.saturating_add(length)).unwrap_or_default()
    }

    /// What a terminal would show: what follows is written over the line, as progress bars do.
    fn carriage_return(&mut self) {
        match self.rest().get(1) {
            Some(b'\n') => self.end_line(),
            // A line that ends in one shows what it held.
            Some(b'\r') | None => self.replace(0, 1, b""),
            Some(_) => {
                self.replace(0, 1, b"");
                self.out.truncate(self.line);
                self.start_line();
            }
        }
    }

    /// Ends a line, however it is ended, and drops the white space before its end.
    fn end_line(&mut self) {
        let is_blank = |byte: u8| matches!(byte, b' ' | b'\t');
        if self.rest().first() == Some(&b'\n') && !self.last().is_some_and(is_blank) {
            self.keep(1);
        } else {
            let length = if self.rest().starts_with(b"\r\n") { 2 } else { 1 };
            self.write();
            let blanks = self.out.iter().rev().take_while(|byte| is_blank(**byte)).count();
            self.replace(blanks, length, b"\n");
        }
        self.line = self.out.len().saturating_add(self.at.saturating_sub(self.pending));
        self.start_line();
    }

    fn start_line(&mut self) {
        if let Some(id) = self.rest().strip_prefix(CHUNK_ID)
            && self.volatility == Volatility::Output
        {
            self.keep(CHUNK_ID.len());
            let end = id.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(id.len());
            self.replace(0, end, b"<id>");
        }
    }

    fn slash(&mut self) {
        let in_path = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
        match volatile::temporary(self.rest()) {
            Some(name) if !self.last().is_some_and(in_path) => {
                self.keep(name.keep);
                self.replace(0, name.end.saturating_sub(name.keep), b"<tmp>");
            }
            Some(_) | None => self.keep(1),
        }
    }

    /// Looks at the word in which a capital stands: one of letters alone may be random too.
    fn capital(&mut self) {
        let tail = self.rest();
        let letters = tail.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let inside = self.last().is_some_and(is_word);
        if letters < random::RANDOM_BYTES_MIN && !inside {
            return self.keep(letters);
        }
        let rest = tail.get(letters..).unwrap_or_default();
        // A marker right behind it is what became of its own digits.
        let ends =
            rest.first().is_none_or(|byte| !is_word(*byte)) && !MARKERS.iter().any(|marker| rest.starts_with(marker));
        let head = self.head(|byte| byte.is_ascii_alphabetic()).len();
        let long = head.saturating_add(letters) >= random::RANDOM_BYTES_MIN;
        let word = self.around(head, letters);
        if ends && long && random::is_mixed_case(word) && !self.asks_for(word) {
            return self.replace(head, letters, b"<id>");
        }
        self.keep(letters);
    }

    /// Looks at the word in which a digit stands: the letters before it are already read.
    fn number(&mut self) {
        let tail = self.rest();
        let word = tail.iter().position(|byte| !is_word(*byte)).unwrap_or(tail.len());
        let output = self.volatility == Volatility::Output;
        let head = self.head(is_word);
        if output && self.is_placeholder(head.len()) && !self.asks_for(self.around(head.len(), word)) {
            return self.replace(head.len(), word, b"<id>");
        }
        let found = match (head, self.volatility) {
            ([], volatility) => volatile::at_word(tail, self.before(), volatility),
            (_, Volatility::Output) => volatile::inside_word(tail, head),
            (_, Volatility::Arguments) => None,
        };
        if let Some(found) = found.filter(|found| !self.is_asked_for(tail, found)) {
            return self.replace(0, found.length, found.marker.as_bytes());
        }
        if output && head.len().saturating_add(word) >= volatile::ID_HEX_MIN_JOINED {
            // A word that a machine made up, or the part of it behind its last underscore.
            let own = head.rsplit(|byte| *byte == b'_').next().unwrap_or_default();
            let found = volatile::generated_id(own, tail, word);
            if let Some(found) = found.filter(|_| !self.asks_for(self.around(own.len(), word))) {
                return self.replace(own.len(), found.length, found.marker.as_bytes());
            }
        }
        self.keep(word);
    }

    /// Whether the digits of a redacted secret stand here, so many bytes after their beginning: the secret itself would have been
    /// taken for a random word.
    fn is_placeholder(&mut self, head: usize) -> bool {
        let start = self.at.saturating_sub(head);
        if start.checked_sub(1).and_then(|before| self.text.get(before)) != Some(&b':') {
            return false;
        }
        let before = self.before();
        let before = before.get(..before.len().saturating_sub(head)).unwrap_or_default();
        let Some(before) = before.strip_suffix(b":") else { return false };
        let is_of_kind = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
        let kind = before.iter().rev().take(WORD_BYTES_MAX).take_while(|byte| is_of_kind(byte)).count();
        before.get(..before.len().saturating_sub(kind)).is_some_and(|text| text.ends_with("\u{2039}secret:".as_bytes()))
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
/// Bytes that suffice for everything that looks back: a word, the kind of secret before it, and what is around them.
const LOOK_BACK_BYTES: usize = 4 * WORD_BYTES_MAX;

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
