//! `tripwire mcp` through the binary, with servers that are small shell scripts.

mod decisions;
pub(crate) mod fixture;
mod limits;
mod offer;
mod pins;
mod processes;
mod results;
mod spellings;
mod supervised;
