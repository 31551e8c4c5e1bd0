//! The shapes of volatile parts: each function looks at the start of a slice and says how far the shape reaches.

use super::numerals::{digits, ends_word, fraction, is_word, value};
use super::random;

/// How much of a text may change between two runs of the same call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Volatility {
    /// A program wrote it: durations, times, process ids, addresses, generated ids and temporary names.
    Output,
    /// The agent wrote it on purpose: only full time stamps and temporary names; a date, an id or a number that it
    /// chose is part of what it asks for.
    Arguments,
}

/// A volatile part: how many bytes it covers and what stands for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct VolatileWord {
    /// Bytes covered.
    pub(super) length: usize,
    /// What is written instead.
    pub(super) marker: &'static str,
}

/// A volatile part that starts at a digit which starts a word; `before` is the text written so far.
pub(super) fn at_word(tail: &[u8], before: &[u8], volatility: Volatility) -> Option<VolatileWord> {
    let found = |length: usize, marker| Some(VolatileWord { length, marker });
    let number = digits(tail);
    let whole = |length: &usize| ends_word(tail, *length);
    // The byte behind the digits says which shapes are possible; most numbers are none of them.
    let next = tail.get(number).copied().unwrap_or(b'\n');
    let stamped = matches!((number, next), (4, b'-' | b'/') | (8, b'T' | b'_' | b'-'));
    if stamped && let Some(length) = time_stamp(tail).filter(|length| ends_part(tail, *length)) {
        return found(length, "<time>");
    }
    if volatility == Volatility::Arguments {
        return None;
    }
    let shaped = match (number, next) {
        (4, b'-' | b'/') => date(tail).filter(whole).and_then(|length| found(length, "<time>")),
        (1 | 2, b':') => clock(tail).filter(whole).and_then(|length| found(length, "<time>")),
        (10 | 13 | 16 | 19, _) => epoch(tail).filter(whole).and_then(|length| found(length, "<time>")),
        (1, b'x') => address(tail).filter(whole).and_then(|length| found(length, "<addr>")),
        (_, _) => None,
    };
    if shaped.is_some() {
        return shaped;
    }
    if number <= 8
        && (next == b'-' || next.is_ascii_hexdigit())
        && let Some(length) = uuid(tail)
    {
        return found(length, "<id>");
    }
    let maybe_unit = matches!(next, b'.' | b',' | b' ' | b'm' | b's' | b'h' | b'u' | b'n') || !next.is_ascii();
    if maybe_unit && let Some(length) = super::duration::duration(tail, before) {
        return found(length, "<dur>");
    }
    if let Some(length) = super::duration::rate(tail) {
        return found(length, "<rate>");
    }
    keyed(tail, before)
}

/// A volatile part that starts at a digit behind letters: `app_20260131_123059.log`, `hs_err_pid4711`.
pub(super) fn inside_word(tail: &[u8], before: &[u8]) -> Option<VolatileWord> {
    let number = digits(tail);
    match before.last() {
        Some(b'_') => {
            let length = time_stamp(tail).or_else(|| epoch(tail)).filter(|length| ends_part(tail, *length))?;
            Some(VolatileWord { length, marker: "<time>" })
        }
        Some(b'd' | b'D') if ends_word(tail, number) => {
            let start = before.len().saturating_sub(3);
            let named = before.get(start..).is_some_and(|word| word.eq_ignore_ascii_case(b"pid"));
            let alone =
                start.checked_sub(1).and_then(|at| before.get(at)).is_none_or(|byte| !byte.is_ascii_alphanumeric());
            (named && alone).then_some(VolatileWord { length: number, marker: "<pid>" })
        }
        Some(_) | None => None,
    }
}

/// Whether a part of a name ends at `length`.
fn ends_part(text: &[u8], length: usize) -> bool {
    text.get(length).is_none_or(|byte| !byte.is_ascii_alphanumeric())
}

/// Hex words of at least this many digits, head and tail joined, are looked at as generated ids.
pub(super) const ID_HEX_MIN_JOINED: usize = 8;
/// A hex word of this length or more is a generated id.
const ID_HEX_MIN: usize = 12;
/// Lengths of git object names and SHA-256 digests: they name contents, and the same contents have the same name.
const CONTENT_HEX: [usize; 2] = [40, 64];

