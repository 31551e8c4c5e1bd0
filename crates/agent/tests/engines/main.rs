//! Our engines against a server that speaks the real wire formats, well and badly.

#[path = "../support/mod.rs"]
mod support;

mod answers;
mod ask;
mod cassettes;
mod failures;
mod hanging;
