//! Limits as people write them: money, spans of time, a time of day.

use std::process::{Command, Stdio};
use std::time::Duration;
pub(crate) use tripwire_embed::budget;

/// A span of time: `90s`, `15m`, `2h`, `1h30m`, `1d`.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    let wrong = || "write a span, such as `90s`, `15m`, `2h` or `1h30m`".to_owned();
    let (mut seconds, mut digits) = (0_u64, String::new());
    for letter in text.trim().chars() {
        if letter.is_ascii_digit() {
            digits.push(letter);
            continue;
        }
        let unit = match letter {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            _ => return Err(wrong()),
        };
        let number: u64 = std::mem::take(&mut digits).parse().map_err(|_| wrong())?;
        seconds = number.checked_mul(unit).and_then(|part| seconds.checked_add(part)).ok_or_else(wrong)?;
    }
    if digits.is_empty() && seconds > 0 && seconds <= SPAN_SECONDS_MAX {
        Ok(Duration::from_secs(seconds))
    } else {
        Err(wrong())
    }
}

/// A size in bytes: `104857600`, `512K`, `100M`, `2GiB`; the letters are powers of 1024.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let wrong = || "write bytes, such as `104857600`, or `100M`; K, M and G are powers of 1024".to_owned();
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(factor).ok_or_else(wrong)
}

/// A size of memory in which a program can at least start.
pub(crate) fn memory(text: &str) -> Result<u64, String> {
    match size(text)? {
        bytes if bytes < MEMORY_BYTES_MIN => {
            Err(format!("no program starts with less than {} bytes; write more, such as `100M`", MEMORY_BYTES_MIN))
        }
        bytes => Ok(bytes),
    }
}

/// The least memory of a confined command.
const MEMORY_BYTES_MIN: u64 = 4 << 20;

/// A number of processes: the command's own and the one that looks after it.
pub(crate) fn processes(text: &str) -> Result<u64, String> {
    let wrong =
        || "write a number of processes, 2 or more: the command's own and the one that looks after it".to_owned();
    text.parse().ok().filter(|number| *number >= 2).ok_or_else(wrong)
}

/// Processor time in thousandths of a processor: `1`, `0.5`, `2.25`.
pub(crate) fn processors(text: &str) -> Result<u64, String> {
    let wrong = || "write a number of processors from 0.05 to 1024, such as `1` or `0.5`".to_owned();
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 3 {
        return Err(wrong());
    }
    let thousandths = format!("{part:0<3}").parse::<u64>().ok();
    let milli = whole.parse::<u64>().ok().and_then(|whole| whole.checked_mul(1_000)?.checked_add(thousandths?));
    milli.filter(|milli| (CPU_MILLI_MIN..=CPU_MILLI_MAX).contains(milli)).ok_or_else(wrong)
}

/// The least processor time: the scheduler deals it out in pieces of some milliseconds.
const CPU_MILLI_MIN: u64 = 50;
const CPU_MILLI_MAX: u64 = 1_024_000;

/// A span in seconds: `30`, `0.5`.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    #[expect(clippy::cast_precision_loss, reason = "the longest span is far below where a float loses a second")]
    let longest = SPAN_SECONDS_MAX as f64;
    let wrong = || "write seconds, more than 0 and at most a year, such as `30` or `0.5`".to_owned();
    text.parse().ok().filter(|seconds: &f64| *seconds > 0.0 && *seconds <= longest).ok_or_else(wrong)
}

/// The longest span: a year.
const SPAN_SECONDS_MAX: u64 = 366 * 86_400;

/// A time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeOfDay {
    hour: u8,
    minute: u8,
}

/// A time of day: `07:00`.
pub(crate) fn time_of_day(text: &str) -> Result<TimeOfDay, String> {
    let wrong = || "write a time of day, such as `07:00`".to_owned();
    let (hour, minute) = text.trim().split_once(':').ok_or_else(wrong)?;
    let number = |text: &str| text.parse::<u8>().ok().filter(|_| (1..=2).contains(&text.len()));
    match (number(hour), number(minute)) {
        (Some(hour @ 0..24), Some(minute @ 0..60)) => Ok(TimeOfDay { hour, minute }),
        (Some(_) | None, _) => Err(wrong()),
    }
}

