//! A moment as a person names it: a span back from now, or a stamp.

use std::borrow::Cow;
use tripwire_core::explain::Explain;
use tripwire_workspace::geometry::wall_clock::WallClock;

/// A text that names no moment.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` is neither a time such as `2026-02-28T15:30:00Z` nor a span such as `90s`, `15m`, `2h` or `3d`")]
pub struct SinceError {
    text: String,
}

impl Explain for SinceError {
    fn hint(&self) -> Cow<'_, str> {
        "give one of these, for instance `--since 15m`".into()
    }
}

/// A moment: a span back from now, or a stamp as every file of `.geometry/` has it.
///
/// # Errors
/// When the text is neither.
pub fn moment(text: &str, now: WallClock) -> Result<WallClock, SinceError> {
    let wrong = || SinceError { text: text.to_owned() };
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return stamp(text).ok_or_else(wrong),
    };
    let back = number.parse::<u64>().map_err(|_| wrong())?.saturating_mul(seconds * 1_000);
    Ok(WallClock::from_epoch_ms(now.epoch_ms().saturating_sub(back)))
}

/// Finds the moment whose stamp this is, by halving: stamps sort as moments do.
fn stamp(text: &str) -> Option<WallClock> {
    let (mut low, mut high) = (0_u64, EPOCH_SECONDS_MAX);
    while low < high {
        let middle = low + (high - low) / 2;
        if WallClock::from_epoch_ms(middle * 1_000).to_string().as_str() < text {
            low = middle + 1
        } else {
            high = middle
        }
    }
    let found = WallClock::from_epoch_ms(low * 1_000);
    (found.to_string() == text).then_some(found)
}

/// The last second of the year 9999.
const EPOCH_SECONDS_MAX: u64 = 253_402_300_799;

/// A span of time for a person, in its two largest units: `4 s`, `12 min`, `3 h 5 min`, `2 d 4 h`.
#[must_use]
pub fn span(seconds: u64) -> String {
    match (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, seconds) => format!("{seconds} s"),
        (0, 0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (0, hours, minutes, _) => format!("{hours} h {minutes} min"),
        (days, hours, ..) => format!("{days} d {hours} h"),
    }
}

/// How long ago something was, in one unit.
#[must_use]
pub fn ago(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        86_400.. => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_in_their_largest_units() {
        let spans: Vec<String> = [4, 725, 11_100, 187_200].map(span).into();
        assert_eq!(spans, ["4 s", "12 min 5 s", "3 h 5 min", "2 d 4 h"]);
        let agos: Vec<String> = [59, 61, 7_300, 200_000].map(ago).into();
        assert_eq!(agos, ["59 s", "1 min", "2 h", "2 d"]);
    }

    const NOW: WallClock = WallClock::from_epoch_ms(1_772_292_600_000);

    #[test]
    fn a_moment_is_a_span_or_a_stamp_and_nothing_else() {
        assert_eq!(moment("90s", NOW).unwrap().to_string(), "2026-02-28T15:28:30Z");
        assert_eq!(moment("2d", NOW).unwrap().to_string(), "2026-02-26T15:30:00Z");
        assert_eq!(moment("2026-02-28T15:30:00Z", NOW).unwrap(), NOW);
        for bad in ["", "m", "-5m", "yesterday", "2026-02-30T00:00:00Z", "5", "2026-02-28", "é"] {
            assert!(moment(bad, NOW).is_err(), "{bad}");
        }
    }
}
