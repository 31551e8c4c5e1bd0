//! Who is asked beside the model: the advisors about a deadlock, the reviewer about a change.

use super::agent_loop::Session;
use super::answer_budget::{longest_answer, reserve};
use super::asking::{Listening, missing, read_verdict};
use super::conversation::OUTPUT_TOKENS_MAX;
use super::engine_set::AuxEngine;
use super::error::SessionError;
use super::facts;
use crate::engines::{EngineError, Question, Turn};
use crate::prompt;
use std::time::{Duration, Instant};
use tripwire_core::effect::Deadlock;
use tripwire_core::label::Label;
use tripwire_core::record::chain::Digest;
use tripwire_core::run::engine_label;
use tripwire_core::run::record::{Answer, EngineFailure, FailureKind, ReviewAnswer, Reviewed, RunRecord, Spoken};

impl Session<'_> {
    /// Asks the first advisor whether the loop at hand is one; the answer is only written down.
    pub(super) fn judge_loop(&mut self) -> Result<(), SessionError> {
        let text = prompt::loop_check(&self.tail.text());
        let begun = Instant::now();
        let record = match self.ask_aux(AuxEngine::Advisor(0), text) {
            Ok(spoken) => RunRecord::LoopJudged(spoken),
            Err(failure) => RunRecord::LoopNotJudged(*failure),
        };
        self.learn(record, begun.elapsed())
    }

    /// Asks an advisor what to do about a deadlock (RUN-5).
    pub(super) fn advise(&mut self, deadlock: Deadlock, advisor: usize) -> Result<(), SessionError> {
        let text = prompt::advisor(deadlock, &self.tail.text());
        let begun = Instant::now();
        let record = match self.ask_aux(AuxEngine::Advisor(advisor), text) {
            Ok(spoken) => RunRecord::Advised(spoken),
            Err(failure) => RunRecord::NoAdvice(*failure),
        };
        self.learn(record, begun.elapsed())
    }

    /// Has the staged change reviewed by its digest (REVIEW-1).
    pub(super) fn review(&mut self) -> Result<(), SessionError> {
        let begun = Instant::now();
        let record = match self.runner.proposal(&self.root) {
            Err(problem) => RunRecord::NoReview(EngineFailure {
                engine: Label::cut("stage"),
                kind: FailureKind::Refused,
                retry_after_ms: None,
                said: problem.to_string().into(),
                spent: None,
            }),
            Ok(None) => {
                RunRecord::Reviewed(Reviewed { proposal: None, answer: ReviewAnswer::NothingChanged, spoken: None })
            }
            Ok(Some((digest, change))) => self.ask_reviewer(digest, &change),
        };
        self.learn(record, begun.elapsed())
    }

    fn ask_reviewer(&mut self, digest: Digest, change: &str) -> RunRecord {
        let text = prompt::reviewer(&self.run.setup().objective, &digest.to_string(), change);
        match self.ask_aux(AuxEngine::Reviewer, text) {
            Ok(spoken) => {
                let answer = read_verdict(&spoken.text);
                RunRecord::Reviewed(Reviewed { proposal: Some(digest), answer, spoken: Some(spoken) })
            }
            Err(failure) => RunRecord::NoReview(*failure),
        }
    }

    /// Applies what was approved; the permit is for exactly this change.
    pub(super) fn apply(&mut self, proposal: Digest) -> Result<(), SessionError> {
        let permit = self.permit.take();
        let returned = self.runner.apply(permit, facts::apply_action().exact(), &proposal);
        self.learn(RunRecord::Applied(returned), Duration::ZERO)
    }

    fn ask_aux(&mut self, aux: AuxEngine, text: String) -> Result<Spoken, Box<EngineFailure>> {
        let status = self.status(aux.doing());
        let (until, money) = (self.wall_clock(), self.money_left());
        let prices = self.driver().policy().price_list();
        let Self { engines, runner, watch, frontend, .. } = self;
        let Some(asked) = engines.aux(aux) else { return Err(Box::new(missing(Label::cut(aux.doing())))) };
        let turns = [Turn::User(text)];
        let mut question =
            Question { system: "", tools: &[], turns: &turns, output_tokens_max: OUTPUT_TOKENS_MAX, measured: None };
        if let Some((left, least)) = money.zip(reserve(asked, &question, &prices)).filter(|(left, least)| least > left)
        {
            let why = format!("it may cost {}, and {} are left of the budget", least.in_dollars(), left.in_dollars());
            let error = EngineError::NoMoney { engine: asked.name().to_owned(), why };
            return Err(Box::new(error.failure(engine_label(asked.name()), None)));
        }
        question.output_tokens_max = longest_answer(asked, &question, &prices, money);
        let heard = Listening { status, watch, frontend: &mut **frontend, until }.ask(asked, &question);
        let (name, lost) = (engine_label(asked.name()), asked.spent());
        engines.record_aux(aux, &question, &heard, runner.redactor());
        match heard {
            Ok(Answer { model, text, usage, .. }) => Ok(Spoken { engine: name, model, text, usage }),
            Err(error) => Err(Box::new(error.failure(name, lost))),
        }
    }
}
