//! How long a provider asks us to wait, in all the forms in which they say it.

use super::limits::RETRY_AFTER_MAX;
use serde_json::Value;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The wait that headers and body of a refusal ask for. The most precise form wins: milliseconds, then `retry-after`,
/// then Google's `RetryInfo`, then the resets of the limits that are used up.
pub(super) fn wait(headers: &[(String, String)], body: &Value, now: SystemTime) -> Option<Duration> {
    let header = |name: &str| headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str());
    let millis = header("retry-after-ms").and_then(decimal_seconds).map(|thousands| thousands / 1_000);
    let after = || header("retry-after").and_then(|value| decimal_seconds(value).or_else(|| until(value, now)));
    let wait = millis.or_else(after).or_else(|| retry_info(body)).or_else(|| resets(headers, now))?;
    Some(wait.min(RETRY_AFTER_MAX))
}

/// `7`, `0.25`.
fn decimal_seconds(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 12 || !digits(whole) || !digits(fraction) {
        return None;
    }
    let nanos: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    Some(Duration::new(whole.parse().ok()?, nanos.parse().ok()?))
}

/// A date of HTTP (`Sun, 06 Nov 1994 08:49:37 GMT`) or of RFC 3339 (`1994-11-06T08:49:37Z`), as a wait from now.
fn until(text: &str, now: SystemTime) -> Option<Duration> {
    let seconds = http_date(text).or_else(|| rfc3339(text))?;
    let then = UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?;
    Some(then.duration_since(now).unwrap_or(Duration::ZERO))
}

fn http_date(text: &str) -> Option<u64> {
    let (_, rest) = text.trim().split_once(", ")?;
    let mut words = rest.split(' ');
    let (day, month, year, clock) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = u64::try_from(months.iter().position(|name| *name == month)?).ok()? + 1;
    seconds_of([year.parse().ok()?, month, day.parse().ok()?], clock)
}

fn rfc3339(text: &str) -> Option<u64> {
    let (date, clock) = text.trim().split_once('T')?;
    let mut parts = date.split('-').map(|part| part.parse().ok());
    let date = [parts.next()??, parts.next()??, parts.next()??];
    // Providers write UTC; an offset would need more than this and is not believed.
    seconds_of(date, clock.strip_suffix('Z')?)
}

/// Seconds since 1970 of a date in the Gregorian calendar.
fn seconds_of([year, month, day]: [u64; 3], clock: &str) -> Option<u64> {
    let mut parts = clock.split(':').map(|part| part.split('.').next()?.parse::<u64>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // March is the first month here, so that the leap day is the last day of a year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let since_1970 = days.checked_sub(719_468)?;
    Some(((since_1970 * 24 + hour) * 60 + minute) * 60 + second)
}

/// Google's `{"@type": "…RetryInfo", "retryDelay": "37s"}` among the details of an error.
fn retry_info(body: &Value) -> Option<Duration> {
    let details = body.pointer("/error/details")?.as_array()?;
    details.iter().find_map(|detail| span(detail.get("retryDelay")?.as_str()?))
}

/// The limits that are used up tell when they are new: OpenAI as a span (`6m0s`), Anthropic as a date. The last counts.
fn resets(headers: &[(String, String)], now: SystemTime) -> Option<Duration> {
    let used_up = |name: &str| {
        let remaining = name.replace("-reset", "-remaining");
        headers.iter().any(|(header, value)| *header == remaining && value.trim() == "0")
    };
    headers
        .iter()
        .filter(|(name, _)| name.contains("ratelimit") && name.contains("-reset") && used_up(name))
        .filter_map(|(_, value)| span(value).or_else(|| until(value, now)))
        .max()
}

/// `1s`, `6m0s`, `1h2m3.5s`, `120ms`.
fn span(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let amount = decimal_seconds(rest.get(..number)?)?;
        rest = rest.get(number..)?;
        let unit = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let amount = match rest.get(..unit)? {
            "ms" => amount / 1_000,
            "s" => amount,
            "m" => amount.checked_mul(60)?,
            "h" => amount.checked_mul(3_600)?,
            "d" => amount.checked_mul(86_400)?,
            _ => return None,
        };
        total = total.checked_add(amount)?;
        rest = rest.get(unit..)?;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn headers(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn of(list: &[(&str, &str)]) -> Option<Duration> {
        // 2026-11-15T06:00:00Z.
        let now = UNIX_EPOCH + Duration::from_secs(1_794_722_400);
        wait(&headers(list), &Value::Null, now)
    }

    #[test]
    fn seconds_milliseconds_and_dates_are_read() {
        assert_eq!(of(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        assert_eq!(of(&[("retry-after", "0.25")]), Some(Duration::from_millis(250)));
        assert_eq!(of(&[("retry-after", "7"), ("retry-after-ms", "1500")]), Some(Duration::from_millis(1_500)));
        assert_eq!(of(&[("retry-after", "Sun, 15 Nov 2026 06:01:30 GMT")]), Some(Duration::from_secs(90)));
        assert_eq!(of(&[("retry-after", "Sun, 15 Nov 2026 05:00:00 GMT")]), Some(Duration::ZERO));
        assert_eq!(http_date("Thu, 01 Jan 1970 00:00:01 GMT"), Some(1));
        assert_eq!(http_date("Thu, 29 Feb 2024 12:00:00 GMT"), Some(1_709_208_000));
        assert_eq!(rfc3339("2026-11-15T06:00:00Z"), Some(1_794_722_400));
    }

    #[test]
    fn resets_count_only_for_limits_that_are_used_up_and_the_last_wins() {
        let openai = [
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "6m0s"),
            ("x-ratelimit-remaining-tokens", "12"),
            ("x-ratelimit-reset-tokens", "2h"),
        ];
        assert_eq!(of(&openai), Some(Duration::from_secs(360)));
        let anthropic = [
            ("anthropic-ratelimit-tokens-remaining", "0"),
            ("anthropic-ratelimit-tokens-reset", "2026-11-15T06:00:42Z"),
            ("anthropic-ratelimit-requests-remaining", "0"),
            ("anthropic-ratelimit-requests-reset", "2026-11-15T06:00:10Z"),
        ];
        assert_eq!(of(&anthropic), Some(Duration::from_secs(42)));
        assert_eq!(of(&[("x-ratelimit-reset-tokens", "2h")]), None);
    }

    #[test]
    fn google_says_it_in_the_body() {
        let body = json!({"error": {"details": [{"@type": "x/google.rpc.QuotaFailure"},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37.5s"}]}});
        assert_eq!(wait(&[], &body, UNIX_EPOCH), Some(Duration::from_millis(37_500)));
    }

    #[test]
    fn what_is_not_understood_or_absurd_is_not_believed() {
        for bad in ["", "soon", "-3", "1e3", "Sun, 15 Foo 2026 06:01:30 GMT", "Sun, 15 Nov 2026", "99:99", "1.2.3"] {
            assert_eq!(of(&[("retry-after", bad)]), None, "{bad}");
        }
        assert_eq!(of(&[("retry-after", "999999999999")]), Some(RETRY_AFTER_MAX));
        for bad in ["5", "s", "5x", "5m3", "..s"] {
            assert_eq!(span(bad), None, "{bad}");
        }
    }
}
