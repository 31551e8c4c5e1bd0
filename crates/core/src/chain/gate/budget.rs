//! The minute's tokens: in `strict` 50,000, warned at 40,000, and less while health is low (GATE-2, GATE-5).

use super::minute::Minute;
use crate::policy::Policy;
use crate::units::{Ratio, Tokens};

/// The budget now: it shrinks with health, the second allowed adaptation.
pub(crate) fn effective(policy: &Policy, health: Ratio) -> Tokens {
    Tokens::new(health.share_of(policy.minute_bounds().tokens.get()))
}

/// Tokens left in this minute; never negative.
pub(crate) fn remaining(policy: &Policy, minute: &Minute, health: Ratio) -> Tokens {
    effective(policy, health).minus(minute.tokens())
}

/// Whether the minute's tokens are used up.
pub(crate) fn is_exceeded(policy: &Policy, minute: &Minute, health: Ratio) -> bool {
    minute.tokens() > effective(policy, health)
}

/// Whether the warning is due.
pub(crate) fn is_near(policy: &Policy, minute: &Minute) -> bool {
    minute.tokens() >= policy.minute_bounds().tokens_warned
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Profile;
    use crate::units::{Count, RunMillis};

    fn strict() -> Policy {
        Policy { profile: Profile::Strict, ..Policy::default() }
    }

    fn minute(tokens: u64) -> Minute {
        let mut minute = Minute::default();
        minute.add(RunMillis::ZERO, Tokens::new(tokens), Count::ZERO);
        minute
    }

    #[test]
    fn gate_2_tokens_warn_at_40_000_and_exceed_above_50_000() {
        let gate = strict();
        assert!(!is_near(&gate, &minute(39_999)));
        assert!(is_near(&gate, &minute(40_000)));
        assert!(!is_exceeded(&gate, &minute(50_000), Ratio::ONE));
        assert!(is_exceeded(&gate, &minute(50_001), Ratio::ONE));
        assert_eq!(remaining(&gate, &minute(70_000), Ratio::ONE), Tokens::ZERO);
    }

    #[test]
    fn gate_5_the_budget_shrinks_with_health() {
        let gate = strict();
        assert_eq!(effective(&gate, Ratio::from_per_mille(800)), Tokens::new(40_000));
        assert!(is_exceeded(&gate, &minute(40_001), Ratio::from_per_mille(800)));
        assert!(!is_exceeded(&gate, &minute(40_001), Ratio::ONE));
    }
}
