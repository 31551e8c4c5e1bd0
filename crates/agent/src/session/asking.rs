//! Asking engines: the model, the advisor, the reviewer. A person and the wall clock cut every one of them off.

use super::{Session, SessionError, Status};
use crate::conversation::{OUTPUT_TOKENS_MAX, answered, failed, spent};
use crate::engine::{Answer, End, Engine, EngineError, EngineKind, Heard, Question, Spent, Turn};
use crate::prompt;
use crate::watch::Watch;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use tripwire_core::effect::Deadlock;
use tripwire_core::label::Label;
use tripwire_core::record::chain::Digest;
use tripwire_core::run::engine_label;
use tripwire_core::run::record::{EngineFailure, FailureKind, ReviewAnswer, Reviewed, RunRecord, Spoken};
use tripwire_core::units::{MicroUsd, Tokens};
use tripwire_core::usage::Usage;
use tripwire_observe::chant::chanted;

/// The longest that one answer may take where no wall clock is set.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(600);

/// The longest that a worker's turn may take where no wall clock is set: as long as an iteration.
const WORK_TIME_MAX: Duration = Duration::from_secs(8 * 3_600);

impl Session<'_> {
    /// Asks an engine of the chain with the conversation as it stands.
    pub(super) fn ask(&mut self, engine: usize) -> Result<(), SessionError> {
        // The permit is for this one question.
        let until = self.permit.take().and_then(|permit| self.deadline(permit.deadline()));
        let step = self.run.step().get();
        let begun = Instant::now();
        let name = self.engines.label(engine);
        let status = self.status(&format!("asks {name}"));
        let money = self.money_left();
        let Self { engines, conversation, hands, watch, doors, .. } = self;
        let question = conversation.question(prompt::SYSTEM, hands.specs());
        let record = match engines.chain.get_mut(engine) {
            None => RunRecord::Failed(missing(name)),
            Some(asked) => {
                asked.allow(money);
                let longest = longest(asked.as_ref());
                let heard = ask(asked.as_mut(), &question, until, (status, watch, doors));
                let used = asked.spent();
                engines.record(&question, &heard);
                match heard {
                    Ok(answer) => RunRecord::Answered(answered(name, hands.claim_of_worker(answer), step)),
                    Err(error) => RunRecord::Failed(in_vain(name, &late_or(error, until, longest), used)),
                }
            }
        };
        self.took = begun.elapsed();
        let took = self.took;
        self.learn(&record, took)
    }

    /// What is left of the money, where it is bounded.
    fn money_left(&self) -> Option<MicroUsd> {
        let figures = self.driver.view();
        let spent = figures.spent.micro_usd.get();
        figures.budget_micro_usd.map(|budget| MicroUsd::new(budget.get().saturating_sub(spent)))
    }

    /// Asks the advisor what to do about a deadlock (RUN-5).
    pub(super) fn advise(&mut self, deadlock: Deadlock) -> Result<(), SessionError> {
        let text = prompt::advisor(deadlock, &self.tail.text());
        let begun = Instant::now();
        let record = match self.ask_aside(Aside::Advisor, text) {
            Ok(spoken) => RunRecord::Advised(spoken),
            Err(failure) => RunRecord::NoAdvice(*failure),
        };
        self.learn(&record, begun.elapsed())
    }

    /// Has the staged change reviewed by its digest (REVIEW-1).
    pub(super) fn review(&mut self) -> Result<(), SessionError> {
        let begun = Instant::now();
        let record = match self.hands.proposal(&self.root) {
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
        self.learn(&record, begun.elapsed())
    }

    fn ask_reviewer(&mut self, digest: Digest, change: &str) -> RunRecord {
        let text = prompt::reviewer(&self.run.setup().objective, &digest.to_string(), change);
        match self.ask_aside(Aside::Reviewer, text) {
            Ok(spoken) => {
                let answer = crate::hands::read_verdict(&spoken.text);
                RunRecord::Reviewed(Reviewed { proposal: Some(digest), answer, spoken: Some(spoken) })
            }
            Err(failure) => RunRecord::NoReview(*failure),
        }
    }

    /// Applies what was approved; the permit is for exactly this change.
    pub(super) fn apply(&mut self, proposal: Digest) -> Result<(), SessionError> {
        let permit = self.permit.take();
        let returned = self.hands.apply(permit, super::facts::apply_action().exact(), &proposal);
        self.learn(&RunRecord::Applied(returned), Duration::ZERO)
    }

    fn ask_aside(&mut self, aside: Aside, text: String) -> Result<Spoken, Box<EngineFailure>> {
        let status = self.status(aside.doing());
        let until = self.wall_clock();
        let Self { engines, watch, doors, .. } = self;
        let asked = match aside {
            Aside::Advisor => engines.advisor.as_mut(),
            Aside::Reviewer => engines.reviewer.as_mut(),
        };
        let Some(asked) = asked else { return Err(Box::new(missing(Label::cut(aside.doing())))) };
        let name = engine_label(asked.name());
        let turns = [Turn::User(text)];
        let question = Question { system: "", tools: &[], turns: &turns, output_tokens_max: OUTPUT_TOKENS_MAX };
        let heard = ask(asked.as_mut(), &question, until, (status, watch, doors));
        let lost = asked.spent();
        engines.record_aside(aside, &question, &heard);
        match heard {
            Ok(answer) => Ok(Spoken {
                engine: name,
                model: Label::cut(&answer.model),
                text: answer.text.into(),
                usage: answer.usage,
            }),
            Err(error) => Err(Box::new(in_vain(name, &error, lost))),
        }
    }
}

