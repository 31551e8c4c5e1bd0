//! A call that is held until a person answers, and what is done with it meanwhile.

use std::time::Duration;
use tripwire_core::decision::Decision;
use tripwire_core::enforcement::EnforcementError;
use tripwire_core::label::Label;

/// What is done with a call that only a person's answer is missing for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnHeldCall {
    /// The caller waits for the answer, then handles the event again.
    Waits,
    /// It is refused.
    Refuses,
    /// It is refused, after it waited so long and nobody answered.
    RefusesAfter(Duration),
}

/// The code of a call that is held and that nobody has answered.
#[must_use]
pub fn open_question(decision: &Decision) -> Option<Label> {
    match &decision.safety.error {
        Some(EnforcementError::FloorHeld(held)) if !decision.safety.allowed && held.denied.is_none() => {
            Some(held.code.clone())
        }
        _ => None,
    }
}
