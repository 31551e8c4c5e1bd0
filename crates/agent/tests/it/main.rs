//! The engines against a server that speaks the real wire formats, and the tools through the doors that the loop uses.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a broken premise must end the test")]

mod engines;
mod support;
mod tools;
