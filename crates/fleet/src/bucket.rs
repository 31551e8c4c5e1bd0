//! A rate over many machines: a bucket of tokens that refills with time. Time is told by the caller.

use crate::escrow::Stamp;
use crate::log::{Log, LogError};
use crate::subject::{Name, Subject};
use crate::value::{self, Change};
use serde::{Deserialize, Serialize};

/// A bucket of tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// How many it holds.
    pub capacity: u64,
    /// How many come back in a minute.
    pub per_minute: u64,
    /// What is in it at `at_ms`, in thousandths of a token.
    pub level_milli: u64,
    /// The time of the last look.
    pub at_ms: u64,
    /// Who wrote this.
    pub by: Stamp,
}

/// What a bucket answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawn {
    /// They are taken.
    Now,
    /// There will be enough in so many milliseconds.
    AfterMs(u64),
    /// There will never be enough: it is more than the bucket holds.
    Never,
}

impl Bucket {
    /// A full one.
    #[must_use]
    pub const fn full(capacity: u64, per_minute: u64, at_ms: u64, by: Stamp) -> Self {
        Self { capacity, per_minute, level_milli: capacity.saturating_mul(MILLI), at_ms, by }
    }

    /// Takes tokens at a time. A time before the last one counts as the last one: a clock that runs back refills nothing.
    pub fn draw(&mut self, count: u64, now_ms: u64) -> Drawn {
        let passed_ms = now_ms.saturating_sub(self.at_ms);
        // Thousandths of a token: per minute = per 60,000 ms.
        let refill = passed_ms.saturating_mul(self.per_minute) / MINUTE_SECONDS;
        let filled = self.level_milli.saturating_add(refill).min(self.capacity.saturating_mul(MILLI));
        let wanted = count.saturating_mul(MILLI);
        if count > self.capacity || (self.per_minute == 0 && filled < wanted) {
            return Drawn::Never;
        }
        if filled < wanted {
            let missing = (wanted - filled).saturating_mul(MINUTE_SECONDS);
            return Drawn::AfterMs(missing.div_ceil(self.per_minute.max(1)));
        }
        // What refilled less than a thousandth is not lost: the time moves only by what was counted.
        let counted_ms = refill.saturating_mul(MINUTE_SECONDS).checked_div(self.per_minute).unwrap_or(passed_ms);
        let is_full = filled == self.capacity.saturating_mul(MILLI);
        self.at_ms = if is_full { self.at_ms.max(now_ms) } else { self.at_ms.saturating_add(counted_ms) };
        self.level_milli = filled - wanted;
        Drawn::Now
    }
}

/// A rate as it is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimits {
    /// How many at once.
    pub capacity: u64,
    /// How many in a minute.
    pub per_minute: u64,
}

/// What is wanted of a rate.
#[derive(Debug, Clone, Copy)]
pub struct Draw<'a> {
    /// How many tokens.
    pub count: u64,
    /// Who wants them.
    pub by: &'a Name,
    /// The time.
    pub now_ms: u64,
}

/// Draws from a rate of the fleet, which is made full if it is new. After an unclear answer tokens may be taken twice: a rate is
/// then a little stricter, never looser.
///
/// # Errors
/// When the fleet cannot be reached.
pub fn draw(log: &dyn Log, rate: &Name, limits: RateLimits, draw: &Draw<'_>) -> Result<Drawn, LogError> {
    let RateLimits { capacity, per_minute } = limits;
    value::update(log, &Subject::bucket(rate), |found: Option<Bucket>| {
        let stamp = Stamp { who: draw.by.clone(), count: found.as_ref().map_or(0, |bucket| bucket.by.count + 1) };
        let mut bucket = found.unwrap_or_else(|| Bucket::full(capacity, per_minute, draw.now_ms, stamp.clone()));
        (bucket.capacity, bucket.per_minute, bucket.by) = (capacity, per_minute, stamp);
        match bucket.draw(draw.count, draw.now_ms) {
            Drawn::Now => Change::Write(bucket, Drawn::Now),
            later @ (Drawn::AfterMs(_) | Drawn::Never) => Change::Keep(later),
        }
    })
}

const MILLI: u64 = 1_000;
const MINUTE_SECONDS: u64 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket() -> Bucket {
        Bucket::full(10, 60, 1_000, Stamp { who: Name::parse("t").unwrap(), count: 0 })
    }

    #[test]
    fn a_bucket_gives_what_it_holds_and_refills_with_time() {
        let mut bucket = bucket();
        assert_eq!(bucket.draw(10, 1_000), Drawn::Now);
        assert_eq!(bucket.draw(1, 1_000), Drawn::AfterMs(1_000));
        assert_eq!(bucket.draw(1, 1_999), Drawn::AfterMs(1));
        assert_eq!(bucket.draw(1, 2_000), Drawn::Now);
        assert_eq!(bucket.draw(11, 9_000_000), Drawn::Never);
    }

    #[test]
    fn a_clock_that_runs_back_refills_nothing_and_small_steps_lose_nothing() {
        let mut drained = bucket();
        assert_eq!(drained.draw(10, 1_000), Drawn::Now);
        assert_eq!(drained.draw(1, 0), Drawn::AfterMs(1_000));
        assert_eq!(drained.draw(0, 500), Drawn::Now);
        assert_eq!(drained.draw(1, 1_500), Drawn::AfterMs(500));
        let mut slow = Bucket { per_minute: 7, ..drained };
        let mut taken = 0;
        for now_ms in (1_000..=601_000).step_by(3) {
            taken += u64::from(slow.draw(1, now_ms) == Drawn::Now);
        }
        assert_eq!(taken, 70, "seven a minute for ten minutes");
    }
}
