//! The minute's tool calls: in `strict` 60, warned at 45 (GATE-2).

use super::minute::Minute;
use crate::policy::Policy;

/// Whether the minute's calls are used up.
pub(crate) fn is_exceeded(policy: &Policy, minute: &Minute) -> bool {
    minute.calls() > policy.minute_bounds().calls
}

/// Whether the warning is due.
pub(crate) fn is_near(policy: &Policy, minute: &Minute) -> bool {
    minute.calls() >= policy.minute_bounds().calls_warned
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Profile;
    use crate::units::{Count, RunMillis, Tokens};

    #[test]
    fn gate_2_calls_warn_at_45_and_exceed_above_60() {
        let gate = Policy { profile: Profile::Strict, ..Policy::default() };
        let minute = |calls| {
            let mut minute = Minute::default();
            minute.add(RunMillis::ZERO, Tokens::ZERO, Count::new(calls));
            minute
        };
        assert!(!is_near(&gate, &minute(44)) && is_near(&gate, &minute(45)));
        assert!(!is_exceeded(&gate, &minute(60)) && is_exceeded(&gate, &minute(61)));
    }
}
