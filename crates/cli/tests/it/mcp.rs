//! `tripwire mcp` through the binary, with servers that are small shell scripts.

mod decisions;
pub(crate) mod fixture;
mod processes;
mod spellings;
