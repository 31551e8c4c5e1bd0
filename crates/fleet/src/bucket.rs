//! A rate over many machines: a bucket of tokens that refills with time. Time is told by the caller.

use crate::escrow::Stamp;
use crate::log::{Log, LogError};
use crate::subject::{Name, Subject};
use crate::value::{self, Change};
use serde::{Deserialize, Serialize};

/// A bucket of tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// How much it holds and how fast it refills.
    pub limits: RateLimits,
    /// What is in it at `at_ms`, in 60,000ths of a token: what one a minute gives in a millisecond, so that nothing is rounded.
    pub level: u64,
    /// The time of the last draw.
    pub at_ms: u64,
    /// Who wrote this.
    pub by: Stamp,
}

/// A rate as it is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimits {
    /// How many at once.
    pub capacity: u64,
    /// How many in a minute.
    pub per_minute: u64,
}

/// What a bucket answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawn {
    /// So many are taken.
    Now(u64),
    /// There will be enough in so many milliseconds.
    AfterMs(u64),
    /// There will never be enough: it is more than the bucket holds.
    Never,
}

impl RateLimits {
    /// As many as come back in a tenth of a second: what a process takes at once, so that a fast one does not ask for each.
    #[must_use]
    pub fn batch(&self) -> u64 {
        (self.per_minute / BATCHES_PER_MINUTE).clamp(1, self.capacity.max(1))
    }

    const fn full(&self) -> u64 {
        self.capacity.saturating_mul(PARTS)
    }
}

impl Bucket {
    /// A full one.
    #[must_use]
    pub const fn full(limits: RateLimits, at_ms: u64, by: Stamp) -> Self {
        Self { limits, level: limits.full(), at_ms, by }
    }

    /// How many whole tokens are in it at a time.
    #[must_use]
    pub fn left(&self, now_ms: u64) -> u64 {
        self.level_at(now_ms) / PARTS
    }

    /// A time before the last one counts as the last one: a clock that runs back refills nothing.
    fn level_at(&self, now_ms: u64) -> u64 {
        let refill = now_ms.saturating_sub(self.at_ms).saturating_mul(self.limits.per_minute);
        self.level.saturating_add(refill).min(self.limits.full())
    }

    /// Takes `least` tokens, and up to `most` if they are there.
    pub fn draw(&mut self, least: u64, most: u64, now_ms: u64) -> Drawn {
        let RateLimits { capacity, per_minute } = self.limits;
        let (level, wanted) = (self.level_at(now_ms), least.saturating_mul(PARTS));
        if least > capacity || (per_minute == 0 && level < wanted) {
            return Drawn::Never;
        }
        if level < wanted {
            return Drawn::AfterMs((wanted - level).div_ceil(per_minute.max(1)));
        }
        let count = (level / PARTS).min(most.max(least));
        self.level = level - count.saturating_mul(PARTS);
        self.at_ms = self.at_ms.max(now_ms);
        Drawn::Now(count)
    }
}

/// What is wanted of a rate.
#[derive(Debug, Clone, Copy)]
pub struct Draw<'a> {
    /// How many tokens at least; up to a batch of its limits are taken.
    pub least: u64,
    /// Who wants them.
    pub by: &'a Name,
    /// The time.
    pub now_ms: u64,
}

/// Sets a rate. A new one is full; a changed one keeps what is in it, as far as it fits.
///
/// # Errors
/// When the fleet does not take it.
pub fn set(log: &dyn Log, rate: &Name, limits: RateLimits, by: &Name, now_ms: u64) -> Result<(), LogError> {
    value::update(log, &Subject::bucket(rate), |found: Option<Bucket>| {
        let stamp = Stamp { who: by.clone(), count: found.as_ref().map_or(0, |bucket| bucket.by.count + 1) };
        match found {
            Some(bucket) if bucket.limits == limits => Change::Keep(()),
            Some(bucket) => {
                let level = bucket.level_at(now_ms).min(limits.full());
                Change::Write(Bucket { limits, level, at_ms: bucket.at_ms.max(now_ms), by: stamp }, ())
            }
            None => Change::Write(Bucket::full(limits, now_ms, stamp), ()),
        }
    })
}

/// How a rate stands.
///
/// # Errors
/// When it cannot be read.
pub fn look(log: &dyn Log, rate: &Name) -> Result<Option<Bucket>, LogError> {
    Ok(value::load(log, &Subject::bucket(rate))?.0)
}

/// Draws from a rate of the fleet; nothing if there is none of this name. After an unclear answer tokens may be taken twice: a rate is
/// then a little stricter, never looser.
///
/// # Errors
/// When the fleet cannot be reached.
pub fn draw(log: &dyn Log, rate: &Name, draw: &Draw<'_>) -> Result<Option<Drawn>, LogError> {
    value::update(log, &Subject::bucket(rate), |found: Option<Bucket>| {
        let Some(mut bucket) = found else { return Change::Keep(None) };
        bucket.by = Stamp { who: draw.by.clone(), count: bucket.by.count + 1 };
        match bucket.draw(draw.least, bucket.limits.batch(), draw.now_ms) {
            drawn @ Drawn::Now(_) => Change::Write(bucket, Some(drawn)),
            later @ (Drawn::AfterMs(_) | Drawn::Never) => Change::Keep(Some(later)),
        }
    })
}

/// Parts of a token: the milliseconds of a minute.
const PARTS: u64 = 60_000;
const BATCHES_PER_MINUTE: u64 = 600;

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(capacity: u64, per_minute: u64) -> Bucket {
        let by = Stamp { who: Name::parse("t").unwrap(), count: 0 };
        Bucket::full(RateLimits { capacity, per_minute }, 1_000, by)
    }

    #[test]
    fn a_bucket_gives_what_it_holds_and_refills_with_time() {
        let mut bucket = bucket(10, 60);
        assert_eq!(bucket.draw(10, 10, 1_000), Drawn::Now(10));
        assert_eq!(bucket.draw(1, 1, 1_000), Drawn::AfterMs(1_000));
        assert_eq!(bucket.draw(1, 1, 1_999), Drawn::AfterMs(1));
        assert_eq!(bucket.draw(1, 5, 3_500), Drawn::Now(2), "up to what is there");
        assert_eq!(bucket.draw(11, 11, 9_000_000), Drawn::Never);
        assert_eq!(bucket.left(9_000_000), 10);
    }

    #[test]
    fn a_clock_that_runs_back_refills_nothing_and_no_rate_loses_or_gains_by_rounding() {
        let mut drained = bucket(10, 60);
        assert_eq!(drained.draw(10, 10, 1_000), Drawn::Now(10));
        assert_eq!(drained.draw(1, 1, 0), Drawn::AfterMs(1_000));
        for per_minute in [1, 7, 59, 61, 6_000, 100_003] {
            let mut drained = bucket(50, per_minute);
            drained.draw(50, 50, 1_000);
            let mut taken = 0;
            for now_ms in 1_000..=601_000 {
                while drained.draw(1, 1, now_ms) == Drawn::Now(1) {
                    taken += 1;
                }
            }
            assert_eq!(taken, 10 * per_minute, "{per_minute} a minute for ten minutes");
        }
    }

    #[test]
    fn a_process_takes_what_comes_back_in_a_tenth_of_a_second() {
        let batch = |capacity, per_minute| RateLimits { capacity, per_minute }.batch();
        assert_eq!((batch(10, 60), batch(100, 6_000), batch(5, 6_000), batch(0, 0)), (1, 10, 5, 1));
    }
}
