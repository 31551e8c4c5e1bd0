//! tripwire's own agent loop: engines, tools, prompts.

pub mod engine;
pub mod schema;
pub mod tool;
