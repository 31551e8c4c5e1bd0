//! What to do when an engine gives no good answer: the fallback chain as one table (RUN-4).
//!
//! Pure: the reason, the place in the chain and how often it was tried go in, the next step comes out. Nothing is retried
//! or switched in silence, because the caller journals every answer of this table before it acts on it.

use crate::units::{Count, RunMillis};
use serde::{Deserialize, Serialize};

/// Why the engine at hand gives no good answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FallbackReason {
    /// The provider is overloaded.
    Overloaded {
        /// The wait that it asks for.
        retry_after: Option<RunMillis>,
    },
    /// A rate limit or a quota is reached.
    RateLimited {
        /// The wait that it asks for.
        retry_after: Option<RunMillis>,
    },
    /// Its host cannot be reached.
    Unreachable,
    /// Its answer broke off or is not understood.
    Broken,
    /// It refuses the key, the model or the request: asking again changes nothing.
    Refused,
    /// The conversation is longer than its window.
    ContextExhausted,
    /// It keeps stopping without doing anything.
    StopPersists,
    /// Its work failed verification more often than the policy allows in a session.
    VerificationFailed,
}

/// Where an engine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Seat {
    /// On this machine.
    Local,
    /// Anywhere else.
    Remote,
}

/// What the work touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Matter {
    /// Nothing that `engines.sensitive_paths` names.
    Open,
    /// Something that it names: it never leaves this machine.
    Sensitive,
}

/// Whether a new context was started and no answer has come since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Context {
    /// It has grown.
    Grown,
    /// It is as small as it can be.
    Fresh,
}

/// Where in the chain we are.
#[derive(Debug, Clone, Copy)]
pub struct Position<'a> {
    /// All engines of the chain, in order.
    pub seats: &'a [Seat],
    /// The one at hand.
    pub at: usize,
    /// How often in a row it has failed now, this time included.
    pub failures: Count,
    /// What the work touches.
    pub matter: Matter,
    /// The state of the context.
    pub context: Context,
}

/// The bounds of bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryBounds {
    /// How often one engine is asked again.
    pub retries_max: Count,
    /// The first wait where the provider names none; each further one is twice as long.
    pub back_off: RunMillis,
    /// The longest wait inside a running session.
    pub wait_max: RunMillis,
}

