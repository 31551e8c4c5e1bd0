//! Hooks: one short process per event of someone else's agent. Foreign JSON in, that client's own dialect out.
//!
//! Deciding happens elsewhere. A hook turns the client's words into inputs ([`HookCall`], `inputs`), the engine decides
//! ([`handler`]), the decisions become one plain [`Answer`], and the client's dialect puts it into its own words. On any
//! error inside, the answer is the form that refuses.

pub mod alive;
pub mod answer;
mod calls;
pub(crate) mod dialect;
mod disk;
pub(crate) mod event;
mod figures;
pub mod handler;
pub(crate) mod held_call;
mod hook_call;
mod inputs;
mod kept;
pub mod mcp_event;
mod memory;
mod reach;
pub(crate) mod reply;
pub(crate) mod short_result;
mod shortened;
pub(crate) mod time_limit;
mod undo;
pub mod window;
pub(crate) mod wire;

pub use answer::{Answer, Turn};
pub use dialect::{AfterTool, CallIds, ContextEvents, HookDialect, Shortening, StepSource, TurnEnd};
pub use event::{Agent, Event, Outcome, PersonAsk, Repeat, Source, ToolCall};
pub use figures::FigureUse;
pub use held_call::open_question;
pub use hook_call::{HookCall, asks_to_go_on, broken, read, say, waits_out_pause};
pub use inputs::model_request;
pub use kept::KeptNotes;
pub use reply::{HookError, Reply};
pub use short_result::ShortResult;
pub use time_limit::{SECONDS_RECOMMENDED, SECONDS_VARIABLE, TimeLimit};
pub use wire::HookInput;
