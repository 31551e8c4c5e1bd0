//! A moment of the wall clock as the files write it; the moment itself always comes from the caller.

use serde::{Deserialize, Serialize};
use std::fmt;
use tripwire_core::ledger::UtcDate;

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WallClock(u64);

impl WallClock {
    /// From milliseconds since the epoch, capped at the end of the year 9999 so that every stamp has one width.
    #[must_use]
    pub const fn from_epoch_ms(epoch_ms: u64) -> Self {
        Self(if epoch_ms > EPOCH_MS_MAX { EPOCH_MS_MAX } else { epoch_ms })
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub const fn epoch_ms(self) -> u64 {
        self.0
    }

    /// `YYYY-MM-DD-HHMMSS`, the part of a session's id that names its start.
    #[must_use]
    pub fn session_stamp(self) -> String {
        let Civil { year, month, day, hour, minute, second } = self.civil();
        format!("{year:04}-{month:02}-{day:02}-{hour:02}{minute:02}{second:02}")
    }

    /// The day in UTC.
    #[must_use]
    pub fn date(self) -> UtcDate {
        let Civil { year, month, day, .. } = self.civil();
        // The year is at most 9999, the others are smaller.
        let small = |figure: u64| u8::try_from(figure).unwrap_or(u8::MAX);
        UtcDate { year: u16::try_from(year).unwrap_or(u16::MAX), month: small(month), day: small(day) }
    }

    /// Reads a stamp such as `2026-11-15T00:17:56.770Z`, to the millisecond; none for any other form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
        let [year, month, day] = numbers(date, '-')?;
        let (whole, fraction) = time.split_once('.').unwrap_or((time, ""));
        let [hour, minute, second] = numbers(whole, ':')?;
        if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return None;
        }
        if hour > 23 || minute > 59 || second > 60 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let millis: u64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
        let (year, from_march) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * from_march + 2) / 5 + day - 1;
        let days = days.checked_sub(DAYS_FROM_YEAR_0_TO_1970)?;
        Some(Self::from_epoch_ms((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000 + millis))
    }

    /// Splits into calendar fields in UTC.
    fn civil(self) -> Civil {
        let seconds = self.0 / 1_000;
        let (days, rest) = (seconds / 86_400, seconds % 86_400);
        // Years are counted from 1 March, so that the leap day is the last day of its year.
        let shifted = days + DAYS_FROM_YEAR_0_TO_1970;
        let (era, day_of_era) = (shifted / DAYS_PER_ERA, shifted % DAYS_PER_ERA);
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        Civil {
            year: era * 400 + year_of_era + u64::from(month <= 2),
            month,
            day: day_of_year - (153 * from_march + 2) / 5 + 1,
            hour: rest / 3_600,
            minute: rest % 3_600 / 60,
            second: rest % 60,
        }
    }
}

impl fmt::Display for WallClock {
    /// The form of every stamp in the seed's files: `2026-02-28T15:30:00Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil { year, month, day, hour, minute, second } = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

fn numbers(text: &str, between: char) -> Option<[u64; 3]> {
    let mut parts = text.split(between).map(|part| part.parse().ok());
    let all = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(all)
}

/// Calendar fields in UTC.
struct Civil {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
}

/// Days of the 400-year cycle of the Gregorian calendar.
const DAYS_PER_ERA: u64 = 146_097;
/// Days from 1 March of the year 0 to 1 January 1970.
const DAYS_FROM_YEAR_0_TO_1970: u64 = 719_468;
/// The last millisecond of the year 9999.
const EPOCH_MS_MAX: u64 = 253_402_300_799_999;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_the_calendar_in_utc() {
        for (epoch_s, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_772_292_600, "2026-02-28T15:30:00Z"),
            (1_772_323_200, "2026-03-01T00:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(WallClock::from_epoch_ms(epoch_s * 1_000 + 999).to_string(), text);
        }
        assert_eq!(WallClock::from_epoch_ms(u64::MAX).to_string(), "9999-12-31T23:59:59Z");
    }

