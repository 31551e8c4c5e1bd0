//! What a session keeps beside its journal for the briefing of a fresh worker.

use super::dir::SessionDir;
use super::steps::{self, KnownSteps, StepWords};
use super::{Driver, DriverError, briefing, objective};
use tripwire_journal::storage::Storage;
use tripwire_workspace::geometry::wall_clock::WallClock;

impl<S: Storage> Driver<S> {
    /// Keeps what a person asked for, for the briefing of a fresh worker.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep_objective(&self, said: &str) -> Result<(), DriverError> {
        Ok(objective::keep(&self.layout, &self.session, &self.redactor()?.redact(said))?)
    }

    /// Keeps what a call of someone else's agent was and gave, for the briefing of a fresh worker.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep_step(&self, step: &StepWords<'_>, known: &mut KnownSteps) -> Result<(), DriverError> {
        let redactor = self.redactor()?;
        let (said, output) = (redactor.redact(step.said), redactor.redact(step.output));
        let arguments = redactor.redact_json(step.arguments);
        let clean = StepWords { said: &said, arguments: &arguments, output: &output, ..*step };
        Ok(steps::keep(SessionDir { layout: &self.layout, session: &self.session }, &clean, known)?)
    }

    /// Writes the briefing for a fresh worker now: the client is about to compact its context by itself.
    ///
    /// # Errors
    /// When the lock is not to be had or the file cannot be written.
    pub fn brief(&mut self, now: WallClock) -> Result<(), DriverError> {
        let Self { journal, layout, session, .. } = self;
        let turn = journal.turn()?;
        Ok(briefing::write(&turn, SessionDir { layout, session }, now)?)
    }
}