/// A generated id of which `head` is already written and `word` bytes of `tail` are to come.
pub(super) fn generated_id(head: &[u8], tail: &[u8], word: usize) -> Option<VolatileWord> {
    let mine = tail.get(..word)?;
    let hex = |part: &[u8]| part.iter().all(u8::is_ascii_hexdigit);
    let length = head.len().saturating_add(word);
    if hex(head) && hex(mine) {
        if length == 8
            && let Some(rest) = uuid_rest(tail.get(word..)?)
        {
            return Some(VolatileWord { length: word.saturating_add(rest), marker: "<id>" });
        }
        let letters = head.iter().chain(mine).any(u8::is_ascii_alphabetic);
        if CONTENT_HEX.contains(&length) || !letters {
            return None;
        }
        let digits = head.iter().chain(mine).filter(|byte| byte.is_ascii_digit()).count();
        if length >= ID_HEX_MIN || (length >= ID_HEX_MIN_JOINED && digits >= 2) {
            return Some(VolatileWord { length: word, marker: "<id>" });
        }
    }
    random::is_random(head.iter().chain(mine).copied()).then_some(VolatileWord { length: word, marker: "<id>" })
}

/// Matches a shape in which `0` stands for a digit and every other byte for itself.
fn shape(text: &[u8], shape: &[u8]) -> Option<usize> {
    let same = |(byte, wanted): (&u8, &u8)| if *wanted == b'0' { byte.is_ascii_digit() } else { byte == wanted };
    (text.len() >= shape.len() && text.iter().zip(shape).all(same)).then_some(shape.len())
}

/// `2026-01-31`.
fn date(text: &[u8]) -> Option<usize> {
    shape(text, b"0000-00-00").or_else(|| shape(text, b"0000/00/00"))
}

/// `12:30:59`, with or without a fraction. Digits that go on with letters are none: they are the beginning of something else.
fn clock(text: &[u8]) -> Option<usize> {
    let length = shape(text, b"00:00:00").or_else(|| shape(text, b"0:00:00"))?;
    let whole = length.saturating_add(fraction(text.get(length..)?));
    if ends_part(text, whole) || is_zoned(text.get(whole..)?) {
        return Some(whole);
    }
    ends_part(text, length).then_some(length)
}

/// Whether a time goes on with its zone.
fn is_zoned(text: &[u8]) -> bool {
    let zone = zone(text);
    zone > 0 && ends_part(text, zone)
}

/// A date and a time of day, joined by `T` or a space; or the compact form `20260131T123059Z`; or as in names of files,
/// `2026-01-31T12_30_59_123Z` and `20260131_123059`.
fn time_stamp(text: &[u8]) -> Option<usize> {
    let compact = [&b"00000000T000000"[..], b"00000000_000000", b"00000000-000000"];
    if let Some(length) = compact.iter().find_map(|form| shape(text, form)).filter(|_| is_year(text)) {
        let zulu = text.get(length) == Some(&b'Z');
        return Some(length.saturating_add(usize::from(zulu)));
    }
    let day = date(text)?;
    let (joint, time) = text.get(day..)?.split_first()?;
    let time_length = match joint {
        b'T' | b't' | b' ' | b'_' => clock(time).or_else(|| shape(time, b"00:00")).or_else(|| file_clock(time))?,
        b'-' => file_clock(time)?,
        _ => return None,
    };
    let length = day.saturating_add(1).saturating_add(time_length);
    Some(length.saturating_add(zone(text.get(length..)?)))
}

/// `12_30_59`, `12-30-59` or `12.30.59`, as names of files have it, with or without a fraction.
fn file_clock(text: &[u8]) -> Option<usize> {
    let forms = [&b"00_00_00"[..], b"00-00-00", b"00.00.00"];
    let length = forms.iter().find_map(|form| shape(text, form))?;
    let places = match text.get(length..)?.split_first() {
        Some((b'_' | b'.' | b'-', places)) if matches!(digits(places), 3 | 6) => digits(places).saturating_add(1),
        Some(_) | None => 0,
    };
    let whole = length.saturating_add(places);
    if ends_part(text, whole) || is_zoned(text.get(whole..)?) {
        return Some(whole);
    }
    ends_part(text, length).then_some(length)
}

