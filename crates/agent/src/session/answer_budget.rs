//! What an answer may cost at most: the worst case is reserved before a question is sent, and the answer is bounded to what is
//! left of the money (GATE-8).

use super::facts::charge;
use crate::engines::{Engine, EngineKind, Question, Turn};
use tripwire_core::label::Label;
use tripwire_core::prices::PriceList;
use tripwire_core::units::{MicroUsd, Tokens};
use tripwire_core::usage::Usage;

/// The shortest answer that is worth a question: a few words and a call.
pub(super) const ANSWER_TOKENS_MIN: Tokens = Tokens::new(256);
/// Tokens that a provider puts in beside the question's own text.
const ADDED_TOKENS: Tokens = Tokens::new(1_024);
/// Tokens of which the price is taken, so that rounding does not matter.
const PRICED_TOKENS: u64 = 1_000_000;

/// The money that the shortest useful answer to a question costs in the worst case; nothing where the engine costs nothing, or
/// counts its money itself.
pub(super) fn reserve(engine: &dyn Engine, question: &Question<'_>, prices: &PriceList) -> Option<MicroUsd> {
    cost(engine, prices, &Usage { output: ANSWER_TOKENS_MIN, ..asked(question) })
}

/// What the longest answer to a question costs; nothing where the engine costs nothing, or counts its money itself.
pub(super) fn worst_case(engine: &dyn Engine, question: &Question<'_>, prices: &PriceList) -> Option<MicroUsd> {
    cost(engine, prices, &Usage { output: question.output_tokens_max, ..asked(question) })
}

/// What a provider may add to a question, its own instructions for tools, costs at most.
pub(super) fn added(engine: &dyn Engine, prices: &PriceList) -> MicroUsd {
    let usage = Usage { fresh_input: ADDED_TOKENS, ..Usage::default() };
    cost(engine, prices, &usage).unwrap_or(MicroUsd::ZERO)
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
    let priced = Usage { output: Tokens::new(PRICED_TOKENS), ..Usage::default() };
    let (input, output) = (cost(engine, prices, &asked(question)), cost(engine, prices, &priced));
    let (Some(input), Some(output)) = (input, output) else { return all };
    let left = u128::from(left.get().saturating_sub(input.get()));
    let tokens = left.saturating_mul(u128::from(PRICED_TOKENS)).checked_div(u128::from(output.get()));
    tokens.map_or(all, |tokens| Tokens::new(u64::try_from(tokens).unwrap_or(u64::MAX)).min(all).max(Tokens::new(1)))
}

/// How large a question is, in tokens, by its bytes.
pub(super) fn size(question: &Question<'_>) -> Tokens {
    asked(question).fresh_input
}

/// What a question sends, from its size, as if nothing of it was cached.
fn asked(question: &Question<'_>) -> Usage {
    let turns = question.turns.iter().map(|turn| match turn {
        Turn::User(text) => text.len(),
        Turn::Model { text, calls } => text.len() + calls.iter().map(|call| call.arguments.len()).sum::<usize>(),
        Turn::Results(answers) => answers.iter().map(|answer| answer.text.len()).sum(),
    });
    let tools = question.tools.iter().map(|tool| tool.description.len() + tool.schema.to_string().len());
    let bytes = question.system.len() + turns.sum::<usize>() + tools.sum::<usize>();
    Usage { fresh_input: Tokens::estimate(bytes), ..Usage::default() }
}

/// What tokens cost with this engine.
fn cost(engine: &dyn Engine, prices: &PriceList, usage: &Usage) -> Option<MicroUsd> {
    match engine.kind() {
        EngineKind::Worker => None,
        EngineKind::Model => charge(engine.call_cost(), prices, &Label::cut(model_of(engine.name())), usage),
    }
}

/// The model in an engine's name, `PROVIDER:MODEL@URL`.
fn model_of(name: &str) -> &str {
    let model = name.split_once(':').map_or(name, |(_, model)| model);
    model.split_once('@').map_or(model, |(model, _)| model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::CallCost;

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
        let question = Question { system: "", tools: &[], turns: &turns, output_tokens_max: Tokens::new(8_192) };
        let longest = |cost, left| longest_answer(&Priced(cost), &question, &PriceList::default(), left).get();
        assert_eq!(longest(CallCost::Full, None), 8_192, "without a budget nothing is cut short");
        assert_eq!(longest(CallCost::Full, Some(MicroUsd::new(5_000_000))), 8_192);
        let bounded = longest(CallCost::IfListed, Some(MicroUsd::new(50_000)));
        assert!(bounded > 2_000 && bounded * 15 <= 50_000, "{bounded}");
        assert_eq!(longest(CallCost::Free, Some(MicroUsd::new(1))), 8_192, "a cassette costs nothing");
        let reserve = reserve(&Priced(CallCost::Full), &question, &PriceList::default()).unwrap().get();
        assert!((256 * 15..50_000).contains(&reserve), "{reserve}");
    }
}
