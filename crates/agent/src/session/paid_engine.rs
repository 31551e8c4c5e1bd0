//! An engine whose questions are paid from a budget that other machines spend too: the worst case is promised before a question leaves,
//! and settled with what the answer used.

use super::answer_budget::{ANSWER_TOKENS_MIN, longest_answer, worst_case};
use super::facts::{ModelNames, charge};
use crate::engines::{Allowance, CallCost, Engine, EngineError, EngineKind, Listener, Question, model_of};
use std::sync::Arc;
use std::time::Instant;
use tripwire_core::label::Label;
use tripwire_core::prices::PriceList;
use tripwire_core::run::fallback::Seat;
use tripwire_core::run::record::{Answer, Spent};
use tripwire_core::units::{MicroUsd, Tokens};
use tripwire_core::usage::FigureSource;
use tripwire_session::shared_money::{MoneyPromise, SharedMoney, SharedMoneyError};

/// Has an engine's questions paid from shared money, where there is any.
#[must_use]
pub fn paid_from(money: Option<Arc<dyn SharedMoney>>, prices: &PriceList, engine: Box<dyn Engine>) -> Box<dyn Engine> {
    match money {
        Some(money) => Box::new(PaidEngine { engine, money, prices: prices.clone(), spent: None }),
        None => engine,
    }
}

struct PaidEngine {
    engine: Box<dyn Engine>,
    money: Arc<dyn SharedMoney>,
    prices: PriceList,
    /// What the last question used without an answer.
    spent: Option<Spent>,
}

/// A question with the money for its longest answer.
struct PaidQuestion<'a> {
    question: Question<'a>,
    worst: MicroUsd,
    promise: MoneyPromise,
}

impl PaidEngine {
    /// The question as it can be paid for: whole, or with a shorter answer. Nothing where it costs nothing.
    fn promise<'a>(&self, question: &Question<'a>) -> Result<Option<PaidQuestion<'a>>, SharedMoneyError> {
        let Some(worst) = worst_case(self.engine.as_ref(), question, &self.prices) else { return Ok(None) };
        let exhausted = match self.money.reserve(&[], worst) {
            Ok(promise) => return Ok(Some(PaidQuestion { question: *question, worst, promise })),
            Err(error) => error,
        };
        let SharedMoneyError::Exhausted { left, .. } = &exhausted else { return Err(exhausted) };
        let longest = longest_answer(self.engine.as_ref(), question, &self.prices, Some(*left));
        let shorter = Question { output_tokens_max: longest, ..*question };
        let worst = worst_case(self.engine.as_ref(), &shorter, &self.prices).unwrap_or(worst);
        if longest < ANSWER_TOKENS_MIN || worst > *left {
            return Err(exhausted);
        }
        let promise = self.money.reserve(&[], worst)?;
        Ok(Some(PaidQuestion { question: shorter, worst, promise }))
    }

    /// What a question cost. One that may have reached a model, and of which nothing is known, counts with its worst case.
    fn cost(&self, heard: &Result<Answer, EngineError>, worst: MicroUsd) -> MicroUsd {
        let asked = Label::cut(model_of(self.engine.name()));
        let priced = |answered, usage| {
            charge(self.engine.call_cost(), &self.prices, ModelNames { asked: &asked, answered }, usage)
        };
        match (heard, &self.spent) {
            (Ok(answer), _) => priced(&answer.model, &answer.usage).unwrap_or(MicroUsd::ZERO),
            (Err(_), Some(spent)) => priced(&spent.model, &spent.usage).unwrap_or(MicroUsd::ZERO),
            (Err(error), None) if is_unsent(error) => MicroUsd::ZERO,
            (Err(_), None) => worst,
        }
    }
}

/// Whether a question cannot have cost anything.
const fn is_unsent(error: &EngineError) -> bool {
    match error {
        EngineError::NoKey { .. }
        | EngineError::KeyRefused { .. }
        | EngineError::UnknownModel { .. }
        | EngineError::Unreachable { .. }
        | EngineError::Overloaded { .. }
        | EngineError::RateLimited { .. }
        | EngineError::ContextExhausted { .. }
        | EngineError::Refused { .. }
        | EngineError::CassetteEnded { .. }
        | EngineError::TooSensitive { .. }
        | EngineError::NoMoney { .. }
        | EngineError::NotStarted { .. } => true,
        EngineError::Broken { .. } | EngineError::Deadline { .. } | EngineError::Cut { .. } => false,
    }
}

impl Engine for PaidEngine {
    fn name(&self) -> &str {
        self.engine.name()
    }

    fn window(&self) -> Option<Tokens> {
        self.engine.window()
    }

    fn place(&self) -> Seat {
        self.engine.place()
    }

    fn call_cost(&self) -> CallCost {
        self.engine.call_cost()
    }

    fn spent(&mut self) -> Option<Spent> {
        self.spent.take().or_else(|| self.engine.spent())
    }

    fn skip(&mut self, answers: u64) {
        self.engine.skip(answers);
    }

    fn kind(&self) -> EngineKind {
        self.engine.kind()
    }

