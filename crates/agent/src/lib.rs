//! tripwire's own agent loop: engines, tools, prompts.

pub mod engines;
pub mod prompt;
pub mod session;
pub mod tools;
