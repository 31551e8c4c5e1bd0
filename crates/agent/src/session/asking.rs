//! Asking one engine: a person and the wall clock cut every answer off, and one that repeats itself without end as well.

use super::frontend::{Frontend, Status};
use super::watch::Watch;
use crate::engines::{Engine, EngineError, EngineKind, Heard, Question, Turn};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use tripwire_core::input::Verdict;
use tripwire_core::label::Label;
use tripwire_core::ledger::CallEnd;
use tripwire_core::run::engine_label;
use tripwire_core::run::record::{Answer, AnswerEnd, EngineFailure, FailureKind, ReviewAnswer, Spent};
use tripwire_core::text::{CallId, Reason};
use tripwire_core::units::Tokens;
use tripwire_core::usage::{FigureSource, Usage};
use tripwire_observe::chant::chanted;
use tripwire_session::review::answer;

/// The longest that one answer may take where no wall clock is set.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(600);

/// The longest that a worker's turn may take where no wall clock is set: as long as an iteration.
const WORK_TIME_MAX: Duration = Duration::from_secs(8 * 3_600);

/// What an answer is listened to with.
pub(super) struct Listening<'a> {
    pub(super) status: Status,
    pub(super) watch: &'a Watch,
    pub(super) frontend: &'a mut dyn Frontend,
    /// When the session's own wall clock runs out.
    pub(super) until: Option<Instant>,
}

impl Listening<'_> {
    /// Asks, and cuts the answer off when a person says stop.
    pub(super) fn ask(self, engine: &mut dyn Engine, question: &Question<'_>) -> HeardAnswer {
        let Self { mut status, watch, frontend, until } = self;
        let longest = Instant::now() + longest(engine);
        let deadline = until.map_or(longest, |until| until.min(longest));
        let mut speech = Speech::default();
        let heard = engine.ask(question, deadline, &mut |heard| {
            status.left = until.map(|until| until.saturating_duration_since(Instant::now()));
            frontend.beat(&status);
            let stopped = frontend.is_interrupted() || watch.is_stop_ordered();
            if speech.chants(heard) || stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if speech.is_chant && matches!(heard, Err(EngineError::Cut { .. })) {
            let spent = engine.spent();
            let is_told = spent.as_ref().is_some_and(|spent| !spent.estimated);
            let source = if is_told { FigureSource::Told } else { FigureSource::Estimated };
            let answer = Ok(speech.answer(engine.name(), spent, question));
            return HeardAnswer { answer, spent: None, end: CallEnd::Chanted, source };
        }
        let (spent, end) = match &heard {
            Ok(_) => (None, CallEnd::Complete),
            Err(EngineError::Cut { .. }) => (engine.spent(), CallEnd::Stopped),
            Err(_) => (engine.spent(), CallEnd::Broken),
        };
        HeardAnswer { answer: heard, spent, end, source: engine.figures() }
    }
}

/// What came of a question.
pub(super) struct HeardAnswer {
    pub(super) answer: Result<Answer, EngineError>,
    /// What it used, if it gave no answer.
    pub(super) spent: Option<Spent>,
    pub(super) end: CallEnd,
    /// Whether the figures of the answer are the provider's.
    pub(super) source: FigureSource,
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
    /// says nothing, it is estimated from sizes.
    fn answer(self, engine: &str, spent: Option<Spent>, question: &Question<'_>) -> Answer {
        let asked = question.turns.iter().map(|turn| match turn {
            Turn::User(text) | Turn::Model { text, .. } => text.len(),
            Turn::Results(answers) => answers.iter().map(|answer| answer.text.len()).sum(),
        });
        let guess = Usage {
            fresh_input: Tokens::estimate(question.system.len() + asked.sum::<usize>()),
            output: Tokens::estimate(self.text.len()),
            ..Usage::default()
        };
        let (model, usage) = spent.map_or_else(|| (Label::cut(engine), guess), |spent| (spent.model, spent.usage));
        Answer {
            calls: Vec::new(),
            end: AnswerEnd::OutputLimit,
            engine: engine_label(engine),
            model,
            text: self.text.into(),
            usage,
            work: None,
        }
    }
}

/// How much must be new before an answer is looked at again.
const LOOK_BYTES: usize = 1_024;

/// The longest that one question may take where no wall clock is set.
pub(super) fn longest(engine: &dyn Engine) -> Duration {
    match engine.kind() {
        EngineKind::Model => ANSWER_TIME_MAX,
        EngineKind::Worker => WORK_TIME_MAX,
    }
}

/// An engine that was only slow, and not cut off by the session's wall clock, may be asked again or left.
pub(super) fn late_or(error: EngineError, until: Option<Instant>, longest: Duration) -> EngineError {
    if let EngineError::Deadline { engine } = &error
        && until.is_none_or(|until| Instant::now() < until)
    {
        let why = format!("no answer within {} s", longest.as_secs());
        return EngineError::Unreachable { engine: engine.clone(), why };
    }
    error
}

pub(super) fn missing(engine: Label) -> EngineFailure {
    EngineFailure {
        engine,
        kind: FailureKind::Refused,
        retry_after_ms: None,
        said: Reason::fixed("there is no such engine"),
        spent: None,
    }
}

/// Reads a reviewer's answer: exactly one explicit word decides, and everything else decides nothing.
pub(super) fn read_verdict(text: &str) -> ReviewAnswer {
    match answer::read(text) {
        Ok(Verdict::Approved) => ReviewAnswer::Approved,
        Ok(Verdict::Rejected) => ReviewAnswer::Rejected,
        Err(_) => ReviewAnswer::Unclear,
    }
}

/// An answer whose calls all have an id of their own: those that are missing or doubled are made.
pub(super) fn with_own_ids(mut answer: Answer, step: u32) -> Answer {
    let mut seen: BTreeSet<CallId> = BTreeSet::new();
    for (at, call) in answer.calls.iter_mut().enumerate() {
        if call.id.is_empty() || !seen.insert(call.id.clone()) {
            call.id = format!("call-{step}-{at}").into();
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_core::run::record::Call;

    #[test]
    fn every_call_has_an_id_of_its_own() {
        let call = |id: &str| Call { id: id.into(), tool: "list".into(), arguments: "{}".into() };
        let answer = Answer {
            calls: ["a", "", "a"].map(call).to_vec(),
            end: AnswerEnd::Finished,
            engine: Label::cut("e"),
            model: Label::cut("m"),
            text: "".into(),
            usage: Usage::default(),
            work: None,
        };
        let answer = with_own_ids(answer, 7);
        let ids: Vec<&str> = answer.calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["a", "call-7-1", "call-7-2"]);
    }
}
