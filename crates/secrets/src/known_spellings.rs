//! Values that are looked for in every spelling, all at once.

use crate::span::SecretSpan;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// The kind of a secret that is known by its value.
const KNOWN: &str = "known";

/// One bit for each pair of bytes.
const PAIR_WORDS: usize = 65_536 / 64;

/// Spellings by their first two bytes. A text is looked through once, however many there are.
#[derive(Clone, Default)]
pub(crate) struct KnownSpellings {
    pairs: Option<Box<[u64; PAIR_WORDS]>>,
    by_pair: BTreeMap<u16, Vec<String>>,
}

impl core::fmt::Debug for KnownSpellings {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(formatter, "KnownSpellings({})", self.by_pair.values().map(Vec::len).sum::<usize>())
    }
}

impl KnownSpellings {
    /// Looks for this text from now on.
    pub(crate) fn add(&mut self, spelling: String) {
        let [first, second, ..] = spelling.as_bytes() else { return };
        let pair = u16::from_be_bytes([*first, *second]);
        let pairs = self.pairs.get_or_insert_with(|| Box::new([0; PAIR_WORDS]));
        if let Some(word) = pairs.get_mut(usize::from(pair >> 6)) {
            *word |= 1 << (pair & 63);
        }
        let spellings = self.by_pair.entry(pair).or_default();
        if !spellings.contains(&spelling) {
            spellings.push(spelling);
        }
    }

    /// Whether nothing is looked for.
    pub(crate) const fn is_empty(&self) -> bool {
        self.pairs.is_none()
    }

    /// Where they stand in a text.
    pub(crate) fn spans(&self, text: &str) -> Vec<SecretSpan> {
        let Some(pairs) = &self.pairs else { return Vec::new() };
        let bytes = text.as_bytes();
        let mut found = Vec::new();
        for (at, pair) in bytes.windows(2).enumerate() {
            let [first, second] = pair else { continue };
            let pair = u16::from_be_bytes([*first, *second]);
            if pairs.get(usize::from(pair >> 6)).is_none_or(|word| word & (1 << (pair & 63)) == 0) {
                continue;
            }
            let rest = bytes.get(at..).unwrap_or_default();
            let here = self.by_pair.get(&pair).into_iter().flatten();
            let here = here.filter(|spelling| rest.starts_with(spelling.as_bytes())).map(String::len).max();
            found.extend(here.map(|length| SecretSpan { range: at..at.saturating_add(length), kind: KNOWN }));
        }
        found
    }
}

/// The ways in which a value may be written.
pub(crate) fn spellings(value: &str) -> Vec<String> {
    let mut spellings = alloc::vec![value.to_string()];
    // In base64 a value may begin at each of three places; the letters at its edges also hold bits of its neighbours.
    for skip in 0..3_usize {
        let mut bytes = alloc::vec![0; skip];
        bytes.extend(value.bytes());
        let start = if skip == 0 { 0 } else { skip.saturating_add(1) };
        for text in [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
            let end = bytes.len() / 3 * 4;
            spellings.extend(text.get(start..end).filter(|part| part.len() >= 8).map(str::to_string));
        }
    }
    // Unreserved signs are usually left as they are; some programs encode them too.
    for kept in [b"-_.~".as_slice(), b""] {
        let percent = |digits: fn(u8) -> String| -> String {
            let is_kept = |byte: u8| byte.is_ascii_alphanumeric() || kept.contains(&byte);
            value.bytes().map(|byte| if is_kept(byte) { char::from(byte).to_string() } else { digits(byte) }).collect()
        };
        spellings.extend([percent(|byte| format!("%{byte:02X}")), percent(|byte| format!("%{byte:02x}"))]);
    }
    let json: String = value
        .chars()
        .map(|letter| match letter {
            '"' => "\\\"".to_string(),
            '\\' => "\\\\".to_string(),
            other => other.to_string(),
        })
        .collect();
    spellings.push(json.replace('/', "\\/"));
    spellings.push(json);
    spellings.push(value.bytes().map(|byte| format!("{byte:02x}")).collect());
    spellings
}
