//! The moments that clients write beside each line.

/// Milliseconds since 1970 of a stamp such as `2026-11-15T00:17:56.770Z`; none for any other form.
pub(super) fn epoch_ms(text: &str) -> Option<u64> {
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
    // Years begin in March here, so that the leap day is the last one.
    let (year, from_march) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * from_march + 2) / 5 + day - 1;
    let days = days.checked_sub(DAYS_TO_1970)?;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000 + millis)
}

/// Days from the first of March of the year 0 to 1970.
const DAYS_TO_1970: u64 = 719_468;

fn numbers(text: &str, between: char) -> Option<[u64; 3]> {
    let mut parts = text.split(between).map(|part| part.parse().ok());
    let all = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_read_to_the_millisecond() {
        assert_eq!(epoch_ms("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(epoch_ms("2026-02-28T15:30:00.5Z"), Some(1_772_292_600_500));
        assert_eq!(epoch_ms("2024-02-29T00:00:00.123456Z"), Some(1_709_164_800_123));
    }

    #[test]
    fn what_is_no_stamp_has_no_time() {
        for text in ["", "now", "2026-02-28", "2026-13-28T15:30:00Z", "2026-02-28T25:30:00Z", "2026-02-28T15:30:00"] {
            assert_eq!(epoch_ms(text), None, "{text}");
        }
        for text in ["-1-02-28T15:30:00Z", "1969-12-31T00:00:00Z", "2026-02-28T15:30:00.xZ", "99999-01-01T00:00:00Z"] {
            assert_eq!(epoch_ms(text), None, "{text}");
        }
    }
}
