//! The engines of a session: those of the chain, the advisor and the reviewer, and where their answers are recorded.

use super::saved_engines::SavedEngines;
use crate::engines::cassette::Recorder;
use crate::engines::unavailable::UnavailableEngine;
use crate::engines::{CallCost, Engine, EngineError, EngineKind, Question, Turn, model_of};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use tripwire_core::label::Label;
use tripwire_core::run::engine_label;
use tripwire_core::run::record::{Answer, Spent};
use tripwire_core::units::Tokens;
use tripwire_secrets::Redactor;

/// How long an engine may take to say a word before a session is begun: a model on this machine may have to be loaded
/// first.
const PROBE_TIME: Duration = Duration::from_secs(180);

/// The names of cassettes begin so.
const CASSETTE: &str = "scripted";
/// The shortest answer that every provider accepts as a limit.
const PROBE_TOKENS: Tokens = Tokens::new(16);

/// Who is asked beside the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AuxEngine {
    /// The advisor at this place of the list.
    Advisor(usize),
    Reviewer,
}

impl AuxEngine {
    /// On whose account it is asked.
    pub(super) const fn agent(self) -> LoopAgent {
        match self {
            Self::Advisor(_) => LoopAgent::Advisor,
            Self::Reviewer => LoopAgent::Reviewer,
        }
    }

    pub(super) const fn doing(self) -> &'static str {
        match self {
            Self::Advisor(_) => "asks the advisor",
            Self::Reviewer => "asks the reviewer",
        }
    }
}

/// An agent of the loop's own tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopAgent {
    /// The model that the loop works with.
    Model,
    /// An advisor.
    Advisor,
    /// The reviewer.
    Reviewer,
}

impl LoopAgent {
    /// Its name below its session's.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Advisor => "advisor",
            Self::Reviewer => "reviewer",
        }
    }
}

/// The engines of a session.
pub struct EngineSet {
    /// Those that are asked, in the order in which they are taken.
    pub chain: Vec<Box<dyn Engine>>,
    /// The advisors, in the order in which they are asked.
    pub advisors: Vec<Box<dyn Engine>>,
    /// The reviewer.
    pub reviewer: Option<Box<dyn Engine>>,
    /// Where the answers are recorded.
    pub recorders: Recorders,
    /// What [`EngineSet::probe`] used.
    pub probed: Option<Spent>,
}

/// Where the answers are recorded, one cassette for each part.
#[derive(Debug, Default)]
pub struct Recorders {
    /// The model's answers.
    pub model: Option<Recorder>,
    /// The advisor's.
    pub advisor: Option<Recorder>,
    /// The reviewer's.
    pub reviewer: Option<Recorder>,
}

impl EngineSet {
    pub(super) fn label(&self, engine: usize) -> Label {
        self.chain.get(engine).map_or_else(Label::default, |engine| engine_label(engine.name()))
    }

    /// The window of the engine with this label.
    pub(super) fn window_of(&self, label: &Label) -> Option<Tokens> {
        self.named(label).and_then(Engine::window)
    }

    /// What the tokens of the engine with this label cost; one that is gone is taken for a remote one.
    pub(super) fn call_cost_of(&self, label: &Label) -> CallCost {
        self.named(label).map_or(CallCost::Full, Engine::call_cost)
    }

    /// The model that the engine with this label asks.
    pub(super) fn asked_model_of(&self, label: &Label) -> Option<String> {
        self.named(label).map(|engine| model_of(engine.name()).to_owned())
    }

    /// Those that are workers.
    pub(super) fn workers(&self) -> Vec<Label> {
        let workers = self.chain.iter().filter(|engine| engine.kind() == EngineKind::Worker);
        workers.map(|engine| engine_label(engine.name())).collect()
    }

