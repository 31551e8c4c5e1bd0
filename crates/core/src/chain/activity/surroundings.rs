//! What the session knows of an event besides the event itself.

use crate::input::Place;
use crate::units::{Price, Ratio, Tokens};

/// Whether something was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Sign {
    /// It was not.
    #[default]
    Absent,
    /// It was.
    Present,
}

impl From<bool> for Sign {
    fn from(seen: bool) -> Self {
        if seen { Self::Present } else { Self::Absent }
    }
}

impl Sign {
    /// Whether it was seen.
    pub(crate) fn is_present(self) -> bool {
        self == Self::Present
    }
}

/// What else an event needs to be judged.
pub(crate) struct Surroundings {
    /// Index and time.
    pub(crate) place: Place,
    /// Spent before this event.
    pub(crate) spent: Price,
    /// Whether this event opens a new step.
    pub(crate) new_step: NewStep,
    /// Tokens in the sliding minute, this event included.
    pub(crate) minute_tokens: Tokens,
    /// The share of recent calls that failed.
    pub(crate) error_rate: Ratio,
}

/// Whether an event begins a step or belongs to the one before (parallel calls of one turn).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewStep {
    /// It begins one.
    Yes,
    /// It belongs to the step before.
    No,
}
