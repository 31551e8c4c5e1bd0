//! Which figures a call is settled with: the provider's, unless they cannot be (GATE-8).
//!
//! A figure that is absent or contradicts what was seen passing by is replaced by the higher estimate and marked. A reply that
//! broke off is charged for what came, and never with nothing.

use crate::units::Tokens;
use crate::usage::{FigureSource, Usage};
use serde::{Deserialize, Serialize};

/// Bytes of text that one token cannot exceed on average: a reply that is longer was not counted.
const TOKEN_BYTES_MAX: u64 = 64;
/// Replies and requests that are shorter than this may cost nothing.
const LONG_BYTES_MIN: u64 = 64;

/// More than any model takes in or puts out in one call.
const ABSURD_TOKENS: Tokens = Tokens::new(16_777_216);

/// What was seen of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    /// What the provider said it used, as far as it said it.
    pub told: Option<Usage>,
    /// What the request says of its input.
    pub input: SentInput,
    /// The bytes of text, reasoning and tool calls that came.
    pub reply_bytes: u64,
    /// The most tokens of output that the request allowed.
    pub output_max: Tokens,
    /// The most tokens that the request could have put in.
    pub input_max: Tokens,
    /// Whether the reply came to its end.
    pub end: ReplyEnd,
}

/// What a request says of its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentInput {
    /// All of it stands in the request, in so many bytes.
    Whole(u64),
    /// It goes on with what the provider keeps or fetches, or holds what is not counted by its bytes: nobody here knows how much
    /// that is.
    Part,
}

/// Whether a reply came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyEnd {
    /// It did.
    Whole,
    /// It broke off, was cut or cancelled.
    Part,
}

/// Why figures were replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Doubt {
    /// The provider said none.
    Absent,
    /// The reply broke off before its last figure.
    Unfinished,
    /// A long text, and a figure of nothing or almost nothing.
    TooLow,
    /// More than any model can hold.
    TooHigh,
}

/// The figures of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// The tokens to charge.
    pub usage: Usage,
    /// Whether they are the provider's.
    pub source: FigureSource,
    /// Why they are not.
    pub doubt: Option<Doubt>,
}

/// The figures that a call is settled with.
#[must_use]
pub fn figures(heard: &Heard) -> Figures {
    let estimate = estimate(heard);
    let Some(told) = heard.told else {
        let doubt = if heard.end == ReplyEnd::Part { Doubt::Unfinished } else { Doubt::Absent };
        return estimated(estimate, doubt);
    };
    let output = told.output.plus(told.reasoning);
    let is_long = |bytes: u64| bytes >= LONG_BYTES_MIN;
    let output_low = is_long(heard.reply_bytes) && output.get().saturating_mul(TOKEN_BYTES_MAX) < heard.reply_bytes;
    let input_low = told.input().is_zero()
        && match heard.input {
            SentInput::Whole(bytes) => is_long(bytes),
            SentInput::Part => true,
        };
    if told.input() > ABSURD_TOKENS || output > ABSURD_TOKENS {
        return estimated(within(told, heard), Doubt::TooHigh);
    }
    let input = if input_low { estimate } else { told };
    let higher = Usage { output: output.max(estimate.output), reasoning: Tokens::ZERO, ..input };
    if heard.end == ReplyEnd::Part && output < estimate.output {
        return estimated(higher, Doubt::Unfinished);
    }
    if output_low || input_low {
        return estimated(higher, Doubt::TooLow);
    }
    Figures { usage: told, source: FigureSource::Told, doubt: None }
}

const fn estimated(usage: Usage, doubt: Doubt) -> Figures {
    Figures { usage, source: FigureSource::Estimated, doubt: Some(doubt) }
}

/// From the bytes that passed by, never more than the request allowed. Input that did not pass by is taken for all that was
/// reserved for it.
fn estimate(heard: &Heard) -> Usage {
    let tokens = |bytes: u64| Tokens::estimate(usize::try_from(bytes).unwrap_or(usize::MAX));
    let fresh_input = match heard.input {
        SentInput::Whole(bytes) => tokens(bytes).min(heard.input_max),
        SentInput::Part => heard.input_max,
    };
    Usage { fresh_input, output: tokens(heard.reply_bytes).min(heard.output_max), ..Usage::default() }
}

