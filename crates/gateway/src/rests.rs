//! Providers that rest: one that is overloaded or cannot be reached is asked last for a while, longer each time.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The first rest; each further one is twice as long.
const REST_MIN: Duration = Duration::from_secs(1);
/// The longest rest, also where the provider itself asks for a longer one.
const REST_MAX: Duration = Duration::from_secs(60);

/// Who rests, and until when.
#[derive(Debug, Default)]
pub(crate) struct Rests {
    by_name: Mutex<BTreeMap<String, Rest>>,
}

#[derive(Debug, Clone, Copy)]
struct Rest {
    until: Instant,
    length: Duration,
}

impl Rests {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Rest>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a provider rest; `asked` is what it said itself. Calls that were under way together lengthen a rest once.
    pub(crate) fn begin(&self, name: &str, now: Instant, asked: Option<Duration>) -> Duration {
        let mut all = self.all();
        let last = all.get(name).copied();
        let length = match last {
            Some(rest) if rest.until > now => rest.length,
            Some(rest) => rest.length.saturating_mul(2),
            None => REST_MIN,
        };
        let length = asked.unwrap_or(length).clamp(REST_MIN, REST_MAX);
        all.insert(name.to_owned(), Rest { until: now + length, length });
        length
    }

    /// Ends the rest of a provider that answered.
    pub(crate) fn end(&self, name: &str) {
        self.all().remove(name);
    }

    /// How long a provider still rests.
    pub(crate) fn left(&self, name: &str, now: Instant) -> Option<Duration> {
        let until = self.all().get(name)?.until;
        until.checked_duration_since(now).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gate_8_a_rest_grows_to_its_bound_and_an_answer_ends_it() {
        let rests = Rests::default();
        let mut now = Instant::now();
        let mut lengths = Vec::new();
        for _ in 0..8 {
            let length = rests.begin("a", now, None);
            assert_eq!(rests.begin("a", now, None), length, "a second call of the same moment adds nothing");
            lengths.push(length.as_secs());
            now += length;
            assert_eq!(rests.left("a", now), None, "it is over");
        }
        assert_eq!(lengths, [1, 2, 4, 8, 16, 32, 60, 60]);
        rests.end("a");
        assert_eq!(rests.begin("a", now, None), REST_MIN);
    }

    #[test]
    fn gate_8_a_provider_says_how_long_it_rests_within_bounds_and_others_do_not_rest() {
        let rests = Rests::default();
        let now = Instant::now();
        assert_eq!(rests.begin("a", now, Some(Duration::from_secs(7))).as_secs(), 7);
        assert_eq!(rests.left("a", now + Duration::from_secs(3)), Some(Duration::from_secs(4)));
        assert_eq!(rests.begin("a", now, Some(Duration::from_secs(7_000))), REST_MAX);
        assert_eq!(rests.left("b", now), None);
    }
}
