//! The sliding minute: what was used in the last sixty seconds, exactly, in bounded space.

use crate::limits::{MINUTE_ENTRIES, MINUTE_MS};
use crate::ring::Ring;
use crate::units::{Count, RunMillis, Tokens};
use serde::{Deserialize, Serialize};

/// What was used, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Use {
    #[serde(rename = "a")]
    at: RunMillis,
    #[serde(rename = "t")]
    tokens: u64,
    #[serde(rename = "c")]
    calls: u64,
}

/// The uses of the last minute with their sums.
///
/// INVARIANT: each sum is that of the uses. Both are bare words and not units, because a unit stops at its bound: what
/// was cut off when a use came in would be missing when another one leaves.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Minute {
    uses: Ring<Use, MINUTE_ENTRIES>,
    tokens: u64,
    calls: u64,
}

impl Minute {
    /// Lets go of what is a minute old.
    pub(crate) fn advance(&mut self, now: RunMillis) {
        let (mut tokens, mut calls) = (self.tokens, self.calls);
        self.uses.drop_oldest_while(|used| {
            let expired = now.minus(used.at).get() >= MINUTE_MS;
            if expired {
                tokens = tokens.saturating_sub(used.tokens);
                calls = calls.saturating_sub(used.calls);
            }
            expired
        });
        (self.tokens, self.calls) = (tokens, calls);
    }

    /// Adds a use. From half of the space on, the newest entry takes in what comes in the same second, and all of it once the
    /// space is full: such uses expire later, never too early.
    pub(crate) fn add(&mut self, at: RunMillis, tokens: Tokens, calls: Count) {
        self.advance(at);
        let (tokens, calls) = (tokens.get(), u64::from(calls.get()));
        if tokens == 0 && calls == 0 {
            return;
        }
        (self.tokens, self.calls) = (self.tokens.saturating_add(tokens), self.calls.saturating_add(calls));
        let (crowded, full) = (self.uses.len() >= MINUTE_ENTRIES / 2, self.uses.is_full());
        let same_second = |used: &Use| used.at.get() / 1_000 == at.get() / 1_000;
        match self.uses.newest_mut().filter(|newest| full || (crowded && same_second(newest))) {
            Some(newest) => {
                let tokens = newest.tokens.saturating_add(tokens);
                *newest = Use { at, tokens, calls: newest.calls.saturating_add(calls) };
            }
            None => self.uses.push(Use { at, tokens, calls }),
        }
    }

    /// Tokens used in the last minute.
    pub(crate) const fn tokens(&self) -> Tokens {
        Tokens::new(self.tokens)
    }

    /// Tool calls made in the last minute.
    pub(crate) fn calls(&self) -> Count {
        Count::new(u32::try_from(self.calls).unwrap_or(u32::MAX))
    }

    /// How long until both sums are within their bounds again.
    pub(crate) fn room_in(&self, now: RunMillis, tokens: Tokens, calls: Count) -> RunMillis {
        let (tokens, calls) = (tokens.get(), u64::from(calls.get()));
        let (mut tokens_left, mut calls_left) = (self.tokens, self.calls);
        let mut wait = RunMillis::ZERO;
        let count = self.uses.len();
        for place in (0..count).rev() {
            if tokens_left <= tokens && calls_left <= calls {
                break;
            }
            let Some(used) = self.uses.back(place) else { break };
            tokens_left = tokens_left.saturating_sub(used.tokens);
            calls_left = calls_left.saturating_sub(used.calls);
            wait = used.at.plus(RunMillis::new(MINUTE_MS)).minus(now);
        }
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(at: u64, tokens: u64, minute: &mut Minute) {
        minute.add(RunMillis::new(at), Tokens::new(tokens), Count::new(1));
    }

    #[test]
    fn gate_2_a_use_counts_for_exactly_one_minute() {
        let mut minute = Minute::default();
        used(0, 100, &mut minute);
        used(30_000, 50, &mut minute);
        minute.advance(RunMillis::new(59_999));
        assert_eq!((minute.tokens(), minute.calls()), (Tokens::new(150), Count::new(2)));
        minute.advance(RunMillis::new(60_000));
        assert_eq!((minute.tokens(), minute.calls()), (Tokens::new(50), Count::new(1)));
    }

    #[test]
    fn gate_2_the_wait_ends_when_enough_has_expired() {
        let mut minute = Minute::default();
        used(0, 30_000, &mut minute);
        used(10_000, 30_000, &mut minute);
        let wait = minute.room_in(RunMillis::new(20_000), Tokens::new(50_000), Count::new(60));
        assert_eq!(wait, RunMillis::new(40_000));
        assert_eq!(minute.room_in(RunMillis::new(20_000), Tokens::new(60_000), Count::new(60)), RunMillis::ZERO);
    }

    #[test]
    fn a_burst_beyond_the_space_is_merged_and_never_forgotten_early() {
        let mut minute = Minute::default();
        (0..1_000).for_each(|n| used(n, 1, &mut minute));
        assert_eq!(minute.tokens(), Tokens::new(1_000));
        minute.advance(RunMillis::new(60_500));
        assert!(minute.tokens() >= Tokens::new(499));
        minute.advance(RunMillis::new(61_000));
        assert_eq!(minute.tokens(), Tokens::ZERO);
    }

    #[test]
    fn gate_2_a_figure_at_its_bound_hides_no_other_use() {
        let mut minute = Minute::default();
        used(0, Tokens::MAX.get(), &mut minute);
        used(1_000, 700, &mut minute);
        assert_eq!(minute.tokens(), Tokens::MAX);
        minute.advance(RunMillis::new(60_000));
        assert_eq!((minute.tokens(), minute.calls()), (Tokens::new(700), Count::new(1)));
    }
}
