//! Whether the session may go on at all: what holds it, and what ended it.

use crate::effect::{HoldReason, StopReason};
use serde::{Deserialize, Serialize};

/// Holds and the end. Several holds may be in force at once; each is cleared by its own act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Standing {
    stopped: Option<StopReason>,
    holds: u16,
}

/// Every hold; the first in force is the one that is named.
const ORDER: [HoldReason; 11] = [
    HoldReason::GuardFailure,
    HoldReason::Paused,
    HoldReason::Money,
    HoldReason::SoftSuspend,
    HoldReason::NoProgress,
    HoldReason::IterationCap,
    HoldReason::Context,
    HoldReason::Loop,
    HoldReason::Converged,
    HoldReason::UnreadBlocker,
    HoldReason::UnreadCheckpoint,
];

impl Standing {
    /// Ends the session; the first reason stays.
    pub(crate) fn stop(&mut self, reason: StopReason) {
        self.stopped.get_or_insert(reason);
    }

    /// What ended the session.
    pub(crate) const fn stopped(self) -> Option<StopReason> {
        self.stopped
    }

    /// Adds a hold; says whether it is new.
    pub(crate) const fn hold(&mut self, reason: HoldReason) -> bool {
        let new = self.holds & bit(reason) == 0;
        self.holds |= bit(reason);
        new
    }

    /// Clears a hold; says whether it stood.
    pub(crate) const fn clear(&mut self, reason: HoldReason) -> bool {
        let stood = self.holds & bit(reason) != 0;
        self.holds &= !bit(reason);
        stood
    }

    /// The hold that is named.
    pub(crate) fn held(self) -> Option<HoldReason> {
        ORDER.into_iter().find(|reason| self.is_held_for(*reason))
    }

    /// Whether one hold is in force.
    pub(crate) const fn is_held_for(self, reason: HoldReason) -> bool {
        self.holds & bit(reason) != 0
    }

    /// The session is no longer over; its holds stay.
    pub(crate) const fn reopen(&mut self) {
        self.stopped = None;
    }

    /// A person's restart clears everything.
    pub(crate) fn restart(&mut self) {
        *self = Self::default();
    }
}

const fn bit(reason: HoldReason) -> u16 {
    match reason {
        HoldReason::Loop => 1,
        HoldReason::NoProgress => 1 << 1,
        HoldReason::IterationCap => 1 << 2,
        HoldReason::SoftSuspend => 1 << 3,
        HoldReason::Money => 1 << 4,
        HoldReason::Context => 1 << 5,
        HoldReason::GuardFailure => 1 << 6,
        HoldReason::Converged => 1 << 7,
        HoldReason::Paused => 1 << 8,
        HoldReason::UnreadBlocker => 1 << 9,
        HoldReason::UnreadCheckpoint => 1 << 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hold_stands_and_falls_by_itself_and_the_first_in_order_is_named() {
        for (place, one) in ORDER.into_iter().enumerate() {
            for (other_place, other) in ORDER.into_iter().enumerate().filter(|(_, other)| *other != one) {
                let mut standing = Standing::default();
                assert!(standing.hold(one) && standing.held() == Some(one), "{one:?}");
                assert!(!standing.is_held_for(other) && standing.hold(other), "{one:?} {other:?}");
                assert_eq!(standing.held(), Some(if place < other_place { one } else { other }));
                assert!(standing.clear(other) && !standing.clear(other), "{other:?}");
                assert!(standing.is_held_for(one), "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn each_hold_is_cleared_by_itself_and_the_end_only_by_a_restart() {
        let mut standing = Standing::default();
        assert!(standing.hold(HoldReason::Loop));
        assert!(!standing.hold(HoldReason::Loop), "reported once");
        assert!(standing.hold(HoldReason::Paused));
        assert!(standing.clear(HoldReason::Paused));
        assert_eq!(standing.held(), Some(HoldReason::Loop));
        standing.stop(StopReason::HardStop);
        standing.stop(StopReason::Runaway);
        assert_eq!(standing.stopped(), Some(StopReason::HardStop));
        standing.restart();
        assert_eq!((standing.stopped(), standing.held()), (None, None));
    }
}
