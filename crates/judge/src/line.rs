//! What is known of a command line while it is read: words, streams, calls, and what the line has done so far.

pub(crate) mod address;
pub(crate) mod call;
pub(crate) mod command;
pub(crate) mod field;
pub(crate) mod mounts;
pub(crate) mod state;
pub(crate) mod stream;
