//! System health: starts at 1, falls with incidents, comes back slowly and never beyond the cap (GATE-4).

use crate::limits::MINUTE_MS;
use crate::policy;
use crate::units::{Ratio, RunMillis};
use serde::{Deserialize, Serialize};

/// Health and when it was last brought up to date.
///
/// INVARIANT: `level` is never above `proven`, and where hints have a floor it is below it only if `proven` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HealthState {
    level: Ratio,
    /// Health as far as proven incidents alone brought it down.
    proven: Ratio,
    recovered_at: RunMillis,
}

impl Default for HealthState {
    fn default() -> Self {
        Self { level: Ratio::ONE, proven: Ratio::ONE, recovered_at: RunMillis::ZERO }
    }
}

/// How much an incident proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// It proves that something is wrong.
    Proof,
    /// It is a hint: a command that fails is often just work.
    Hint,
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
            self.proven = self.proven.max(self.proven.plus(gained).min(health.recovery_cap));
            self.recovered_at = now;
        }
    }

    /// Falls by the cost of an incident; below `floor` only what is proven brings it.
    pub(crate) fn fall(&mut self, cost: Ratio, weight: Weight, floor: Ratio) {
        match weight {
            Weight::Proof => self.proven = self.proven.minus(cost),
            Weight::Hint => {}
        }
        self.level = self.level.minus(cost).max(self.level.min(floor)).min(self.proven);
    }

    /// What was taken for proof was none: it no longer counts as such.
    pub(crate) fn take_back(&mut self, cost: Ratio, floor: Ratio) {
        self.proven = self.proven.plus(cost).min(Ratio::ONE);
        self.level = self.level.max(self.proven.min(floor));
    }

    /// A person vouches for the session: health is at least this much again.
    pub(crate) fn lift(&mut self, to: Ratio) {
        (self.level, self.proven) = (self.level.max(to), self.proven.max(to));
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
        state.fall(Ratio::from_per_mille(cost), Weight::Proof, Ratio::ZERO);
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
    fn gate_4_hints_alone_stop_at_the_floor_and_proof_does_not() {
        let (floor, cost) = (Ratio::from_per_mille(600), Ratio::from_per_mille(150));
        let after = |weights: &[Weight]| {
            let mut state = HealthState::default();
            weights.iter().for_each(|weight| state.fall(cost, *weight, floor));
            state
        };
        assert_eq!(after(&[Weight::Hint; 9]).level(), floor);
        assert_eq!(after(&[Weight::Proof; 3]).level(), Ratio::from_per_mille(550));
        let [hint, proof] = [Weight::Hint, Weight::Proof];
        assert_eq!(after(&[hint, hint, hint, hint, proof, proof]).level(), floor, "two proofs are no three");
        assert_eq!(after(&[hint, hint, hint, hint, proof, proof, proof]).level(), Ratio::from_per_mille(550));
        let mut taken_back = after(&[proof, proof, proof]);
        taken_back.take_back(cost, floor);
        assert_eq!(taken_back.level(), floor);
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
