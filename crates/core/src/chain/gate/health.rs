//! System health: starts at 1, falls with incidents, comes back slowly and never beyond the cap (GATE-4).

use crate::limits::MINUTE_MS;
use crate::policy;
use crate::units::{Ratio, RunMillis};
use serde::{Deserialize, Serialize};

/// Health and when it was last brought up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HealthState {
    level: Ratio,
    recovered_at: RunMillis,
}

impl Default for HealthState {
    fn default() -> Self {
        Self { level: Ratio::ONE, recovered_at: RunMillis::ZERO }
    }
}

/// What health means for the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Condition {
    /// Nothing to do.
    Good,
    /// Paused, a person is notified.
    SoftSuspend,
    /// Everything ends; only a person's restart clears it.
    HardStop,
}

impl HealthState {
    /// Health now.
    pub(crate) const fn level(self) -> Ratio {
        self.level
    }

    /// Recovers with time: the rate per minute while below the cap, and never beyond it.
    pub(crate) fn advance(&mut self, health: &policy::Health, now: RunMillis) {
        if self.level >= health.recovery_cap {
            self.recovered_at = now;
            return;
        }
        let elapsed = now.minus(self.recovered_at).get();
        let gained = elapsed.saturating_mul(u64::from(health.recovery_rate.millionths())).checked_div(MINUTE_MS);
        let gained = Ratio::from_millionths(u32::try_from(gained.unwrap_or(0)).unwrap_or(u32::MAX));
        if gained > Ratio::ZERO {
            self.level = self.level.plus(gained).min(health.recovery_cap);
            self.recovered_at = now;
        }
    }

    /// Falls by the cost of an incident.
    pub(crate) fn fall(&mut self, cost: Ratio) {
        self.level = self.level.minus(cost);
    }

    /// A person vouches for the session: health is at least this much again.
    pub(crate) fn lift(&mut self, to: Ratio) {
        self.level = self.level.max(to);
    }

    /// What it means.
    pub(crate) fn condition(self, health: &policy::Health) -> Condition {
        if self.level < health.hard_stop_threshold {
            Condition::HardStop
        } else if self.level < health.soft_suspend_threshold {
            Condition::SoftSuspend
        } else {
            Condition::Good
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fallen(cost: u32) -> HealthState {
        let mut state = HealthState::default();
        state.fall(Ratio::from_per_mille(cost));
        state
    }

    #[test]
    fn gate_4_thresholds_are_strict() {
        let health = policy::Health::default();
        assert_eq!(fallen(400).condition(&health), Condition::Good);
        assert_eq!(fallen(401).condition(&health), Condition::SoftSuspend);
        assert_eq!(fallen(700).condition(&health), Condition::SoftSuspend);
        assert_eq!(fallen(701).condition(&health), Condition::HardStop);
    }

    #[test]
    fn gate_4_recovery_is_one_hundredth_a_minute_up_to_the_cap() {
        let health = policy::Health::default();
        let mut state = fallen(500);
        state.advance(&health, RunMillis::new(60_000));
        assert_eq!(state.level(), Ratio::from_per_mille(510));
        state.advance(&health, RunMillis::new(60_000 * 600));
        assert_eq!(state.level(), Ratio::from_per_mille(800));
    }

    #[test]
    fn gate_4_health_above_the_cap_neither_recovers_nor_sinks() {
        let health = policy::Health::default();
        let mut state = fallen(100);
        state.advance(&health, RunMillis::new(3_600_000));
        assert_eq!(state.level(), Ratio::from_per_mille(900));
    }

    #[test]
    fn gate_4_many_small_steps_recover_as_much_as_one_large_one() {
        let health = policy::Health::default();
        let (mut often, mut once) = (fallen(500), fallen(500));
        (1..=60_000).for_each(|at| often.advance(&health, RunMillis::new(at)));
        once.advance(&health, RunMillis::new(60_000));
        assert_eq!(often.level(), once.level());
    }
}
