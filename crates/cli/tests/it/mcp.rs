//! `tripwire mcp` through the binary, with servers that are small shell scripts.

mod address;
mod answers;
mod decisions;
pub(crate) mod fixture;
mod http_entrance;
mod http_fixture;
mod http_messages;
mod http_streams;
mod limits;
mod offer;
mod pins;
mod processes;
mod results;
mod spellings;
mod supervised;
