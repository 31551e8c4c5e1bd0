//! Step 3: from the activity to what should be done about it. One table, one formula, no state.

use crate::decision::{ActivityMode, Intent, IntentDecision};
use crate::text::Reason;
use crate::units::Ratio;

/// Whether the session is still open, as a recorded fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Session {
    /// It goes on.
    Open,
    /// It has ended; only a person's restart opens it again.
    Ended,
}

/// The table (INTENT-1).
pub(crate) fn decide(session: Session, mode: ActivityMode, suspicion: Ratio) -> IntentDecision {
    let (intent, reason) = match (session, mode) {
        (Session::Ended, _) => (Intent::Stop, "the session has ended; only a person's restart opens it again"),
        (Session::Open, ActivityMode::Idle) => (Intent::Continue, "idle: silence is not a failure"),
        (Session::Open, ActivityMode::Working) => (Intent::Continue, "working: nothing speaks against going on"),
        (Session::Open, ActivityMode::Looping) => (Intent::Pause, "looping: the agent repeats itself"),
        (Session::Open, ActivityMode::Runaway) => (Intent::Stop, "runaway: the agent accelerates uncontrollably"),
    };
    let confidence = match session {
        Session::Ended => Ratio::ONE,
        Session::Open => confidence(intent, suspicion),
    };
    IntentDecision { confidence, intent, reason: Reason::fixed(reason) }
}

/// The formula (INTENT-2): with suspicion s from 0 to 1, going on is held with 1 - s/2, anything else with 1/2 + s/2.
fn confidence(intent: Intent, suspicion: Ratio) -> Ratio {
    let half = Ratio::from_per_mille(500);
    match intent {
        Intent::Continue => Ratio::ONE.minus(half.times(suspicion)),
        Intent::Pause | Intent::Stop => half.plus(half.times(suspicion)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intent_1_the_table_has_one_answer_for_each_mode() {
        let of = |mode| decide(Session::Open, mode, Ratio::ZERO).intent;
        assert_eq!(of(ActivityMode::Idle), Intent::Continue);
        assert_eq!(of(ActivityMode::Working), Intent::Continue);
        assert_eq!(of(ActivityMode::Looping), Intent::Pause);
        assert_eq!(of(ActivityMode::Runaway), Intent::Stop);
        assert_eq!(decide(Session::Ended, ActivityMode::Working, Ratio::ZERO).intent, Intent::Stop);
    }

    #[test]
    fn intent_2_confidence_follows_one_formula() {
        let of = |mode, suspicion| decide(Session::Open, mode, Ratio::from_per_mille(suspicion)).confidence;
        assert_eq!(of(ActivityMode::Working, 0), Ratio::ONE);
        assert_eq!(of(ActivityMode::Working, 500), Ratio::from_per_mille(750));
        assert_eq!(of(ActivityMode::Looping, 0), Ratio::from_per_mille(500));
        assert_eq!(of(ActivityMode::Looping, 1_000), Ratio::ONE);
    }
}
