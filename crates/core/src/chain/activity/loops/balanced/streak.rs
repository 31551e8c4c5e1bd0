//! Where a run of events began, and how long it is.

use crate::chain::activity::Surroundings;
use crate::units::{EventIndex, Price};
use serde::{Deserialize, Serialize};

/// The event at which something began, and what the session had spent before its first repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(in crate::chain::activity::loops) struct Start {
    #[serde(rename = "i")]
    pub(in crate::chain::activity::loops) index: EventIndex,
    #[serde(rename = "p")]
    pub(in crate::chain::activity::loops) spent: Price,
}

/// A run of alike events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Streak {
    /// How many.
    #[serde(rename = "n")]
    pub(super) count: u32,
    /// Since when.
    #[serde(rename = "s")]
    pub(super) start: Start,
}

impl Streak {
    /// One more; the first sets the start, the second the price.
    pub(super) fn grow(&mut self, around: &Surroundings) {
        if self.count == 0 {
            self.start.index = around.place.index;
        }
        if self.count <= 1 {
            self.start.spent = around.spent;
        }
        self.count = self.count.saturating_add(1);
    }

    /// Starts over with this event as the first.
    pub(super) fn restart(&mut self, around: &Surroundings) {
        *self = Self::default();
        self.grow(around);
    }
}
