//! The six vetoes and their priority, as a table (GATE-1). The order never changes.

use crate::decision::SafetyVeto;
use crate::policy::Profile;

/// All vetoes, highest priority first.
pub const PRIORITY: [SafetyVeto; 6] = [
    SafetyVeto::RunawayDetected,
    SafetyVeto::LoopDetected,
    SafetyVeto::TokenBudgetExceeded,
    SafetyVeto::RateLimitExceeded,
    SafetyVeto::CooldownActive,
    SafetyVeto::HealthDegraded,
];

/// A set of vetoes that hold at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct VetoSet(u8);

impl VetoSet {
    /// Adds a veto.
    pub(crate) const fn add(&mut self, veto: SafetyVeto) {
        self.0 |= bit(veto);
    }

    /// Whether a veto holds.
    pub(crate) const fn has(self, veto: SafetyVeto) -> bool {
        self.0 & bit(veto) != 0
    }

    /// The one that is named: the first of [`PRIORITY`] that holds.
    pub(crate) fn first(self) -> Option<SafetyVeto> {
        PRIORITY.into_iter().find(|veto| self.has(*veto))
    }
}

const fn bit(veto: SafetyVeto) -> u8 {
    match veto {
        SafetyVeto::RunawayDetected => 1,
        SafetyVeto::LoopDetected => 1 << 1,
        SafetyVeto::TokenBudgetExceeded => 1 << 2,
        SafetyVeto::RateLimitExceeded => 1 << 3,
        SafetyVeto::CooldownActive => 1 << 4,
        SafetyVeto::HealthDegraded => 1 << 5,
    }
}

/// Whether a veto starts the cooldown: priorities 1 to 4 do (GATE-3), but in `balanced` the two bounds of the minute
/// only throttle (GATE-2).
pub(crate) const fn starts_cooldown(veto: SafetyVeto, profile: Profile) -> bool {
    match (veto, profile) {
        (SafetyVeto::RunawayDetected | SafetyVeto::LoopDetected, Profile::Strict | Profile::Balanced)
        | (SafetyVeto::TokenBudgetExceeded | SafetyVeto::RateLimitExceeded, Profile::Strict) => true,
        (SafetyVeto::TokenBudgetExceeded | SafetyVeto::RateLimitExceeded, Profile::Balanced)
        | (SafetyVeto::CooldownActive | SafetyVeto::HealthDegraded, Profile::Strict | Profile::Balanced) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The master specification's table, written out: the first letter that is present wins.
    #[test]
    fn gate_1_all_64_combinations_name_the_first_in_priority() {
        use SafetyVeto::{
            CooldownActive, HealthDegraded, LoopDetected, RateLimitExceeded, RunawayDetected, TokenBudgetExceeded,
        };
        let mut rows = 0;
        for bits in 0_u8..64 {
            let present = |place: u8| bits & (1 << place) != 0;
            let mut set = VetoSet::default();
            for (place, veto) in (0..).zip(PRIORITY) {
                if present(place) {
                    set.add(veto);
                }
            }
            let expected = match (present(0), present(1), present(2), present(3), present(4), present(5)) {
                (true, _, _, _, _, _) => Some(RunawayDetected),
                (false, true, _, _, _, _) => Some(LoopDetected),
                (false, false, true, _, _, _) => Some(TokenBudgetExceeded),
                (false, false, false, true, _, _) => Some(RateLimitExceeded),
                (false, false, false, false, true, _) => Some(CooldownActive),
                (false, false, false, false, false, true) => Some(HealthDegraded),
                (false, false, false, false, false, false) => None,
            };
            assert_eq!(set.first(), expected, "row {bits:06b}");
            rows += 1;
        }
        assert_eq!(rows, 64);
    }

    #[test]
    fn gate_3_only_the_first_four_start_the_cooldown() {
        let starting = |profile| PRIORITY.map(|veto| starts_cooldown(veto, profile));
        assert_eq!(starting(Profile::Strict), [true, true, true, true, false, false]);
        assert_eq!(starting(Profile::Balanced), [true, true, false, false, false, false]);
    }
}
