//! The scripted engine: a cassette as a model. No key, no network, the same answers every time.

use super::cassette::{self, Cassette, CassetteEntry, CassetteError, Play, digest, latest_words};
use super::refusal::excerpt;
use crate::engines::engine::{CallCost, Engine, HEARTBEAT, Heard, Listener, Question};
use crate::engines::error::EngineError;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use tripwire_core::run::engine_label;
use tripwire_core::run::fallback::Seat;
use tripwire_core::run::record::Answer;
use tripwire_core::units::Tokens;

/// The name under which the built-in cassette is opened.
pub const EMBEDDED: &str = "scripted";

/// What plays when no model was chosen.
const EMBEDDED_CASSETTE: &str = include_str!("embedded.cassette.jsonl");

/// A cassette and how far it has been played.
#[derive(Debug)]
pub struct Scripted {
    name: String,
    cassette: Cassette,
    entry: usize,
    times: u32,
    answers: u64,
}

impl Scripted {
    /// An engine that plays this cassette from its beginning.
    #[must_use]
    pub fn new(name: &str, cassette: Cassette) -> Self {
        Self { name: name.to_owned(), cassette, entry: 0, times: 0, answers: 0 }
    }

    /// The engine that plays a file.
    ///
    /// # Errors
    /// When the file is no good cassette.
    pub fn load(name: &str, path: &Path) -> Result<Self, CassetteError> {
        cassette::load(path).map(|cassette| Self::new(name, cassette))
    }

    /// The engine that plays the built-in cassette.
    ///
    /// # Errors
    /// Never in a good build; a test plays it.
    pub fn embedded() -> Result<Self, CassetteError> {
        cassette::parse(EMBEDDED_CASSETTE).map(|cassette| Self::new(EMBEDDED, cassette))
    }

    /// The entry that is due, if it fits the question.
    fn due(&self, question: &Question<'_>) -> Result<&CassetteEntry, EngineError> {
        let stop = |why: String| Err(EngineError::CassetteEnded { engine: self.name.clone(), why });
        let Some(entry) = self.cassette.entries.get(self.entry) else {
            return stop(format!("all {} answers are played", self.cassette.entries.len()));
        };
        if let Some(expected) = &entry.question {
            let found = digest(question);
            if *expected != found {
                let short = |digest: &str| digest.chars().take(23).collect::<String>();
                let (expected, found) = (short(expected), short(&found));
                return stop(format!("{} was recorded for question {expected}…, this is {found}…", entry.place));
            }
        }
        let words = latest_words(question);
        match entry.expect.iter().find(|expected| !words.contains(expected.as_str())) {
            Some(missing) => stop(format!("{} expects `{missing}`, heard `{}`", entry.place, excerpt(&words))),
            None => Ok(entry),
        }
    }

    fn advance(&mut self) {
        self.answers += 1;
        self.times += 1;
        if self.cassette.entries.get(self.entry).is_some_and(|entry| self.times >= entry.times) {
            self.entry += 1;
            self.times = 0;
        }
    }

    fn wait(&self, delay: Duration, deadline: Instant, listener: &mut Listener<'_>) -> Result<(), EngineError> {
        let until = Instant::now() + delay;
        loop {
            let now = Instant::now();
            if now >= deadline {
                return Err(EngineError::Deadline { engine: self.name.clone() });
            }
            if now >= until {
                return Ok(());
            }
            if listener(Heard::Silence).is_break() {
                return Err(EngineError::Cut { engine: self.name.clone() });
            }
            thread::sleep((until.min(deadline) - now).min(HEARTBEAT / 2));
        }
    }
}

impl Engine for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn window(&self) -> Option<Tokens> {
        None
    }

    fn place(&self) -> Seat {
        Seat::Local
    }

    fn call_cost(&self) -> CallCost {
        CallCost::Free
    }

    fn skip(&mut self, answers: u64) {
        for _ in 0..answers {
            if self.entry >= self.cassette.entries.len() {
                break;
            }
            self.advance();
        }
    }

    fn ask(
        &mut self,
        question: &Question<'_>,
        deadline: Instant,
        listener: &mut Listener<'_>,
    ) -> Result<Answer, EngineError> {
        let entry = self.due(question)?;
        let (delay, play) = (entry.delay, entry.play.clone());
        self.wait(delay, deadline, listener)?;
        self.advance();
        match play {
            Play::Error(error) => Err(error.by(&self.name)),
            Play::Answer(mut answer) => {
                answer.engine = engine_label(&self.name);
                for (index, call) in answer.calls.iter_mut().enumerate() {
                    if call.id.is_empty() {
                        call.id = format!("call_{}_{}", self.answers, index + 1).into();
                    }
                }
                if !answer.text.is_empty() && listener(Heard::Text(&answer.text)).is_break() {
                    return Err(EngineError::Cut { engine: self.name.clone() });
                }
                Ok(answer)
            }
        }
    }
}
