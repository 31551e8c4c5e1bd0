//! What to do when an engine gives no good answer: the fallback chain as one table (RUN-4).
//!
//! Pure: the reason, the place in the chain and how often it was tried go in, the next step comes out. Nothing is retried
//! or switched in silence, because the caller journals every answer of this table before it acts on it.

use crate::units::{Count, RunMillis};
use serde::{Deserialize, Serialize};

/// Why the engine at hand gives no good answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reason {
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

/// Whether the context was begun anew and no answer has come since.
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
    /// How the context stands.
    pub context: Context,
}

/// The bounds of patience.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// How often one engine is asked again.
    pub retries_max: Count,
    /// The first wait where the provider names none; each further one is twice as long.
    pub back_off: RunMillis,
    /// The longest wait inside a running session.
    pub wait_max: RunMillis,
}

impl Default for Patience {
    fn default() -> Self {
        Self { retries_max: Count::new(3), back_off: RunMillis::from_seconds(1), wait_max: RunMillis::from_seconds(60) }
    }
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Next {
    /// Ask the same engine again, after this wait.
    Again {
        /// The wait.
        after: RunMillis,
    },
    /// Begin the context anew with a briefing and ask the same engine.
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
    /// Nobody can answer.
    GiveUp,
}

/// The first engine that may be asked about such a matter.
#[must_use]
pub fn first(seats: &[Seat], matter: Matter) -> Option<usize> {
    after(seats, matter, 0)
}

/// The next step.
#[must_use]
pub fn next(reason: Reason, position: &Position<'_>, patience: &Patience) -> Next {
    // A matter that became sensitive while a remote engine was at hand moves before anything is tried again.
    if position.seats.get(position.at).is_none_or(|seat| !may_hear(*seat, position.matter)) {
        return first(position.seats, position.matter).map_or(Next::GiveUp, |to| Next::Switch { to });
    }
    let other = after(position.seats, position.matter, position.at.saturating_add(1));
    let tries_left = position.failures <= patience.retries_max;
    match (reason, other) {
        (Reason::Overloaded { retry_after }, _) if tries_left && bearable(retry_after, patience) => {
            Next::Again { after: retry_after.unwrap_or_else(|| back_off(position.failures, patience)) }
        }
        (Reason::RateLimited { retry_after: Some(wait) }, _) if tries_left && wait <= patience.wait_max => {
            Next::Again { after: wait }
        }
        (Reason::Unreachable | Reason::Broken, _) if tries_left => {
            Next::Again { after: back_off(position.failures, patience) }
        }
        (Reason::ContextExhausted, _) if position.context == Context::Grown => Next::FreshContext,
        (
            Reason::Overloaded { .. }
            | Reason::RateLimited { .. }
            | Reason::Unreachable
            | Reason::Broken
            | Reason::Refused
            | Reason::ContextExhausted
            | Reason::StopPersists
            | Reason::VerificationFailed,
            Some(to),
        ) => Next::Switch { to },
        // A limit passes by itself, so the session can wait for it without anybody.
        (Reason::Overloaded { retry_after } | Reason::RateLimited { retry_after }, None) => Next::Park { retry_after },
        (
            Reason::Unreachable
            | Reason::Broken
            | Reason::Refused
            | Reason::ContextExhausted
            | Reason::StopPersists
            | Reason::VerificationFailed,
            None,
        ) => Next::GiveUp,
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

fn bearable(wait: Option<RunMillis>, patience: &Patience) -> bool {
    wait.is_none_or(|wait| wait <= patience.wait_max)
}

/// Twice as long each time, never longer than the longest wait.
fn back_off(failures: Count, patience: &Patience) -> RunMillis {
    let doublings = failures.get().saturating_sub(1).min(20);
    let factor = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
    RunMillis::new(patience.back_off.get().saturating_mul(factor)).min(patience.wait_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAIN: [Seat; 3] = [Seat::Remote, Seat::Remote, Seat::Local];

    fn position(at: usize, failures: u32) -> Position<'static> {
        let failures = Count::new(failures);
        Position { seats: &CHAIN, at, failures, matter: Matter::Open, context: Context::Fresh }
    }

    fn answer(reason: Reason, position: &Position<'_>) -> Next {
        next(reason, position, &Patience::default())
    }

    fn again(seconds: u64) -> Next {
        Next::Again { after: RunMillis::from_seconds(seconds) }
    }

    fn wait(seconds: u64) -> Option<RunMillis> {
        Some(RunMillis::from_seconds(seconds))
    }

    #[test]
    fn run_4_an_overloaded_engine_is_asked_again_then_the_next_one() {
        let reason = Reason::Overloaded { retry_after: None };
        let steps: alloc::vec::Vec<Next> = (1..=4).map(|failures| answer(reason, &position(0, failures))).collect();
        assert_eq!(steps, [again(1), again(2), again(4), Next::Switch { to: 1 }]);
        assert_eq!(answer(Reason::Overloaded { retry_after: wait(7) }, &position(0, 1)), again(7));
        let long = Reason::Overloaded { retry_after: wait(61) };
        assert_eq!(answer(long, &position(0, 1)), Next::Switch { to: 1 });
        assert_eq!(answer(long, &position(2, 1)), Next::Park { retry_after: wait(61) });
        assert_eq!(answer(reason, &position(2, 4)), Next::Park { retry_after: None });
    }

    #[test]
    fn run_4_a_rate_limit_is_waited_for_only_when_its_end_is_known_and_near() {
        assert_eq!(answer(Reason::RateLimited { retry_after: wait(60) }, &position(0, 1)), again(60));
        assert_eq!(answer(Reason::RateLimited { retry_after: wait(3_600) }, &position(0, 1)), Next::Switch { to: 1 });
        assert_eq!(answer(Reason::RateLimited { retry_after: None }, &position(0, 1)), Next::Switch { to: 1 });
        let parked = Next::Park { retry_after: wait(3_600) };
        assert_eq!(answer(Reason::RateLimited { retry_after: wait(3_600) }, &position(2, 1)), parked);
        assert_eq!(
            answer(Reason::RateLimited { retry_after: wait(1) }, &position(2, 4)),
            Next::Park { retry_after: wait(1) }
        );
    }

    #[test]
    fn run_4_what_does_not_pass_by_itself_is_not_tried_again() {
        for reason in [Reason::Refused, Reason::StopPersists, Reason::VerificationFailed, Reason::ContextExhausted] {
            assert_eq!(answer(reason, &position(0, 1)), Next::Switch { to: 1 }, "{reason:?}");
            assert_eq!(answer(reason, &position(2, 1)), Next::GiveUp, "{reason:?}");
        }
        for reason in [Reason::Unreachable, Reason::Broken] {
            assert_eq!(answer(reason, &position(0, 2)), again(2), "{reason:?}");
            assert_eq!(answer(reason, &position(0, 4)), Next::Switch { to: 1 }, "{reason:?}");
            assert_eq!(answer(reason, &position(2, 4)), Next::GiveUp, "{reason:?}");
        }
    }

    #[test]
    fn run_4_a_full_context_is_begun_anew_once_before_another_engine_is_taken() {
        let grown = Position { context: Context::Grown, ..position(0, 1) };
        assert_eq!(answer(Reason::ContextExhausted, &grown), Next::FreshContext);
        assert_eq!(answer(Reason::ContextExhausted, &position(0, 1)), Next::Switch { to: 1 });
    }

    /// No reason, no place and no number of failures ever leads a sensitive matter to a remote engine.
    #[test]
    fn run_4_sensitive_matters_only_ever_go_to_a_local_engine() {
        let reasons = [
            Reason::Overloaded { retry_after: None },
            Reason::Overloaded { retry_after: wait(99) },
            Reason::RateLimited { retry_after: wait(1) },
            Reason::RateLimited { retry_after: None },
            Reason::Unreachable,
            Reason::Broken,
            Reason::Refused,
            Reason::ContextExhausted,
            Reason::StopPersists,
            Reason::VerificationFailed,
        ];
        for reason in reasons {
            for at in [0, 1, 2, 3] {
                for failures in 1..6 {
                    let sensitive = Position { matter: Matter::Sensitive, ..position(at, failures) };
                    match answer(reason, &sensitive) {
                        Next::Switch { to } => assert_eq!(CHAIN[to], Seat::Local, "{reason:?} at {at}"),
                        Next::Again { .. } | Next::FreshContext => {
                            assert_eq!(CHAIN[at], Seat::Local, "{reason:?} at {at}")
                        }
                        Next::Park { .. } | Next::GiveUp => {}
                    }
                }
            }
        }
        assert_eq!(first(&CHAIN, Matter::Sensitive), Some(2));
        assert_eq!(first(&CHAIN, Matter::Open), Some(0));
        assert_eq!(first(&[Seat::Remote], Matter::Sensitive), None);
        let alone = Position { seats: &[Seat::Remote], matter: Matter::Sensitive, ..position(0, 1) };
        assert_eq!(answer(Reason::Broken, &alone), Next::GiveUp);
    }

    #[test]
    fn run_4_every_chain_of_failures_ends() {
        for reason in [Reason::Broken, Reason::Overloaded { retry_after: None }, Reason::ContextExhausted] {
            let (mut at, mut failures, mut context, mut steps) = (0, 1, Context::Grown, 0);
            loop {
                steps += 1;
                assert!(steps < 50, "{reason:?} goes on for ever");
                match answer(reason, &Position { context, ..position(at, failures) }) {
                    Next::Again { after } => {
                        assert!(after <= Patience::default().wait_max);
                        failures += 1;
                    }
                    Next::FreshContext => context = Context::Fresh,
                    Next::Switch { to } => {
                        assert!(to > at, "a chain is never gone back");
                        (at, failures) = (to, 1);
                    }
                    Next::Park { .. } | Next::GiveUp => break,
                }
            }
        }
    }
}