    /// The engine with this label.
    pub(super) fn named(&self, label: &Label) -> Option<&dyn Engine> {
        self.all().find(|engine| engine_label(engine.name()) == *label)
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &dyn Engine> {
        self.chain.iter().chain(&self.advisors).chain(&self.reviewer).map(Box::as_ref)
    }

    /// The names for the record.
    pub(super) fn names(&self) -> SavedEngines {
        let name = |engine: &dyn Engine| engine.name().to_owned();
        SavedEngines {
            engines: self.chain.iter().map(|engine| name(engine.as_ref())).collect(),
            advisors: self.advisors.iter().map(|engine| name(engine.as_ref())).collect(),
            reviewer: self.reviewer.as_deref().map(name),
        }
    }

    /// Has the first engine that can say a word, so that a wrong key, an unknown model or a dead host is reported before anything
    /// is begun. A cassette needs no such question, and a worker's program was looked for when it was opened. It takes no
    /// longer than the session itself may.
    ///
    /// # Errors
    /// When it does not answer at all.
    pub fn probe(
        &mut self,
        interrupted: &(dyn Fn() -> bool + Sync),
        runtime_max: Option<Duration>,
    ) -> Result<(), EngineError> {
        // A chain with more engines begins with the first that answers; those before it say why when the loop asks them.
        let mut failed = None;
        for at in 0..self.chain.len() {
            match self.probe_one(at, interrupted, runtime_max) {
                Ok(()) => return Ok(()),
                Err(error @ EngineError::Cut { .. }) => return Err(error),
                Err(error) => {
                    if let Some(engine) = self.chain.get_mut(at) {
                        *engine = Box::new(UnavailableEngine::new(engine.name(), error.clone()));
                    }
                    failed.get_or_insert(error);
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    fn probe_one(
        &mut self,
        at: usize,
        interrupted: &(dyn Fn() -> bool + Sync),
        runtime_max: Option<Duration>,
    ) -> Result<(), EngineError> {
        let asked =
            |engine: &&mut Box<dyn Engine>| engine.kind() == EngineKind::Model && !engine.name().starts_with(CASSETTE);
        let Some(first) = self.chain.get_mut(at).filter(asked) else { return Ok(()) };
        let turns = [Turn::User("Answer with the one word: ready".to_owned())];
        let question =
            Question { system: "", tools: &[], turns: &turns, output_tokens_max: PROBE_TOKENS, measured: None };
        let time = runtime_max.map_or(PROBE_TIME, |runtime| runtime.min(PROBE_TIME));
        let asked = first.ask(&question, Instant::now() + time, &mut |_| match interrupted() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        self.probed = match &asked {
            Ok(answer) => {
                let (engine, model) = (answer.engine.clone(), answer.model.clone());
                Some(Spent { engine, estimated: false, model, usage: answer.usage })
            }
            Err(_) => first.spent(),
        };
        match asked {
            Ok(_) => Ok(()),
            // Only a wall clock that ended it can be made longer.
            Err(EngineError::Deadline { engine }) if time == PROBE_TIME => {
                Err(EngineError::Unreachable { engine, why: format!("no answer within {} s", PROBE_TIME.as_secs()) })
            }
            // A provider that is busy now is what the fallback chain is for.
            Err(EngineError::Overloaded { .. } | EngineError::RateLimited { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Sets cassettes to where they were left.
    pub(super) fn skip(&mut self, had: &BTreeMap<Label, u64>) {
        for engine in &mut self.chain {
            let answers = had.get(&engine_label(engine.name())).copied().unwrap_or(0);
            engine.skip(answers);
        }
    }

    /// The engine beside the loop, where one was named.
    pub(super) fn aux(&mut self, aux: AuxEngine) -> Option<&mut dyn Engine> {
        let engine = match aux {
            AuxEngine::Advisor(at) => self.advisors.get_mut(at),
            AuxEngine::Reviewer => self.reviewer.as_mut(),
        };
        match engine {
            Some(engine) => Some(engine.as_mut()),
            None => None,
        }
    }

    /// Records what the model said.
    pub(super) fn record(&mut self, question: &Question<'_>, heard: &Result<Answer, EngineError>, redactor: &Redactor) {
        note(self.recorders.model.as_mut(), question, heard, redactor);
    }

    /// Records what an engine beside the loop said.
    pub(super) fn record_aux(
        &mut self,
        aux: AuxEngine,
        question: &Question<'_>,
        heard: &Result<Answer, EngineError>,
        redactor: &Redactor,
    ) {
        let recorder = match aux {
            AuxEngine::Advisor(_) => self.recorders.advisor.as_mut(),
            AuxEngine::Reviewer => self.recorders.reviewer.as_mut(),
        };
        note(recorder, question, heard, redactor);
    }
}

/// A recording that cannot be written does not end the session: the journal holds every answer.
fn note(
    recorder: Option<&mut Recorder>,
    question: &Question<'_>,
    heard: &Result<Answer, EngineError>,
    redactor: &Redactor,
) {
    if let Some(recorder) = recorder {
        drop(recorder.record(question, heard, redactor));
    }
}
