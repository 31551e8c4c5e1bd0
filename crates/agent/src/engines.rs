//! Engines: what answers when our own loop asks a model.
//!
//! The words here belong to no provider. Each engine translates them into its own wire format and back; nothing of a
//! wire format is seen outside `engines/`. Calls, token figures, ends and answers are those of the loop's records.

pub mod cassette;
pub mod chains;
pub mod open;
pub mod scripted;
pub mod sensitive;
pub mod unavailable;
pub mod worker;

mod anthropic;
mod draft;
mod echo;
mod engine;
mod error;
mod gemini;
mod http;
mod http_call;
mod limits;
mod opaque;
mod openai_chat;
mod openai_responses;
pub(crate) mod question_size;
mod refusal;
mod retry;

pub(crate) use engine::model_of;
pub use engine::{
    Allowance, CallCost, Engine, EngineKind, HEARTBEAT, Heard, Listener, MeasuredTurns, Question, ToolAnswer, ToolSpec,
    Turn,
};
pub use error::{EngineError, WorkerStartError};
pub use open::open;
