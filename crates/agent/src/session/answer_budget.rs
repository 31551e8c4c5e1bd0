//! What an answer may cost at most: the worst case is reserved before a question is sent, and the answer is bounded to what is
//! left of the money (GATE-8).

use super::facts::charged;
use crate::engines::question_size::input_max;
use crate::engines::{Engine, EngineKind, Question, model_of};
use tripwire_core::label::Label;
use tripwire_core::prices::{AudioUse, CacheUse, PriceList};
use tripwire_core::run::engine_label;
use tripwire_core::run::record::Spent;
use tripwire_core::units::{MicroUsd, Tokens};
use tripwire_core::usage::Usage;

/// The shortest answer that is worth a question: a few words and a call.
pub(super) const ANSWER_TOKENS_MIN: Tokens = Tokens::new(256);
/// Tokens of which the price is taken, so that rounding does not matter.
const PRICED_TOKENS: Tokens = Tokens::new(1_000_000);

/// What a question may be answered with, and what that costs in the worst case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnswerBound {
    /// The longest answer.
    pub(super) output: Tokens,
    /// What has to be reserved; nothing where the engine costs nothing, or its money is settled elsewhere.
    pub(super) worst: Option<MicroUsd>,
}

/// The longest answer to a question that what is left can pay for. Where that is too short to be of use, the bound is the
/// shortest useful answer, whose worst case is then more than what is left.
pub(super) fn bound(
    engine: &dyn Engine,
    question: &Question<'_>,
    prices: &PriceList,
    left: Option<MicroUsd>,
) -> AnswerBound {
    let input = input_max(engine.name(), question);
    let least = ANSWER_TOKENS_MIN.min(question.output_tokens_max);
    let mut output = longest_answer(engine, question, prices, left).max(least);
    let mut worst = cost(engine, prices, input, output);
    // Rounding may have let one token too many in.
    while output > least && worst.zip(left).is_some_and(|(worst, left)| worst > left) {
        output = output.minus(Tokens::new(1));
        worst = cost(engine, prices, input, output);
    }
    AnswerBound { output, worst }
}

/// What the longest answer to a question costs in the worst case; nothing where the engine costs nothing, or counts its money
/// itself.
pub(super) fn worst_case(engine: &dyn Engine, question: &Question<'_>, prices: &PriceList) -> Option<MicroUsd> {
    cost(engine, prices, input_max(engine.name(), question), question.output_tokens_max)
}

/// The longest answer that what is left can pay for, and never more than the question allows.
pub(super) fn longest_answer(
    engine: &dyn Engine,
    question: &Question<'_>,
    prices: &PriceList,
    left: Option<MicroUsd>,
) -> Tokens {
    let all = question.output_tokens_max;
    let Some(left) = left else { return all };
    let input = input_max(engine.name(), question);
    let with = |output| cost(engine, prices, input, output);
    let (Some(nothing), Some(priced)) = (with(Tokens::ZERO), with(PRICED_TOKENS)) else { return all };
    let left = u128::from(left.get().saturating_sub(nothing.get()));
    let output_price = u128::from(priced.get().saturating_sub(nothing.get()));
    let tokens = left.saturating_mul(u128::from(PRICED_TOKENS.get())).checked_div(output_price);
    tokens.map_or(all, |tokens| Tokens::new(u64::try_from(tokens).unwrap_or(u64::MAX)).min(all).max(Tokens::new(1)))
}

/// What tokens cost with this engine at most: engines may have their input cached.
fn cost(engine: &dyn Engine, prices: &PriceList, input: Tokens, output: Tokens) -> Option<MicroUsd> {
    match engine.kind() {
        EngineKind::Worker => None,
        EngineKind::Model => {
            let worst = prices.of(model_of(engine.name())).worst_case(input, output, CacheUse::Short, AudioUse::None);
            charged(engine.call_cost(), worst)
        }
    }
}

