//! What is said during a run whose standard error is one JSON object: it is kept, and stands in the report.

use std::sync::{Mutex, PoisonError};
use tripwire_session::driver::{Driver, StepOutcome};
use tripwire_supervisor::Notifier;

/// Keeps what is said during a run whose standard error is the report alone.
#[derive(Debug, Default)]
pub(super) struct KeptNotes(Mutex<Vec<String>>);

impl KeptNotes {
    /// The newest lines that are kept.
    const LINES_MAX: usize = 200;

    /// What was said, once.
    pub(super) fn taken(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Notifier for KeptNotes {
    fn say(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(line.to_owned());
        let surplus = lines.len().saturating_sub(Self::LINES_MAX);
        lines.drain(..surplus);
    }

    fn taken(&self, driver: &Driver, taken: &StepOutcome) {
        crate::notify::notify_with(driver, taken, |line| self.say(line));
    }
}
