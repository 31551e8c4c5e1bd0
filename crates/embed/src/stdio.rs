//! The session behind standard input and output: JSON-RPC 2.0, one message a line (docs/reference/stdio.md).
//!
//! Every request is answered in its order, and what was asked is journaled before the answer is written. A line that cannot be
//! read is answered with an error and costs nothing else; whatever ends the pipe, calls that are open have no result.

mod message;
mod methods;
mod schema;
mod serve;

pub use message::{ErrorCode, PROTOCOL_VERSION};
pub use schema::schema;
pub use serve::{Ending, Served, serve};
