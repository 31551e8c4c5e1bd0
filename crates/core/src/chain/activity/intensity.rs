//! How much is going on, against a rolling average (ACT-3): the first of the three allowed adaptations.

use crate::decision::Intensity;
use crate::units::Tokens;
use serde::{Deserialize, Serialize};

/// Samples before a level other than NORMAL is reported.
const WARM_UP: u32 = 5;
/// HIGH needs at least this many tokens in the minute: twice nearly nothing is still nearly nothing.
const HIGH_TOKENS_MIN: u64 = 10_000;
/// The average moves by one part in this many.
const SMOOTHING: u64 = 16;

/// The rolling average of the minute's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct IntensityState {
    average: u64,
    samples: u32,
    level: Intensity,
}

impl IntensityState {
    /// Takes in the tokens of the current sliding minute.
    pub(crate) fn observe(&mut self, minute: Tokens) {
        let now = minute.get();
        self.level = match self.samples {
            0..WARM_UP => Intensity::Normal,
            _ if now >= HIGH_TOKENS_MIN && now > self.average.saturating_mul(2) => Intensity::High,
            _ if now.saturating_mul(2) < self.average => Intensity::Low,
            _ => Intensity::Normal,
        };
        self.average = match self.samples {
            0 => now,
            _ => {
                let weighted = self.average.saturating_mul(SMOOTHING.saturating_sub(1)).saturating_add(now);
                weighted.checked_div(SMOOTHING).unwrap_or(now)
            }
        };
        self.samples = self.samples.saturating_add(1);
    }

    /// The level now.
    pub(crate) const fn level(self) -> Intensity {
        self.level
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(samples: &[u64]) -> Intensity {
        let mut state = IntensityState::default();
        samples.iter().for_each(|sample| state.observe(Tokens::new(*sample)));
        state.level()
    }

    #[test]
    fn act_3_intensity_follows_a_rolling_average() {
        assert_eq!(after(&[6_000, 6_000, 6_000, 6_000, 6_000, 30_000]), Intensity::High);
        assert_eq!(after(&[30_000, 30_000, 30_000, 30_000, 30_000, 9_000]), Intensity::Low);
    }

    #[test]
    fn act_3_steady_or_small_traffic_is_normal() {
        assert_eq!(after(&[20_000; 50]), Intensity::Normal);
        assert_eq!(after(&[10, 10, 10, 10, 10, 900]), Intensity::Normal);
        assert_eq!(after(&[1_000, 40_000]), Intensity::Normal);
    }
}
