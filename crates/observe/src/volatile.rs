//! The shapes of volatile parts: each function looks at the start of a slice and says how far the shape reaches.

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

/// Whether a byte belongs to a word.
pub(super) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// A volatile part that starts at a digit which starts a word; `before` is the text written so far.
pub(super) fn at_word(tail: &[u8], before: &[u8], volatility: Volatility) -> Option<VolatileWord> {
    let found = |length: usize, marker| Some(VolatileWord { length, marker });
    let number = digits(tail);
    let whole = |length: &usize| ends_word(tail, *length);
    // The byte behind the digits says which shapes are possible; most numbers are none of them.
    let next = tail.get(number).copied().unwrap_or(b'\n');
    let stamped = matches!((number, next), (4, b'-' | b'/') | (8, b'T'));
    if stamped && let Some(length) = time_stamp(tail).filter(whole) {
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
    if maybe_unit && let Some(length) = duration(tail, before) {
        return found(length, "<dur>");
    }
    process_id(tail, before).and_then(|length| found(length, "<pid>"))
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
    if !hex(head) || !hex(mine) {
        return None;
    }
    let length = head.len().saturating_add(word);
    if length == 8 {
        let rest = uuid_rest(tail.get(word..)?)?;
        return Some(VolatileWord { length: word.saturating_add(rest), marker: "<id>" });
    }
    let letters = head.iter().chain(mine).any(u8::is_ascii_alphabetic);
    (length >= ID_HEX_MIN && letters && !CONTENT_HEX.contains(&length))
        .then_some(VolatileWord { length: word, marker: "<id>" })
}

/// How many digits stand at the start.
fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Whether no word goes on at `length`.
fn ends_word(text: &[u8], length: usize) -> bool {
    text.get(length).is_none_or(|byte| !is_word(*byte))
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

/// `12:30:59`, with or without a fraction.
fn clock(text: &[u8]) -> Option<usize> {
    let length = shape(text, b"00:00:00").or_else(|| shape(text, b"0:00:00"))?;
    Some(length.saturating_add(fraction(text.get(length..)?)))
}

/// `.123` or `,123`.
fn fraction(text: &[u8]) -> usize {
    match text.split_first() {
        Some((b'.' | b',', places)) if digits(places) > 0 => digits(places).saturating_add(1),
        Some(_) | None => 0,
    }
}

/// A date and a time of day, joined by `T` or a space; or the compact form `20260131T123059Z`.
fn time_stamp(text: &[u8]) -> Option<usize> {
    if let Some(length) = shape(text, b"00000000T000000") {
        let zulu = text.get(length) == Some(&b'Z');
        return Some(length.saturating_add(usize::from(zulu)));
    }
    let day = date(text)?;
    let (joint, time) = text.get(day..)?.split_first()?;
    if !matches!(joint, b'T' | b't' | b' ') {
        return None;
    }
    let time_length = clock(time).or_else(|| shape(time, b"00:00"))?;
    let length = day.saturating_add(1).saturating_add(time_length);
    Some(length.saturating_add(zone(text.get(length..)?)))
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
    (recent && matches!(length, 10 | 13 | 16 | 19))
        .then(|| length.saturating_add(if length == 10 { fraction(text.get(length..).unwrap_or_default()) } else { 0 }))
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

/// Units that make a number a duration, alone or behind a space.
const UNITS: [&[u8]; 18] = [
    b"ms",
    b"s",
    b"sec",
    b"secs",
    b"second",
    b"seconds",
    b"us",
    b"ns",
    b"msec",
    b"msecs",
    b"millisecond",
    b"milliseconds",
    b"microseconds",
    b"nanoseconds",
    b"min",
    b"mins",
    b"minute",
    b"minutes",
];

/// `1.2s`, `350 ms`, `3 seconds`, `1m30s`, `0m0.003s`.
fn duration(text: &[u8], before: &[u8]) -> Option<usize> {
    // The `3` of version `1.2.3` starts no number.
    let inside_number = matches!(before, [.., digit, b'.'] if digit.is_ascii_digit());
    if inside_number {
        return None;
    }
    let mut length = 0_usize;
    // Hours, minutes and seconds: at most four parts.
    for _ in 0..4_u8 {
        let number = digits(text.get(length..)?);
        if number == 0 {
            return None;
        }
        length = length.saturating_add(number);
        let places = fraction(text.get(length..)?);
        length = length.saturating_add(places);
        let unit = text.get(length..)?;
        if let Some(micro) = unit.strip_prefix("µs".as_bytes()) {
            let micro = unit.len().saturating_sub(micro.len());
            return ends_word(unit, micro).then(|| length.saturating_add(micro));
        }
        if let Some((b'h' | b'm', next)) = unit.split_first()
            && next.first().is_some_and(u8::is_ascii_digit)
        {
            length = length.saturating_add(1);
            continue;
        }
        let spaced = unit.strip_prefix(b" ");
        let letters = spaced.unwrap_or(unit);
        let named = letters.iter().take_while(|byte| is_word(**byte)).count();
        let name = letters.get(..named)?;
        // `3 s` is too short to be sure, `0.31 s` is not.
        let sure = UNITS.contains(&name) && (spaced.is_none() || name.len() > 1 || places > 0);
        return sure.then(|| length.saturating_add(usize::from(spaced.is_some())).saturating_add(named));
    }
    None
}

/// Words behind which a number is a process id.
const PROCESS_WORDS: [&[u8]; 6] = [b"pid", b"pids", b"ppid", b"pgid", b"tid", b"sid"];

/// A number behind `pid`, `PGID:` and the like, or in a shell's `[1] 4711`.
fn process_id(text: &[u8], before: &[u8]) -> Option<usize> {
    let length = digits(text);
    if !ends_word(text, length) {
        return None;
    }
    if !matches!(before.last(), Some(b' ' | b':' | b'=' | b'#' | b'"' | b'\'' | b'(' | b'[')) {
        return None;
    }
    // A keyword and what joins it to its number are short.
    let near = before.get(before.len().saturating_sub(16)..).unwrap_or_default();
    let line = near.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    if let [b'[', job @ .., b']', b' '] = line
        && !job.is_empty()
        && job.iter().all(u8::is_ascii_digit)
    {
        return Some(length);
    }
    let joint = |byte: &&u8| matches!(byte, b' ' | b':' | b'=' | b'#' | b'"' | b'\'' | b'(' | b'[');
    let gap = line.iter().rev().take(4).take_while(joint).count();
    let word_end = line.len().saturating_sub(gap);
    let word = line.get(..word_end)?.rsplit(|byte| !is_word(*byte)).next()?;
    PROCESS_WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)).then_some(length)
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
    let folder = FOLDERS.iter().find(|folder| path.starts_with(folder))?.len();
    let in_name = |byte: &&u8| is_word(**byte) || matches!(byte, b'.' | b'-' | b'+' | b'@');
    let name = path.get(folder..)?;
    let name = name.get(..name.iter().take_while(in_name).count())?;
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
    (part.len() >= 6 && part.len() < stem.len() && is_random(part))
        .then(|| generated(stem.len().saturating_sub(part.len()), part.len()))
}

/// Whether a word has digits and changes between letters, digits and cases more often than names do.
fn is_random(word: &[u8]) -> bool {
    let kind = |byte: &u8| match byte {
        b'0'..=b'9' => 0_u8,
        b'a'..=b'z' => 1,
        _ => 2,
    };
    let changes = word.windows(2).filter(|pair| matches!(pair, [a, b] if kind(a) != kind(b))).count();
    changes >= 2 && word.iter().any(u8::is_ascii_digit)
}