/// The figures with what is more than the request allowed brought down to it: that much was reserved, and a provider that
/// claims more made a mistake or lies.
fn within(told: Usage, heard: &Heard) -> Usage {
    let input =
        if told.input() > heard.input_max { Usage { fresh_input: heard.input_max, ..Usage::default() } } else { told };
    let output = told.output.plus(told.reasoning).min(heard.output_max);
    Usage { output, reasoning: Tokens::ZERO, ..input }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(told: Option<(u64, u64)>, request_bytes: u64, reply_bytes: u64, end: ReplyEnd) -> Heard {
        let told = told.map(|(input, output)| Usage {
            fresh_input: Tokens::new(input),
            output: Tokens::new(output),
            ..Usage::default()
        });
        let (output_max, input_max) = (Tokens::new(1_000), Tokens::new(5_000));
        Heard { told, input: SentInput::Whole(request_bytes), reply_bytes, output_max, input_max, end }
    }

    fn taken(heard: &Heard) -> (u64, u64, Option<Doubt>) {
        let found = figures(heard);
        assert_eq!(found.source.is_told(), found.doubt.is_none());
        (found.usage.input().get(), found.usage.output.get(), found.doubt)
    }

    #[test]
    fn gate_8_figures_that_fit_what_was_seen_are_taken_as_they_are() {
        for told in [(1_000, 200), (900, 1), (1, 1_000)] {
            let seen = heard(Some(told), 3_000, 60, ReplyEnd::Whole);
            assert_eq!(taken(&seen), (told.0, told.1, None));
        }
        assert_eq!(taken(&heard(Some((0, 0)), 0, 0, ReplyEnd::Whole)), (0, 0, None), "an empty call costs nothing");
        assert_eq!(taken(&heard(Some((10, 300)), 3_000, 600, ReplyEnd::Part)), (10, 300, None), "all was told");
        let beyond = heard(Some((6_000, 1_200)), 3_000, 600, ReplyEnd::Whole);
        assert_eq!(taken(&beyond), (6_000, 1_200, None), "what was not foreseen is booked, and the ledger says so");
    }

    #[test]
    fn gate_8_absent_low_and_absurd_figures_settle_at_the_higher_estimate_and_say_so() {
        for (told, end, expected) in [
            (None, ReplyEnd::Whole, (1_000, 200, Some(Doubt::Absent))),
            (None, ReplyEnd::Part, (1_000, 200, Some(Doubt::Unfinished))),
            (Some((0, 0)), ReplyEnd::Whole, (1_000, 200, Some(Doubt::TooLow))),
            (Some((900, 0)), ReplyEnd::Whole, (900, 200, Some(Doubt::TooLow))),
            (Some((900, 9)), ReplyEnd::Whole, (900, 200, Some(Doubt::TooLow))),
            (Some((900, 1)), ReplyEnd::Part, (900, 200, Some(Doubt::Unfinished))),
            (Some((900, u64::MAX)), ReplyEnd::Whole, (900, 1_000, Some(Doubt::TooHigh))),
            (Some((u64::MAX, 5)), ReplyEnd::Whole, (5_000, 5, Some(Doubt::TooHigh))),
        ] {
            assert_eq!(taken(&heard(told, 3_000, 600, end)), expected, "{told:?} {end:?}");
        }
        assert_eq!(taken(&heard(None, 90_000, 90_000, ReplyEnd::Part)), (5_000, 1_000, Some(Doubt::Unfinished)));
    }

    #[test]
    fn gate_8_a_figure_is_believed_up_to_its_bound_and_replaced_behind_it() {
        let most = ABSURD_TOKENS.get();
        for (told, request_bytes, reply_bytes, end) in [
            ((most, 1), 3_000, 60, ReplyEnd::Whole),
            ((1, most), 3_000, 60, ReplyEnd::Whole),
            ((900, 1), 3_000, 64, ReplyEnd::Whole),
            ((900, 0), 3_000, 63, ReplyEnd::Whole),
            ((0, 5), 63, 60, ReplyEnd::Whole),
            ((900, 200), 3_000, 600, ReplyEnd::Part),
        ] {
            let seen = heard(Some(told), request_bytes, reply_bytes, end);
            assert_eq!(taken(&seen), (told.0, told.1, None), "{told:?} {reply_bytes}");
        }
        for (told, request_bytes, reply_bytes, end, expected) in [
            ((most + 1, 1), 3_000, 60, ReplyEnd::Whole, (5_000, 1, Doubt::TooHigh)),
            ((1, most + 1), 3_000, 60, ReplyEnd::Whole, (1, 1_000, Doubt::TooHigh)),
            ((900, 1), 3_000, 65, ReplyEnd::Whole, (900, 22, Doubt::TooLow)),
            ((900, 0), 3_000, 64, ReplyEnd::Whole, (900, 22, Doubt::TooLow)),
            ((0, 5), 64, 60, ReplyEnd::Whole, (22, 20, Doubt::TooLow)),
            ((900, 199), 3_000, 600, ReplyEnd::Part, (900, 200, Doubt::Unfinished)),
        ] {
            let seen = heard(Some(told), request_bytes, reply_bytes, end);
            assert_eq!(taken(&seen), (expected.0, expected.1, Some(expected.2)), "{told:?} {reply_bytes}");
        }
    }

    #[test]
    fn gate_8_input_that_did_not_pass_by_is_estimated_at_all_that_was_reserved_for_it() {
        for (told, end, expected) in [
            (None, ReplyEnd::Part, (5_000, 200, Some(Doubt::Unfinished))),
            (None, ReplyEnd::Whole, (5_000, 200, Some(Doubt::Absent))),
            (Some((0, 200)), ReplyEnd::Whole, (5_000, 200, Some(Doubt::TooLow))),
            (Some((0, 0)), ReplyEnd::Part, (5_000, 200, Some(Doubt::Unfinished))),
        ] {
            for request_bytes in [0, 30, 3_000] {
                let seen = Heard { input: SentInput::Part, ..heard(told, request_bytes, 600, end) };
                assert_eq!(taken(&seen), expected, "{told:?} {end:?}");
            }
        }
    }

    #[test]
    fn gate_8_figures_for_input_that_did_not_pass_by_are_taken_and_input_that_did_is_estimated_by_its_bytes() {
        for (told, end) in [((70, 200), ReplyEnd::Whole), ((4_000, 1), ReplyEnd::Whole), ((70, 300), ReplyEnd::Part)] {
            let seen = Heard { input: SentInput::Part, ..heard(Some(told), 3_000, 60, end) };
            assert_eq!(taken(&seen), (told.0, told.1, None));
        }
        let cut = Heard { input: SentInput::Part, ..heard(Some((70, 1)), 3_000, 600, ReplyEnd::Part) };
        assert_eq!(taken(&cut), (70, 200, Some(Doubt::Unfinished)), "the input was told at the beginning");
        assert_eq!(taken(&heard(None, 3_000, 600, ReplyEnd::Part)), (1_000, 200, Some(Doubt::Unfinished)));
    }

    #[test]
    fn gate_8_reasoning_is_part_of_a_higher_estimate_and_not_charged_beside_it() {
        let told = Usage { fresh_input: Tokens::new(900), output: Tokens::new(1), ..Usage::default() };
        let told = Usage { reasoning: Tokens::new(5), ..told };
        let found = figures(&Heard { told: Some(told), ..heard(None, 3_000, 600, ReplyEnd::Whole) });
        assert_eq!(found.doubt, Some(Doubt::TooLow));
        assert_eq!((found.usage.output, found.usage.reasoning), (Tokens::new(200), Tokens::ZERO));
    }

    #[test]
    fn gate_8_an_absurd_output_leaves_an_input_that_was_allowed_as_it_was_told() {
        let input = Usage { fresh_input: Tokens::new(4_000), cache_read: Tokens::new(1_000), ..Usage::default() };
        let told = Usage { output: Tokens::new(5), reasoning: Tokens::new(u64::MAX), ..input };
        let seen = Heard { told: Some(told), ..heard(None, 3_000, 600, ReplyEnd::Whole) };
        let found = figures(&seen);
        assert_eq!((found.usage, found.doubt), (Usage { output: Tokens::new(1_000), ..input }, Some(Doubt::TooHigh)));
    }
}
