//! What a request may cost, and the output limit under which its worst case fits what is left.

use crate::wire::{InputBound, RequestFacts};
use tripwire_core::prices::{ModelPrices, PriceBasis};
use tripwire_core::units::{MicroUsd, Tokens};

/// What one call of a provider's own tool is reserved and booked with: high for a search, and not checked against the providers'
/// pages.
pub(crate) const SERVER_CALL_PRICE: MicroUsd = MicroUsd::new(35_000);

/// Tokens that a provider puts in beside the request's own text, such as its instructions for tools.
const ADDED_TOKENS: Tokens = Tokens::new(1_024);

/// The worst case of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WorstCase {
    /// What to reserve.
    pub(crate) amount: MicroUsd,
    /// The output limit that it rests on, for each reply.
    pub(crate) limit: Tokens,
    /// Whether that limit has to be written into the request.
    pub(crate) is_lowered: bool,
    /// The most tokens that go in.
    pub(crate) input: Tokens,
    /// The most tokens that go in and come out, in all replies.
    pub(crate) tokens: Tokens,
    /// Whether the model has a price of its own.
    pub(crate) basis: PriceBasis,
}

/// The worst case within what is left; `Err` with the least that the request would need.
pub(crate) fn worst_case(
    prices: &ModelPrices,
    facts: &RequestFacts,
    left: Option<MicroUsd>,
) -> Result<WorstCase, MicroUsd> {
    let input = match facts.input {
        InputBound::Bytes(bytes) => Tokens::new(bytes).plus(ADDED_TOKENS).min(prices.input_max()),
        InputBound::Window => prices.input_max(),
    };
    let tools = MicroUsd::new(SERVER_CALL_PRICE.get().saturating_mul(facts.server_calls));
    // Each time that the model is asked, it may read everything and write up to its limit.
    let input = Tokens::new(input.get().saturating_mul(facts.samplings));
    let replies = facts.replies.saturating_mul(facts.samplings);
    let output = |limit: Tokens| Tokens::new(limit.get().saturating_mul(replies));
    let tokens = |limit: Tokens| input.plus(output(limit));
    let all = |limit: Tokens| {
        let cost = prices.worst_case(input, output(limit), facts.cache, facts.audio);
        (times(cost.micro_usd, facts.price_per_mille).plus(tools), cost.basis)
    };
    let wanted = facts.limit.unwrap_or_else(|| prices.output_max()).max(facts.limit_min);
    let (amount, basis) = all(wanted);
    let Some(left) = left.filter(|left| amount > *left) else {
        // With a budget the limit that was counted with has to stand in the request.
        let is_lowered = left.is_some() && facts.limit.is_none();
        return Ok(WorstCase { amount, limit: wanted, is_lowered, input, tokens: tokens(wanted), basis });
    };
    let least = all(facts.limit_min).0;
    if least > left {
        return Err(least);
    }
    // The cost only grows with the limit: halve the span until one figure is left.
    let (mut low, mut high) = (facts.limit_min.get(), wanted.get());
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if all(Tokens::new(middle)).0 <= left { low = middle } else { high = middle - 1 }
    }
    let limit = Tokens::new(low);
    Ok(WorstCase { amount: all(limit).0, limit, is_lowered: true, input, tokens: tokens(limit), basis })
}

/// An amount in thousandths of itself, rounded up.
pub(crate) fn times(amount: MicroUsd, per_mille: u64) -> MicroUsd {
    let product = u128::from(amount.get()) * u128::from(per_mille);
    MicroUsd::new(u64::try_from(product.div_ceil(1_000)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Api, Delivery, read_request};
    use tripwire_core::prices::PriceList;

    fn facts(body: &str) -> RequestFacts {
        read_request(Api::Anthropic, body.as_bytes(), None, Delivery::Whole).unwrap()
    }

    /// The worst case at the list's prices.
    fn worst(facts: &RequestFacts, left: Option<u64>) -> Result<WorstCase, MicroUsd> {
        worst_case(&PriceList::default().of(&facts.model), facts, left.map(MicroUsd::new))
    }

    #[test]
    fn gate_8_a_limit_is_lowered_to_what_is_left_and_never_below_the_least() {
        let facts = facts(r#"{"model":"claude-sonnet-4-5","max_tokens":8000,"messages":[]}"#);
        let whole = worst(&facts, None).unwrap();
        assert_eq!((whole.limit, whole.is_lowered), (Tokens::new(8_000), false));
        for left in [whole.amount.get(), 60_000, 8_000, 3_800] {
            let found = worst(&facts, Some(left)).unwrap();
            assert!(found.amount.get() <= left, "{left}: {found:?}");
            assert_eq!(found.is_lowered, left < whole.amount.get());
        }
        assert!(worst(&facts, Some(100)).is_err());
        let thinking = r#"{"model":"claude-sonnet-4-5","max_tokens":8000,"thinking":{"budget_tokens":4000}}"#;
        assert!(worst(&self::facts(thinking), Some(50_000)).is_err(), "thinking needs its budget");
    }

    #[test]
    fn gate_8_a_conversation_that_is_summed_up_first_reserves_what_it_reads_and_writes_twice() {
        let worst = |kind: &str| {
            let body = format!(
                r#"{{"model":"claude-sonnet-4-5","max_tokens":1000,"context_management":{{"edits":[{{"type":"{kind}"}}]}}}}"#
            );
            self::worst(&facts(&body), None).unwrap()
        };
        let (once, twice) = (worst("clear_it_20260112"), worst("compact_20260112"));
        assert_eq!((twice.limit, once.limit), (Tokens::new(1_000), Tokens::new(1_000)));
        assert!(once.amount.get().abs_diff(twice.amount.get() / 2) <= 6, "{once:?} {twice:?}");
    }

    #[test]
    fn gate_8_a_missing_limit_is_the_models_own_and_written_into_a_request_under_a_budget() {
        let facts = facts(r#"{"model":"claude-sonnet-4-5","messages":[]}"#);
        let found = worst(&facts, Some(50_000_000)).unwrap();
        assert_eq!((found.limit, found.is_lowered), (Tokens::new(64_000), true));
        assert!(!worst(&facts, None).unwrap().is_lowered);
    }
}