    fn allow(&mut self, allowance: &Allowance) {
        self.engine.allow(allowance);
    }

    fn figures(&self) -> FigureSource {
        self.engine.figures()
    }

    fn ask(
        &mut self,
        question: &Question<'_>,
        deadline: Instant,
        listener: &mut Listener<'_>,
    ) -> Result<Answer, EngineError> {
        let refused = |error: SharedMoneyError| {
            let (engine, why) = (self.engine.name().to_owned(), error.to_string());
            match error {
                SharedMoneyError::TooFast { wait, .. } => {
                    EngineError::RateLimited { engine, said: why, retry_after: Some(wait) }
                }
                SharedMoneyError::Exhausted { .. } | SharedMoneyError::Unknown(_) => {
                    EngineError::NoMoney { engine, why }
                }
            }
        };
        let Some(PaidQuestion { question, worst, promise }) = self.promise(question).map_err(refused)? else {
            return self.engine.ask(question, deadline, listener);
        };
        let heard = self.engine.ask(&question, deadline, listener);
        self.spent = if heard.is_ok() { None } else { self.engine.spent() };
        self.money.settle(promise, self.cost(&heard, worst));
        heard
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::ControlFlow;
    use std::sync::Mutex;
    use tripwire_core::run::record::AnswerEnd;
    use tripwire_core::usage::Usage;

    /// A budget, what is promised of it, and what was settled.
    #[derive(Debug, Default)]
    struct Till {
        left: Mutex<u64>,
        promised: Mutex<Vec<u64>>,
        settled: Mutex<Vec<u64>>,
    }

    impl SharedMoney for Till {
        fn reserve(
            &self,
            _: &[tripwire_core::ledger::AccountId],
            worst: MicroUsd,
        ) -> Result<MoneyPromise, SharedMoneyError> {
            let left = *self.left.lock().unwrap();
            if worst.get() > left {
                return Err(SharedMoneyError::Exhausted { budget: "b".to_owned(), left: MicroUsd::new(left) });
            }
            self.promised.lock().unwrap().push(worst.get());
            Ok(MoneyPromise(0))
        }

        fn settle(&self, _: MoneyPromise, cost: MicroUsd) {
            self.settled.lock().unwrap().push(cost.get());
        }
    }

    /// Answers with what it was allowed to, or breaks off.
    struct Talkative(Option<EngineError>);

    impl Engine for Talkative {
        fn name(&self) -> &str {
            "anthropic:claude-sonnet-4-5"
        }

        fn window(&self) -> Option<Tokens> {
            None
        }

        fn ask(&mut self, question: &Question<'_>, _: Instant, _: &mut Listener<'_>) -> Result<Answer, EngineError> {
            if let Some(error) = self.0.take() {
                return Err(error);
            }
            Ok(Answer {
                calls: Vec::new(),
                end: AnswerEnd::Finished,
                engine: Label::cut("e"),
                model: Label::cut("claude-sonnet-4-5"),
                text: "x".into(),
                usage: Usage { output: question.output_tokens_max, ..Usage::default() },
                work: None,
            })
        }
    }

    fn ask(till: &Arc<Till>, error: Option<EngineError>) -> Result<Answer, EngineError> {
        let money: Arc<dyn SharedMoney> = Arc::<Till>::clone(till);
        let mut engine = paid_from(Some(money), &PriceList::default(), Box::new(Talkative(error)));
        let question =
            Question { system: "", tools: &[], turns: &[], output_tokens_max: Tokens::new(1_000), measured: None };
        engine.ask(&question, Instant::now(), &mut |_| ControlFlow::Continue(()))
    }

    #[test]
    fn fleet_3_a_question_is_paid_before_it_leaves_cut_to_what_is_left_and_refused_without_money() {
        let till = Arc::new(Till { left: Mutex::new(1_000_000), ..Till::default() });
        assert_eq!(ask(&till, None).unwrap().usage.output, Tokens::new(1_000));
        assert_eq!((till.promised.lock().unwrap()[0], till.settled.lock().unwrap()[0]), (18_840, 15_000));
        *till.left.lock().unwrap() = 9_840;
        assert_eq!(ask(&till, None).unwrap().usage.output, Tokens::new(400), "what 6,000 micro-dollars pay for");
        *till.left.lock().unwrap() = 100;
        let refused = ask(&till, None).unwrap_err();
        assert!(matches!(&refused, EngineError::NoMoney { .. }), "{refused}");
        assert_eq!(till.settled.lock().unwrap().len(), 2, "nothing left");
    }

    #[test]
    fn fleet_3_what_may_have_been_charged_counts_whole_and_what_never_left_counts_nothing() {
        let till = Arc::new(Till { left: Mutex::new(1_000_000), ..Till::default() });
        let engine = || "e".to_owned();
        ask(&till, Some(EngineError::Broken { engine: engine(), why: String::new() })).unwrap_err();
        ask(&till, Some(EngineError::Unreachable { engine: engine(), why: String::new() })).unwrap_err();
        assert_eq!(*till.settled.lock().unwrap(), [18_840, 0]);
    }
}
