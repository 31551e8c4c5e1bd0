//! Uncontrolled acceleration: the mean of recent intervals between steps against the rolling baseline.

use crate::limits::{TEMPO_BASELINE_MIN, TEMPO_RECENT};
use crate::ring::Ring;
use crate::units::{Ratio, RunMillis};
use serde::{Deserialize, Serialize};

/// The baseline moves by one part in this many.
const SMOOTHING: u64 = 32;

/// Intervals between steps; calls of one turn are one step, so that a burst of parallel calls is no runaway.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct TempoState {
    last_step_at: Option<RunMillis>,
    recent: Ring<u64, TEMPO_RECENT>,
    /// The mean of the intervals that have left the recent ones, in thousandths of a millisecond.
    baseline_us: u64,
    samples: u32,
}

impl TempoState {
    /// Takes in the start of a step. Silence longer than the idle time says nothing about tempo and is cut to it.
    pub(crate) fn observe(&mut self, at: RunMillis, idle_after: RunMillis) {
        if let Some(last) = self.last_step_at {
            if let Some(oldest) = self.recent.oldest().copied().filter(|_| self.recent.is_full()) {
                self.learn(oldest);
            }
            self.recent.push(at.minus(last).min(idle_after).get());
        }
        self.last_step_at = Some(at);
    }

    fn learn(&mut self, interval_ms: u64) {
        let interval_us = interval_ms.saturating_mul(1_000);
        self.samples = self.samples.saturating_add(1);
        let weight = u64::from(self.samples).min(SMOOTHING);
        let weighted = self.baseline_us.saturating_mul(weight.saturating_sub(1)).saturating_add(interval_us);
        self.baseline_us = weighted.checked_div(weight).unwrap_or(interval_us);
    }

    /// Whether the recent intervals are shorter than the given share of the baseline (with enough samples of both).
    pub(crate) fn is_runaway(&self, ratio: Ratio) -> bool {
        if !self.recent.is_full() || self.samples < TEMPO_BASELINE_MIN {
            return false;
        }
        let sum_ms: u64 = self.recent.newest_first().copied().fold(0, u64::saturating_add);
        let recent_us = sum_ms.saturating_mul(1_000);
        let baseline_us = self.baseline_us.saturating_mul(u64::try_from(TEMPO_RECENT).unwrap_or(1));
        recent_us < ratio.share_of(baseline_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runaway_after(intervals: &[u64]) -> bool {
        let mut state = TempoState::default();
        let mut at = RunMillis::ZERO;
        state.observe(at, RunMillis::new(30_000));
        for interval in intervals {
            at = at.plus(RunMillis::new(*interval));
            state.observe(at, RunMillis::new(30_000));
        }
        state.is_runaway(Ratio::from_per_mille(300))
    }

    #[test]
    fn act_1_acceleration_below_the_ratio_is_a_runaway() {
        let mut intervals = [10_000; 16].to_vec();
        intervals.extend([2_000; 5]);
        assert!(runaway_after(&intervals));
    }

    #[test]
    fn act_1_exactly_the_ratio_is_no_runaway_and_a_moment_less_is_one() {
        let then = |recent: [u64; 5]| {
            let mut intervals = [10_000; 16].to_vec();
            intervals.extend(recent);
            runaway_after(&intervals)
        };
        assert!(!then([3_000; 5]));
        assert!(then([3_000, 3_000, 3_000, 3_000, 2_999]));
    }

    #[test]
    fn act_1_steady_tempo_warm_up_and_long_pauses_are_none() {
        assert!(!runaway_after(&[1_000; 60]));
        assert!(!runaway_after(&[10_000, 10_000, 100, 100, 100, 100, 100]), "too few samples for a baseline");
        let mut after_lunch = [5_000; 14].to_vec();
        after_lunch.extend([3_600_000, 3_000, 3_000, 3_000, 3_000, 3_000]);
        assert!(!runaway_after(&after_lunch), "one long pause must not raise the baseline beyond the idle time");
        let mut slightly_faster = [10_000; 16].to_vec();
        slightly_faster.extend([4_000; 5]);
        assert!(!runaway_after(&slightly_faster));
    }
}