/// Whether a number begins with a year of this time.
fn is_year(text: &[u8]) -> bool {
    matches!(text, [b'1', b'9', ..] | [b'2', b'0', ..])
}

/// `Z`, `+02:00`, `+0200` or nothing.
fn zone(text: &[u8]) -> usize {
    match text.split_first() {
        Some((b'Z' | b'z', _)) => 1,
        Some((b'+' | b'-', offset)) => {
            shape(offset, b"00:00").or_else(|| shape(offset, b"0000")).map_or(0, |length| length.saturating_add(1))
        }
        Some(_) | None => 0,
    }
}

/// Seconds, milliseconds, microseconds or nanoseconds since 1970, for the years 2017 to 2033.
fn epoch(text: &[u8]) -> Option<usize> {
    let recent = text.first() == Some(&b'1') && text.get(1).is_some_and(|byte| matches!(byte, b'5'..=b'9'));
    let length = digits(text);
    let places = if length == 10 { fraction(text.get(length..)?) } else { 0 };
    let whole = length.saturating_add(places);
    (recent && matches!(length, 10 | 13 | 16 | 19)).then_some(if ends_part(text, whole) { whole } else { length })
}

/// `8-4-4-4-12` hex digits that start with a digit.
fn uuid(text: &[u8]) -> Option<usize> {
    let first = text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let rest = if first == 8 { uuid_rest(text.get(first..)?)? } else { return None };
    Some(first.saturating_add(rest))
}

/// The last four groups of a UUID, each with its dash.
fn uuid_rest(text: &[u8]) -> Option<usize> {
    const GROUPS: &[u8] = b"-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    let same = |(byte, wanted): (&u8, &u8)| if *wanted == b'x' { byte.is_ascii_hexdigit() } else { byte == wanted };
    (text.len() >= GROUPS.len() && text.iter().zip(GROUPS).all(same) && ends_word(text, GROUPS.len()))
        .then_some(GROUPS.len())
}

/// `0x7ffd1234abcd`; shorter ones are values that somebody wrote.
fn address(text: &[u8]) -> Option<usize> {
    let hex = text.strip_prefix(b"0x")?.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    (hex >= 6).then(|| hex.saturating_add(2))
}

/// Words behind which a number differs from run to run, the least such number, and what stands for it.
///
/// A small port is one that somebody chose; a free one is taken from the upper end.
const KEYED: [(&[u8], u64, &str); 17] = [
    (b"pid", 0, "<pid>"),
    (b"pids", 0, "<pid>"),
    (b"ppid", 0, "<pid>"),
    (b"pgid", 0, "<pid>"),
    (b"tid", 0, "<pid>"),
    (b"sid", 0, "<pid>"),
    (b"port", FREE_PORT_MIN, "<port>"),
    (b"seed", 100, "<id>"),
    (b"nonce", 100, "<id>"),
    (b"request_id", 100, "<id>"),
    (b"requestid", 100, "<id>"),
    (b"req_id", 100, "<id>"),
    (b"trace_id", 100, "<id>"),
    (b"traceid", 100, "<id>"),
    (b"span_id", 100, "<id>"),
    (b"correlation_id", 100, "<id>"),
    (b"correlationid", 100, "<id>"),
];

/// The lowest port that counts as one that was free; the highest there is has five digits too.
const FREE_PORT_MIN: u64 = 10_000;
const PORT_MAX: u64 = 65_535;

/// A number behind `pid`, `PGID:`, `port` and the like, in a shell's `[1] 4711`, or the port of an address.
fn keyed(text: &[u8], before: &[u8]) -> Option<VolatileWord> {
    let length = digits(text);
    if !ends_word(text, length) {
        return None;
    }
    let joint = |byte: u8| matches!(byte, b' ' | b':' | b'=' | b'#' | b'"' | b'\'' | b'(' | b'[');
    if !before.last().is_some_and(|byte| joint(*byte)) {
        return None;
    }
    // A keyword and what joins it to its number are short.
    let near = before.get(before.len().saturating_sub(32)..).unwrap_or_default();
    let line = near.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    if let [b'[', job @ .., b']', b' '] = line
        && !job.is_empty()
        && job.iter().all(u8::is_ascii_digit)
    {
        return Some(VolatileWord { length, marker: "<pid>" });
    }
    let value = value(text.get(..length)?);
    if line.strip_suffix(b":").is_some_and(is_host) && (FREE_PORT_MIN..=PORT_MAX).contains(&value) {
        return Some(VolatileWord { length, marker: "<port>" });
    }
    let gap = line.iter().rev().take(4).take_while(|byte| joint(**byte)).count();
    let word_end = line.len().saturating_sub(gap);
    let word = line.get(..word_end)?.rsplit(|byte| !is_word(*byte)).next()?;
    let (_, least, marker) = KEYED.iter().find(|(known, _, _)| word.eq_ignore_ascii_case(known))?;
    (value >= *least).then_some(VolatileWord { length, marker })
}

