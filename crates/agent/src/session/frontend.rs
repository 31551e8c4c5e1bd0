//! What a session shows to the person or program in front of it, and what it hears from there.

use std::time::Duration;
use tripwire_core::chain::ChainView;
use tripwire_core::run::line::Line;
use tripwire_core::units::Count;
use tripwire_session::driver::{Driver, StepOutcome};

/// The person or program in front of a session.
pub trait Frontend {
    /// A line was written to the transcript.
    fn line(&mut self, line: &Line, status: &Status);
    /// Something is running; called about ten times a second.
    fn beat(&mut self, status: &Status);
    /// Something was decided: a person who is elsewhere may have to be told.
    fn taken(&mut self, driver: &Driver, taken: &StepOutcome);
    /// A person should know this.
    fn notice(&mut self, text: &str);
    /// Whether the person pressed Ctrl-C.
    fn is_interrupted(&self) -> bool;
}

/// The session at a glance, while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// What is being done.
    pub doing: String,
    /// The running iteration.
    pub iteration: Count,
    /// The running step.
    pub step: Count,
    /// The engine's figures.
    pub figures: ChainView,
    /// What is left of the wall clock, where there is one.
    pub left: Option<Duration>,
}
