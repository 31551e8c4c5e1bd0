//! Our engines against a server that speaks the real wire formats, well and badly.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may fail the test that uses it")]

#[path = "../support/mod.rs"]
mod support;

mod answers;
mod ask;
mod cassettes;
mod failures;
mod hanging;
mod spent;
