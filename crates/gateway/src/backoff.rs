//! Back-off: a provider that is overloaded or cannot be reached is asked last for a while, longer each time.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The first wait; each further one is twice as long.
const WAIT_MIN: Duration = Duration::from_secs(1);
/// The longest wait, also where the provider itself asks for a longer one.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Who is left alone, and until when.
#[derive(Debug, Default)]
pub(crate) struct Backoffs {
    by_name: Mutex<BTreeMap<String, Backoff>>,
}

#[derive(Debug, Clone, Copy)]
struct Backoff {
    until: Instant,
    length: Duration,
}

impl Backoffs {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Backoff>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a provider alone; `asked` is what it said itself. Calls that were under way together lengthen a wait once.
    pub(crate) fn begin(&self, name: &str, now: Instant, asked: Option<Duration>) -> Duration {
        let mut all = self.all();
        let last = all.get(name).copied();
        let length = match last {
            Some(backoff) if backoff.until > now => backoff.length,
            Some(backoff) => backoff.length.saturating_mul(2),
            None => WAIT_MIN,
        };
        let length = asked.unwrap_or(length).clamp(WAIT_MIN, WAIT_MAX);
        all.insert(name.to_owned(), Backoff { until: now + length, length });
        length
    }

    /// Ends the wait for a provider that answered.
    pub(crate) fn end(&self, name: &str) {
        self.all().remove(name);
    }

    /// How long a provider is still left alone.
    pub(crate) fn left(&self, name: &str, now: Instant) -> Option<Duration> {
        let until = self.all().get(name)?.until;
        until.checked_duration_since(now).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gate_8_a_back_off_grows_to_its_bound_and_an_answer_ends_it() {
        let backoffs = Backoffs::default();
        let mut now = Instant::now();
        let mut lengths = Vec::new();
        for _ in 0..8 {
            let length = backoffs.begin("a", now, None);
            assert_eq!(backoffs.begin("a", now, None), length, "a second call of the same moment adds nothing");
            lengths.push(length.as_secs());
            now += length;
            assert_eq!(backoffs.left("a", now), None, "it is over");
        }
        assert_eq!(lengths, [1, 2, 4, 8, 16, 32, 60, 60]);
        backoffs.end("a");
        assert_eq!(backoffs.begin("a", now, None), WAIT_MIN);
    }

    #[test]
    fn gate_8_a_provider_says_how_long_it_is_left_alone_within_bounds_and_others_are_asked() {
        let backoffs = Backoffs::default();
        let now = Instant::now();
        assert_eq!(backoffs.begin("a", now, Some(Duration::from_secs(7))).as_secs(), 7);
        assert_eq!(backoffs.left("a", now + Duration::from_secs(3)), Some(Duration::from_secs(4)));
        assert_eq!(backoffs.begin("a", now, Some(Duration::from_secs(7_000))), WAIT_MAX);
        assert_eq!(backoffs.left("b", now), None);
    }
}
