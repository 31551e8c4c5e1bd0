//! The minute's tokens: 50,000, warned at 40,000, and less while health is low (GATE-2, GATE-5).

use super::minute::Minute;
use crate::policy::Gate;
use crate::units::{Ratio, Tokens};

/// The budget now: it shrinks with health, the second allowed adaptation.
pub(crate) fn effective(gate: &Gate, health: Ratio) -> Tokens {
    Tokens::new(health.share_of(gate.max_tokens_per_minute.get()))
}

/// Tokens left in this minute; never negative.
pub(crate) fn remaining(gate: &Gate, minute: &Minute, health: Ratio) -> Tokens {
    effective(gate, health).minus(minute.tokens())
}

/// Whether the minute's tokens are used up.
pub(crate) fn is_exceeded(gate: &Gate, minute: &Minute, health: Ratio) -> bool {
    minute.tokens() > effective(gate, health)
}

/// Whether the warning is due.
pub(crate) fn is_near(gate: &Gate, minute: &Minute) -> bool {
    minute.tokens() >= gate.token_warning_threshold
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Count, RunMillis};

    fn minute(tokens: u64) -> Minute {
        let mut minute = Minute::default();
        minute.add(RunMillis::ZERO, Tokens::new(tokens), Count::ZERO);
        minute
    }

    #[test]
    fn gate_2_tokens_warn_at_40_000_and_exceed_above_50_000() {
        let gate = Gate::default();
        assert!(!is_near(&gate, &minute(39_999)));
        assert!(is_near(&gate, &minute(40_000)));
        assert!(!is_exceeded(&gate, &minute(50_000), Ratio::ONE));
        assert!(is_exceeded(&gate, &minute(50_001), Ratio::ONE));
        assert_eq!(remaining(&gate, &minute(70_000), Ratio::ONE), Tokens::ZERO);
    }

    #[test]
    fn gate_5_the_budget_shrinks_with_health() {
        let gate = Gate::default();
        assert_eq!(effective(&gate, Ratio::from_per_mille(800)), Tokens::new(40_000));
        assert!(is_exceeded(&gate, &minute(40_001), Ratio::from_per_mille(800)));
        assert!(!is_exceeded(&gate, &minute(40_001), Ratio::ONE));
    }
}