    #[test]
    fn a_date_is_the_day_in_utc() {
        assert_eq!(WallClock::from_epoch_ms(951_782_400_000).date().to_string(), "2000-02-29");
        assert_eq!(WallClock::from_epoch_ms(1_772_323_199_999).date().to_string(), "2026-02-28");
    }

    #[test]
    fn a_session_stamp_has_the_shape_of_the_seed() {
        assert_eq!(WallClock::from_epoch_ms(1_772_289_120_000).session_stamp(), "2026-02-28-143200");
    }

    #[test]
    fn stamps_are_read_to_the_millisecond() {
        let read = |text| WallClock::parse(text).map(WallClock::epoch_ms);
        assert_eq!(read("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(read("2026-02-28T15:30:00.5Z"), Some(1_772_292_600_500));
        assert_eq!(read("2024-02-29T00:00:00.123456Z"), Some(1_709_164_800_123));
        assert_eq!(read("2026-02-28T15:30:00.05Z"), Some(1_772_292_600_050));
        assert_eq!(read("1970-01-01T01:02:03.004Z"), Some(3_723_004));
        assert_eq!(read("1970-12-31T23:59:60Z"), Some(31_536_000_000), "a leap second is the next one");
        assert_eq!(read("9999-12-31T23:59:59.999Z"), Some(EPOCH_MS_MAX));
    }

    #[test]
    fn no_moment_is_later_than_the_year_9999() {
        assert_eq!(WallClock::from_epoch_ms(EPOCH_MS_MAX - 1).epoch_ms(), EPOCH_MS_MAX - 1);
        assert_eq!(WallClock::from_epoch_ms(EPOCH_MS_MAX).epoch_ms(), EPOCH_MS_MAX);
        assert_eq!(WallClock::from_epoch_ms(EPOCH_MS_MAX + 1).epoch_ms(), EPOCH_MS_MAX);
        assert_eq!(WallClock::from_epoch_ms(u64::MAX).session_stamp(), "9999-12-31-235959");
        assert_eq!(WallClock::from_epoch_ms(86_399_999).session_stamp(), "1970-01-01-235959");
    }

    #[test]
    fn every_day_of_the_calendar_is_read_as_it_is_written() {
        const DAY_MS: u64 = 86_400_000;
        // To the end of 2110, which has every kind of leap year in it.
        for day in 0..51_500 {
            let stamp = WallClock::from_epoch_ms(day * DAY_MS + day % 86_400 * 1_000);
            assert_eq!(WallClock::parse(&stamp.to_string()), Some(stamp), "{stamp}");
        }
    }

    #[test]
    fn what_is_no_stamp_has_no_time() {
        for text in ["", "now", "2026-02-28", "2026-13-28T15:30:00Z", "2026-02-28T25:30:00Z", "2026-02-28T15:30:00"] {
            assert_eq!(WallClock::parse(text), None, "{text}");
        }
        for text in [
            "2026-00-28T15:30:00Z",
            "2026-02-00T15:30:00Z",
            "2026-02-32T15:30:00Z",
            "2026-02-28T24:00:00Z",
            "2026-02-28T23:60:00Z",
            "2026-02-28T23:59:61Z",
            "10000-01-01T00:00:00Z",
            "2026-02-28-01T15:30:00Z",
            "2026-02-28T15:30:00:00Z",
            "2026-02-28T15:30Z",
            "2026-02-28T15:30:00.1-Z",
        ] {
            assert_eq!(WallClock::parse(text), None, "{text}");
        }
        for text in ["-1-02-28T15:30:00Z", "1969-12-31T00:00:00Z", "2026-02-28T15:30:00.xZ", "99999-01-01T00:00:00Z"] {
            assert_eq!(WallClock::parse(text), None, "{text}");
        }
    }
}