impl TimeOfDay {
    /// How long it is until then, by this machine's local time; tomorrow if it has passed.
    pub(crate) fn left_at(self, now_s: u64) -> Option<Duration> {
        let Self { hour, minute } = self;
        // Which moment a local time is, in a night on which the clocks change, is the system's knowledge.
        let on = |day: &str| epoch(&format!("{day} {hour:02}:{minute:02}")).filter(|then| *then > now_s);
        on("today").or_else(|| on("tomorrow")).map(|then| Duration::from_secs(then - now_s))
    }
}

/// The moment that a local time names, in seconds since 1970.
fn epoch(text: &str) -> Option<u64> {
    let asked =
        Command::new("date").args(["-d", text, "+%s"]).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    if !asked.status.success() {
        return None;
    }
    String::from_utf8(asked.stdout).ok()?.trim().parse().ok()
}

/// A command that proves something: an empty one, such as a variable that is not set, would prove everything.
pub(crate) fn test_command(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("it is empty; name the command that runs the tests, or leave the flag out".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_read_to_the_micro_dollar_and_anything_else_is_refused() {
        for (text, micro) in
            [("5usd", 5_000_000), ("$0.50", 500_000), ("2.5", 2_500_000), ("0.000001USD", 1), (" 3 usd", 3_000_000)]
        {
            assert_eq!(budget(text), Ok(micro), "{text}");
        }
        for text in ["", "usd", "-1", "1e3", "5eur", "1.2.3", "0", "0.0usd", "1.0000001", "99999999999999999999", ".5"]
        {
            assert!(budget(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_seconds_and_processes_are_read_and_anything_else_is_refused() {
        for (text, bytes) in [("0", 0), ("1000", 1_000), ("2k", 2_048), ("100M", 104_857_600), ("1GiB", 1 << 30)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "-1", "1.5M", "100MB", "1T", "99999999999G", "much"] {
            assert!(size(text).is_err(), "{text}");
        }
        assert_eq!((memory("4M"), processes("2")), (Ok(4 << 20), Ok(2)));
        assert!(memory("1000").is_err() && processes("1").is_err() && processes("x").is_err());
        assert_eq!((seconds("0.5"), seconds("30")), (Ok(0.5), Ok(30.0)));
        for text in ["", "0", "-1", "nan", "inf", "1e400", "1e18", "5m"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn processors_are_read_to_the_thousandth_and_anything_else_is_refused() {
        for (text, milli) in [("1", 1_000), ("0.5", 500), ("2.25", 2_250), ("0.05", 50), ("1024", 1_024_000)] {
            assert_eq!(processors(text), Ok(milli), "{text}");
        }
        for text in ["", "0", "0.01", ".5", "1.", "1.2345", "-1", "1e1", "all", "1025", "99999999999999999999"] {
            assert!(processors(text).is_err(), "{text}");
        }
    }

    #[test]
    fn spans_are_read_and_anything_else_is_refused() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("2h", 7_200), ("1h30m", 5_400), ("1d", 86_400)] {
            assert_eq!(span(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "5", "h", "1h5", "-1h", "1.5h", "0s", "9999999999999999999h", "500d", "2w"] {
            assert!(span(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_of_day_is_the_next_one() {
        assert_eq!(time_of_day("7:05"), Ok(TimeOfDay { hour: 7, minute: 5 }));
        for text in ["", "7", "24:00", "07:60", "-1:00", "07:000", "a:b", "7:5:1"] {
            assert!(time_of_day(text).is_err(), "{text}");
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        for hour in 0..24 {
            let left = TimeOfDay { hour, minute: 30 }.left_at(now).unwrap();
            assert!(left.as_secs() <= 25 * 3_600, "{hour}: {left:?}");
        }
    }
}
