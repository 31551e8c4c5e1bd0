//! `tripwire hook` under the real clients, which talk to a scripted model on loopback. A client that is not installed is
//! skipped, loudly.
#![expect(clippy::expect_used, reason = "a broken premise must end the test")]

#[path = "../support/mod.rs"]
mod support;

mod cases;
mod claude;
mod codex;
mod gemini;