impl Default for RetryBounds {
    fn default() -> Self {
        Self { retries_max: Count::new(3), back_off: RunMillis::from_seconds(1), wait_max: RunMillis::from_seconds(60) }
    }
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fallback {
    /// Ask the same engine again, after this wait.
    Again {
        /// The wait.
        after: RunMillis,
    },
    /// Start a new context with a briefing and ask the same engine.
    FreshContext,
    /// Ask another engine, and say so.
    Switch {
        /// Its place in the chain.
        to: usize,
    },
    /// End now, to be taken up when the limit is new (exit 75).
    Park {
        /// How long that takes, where it is known.
        retry_after: Option<RunMillis>,
    },
    /// No engine can answer.
    GiveUp,
}

/// The first engine that may be asked about such a matter.
#[must_use]
pub fn first(seats: &[Seat], matter: Matter) -> Option<usize> {
    after(seats, matter, 0)
}

/// The next step.
#[must_use]
pub fn next(reason: FallbackReason, position: &Position<'_>, bounds: &RetryBounds) -> Fallback {
    // A matter that became sensitive while a remote engine was at hand moves before anything is tried again.
    if position.seats.get(position.at).is_none_or(|seat| !may_hear(*seat, position.matter)) {
        return first(position.seats, position.matter).map_or(Fallback::GiveUp, |to| Fallback::Switch { to });
    }
    let other = after(position.seats, position.matter, position.at.saturating_add(1));
    let tries_left = position.failures <= bounds.retries_max;
    match (reason, other) {
        (FallbackReason::Overloaded { retry_after }, _) if tries_left && bearable(retry_after, bounds) => {
            Fallback::Again { after: retry_after.unwrap_or_else(|| back_off(position.failures, bounds)) }
        }
        (FallbackReason::RateLimited { retry_after: Some(wait) }, _) if tries_left && wait <= bounds.wait_max => {
            Fallback::Again { after: wait }
        }
        (FallbackReason::Unreachable | FallbackReason::Broken, _) if tries_left => {
            Fallback::Again { after: back_off(position.failures, bounds) }
        }
        (FallbackReason::ContextExhausted, _) if position.context == Context::Grown => Fallback::FreshContext,
        (
            FallbackReason::Overloaded { .. }
            | FallbackReason::RateLimited { .. }
            | FallbackReason::Unreachable
            | FallbackReason::Broken
            | FallbackReason::Refused
            | FallbackReason::ContextExhausted
            | FallbackReason::StopPersists
            | FallbackReason::VerificationFailed,
            Some(to),
        ) => Fallback::Switch { to },
        // A limit passes by itself, so the session can wait for it without anybody.
        (FallbackReason::Overloaded { retry_after } | FallbackReason::RateLimited { retry_after }, None) => {
            Fallback::Park { retry_after }
        }
        (
            FallbackReason::Unreachable
            | FallbackReason::Broken
            | FallbackReason::Refused
            | FallbackReason::ContextExhausted
            | FallbackReason::StopPersists
            | FallbackReason::VerificationFailed,
            None,
        ) => Fallback::GiveUp,
    }
}

/// Whether an engine may hear of such a matter.
#[must_use]
pub const fn may_hear(seat: Seat, matter: Matter) -> bool {
    match (seat, matter) {
        (Seat::Local, Matter::Open | Matter::Sensitive) | (Seat::Remote, Matter::Open) => true,
        (Seat::Remote, Matter::Sensitive) => false,
    }
}

fn after(seats: &[Seat], matter: Matter, from: usize) -> Option<usize> {
    seats.iter().enumerate().skip(from).find(|(_, seat)| may_hear(**seat, matter)).map(|(place, _)| place)
}

fn bearable(wait: Option<RunMillis>, bounds: &RetryBounds) -> bool {
    wait.is_none_or(|wait| wait <= bounds.wait_max)
}

/// Twice as long each time, never longer than the longest wait.
fn back_off(failures: Count, bounds: &RetryBounds) -> RunMillis {
    let doublings = failures.get().saturating_sub(1).min(20);
    let factor = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
    RunMillis::new(bounds.back_off.get().saturating_mul(factor)).min(bounds.wait_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAIN: [Seat; 3] = [Seat::Remote, Seat::Remote, Seat::Local];

    fn position(at: usize, failures: u32) -> Position<'static> {
        let failures = Count::new(failures);
        Position { seats: &CHAIN, at, failures, matter: Matter::Open, context: Context::Fresh }
    }

    fn answer(reason: FallbackReason, position: &Position<'_>) -> Fallback {
        next(reason, position, &RetryBounds::default())
    }

    fn again(seconds: u64) -> Fallback {
        Fallback::Again { after: RunMillis::from_seconds(seconds) }
    }

    fn wait(seconds: u64) -> Option<RunMillis> {
        Some(RunMillis::from_seconds(seconds))
    }

    #[test]
    fn run_4_an_overloaded_engine_is_asked_again_then_the_next_one() {
        let reason = FallbackReason::Overloaded { retry_after: None };
        let steps: alloc::vec::Vec<Fallback> = (1..=4).map(|failures| answer(reason, &position(0, failures))).collect();
        assert_eq!(steps, [again(1), again(2), again(4), Fallback::Switch { to: 1 }]);
        assert_eq!(answer(FallbackReason::Overloaded { retry_after: wait(7) }, &position(0, 1)), again(7));
        let long = FallbackReason::Overloaded { retry_after: wait(61) };
        assert_eq!(answer(long, &position(0, 1)), Fallback::Switch { to: 1 });
        assert_eq!(answer(long, &position(2, 1)), Fallback::Park { retry_after: wait(61) });
        assert_eq!(answer(reason, &position(2, 4)), Fallback::Park { retry_after: None });
    }

    #[test]
    fn run_4_a_rate_limit_is_waited_for_only_when_its_end_is_known_and_near() {
        assert_eq!(answer(FallbackReason::RateLimited { retry_after: wait(60) }, &position(0, 1)), again(60));
        assert_eq!(
            answer(FallbackReason::RateLimited { retry_after: wait(3_600) }, &position(0, 1)),
            Fallback::Switch { to: 1 }
        );
        assert_eq!(
            answer(FallbackReason::RateLimited { retry_after: None }, &position(0, 1)),
            Fallback::Switch { to: 1 }
        );
        let parked = Fallback::Park { retry_after: wait(3_600) };
        assert_eq!(answer(FallbackReason::RateLimited { retry_after: wait(3_600) }, &position(2, 1)), parked);
        assert_eq!(
            answer(FallbackReason::RateLimited { retry_after: wait(1) }, &position(2, 4)),
            Fallback::Park { retry_after: wait(1) }
        );
    }

    #[test]
    fn run_4_what_does_not_pass_by_itself_is_not_tried_again() {
        for reason in [
            FallbackReason::Refused,
            FallbackReason::StopPersists,
            FallbackReason::VerificationFailed,
            FallbackReason::ContextExhausted,
        ] {
            assert_eq!(answer(reason, &position(0, 1)), Fallback::Switch { to: 1 }, "{reason:?}");
            assert_eq!(answer(reason, &position(2, 1)), Fallback::GiveUp, "{reason:?}");
        }
        for reason in [FallbackReason::Unreachable, FallbackReason::Broken] {
            assert_eq!(answer(reason, &position(0, 2)), again(2), "{reason:?}");
            assert_eq!(answer(reason, &position(0, 4)), Fallback::Switch { to: 1 }, "{reason:?}");
            assert_eq!(answer(reason, &position(2, 4)), Fallback::GiveUp, "{reason:?}");
        }
    }

    #[test]
    fn run_4_a_full_context_is_begun_anew_once_before_another_engine_is_taken() {
        let grown = Position { context: Context::Grown, ..position(0, 1) };
        assert_eq!(answer(FallbackReason::ContextExhausted, &grown), Fallback::FreshContext);
        assert_eq!(answer(FallbackReason::ContextExhausted, &position(0, 1)), Fallback::Switch { to: 1 });
    }

    /// No reason, no place and no number of failures ever leads a sensitive matter to a remote engine.
    #[test]
    fn run_4_sensitive_matters_only_ever_go_to_a_local_engine() {
        let reasons = [
            FallbackReason::Overloaded { retry_after: None },
            FallbackReason::Overloaded { retry_after: wait(99) },
            FallbackReason::RateLimited { retry_after: wait(1) },
            FallbackReason::RateLimited { retry_after: None },
            FallbackReason::Unreachable,
            FallbackReason::Broken,
            FallbackReason::Refused,
            FallbackReason::ContextExhausted,
            FallbackReason::StopPersists,
            FallbackReason::VerificationFailed,
        ];
        for reason in reasons {
            for at in [0, 1, 2, 3] {
                for failures in 1..6 {
                    let sensitive = Position { matter: Matter::Sensitive, ..position(at, failures) };
                    match answer(reason, &sensitive) {
                        Fallback::Switch { to } => assert_eq!(CHAIN[to], Seat::Local, "{reason:?} at {at}"),
                        Fallback::Again { .. } | Fallback::FreshContext => {
                            assert_eq!(CHAIN[at], Seat::Local, "{reason:?} at {at}")
                        }
                        Fallback::Park { .. } | Fallback::GiveUp => {}
                    }
                }
            }
        }
        assert_eq!(first(&CHAIN, Matter::Sensitive), Some(2));
        assert_eq!(first(&CHAIN, Matter::Open), Some(0));
        assert_eq!(first(&[Seat::Remote], Matter::Sensitive), None);
        let alone = Position { seats: &[Seat::Remote], matter: Matter::Sensitive, ..position(0, 1) };
        assert_eq!(answer(FallbackReason::Broken, &alone), Fallback::GiveUp);
    }

    #[test]
    fn run_4_every_chain_of_failures_ends() {
        for reason in
            [FallbackReason::Broken, FallbackReason::Overloaded { retry_after: None }, FallbackReason::ContextExhausted]
        {
            let (mut at, mut failures, mut context, mut steps) = (0, 1, Context::Grown, 0);
            loop {
                steps += 1;
                assert!(steps < 50, "{reason:?} goes on for ever");
                match answer(reason, &Position { context, ..position(at, failures) }) {
                    Fallback::Again { after } => {
                        assert!(after <= RetryBounds::default().wait_max);
                        failures += 1;
                    }
                    Fallback::FreshContext => context = Context::Fresh,
                    Fallback::Switch { to } => {
                        assert!(to > at, "a chain is never gone back");
                        (at, failures) = (to, 1);
                    }
                    Fallback::Park { .. } | Fallback::GiveUp => break,
                }
            }
        }
    }
}