/// What a question used at most of which nothing is known but that it was sent; nothing where it costs nothing.
pub(super) fn lost(engine: &dyn Engine, question: &Question<'_>, prices: &PriceList) -> Option<Spent> {
    worst_case(engine, question, prices)?;
    let cache_write = input_max(engine.name(), question);
    Some(Spent {
        engine: engine_label(engine.name()),
        estimated: true,
        model: Label::cut(model_of(engine.name())),
        usage: Usage { cache_write, output: question.output_tokens_max, ..Usage::default() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::{CallCost, MeasuredTurns, Turn};

    struct Priced(CallCost);

    impl Engine for Priced {
        fn name(&self) -> &str {
            "anthropic:claude-sonnet-4-5@http://127.0.0.1:1"
        }

        fn window(&self) -> Option<Tokens> {
            None
        }

        fn call_cost(&self) -> CallCost {
            self.0
        }

        fn ask(
            &mut self,
            _question: &Question<'_>,
            _deadline: std::time::Instant,
            _listener: &mut crate::engines::Listener<'_>,
        ) -> Result<tripwire_core::run::record::Answer, crate::engines::EngineError> {
            unreachable!("nothing is asked here")
        }
    }

    #[test]
    fn gate_8_an_answer_is_no_longer_than_what_is_left_and_else_as_long_as_it_may() {
        let turns = [Turn::User("x".repeat(3_000))];
        let question =
            Question { system: "", tools: &[], turns: &turns, output_tokens_max: Tokens::new(8_192), measured: None };
        let longest = |cost, left| longest_answer(&Priced(cost), &question, &PriceList::default(), left).get();
        assert_eq!(longest(CallCost::Full, None), 8_192, "without a budget nothing is cut short");
        assert_eq!(longest(CallCost::Full, Some(MicroUsd::new(5_000_000))), 8_192);
        let bounded = longest(CallCost::IfListed, Some(MicroUsd::new(50_000)));
        assert!(bounded > 2_000 && bounded * 15 <= 50_000, "{bounded}");
        assert_eq!(longest(CallCost::Free, Some(MicroUsd::new(1))), 8_192, "a cassette costs nothing");
        let bounded = |left| bound(&Priced(CallCost::Full), &question, &PriceList::default(), left);
        for left in (12_000..60_000).step_by(7) {
            let left = MicroUsd::new(left);
            let found = bounded(Some(left));
            let is_useful = found.output > ANSWER_TOKENS_MIN;
            assert!(found.worst.unwrap() <= left || !is_useful, "{left}: {found:?}");
        }
        let least = bounded(Some(MicroUsd::ZERO));
        assert_eq!(least.output, ANSWER_TOKENS_MIN, "what is too short to be of use is not asked for");
        assert!((256 * 15..50_000).contains(&least.worst.unwrap().get()), "{least:?}");
        let free = bound(&Priced(CallCost::Free), &question, &PriceList::default(), Some(MicroUsd::ZERO));
        assert_eq!((free.output.get(), free.worst), (8_192, None), "nothing is reserved for what costs nothing");
    }

    #[test]
    fn gate_8_a_question_may_be_a_token_for_each_byte_and_be_cached_unless_its_provider_counted_it() {
        let (asked, answer) =
            (Turn::User("日本".repeat(500)), Turn::Model { text: "ok".to_owned(), calls: Vec::new() });
        let turns = [asked, answer, Turn::User("go on".to_owned())];
        let reserved = |measured: Option<&MeasuredTurns>| {
            let output_tokens_max = Tokens::new(8_192);
            let question = Question { system: "s", tools: &[], turns: &turns, output_tokens_max, measured };
            let left = Some(MicroUsd::ZERO);
            bound(&Priced(CallCost::Full), &question, &PriceList::default(), left).worst.unwrap().get()
        };
        let (cached, output) = (3.75, 256.0 * 15.0);
        let least = |tokens: f64| (tokens * cached + output) as u64;
        assert!(reserved(None) >= least(3_000.0), "{}", reserved(None));
        let counted = |engine: &str| MeasuredTurns { engine: engine_label(engine), turns: 2, tokens: Tokens::new(900) };
        let own = counted(Priced(CallCost::Full).name());
        let known = reserved(Some(&own));
        assert!((least(905.0)..least(1_100.0)).contains(&known), "{known}");
        assert_eq!(reserved(Some(&counted("another:model"))), reserved(None), "each model counts in its own way");
    }
}