/// Who is asked beside the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aside {
    /// The advisor.
    Advisor,
    /// The reviewer.
    Reviewer,
}

impl Aside {
    const fn doing(self) -> &'static str {
        match self {
            Self::Advisor => "asks the advisor",
            Self::Reviewer => "asks the reviewer",
        }
    }
}

/// Asks, and cuts the answer off when a person says stop.
fn ask(
    engine: &mut dyn Engine,
    question: &Question<'_>,
    until: Option<Instant>,
    (mut status, watch, doors): (Status, &Watch, &mut super::Doors<'_>),
) -> Result<Answer, EngineError> {
    let longest = Instant::now() + longest(engine);
    let deadline = until.map_or(longest, |until| until.min(longest));
    let mut speech = Speech::default();
    let heard = engine.ask(question, deadline, &mut |heard| {
        status.left = until.map(|until| until.saturating_duration_since(Instant::now()));
        doors.audience.beat(&status);
        let stopped = (doors.interrupted)() || watch.stop_stands();
        if speech.chants(heard) || stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if speech.is_chant && matches!(heard, Err(EngineError::Cut { .. })) {
        let spent = engine.spent();
        return Ok(speech.answer((engine.name(), spent), question));
    }
    heard
}

/// A question without an answer, with what it used all the same.
fn in_vain(name: Label, error: &EngineError, used: Option<Spent>) -> EngineFailure {
    let used = used.map(|used| spent(name.clone(), &used));
    EngineFailure { spent: used, ..failed(name, error) }
}

/// What was heard of an answer so far: one that chants is not waited for, because it would never end.
#[derive(Default)]
struct Speech {
    text: String,
    looked_at: usize,
    is_chant: bool,
}

impl Speech {
    fn chants(&mut self, heard: Heard<'_>) -> bool {
        if let Heard::Text(piece) = heard {
            self.text.push_str(piece);
        }
        if self.text.len() >= self.looked_at + LOOK_BYTES {
            self.looked_at = self.text.len();
            self.is_chant = chanted(&self.text).is_some();
        }
        self.is_chant
    }

    /// The answer as far as it came, cut off like one that reached its limit. It used what its engine says; where that
    /// says nothing, a token has about four letters.
    fn answer(self, (engine, spent): (&str, Option<Spent>), question: &Question<'_>) -> Answer {
        let tokens = |bytes: usize| Tokens::new(u64::try_from(bytes / 4).unwrap_or(u64::MAX));
        let asked = question.turns.iter().map(|turn| match turn {
            Turn::User(text) | Turn::Model { text, .. } => text.len(),
            Turn::Results(answers) => answers.iter().map(|answer| answer.text.len()).sum(),
        });
        let guess = Usage {
            fresh_input: tokens(question.system.len() + asked.sum::<usize>()),
            output: tokens(self.text.len()),
            ..Usage::default()
        };
        let (model, usage) = spent.map_or_else(|| (engine.to_owned(), guess), |spent| (spent.model, spent.usage));
        Answer { text: self.text, calls: Vec::new(), usage, model, end: End::OutputLimit, work: None }
    }
}

/// How much must be new before an answer is looked at again.
const LOOK_BYTES: usize = 1_024;

/// The longest that one question may take where no wall clock is set.
fn longest(engine: &dyn Engine) -> Duration {
    match engine.kind() {
        EngineKind::Model => ANSWER_TIME_MAX,
        EngineKind::Worker => WORK_TIME_MAX,
    }
}

/// An engine that was only slow, and not cut off by the session's wall clock, may be asked again or left.
fn late_or(error: EngineError, until: Option<Instant>, longest: Duration) -> EngineError {
    if let EngineError::Deadline { engine } = &error
        && until.is_none_or(|until| Instant::now() < until)
    {
        let why = format!("no answer within {} s", longest.as_secs());
        return EngineError::Unreachable { engine: engine.clone(), why };
    }
    error
}

fn missing(engine: Label) -> EngineFailure {
    EngineFailure {
        engine,
        kind: FailureKind::Refused,
        retry_after_ms: None,
        said: "there is no such engine".into(),
        spent: None,
    }
}
