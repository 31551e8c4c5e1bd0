//! Who is asked beside the model: the advisors about a deadlock, the reviewer about a change.

use super::agent_loop::Session;
use super::answer_budget::bound;
use super::asking::{Listening, missing, read_verdict};
use super::conversation::OUTPUT_TOKENS_MAX;
use super::engine_set::AuxEngine;
use super::error::SessionError;
use super::facts;
use super::money::{no_money, paid};
use crate::engines::{Question, Turn};
use crate::prompt;
use std::time::{Duration, Instant};
use tripwire_core::effect::Deadlock;
use tripwire_core::label::Label;
use tripwire_core::record::chain::Digest;
use tripwire_core::run::record::{Answer, EngineFailure, FailureKind, ReviewAnswer, Reviewed, RunRecord, Spoken};
use tripwire_core::run::{Next, engine_label};

impl Session<'_> {
    /// Asks the first advisor whether the loop at hand is one; the answer is only written down.
    pub(super) fn judge_loop(&mut self) -> Result<(), SessionError> {
        let text = prompt::loop_check(&self.tail.text());
        let begun = Instant::now();
        let record = match self.ask_aux(AuxEngine::Advisor(0), text)? {
            Ok(spoken) => RunRecord::LoopJudged(spoken),
            Err(failure) => RunRecord::LoopNotJudged(*failure),
        };
        self.learn(record, begun.elapsed())
    }

    /// Asks an advisor what to do about a deadlock (RUN-5).
    pub(super) fn advise(&mut self, deadlock: Deadlock, advisor: usize) -> Result<(), SessionError> {
        let text = prompt::advisor(deadlock, &self.tail.text());
        let begun = Instant::now();
        let record = match self.ask_aux(AuxEngine::Advisor(advisor), text)? {
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
            Ok(Some((digest, change))) => self.ask_reviewer(digest, &change)?,
        };
        self.learn(record, begun.elapsed())
    }

    fn ask_reviewer(&mut self, digest: Digest, change: &str) -> Result<RunRecord, SessionError> {
        let text = prompt::reviewer(&self.run.setup().objective, &digest.to_string(), change);
        Ok(match self.ask_aux(AuxEngine::Reviewer, text)? {
            Ok(spoken) => {
                let answer = read_verdict(&spoken.text);
                RunRecord::Reviewed(Reviewed { proposal: Some(digest), answer, spoken: Some(spoken) })
            }
            Err(failure) => RunRecord::NoReview(*failure),
        })
    }

    /// Applies what was approved; the permit is for exactly this change.
    pub(super) fn apply(&mut self, proposal: Digest) -> Result<(), SessionError> {
        let permit = self.permit.take();
        let returned = self.runner.apply(permit, facts::apply_action().exact(), &proposal);
        self.learn(RunRecord::Applied(returned), Duration::ZERO)
    }

    fn ask_aux(&mut self, aux: AuxEngine, text: String) -> Result<Result<Spoken, Box<EngineFailure>>, SessionError> {
        let status = self.status(aux.doing());
        let (until, left, view) = (self.wall_clock(), self.money_left(), self.driver.view());
        let prices = self.driver().policy().price_list();
        let Self { engines, runner, watch, frontend, money, .. } = self;
        let Some(asked) = engines.aux(aux) else { return Ok(Err(Box::new(missing(Label::cut(aux.doing()))))) };
        let (name, turns) = (engine_label(asked.name()), [Turn::User(text)]);
        let mut question = question(&turns);
        let bound = bound(asked, &question, &prices, left);
        question.output_tokens_max = bound.output;
        let held = match money.as_mut().map(|money| money.hold(aux.agent(), bound.worst, &view)).transpose() {
            Ok(held) => held.flatten(),
            Err(error) => return Ok(Err(Box::new(no_money(asked, &error).failure(name, None)))),
        };
        let heard = Listening { status, watch, frontend: &mut **frontend, until }.ask(asked, &question);
        let cost = paid(asked, &prices, &heard);
        let short = match money.as_mut().zip(held) {
            Some((money, held)) => money.settle(held, cost)?,
            None => None,
        };
        short.iter().for_each(|short| frontend.notice(short));
        engines.record_aux(aux, &question, &heard.answer, runner.redactor());
        Ok(match heard.answer {
            Ok(Answer { model, text, usage, .. }) => Ok(Spoken { engine: name, model, text, usage }),
            Err(error) => Err(Box::new(error.failure(name, heard.spent))),
        })
    }

    /// Who was being asked beside the model, and with what words, when the process ended.
    pub(super) fn aux_under_way(&self) -> Option<(AuxEngine, String)> {
        Some(match self.run.next() {
            Next::JudgeLoop => (AuxEngine::Advisor(0), prompt::loop_check(&self.tail.text())),
            Next::Advise { deadlock, advisor } => {
                (AuxEngine::Advisor(advisor), prompt::advisor(deadlock, &self.tail.text()))
            }
            Next::Review => {
                let (digest, change) = self.runner.proposal(&self.root).ok().flatten()?;
                let objective = &self.run.setup().objective;
                (AuxEngine::Reviewer, prompt::reviewer(objective, &digest.to_string(), &change))
            }
            Next::Take(_)
            | Next::Ask { .. }
            | Next::Check(_)
            | Next::Execute(_)
            | Next::Apply(_)
            | Next::Wait(_)
            | Next::AwaitAnswer { .. }
            | Next::AwaitPerson(_)
            | Next::Finished(_) => return None,
        })
    }
}

/// A question beside the conversation.
pub(super) const fn question(turns: &[Turn]) -> Question<'_> {
    Question { system: "", tools: &[], turns, output_tokens_max: OUTPUT_TOKENS_MAX, measured: None }
}
