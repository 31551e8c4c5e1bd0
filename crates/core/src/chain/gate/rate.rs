//! The minute's tool calls: 60, warned at 45 (GATE-2).

use super::minute::Minute;
use crate::policy::Gate;

/// Whether the minute's calls are used up.
pub(crate) fn is_exceeded(gate: &Gate, minute: &Minute) -> bool {
    minute.calls() > gate.max_tool_calls_per_minute
}

/// Whether the warning is due.
pub(crate) fn is_near(gate: &Gate, minute: &Minute) -> bool {
    minute.calls() >= gate.tool_call_warning_threshold
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Count, RunMillis, Tokens};

    #[test]
    fn gate_2_calls_warn_at_45_and_exceed_above_60() {
        let gate = Gate::default();
        let minute = |calls| {
            let mut minute = Minute::default();
            minute.add(RunMillis::ZERO, Tokens::ZERO, Count::new(calls));
            minute
        };
        assert!(!is_near(&gate, &minute(44)) && is_near(&gate, &minute(45)));
        assert!(!is_exceeded(&gate, &minute(60)) && is_exceeded(&gate, &minute(61)));
    }
}
