//! tripwire's own agent loop: engines, tools, prompts.

pub mod engine;
