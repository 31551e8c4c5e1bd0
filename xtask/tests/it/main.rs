//! The chores as a person and as `cargo test` run them.
#![expect(clippy::unwrap_used, reason = "helpers of a test fail the test, which is what a panic is for")]

mod command;
mod docs;
mod redaction;
mod repository;
