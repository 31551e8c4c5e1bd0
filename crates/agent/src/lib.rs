//! tripwire's own agent loop: engines, tools, prompts.

pub mod change;
pub mod conversation;
pub mod engine;
mod explained;
pub mod hands;
pub mod prompt;
pub mod schema;
pub mod session;
pub mod tool;
mod touched;
pub mod watch;
pub mod worker;