/// Whether a text ends with the name or the number of a host.
fn is_host(text: &[u8]) -> bool {
    let name = text.rsplit(|byte| byte.is_ascii_whitespace() || b"/@\"'`(=<".contains(byte)).next().unwrap_or_default();
    let numbers = name.split(|byte| *byte == b'.');
    let is_number = |part: &[u8]| !part.is_empty() && part.len() <= 3 && part.iter().all(u8::is_ascii_digit);
    name.eq_ignore_ascii_case(b"localhost")
        || name.ends_with(b"]")
        || name == b"*"
        || (numbers.clone().count() == 4 && numbers.clone().all(is_number))
        || (text.len() > name.len() && text.strip_suffix(name).is_some_and(|scheme| scheme.ends_with(b"//")))
}

/// A generated name in a folder for temporary files, seen from the slash that starts the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Temporary {
    /// Bytes that are kept: the folder, and the part of the name that somebody chose.
    pub(super) keep: usize,
    /// Where the name ends.
    pub(super) end: usize,
}

/// Folders for temporary files.
const FOLDERS: [&[u8]; 4] = [b"/tmp/", b"/var/tmp/", b"/private/tmp/", b"/dev/shm/"];

/// Finds a generated name at the start of an absolute path; a name that somebody chose (`/tmp/repro.py`) is none.
pub(super) fn temporary(path: &[u8]) -> Option<Temporary> {
    // Most slashes are followed by something else, and its first letter shows it.
    if !path.get(1).is_some_and(|byte| b"tvpd".contains(byte)) {
        return None;
    }
    let folder = FOLDERS.iter().find(|folder| path.starts_with(folder))?.len();
    let in_name = |byte: &&u8| is_word(**byte) || matches!(byte, b'.' | b'-' | b'+' | b'@');
    let whole = path.get(folder..)?;
    let name = whole.get(..whole.iter().take_while(in_name).count())?;
    // A name of which a part was replaced already is left as it is.
    if whole.get(name.len()) == Some(&b'<') {
        return None;
    }
    let generated = |keep: usize, length: usize| {
        // A kept part that might itself look generated is not kept either.
        let plain = name.get(..keep).is_some_and(|part| {
            let marked = keep > 4 && (part.starts_with(b"tmp") || part.starts_with(b".tmp"));
            !marked && !part.iter().any(u8::is_ascii_digit)
        });
        Temporary {
            keep: folder.saturating_add(if plain { keep } else { 0 }),
            end: folder.saturating_add(keep).saturating_add(length),
        }
    };
    let random = |part: &[u8]| part.iter().take_while(|byte| is_word(**byte)).count();
    // `tmp.XXXXXXXXXX` (mktemp), `.tmpXXXXXX` (Rust), `tmpxxxxxxxx` (Python).
    for (prefix, length) in [(&b"tmp."[..], 10), (b".tmp", 6), (b"tmp", 8)] {
        if name.strip_prefix(prefix).is_some_and(|part| random(part) == length) {
            return Some(generated(prefix.len(), length));
        }
    }
    // `build-x7Gh2k`, `TestThing12345678`: the last part of the stem, if no person would write it.
    let stem = name.iter().position(|byte| *byte == b'.').unwrap_or(name.len());
    let stem = name.get(..stem)?;
    let part = stem.rsplit(|byte| matches!(byte, b'-' | b'_')).next()?;
    let number = part.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    if number >= 5 {
        return Some(generated(stem.len().saturating_sub(number), number));
    }
    (part.len() >= 6 && part.len() < stem.len() && random::changes_kind(part))
        .then(|| generated(stem.len().saturating_sub(part.len()), part.len()))
}
