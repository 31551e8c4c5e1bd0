//! One line of the journal: how it is written, and how every byte of it is checked.
//!
//! `{"b":body,"h":hash,"i":index,"p":previous,"t":{…,"wall_ms":…,"whole":…}}`. The hash covers body, index and previous
//! hash. `t` is outside it, so that the chain is the same on every machine; `whole` seals `t`, so that a changed byte is
//! found there too. INVARIANT: no member of `t` is a text named `h`, so the last `,"h":"` of a line ends the body.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tripwire_core::record::canonical::{self, CanonicalError};
use tripwire_core::record::chain::{self, Digest};

/// The end of a chain: where the next record goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tail {
    /// The hash of the last record, or the genesis hash.
    pub hash: Digest,
    /// The index of the next record, which is also the number of records so far.
    pub index: u64,
}

impl Tail {
    /// The tail of a journal without records.
    #[must_use]
    pub fn genesis() -> Self {
        Self { hash: chain::genesis(GENESIS_DOMAIN), index: 0 }
    }
}

/// What a line says about the world, outside its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// A torn tail that was cut away just before this record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    /// How long things took.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub durations_ms: BTreeMap<String, u64>,
    /// The machine that wrote the record.
    pub host: String,
    /// How many records were known to be durable when this one was written: the proof that a hole before them is damage.
    pub synced: u64,
    /// The wall clock, in milliseconds since 1970.
    pub wall_ms: u64,
}

/// Bytes of an unfinished write that were cut away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// How many.
    pub bytes: u64,
    /// Their digest, so that a copy of them can be recognised.
    pub sha256: Digest,
}

/// A line that was taken apart; its own hash and seal hold, its place in the chain is not implied.
#[derive(Debug, Clone, Copy)]
pub struct Line<'text> {
    /// The canonical text of the body.
    pub body: &'text str,
    pub(crate) hash: Digest,
    pub(crate) index: u64,
    pub(crate) previous: Digest,
    pub(crate) times: &'text str,
}

impl Line<'_> {
    /// The place behind this record.
    #[must_use]
    pub const fn tail(&self) -> Tail {
        Tail { hash: self.hash, index: self.index + 1 }
    }

    /// The place before this record, by its own word.
    #[must_use]
    pub const fn before(&self) -> Tail {
        Tail { hash: self.previous, index: self.index }
    }

    /// Reads the part outside the hash.
    pub(crate) fn times(&self) -> Result<Times, LineFault> {
        let text = format!("{}}}", self.times);
        serde_json::from_str(&text).map_err(|_error| LineFault::Shape)
    }
}

/// Why a line is not the record that belongs in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineFault {
    /// No line feed ends it.
    #[error("the line is not finished")]
    Unfinished,
    /// The bytes are not text.
    #[error("the line is not valid UTF-8")]
    NotText,
    /// The text has not the form of a journal line.
    #[error("the line has not the form of a record")]
    Shape,
    /// The hash is not that of body, index and previous hash.
    #[error("the hash does not match the record")]
    Hash,
    /// The part outside the hash was changed.
    #[error("the part outside the hash was changed")]
    Seal,
    /// Another record belongs here.
    #[error("another record belongs here, this is number {found}")]
    Index {
        /// The index that the line carries.
        found: u64,
    },
    /// The record follows another one than the one before it.
    #[error("the record does not follow the one before it")]
    Previous,
}

/// Appends a record's line, with its line feed, and moves the tail behind it.
pub(crate) fn render(out: &mut String, tail: &mut Tail, body: &str, times: &Times) -> Result<(), CanonicalError> {
    let hash = chain::link(&tail.hash, tail.index, body)?;
    let mut times = canonical::to_string(times)?;
    times.pop();
    let (hash_hex, previous_hex, index) = (hash.hex(), tail.hash.hex(), tail.index);
    let hash_text = text_of(&hash_hex);
    let seal = seal(hash_text, &times);
    let index_text = index.to_string();
    let parts =
        [BODY, body, HASH, hash_text, INDEX, &index_text, PREVIOUS, text_of(&previous_hex), TIMES, &times, SEAL];
    out.reserve(parts.iter().map(|part| part.len()).chain([SEAL_LENGTH, END.len(), "\n".len()]).sum());
    parts.into_iter().chain([text_of(&seal), END, "\n"]).for_each(|part| out.push_str(part));
    *tail = Tail { hash, index: index + 1 };
    Ok(())
}

/// Digits are always a text.
fn text_of(digits: &[u8]) -> &str {
    std::str::from_utf8(digits).unwrap_or_default()
}

/// Takes a line apart and checks everything that it can prove by itself.
///
/// # Errors
/// The bytes are no whole record.
pub fn parse(bytes: &[u8]) -> Result<Line<'_>, LineFault> {
    let text = std::str::from_utf8(bytes).map_err(|_error| LineFault::NotText)?;
    let parts = take_apart(text).ok_or(LineFault::Shape)?;
    let previous = parts.previous.parse().map_err(|_error| LineFault::Shape)?;
    // The texts are compared, not the digests: a digest has one text, and formatting one is cheaper than parsing one.
    let hash = chain::link(&previous, parts.index, parts.body)
        .ok()
        .filter(|hash| hash.hex() == parts.hash.as_bytes())
        .ok_or(LineFault::Hash)?;
    if seal(parts.hash, parts.times) != parts.seal.as_bytes() {
        return Err(LineFault::Seal);
    }
    Ok(Line { body: parts.body, hash, index: parts.index, previous, times: parts.times })
}

