//! An engine of a chain that cannot be used here: it says why when it is asked, and the fallback chain goes on.

use super::engine::{CallCost, Engine, Listener, Question};
use super::error::{EngineError, WorkerStartError};
use std::time::Instant;
use tripwire_core::run::record::Answer;
use tripwire_core::units::Tokens;

/// Keeps the place of an engine that has no key, no program or no host.
#[derive(Debug)]
pub struct UnavailableEngine {
    name: String,
    error: EngineError,
}

impl UnavailableEngine {
    /// In the place of this engine, for this reason.
    #[must_use]
    pub fn new(name: &str, error: EngineError) -> Self {
        Self { name: name.to_owned(), error }
    }
}

impl Engine for UnavailableEngine {
    fn name(&self) -> &str {
        &self.name
    }

    fn window(&self) -> Option<Tokens> {
        None
    }

    fn call_cost(&self) -> CallCost {
        CallCost::Free
    }

    fn ask(
        &mut self,
        _question: &Question<'_>,
        _deadline: Instant,
        _listener: &mut Listener<'_>,
    ) -> Result<Answer, EngineError> {
        // Asking again cannot help, whatever kept it from answering at the start.
        Err(if matches!(self.error, EngineError::NotStarted { .. }) {
            self.error.clone()
        } else {
            EngineError::NotStarted { engine: self.name.clone(), error: WorkerStartError::of(&self.error) }
        })
    }
}
