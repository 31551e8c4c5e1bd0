//! Durations and rates, in the words of many languages: how long it took says nothing about what was done.

use super::numerals::{digits, ends_word, fraction, is_word};

/// Units that make a number a duration, alone or behind a space; small letters.
const UNITS: [&str; 66] = [
    "ms",
    "s",
    "sec",
    "secs",
    "second",
    "seconds",
    "us",
    "ns",
    "msec",
    "msecs",
    "millisecond",
    "milliseconds",
    "microseconds",
    "nanoseconds",
    "min",
    "mins",
    "minute",
    "minutes",
    "hour",
    "hours",
    // German, Dutch, the Scandinavian languages.
    "sek",
    "sekunde",
    "sekunden",
    "millisekunden",
    "minuten",
    "stunde",
    "stunden",
    "seconde",
    "seconden",
    "milliseconden",
    "sekund",
    "sekunder",
    "minuter",
    "minutter",
    "sekuntia",
    "timer",
    // French, Spanish, Portuguese, Italian, Romanian.
    "secondes",
    "millisecondes",
    "heure",
    "heures",
    "seg",
    "segundo",
    "segundos",
    "milisegundos",
    "milissegundos",
    "minuto",
    "minutos",
    "hora",
    "horas",
    "secondo",
    "secondi",
    "millisecondi",
    "minuti",
    "secunde",
    "minut",
    // Polish, Czech, Russian, Ukrainian, Turkish, Hungarian.
    "sekundy",
    "minuty",
    "секунд",
    "секунда",
    "секунды",
    "секунди",
    "сек",
    "мс",
    "минут",
    "saniye",
    "másodperc",
];

/// Units that are written without a space around them.
const SIGNS: [&str; 8] = ["µs", "μs", "ミリ秒", "毫秒", "秒", "分", "초", "분"];

/// The first bytes of all units and signs, of small and capital letters: an arrow or a rule behind the number of a line is none.
const UNIT_STARTS: &[u8] = b"hmnstu\xc2\xce\xd0\xd1\xe3\xe5\xe6\xe7\xeb\xec";

/// `1.2s`, `350 ms`, `3,21 Sekunden`, `1m30s`, `0m0.003s`, `3.2秒`.
pub(super) fn duration(text: &[u8], before: &[u8]) -> Option<usize> {
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
        if let Some((b'h' | b'm', next)) = unit.split_first()
            && next.first().is_some_and(u8::is_ascii_digit)
        {
            length = length.saturating_add(1);
            continue;
        }
        let spaced = unit.strip_prefix(b" ");
        let name = spaced.unwrap_or(unit);
        let named = unit_length(name)?;
        // `3 s` is too short to be sure, `0.31 s` is not.
        let sure = spaced.is_none() || named > 1 || places > 0;
        return sure.then(|| length.saturating_add(usize::from(spaced.is_some())).saturating_add(named));
    }
    None
}

/// How long the unit is with which a text begins.
fn unit_length(text: &[u8]) -> Option<usize> {
    // Most numbers are followed by something else, and its first letter shows it.
    if !UNIT_STARTS.contains(&text.first()?.to_ascii_lowercase()) {
        return None;
    }
    if let Some(sign) = SIGNS.iter().find(|sign| text.starts_with(sign.as_bytes())) {
        return ends_word(text, sign.len()).then_some(sign.len());
    }
    let letters = text.iter().take(24).take_while(|byte| is_word(**byte) || !byte.is_ascii()).count();
    let name = core::str::from_utf8(text.get(..letters)?).ok()?;
    let found = if name.is_ascii() {
        UNITS.iter().find(|unit| unit.eq_ignore_ascii_case(name))?
    } else {
        UNITS.iter().find(|unit| unit.chars().eq(name.chars().flat_map(char::to_lowercase)))?
    };
    // `5 S` and `3 MS` are no durations: units of one or two letters are written small.
    (found.len() > 3 || *found == name).then_some(letters)
}

/// `3.21 MB/s`, `12it/s`, `4.5 req/sec`: how fast it went.
pub(super) fn rate(text: &[u8]) -> Option<usize> {
    let number = digits(text);
    let length = number.saturating_add(fraction(text.get(number..)?));
    let unit = text.get(length..)?;
    let spaced = unit.strip_prefix(b" ").unwrap_or(unit);
    let letters = spaced.iter().take(5).take_while(|byte| byte.is_ascii_alphabetic()).count();
    if letters == 0 || letters > 4 {
        return None;
    }
    let per = spaced.get(letters..)?.strip_prefix(b"/s")?;
    let rest = per.strip_prefix(b"ec").unwrap_or(per);
    ends_word(rest, 0).then(|| text.len().saturating_sub(rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_known_in_many_languages() {
        for text in [
            "3,21 Sekunden",
            "3.21s",
            "350 ms",
            "1,5 secondes",
            "2 segundos",
            "3,2 секунды",
            "0.5秒",
            "1m30s",
            "12 Minuten",
        ] {
            assert_eq!(duration(text.as_bytes(), b""), Some(text.len()), "{text}");
        }
        for text in ["3 S", "3 s", "3 segments", "5 files", "2 second_tests", "7 horasphere", "3 MS", "3"] {
            assert_eq!(duration(text.as_bytes(), b""), None, "{text}");
        }
    }

    #[test]
    fn every_unit_begins_with_a_known_byte() {
        let starts = |text: &str| UNIT_STARTS.contains(&text.as_bytes()[0].to_ascii_lowercase());
        for unit in UNITS.iter().chain(&SIGNS) {
            assert!(starts(unit) && starts(&unit.to_uppercase()), "{unit}");
        }
    }

    #[test]
    fn rates_are_known() {
        for text in ["3.21 MB/s", "12it/s", "4,5 req/sec", "10 B/s"] {
            assert_eq!(rate(text.as_bytes()), Some(text.len()), "{text}");
        }
        for text in ["3/s", "3 files/src", "5 of 7", "12 megabytes/s"] {
            assert_eq!(rate(text.as_bytes()), None, "{text}");
        }
    }
}