/// Checks that a line is the next record of the chain. The journal's own rule; tests try it against weaker ones.
pub fn check<'text>(bytes: &'text [u8], tail: &Tail) -> Result<Line<'text>, LineFault> {
    let line = parse(bytes)?;
    if line.index != tail.index {
        return Err(LineFault::Index { found: line.index });
    }
    if line.previous != tail.hash {
        return Err(LineFault::Previous);
    }
    Ok(line)
}

/// The form of a line, without any proof.
pub(crate) fn take_apart(text: &str) -> Option<Parts<'_>> {
    let rest = text.strip_prefix(BODY)?;
    let (body, rest) = rest.rsplit_once(HASH)?;
    let (hash, rest) = rest.split_at_checked(HEX_LENGTH)?;
    let rest = rest.strip_prefix(INDEX)?;
    let (index_text, rest) = rest.split_once(PREVIOUS)?;
    let (previous, rest) = rest.split_at_checked(HEX_LENGTH)?;
    let rest = rest.strip_prefix(TIMES)?.strip_suffix(END)?;
    let (times, seal) = rest.split_at_checked(rest.len().checked_sub(SEAL_LENGTH)?)?;
    let times = times.strip_suffix(SEAL)?;
    // One number has one text: no sign and no leading zero.
    let is_plain = index_text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_plain || (index_text.len() > 1 && index_text.starts_with('0')) {
        return None;
    }
    let index = index_text.parse().ok()?;
    Some(Parts { body, hash, index, previous, times, seal })
}

/// The pieces of a line's text; nothing about them is proved.
pub(crate) struct Parts<'text> {
    /// The canonical text of the body.
    pub body: &'text str,
    pub(crate) hash: &'text str,
    pub(crate) index: u64,
    pub(crate) previous: &'text str,
    pub(crate) times: &'text str,
    seal: &'text str,
}

/// A short digest of the part outside the hash, bound to the record by its hash.
fn seal(hash: &str, times: &str) -> [u8; SEAL_LENGTH] {
    Digest::of_parts([SEAL_TAG, hash.as_bytes(), times.as_bytes()]).short()
}

const GENESIS_DOMAIN: &str = "tripwire/journal";
const SEAL_TAG: &[u8] = b"tripwire/seal/v1\n";

const BODY: &str = "{\"b\":";
const HASH: &str = ",\"h\":\"";
const INDEX: &str = "\",\"i\":";
const PREVIOUS: &str = ",\"p\":\"";
const TIMES: &str = "\",\"t\":";
const SEAL: &str = ",\"whole\":\"";
const END: &str = "\"}}";

const HEX_LENGTH: usize = 64;
const SEAL_LENGTH: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn times() -> Times {
        Times {
            cut: None,
            durations_ms: [("h".to_owned(), 3)].into(),
            host: "a\",\"h\":\"b".to_owned(),
            synced: 2,
            wall_ms: 1_700_000_000_000,
        }
    }

    fn sample() -> (String, Tail) {
        let mut tail = Tail::genesis();
        let mut out = String::new();
        render(&mut out, &mut tail, "{\"x\":\"\\u0000,\\\"h\\\":\"}", &times()).unwrap();
        (out, tail)
    }

    #[test]
    fn log_1_a_line_is_canonical_json_with_the_five_members() {
        let (text, _tail) = sample();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(format!("{}\n", canonical::to_string(&value).unwrap()), text);
        let names: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert_eq!(names, ["b", "h", "i", "p", "t"]);
    }

    #[test]
    fn a_line_reads_back_as_it_was_written() {
        let (text, tail) = sample();
        let line = check(text.trim_end().as_bytes(), &Tail::genesis()).unwrap();
        assert_eq!(line.body, "{\"x\":\"\\u0000,\\\"h\\\":\"}");
        assert_eq!((line.hash, line.index + 1), (tail.hash, tail.index));
        assert_eq!(line.times().unwrap(), times());
    }

    #[test]
    fn log_4_every_flipped_bit_of_a_line_is_found() {
        let (text, _tail) = sample();
        let line = text.trim_end().as_bytes();
        for position in 0..line.len() {
            for bit in 0..8 {
                let mut flipped = line.to_vec();
                flipped[position] ^= 1 << bit;
                assert!(check(&flipped, &Tail::genesis()).is_err(), "{position} {bit}");
            }
        }
    }

    #[test]
    fn log_4_a_number_has_one_text_and_every_other_one_is_no_record() {
        let (text, _tail) = sample();
        assert!(text.contains("\"i\":0,"));
        for index in ["00", "+0", "", "0 ", "0x0"] {
            let other = text.trim_end().replacen("\"i\":0,", &format!("\"i\":{index},"), 1);
            assert_eq!(check(other.as_bytes(), &Tail::genesis()).err(), Some(LineFault::Shape), "{index:?}");
        }
        let mut tail = Tail { index: 10, ..Tail::genesis() };
        let (before, mut tenth) = (tail, String::new());
        render(&mut tenth, &mut tail, "1", &times()).unwrap();
        assert!(check(tenth.trim_end().as_bytes(), &before).is_ok(), "a zero may stand behind another digit");
    }

    #[test]
    fn a_record_of_another_place_is_refused() {
        let (text, tail) = sample();
        let bytes = text.trim_end().as_bytes();
        assert_eq!(check(bytes, &tail).err(), Some(LineFault::Index { found: 0 }));
        let elsewhere = Tail { index: 0, ..tail };
        assert_eq!(check(bytes, &elsewhere).err(), Some(LineFault::Previous));
    }
}
