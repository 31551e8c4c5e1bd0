//! The shell of our own loop: it does what the machine in `core` asks for, journals what comes of it, and decides nothing.
//!
//! The order is always the same: what was learnt is journaled, then the machine takes it in, then its effects are carried
//! out. A process that dies at any moment leaves a journal from which the next one goes on.

mod agent_loop;
mod answer_budget;
mod aside;
mod asking;
mod begin;
mod change;
mod conversation;
mod engine_set;
mod error;
mod facts;
mod frontend;
mod lost_question;
mod model_question;
mod money;
mod outside;
mod paid_engine;
mod real_call;
mod saved_engines;
mod snapshots;
mod tool_runner;
mod waiting;
mod watch;
mod written;

pub use agent_loop::{Session, SessionEnd};
pub use begin::{Plan, begin, check_start, resume};
pub use engine_set::{EngineSet, Recorders};
pub use error::SessionError;
pub use frontend::{Frontend, Status};
pub use paid_engine::paid_from;
pub use saved_engines::{SavedEngines, SavedEnginesError};
pub use tool_runner::ToolRunnerError;
