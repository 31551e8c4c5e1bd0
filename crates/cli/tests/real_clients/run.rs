//! `tripwire run` over the real clients, which talk to a scripted model on loopback: as whoever runs the tests and, where
//! that is root, as an ordinary user. A client that is not installed is skipped, loudly.
#![expect(clippy::expect_used, reason = "a broken premise must end the test")]
#![expect(clippy::print_stderr, reason = "a test that cannot run must say so")]

#[path = "../support/programs.rs"]
mod programs;

#[path = "../support/mod.rs"]
mod support;
#[path = "../support/waiting.rs"]
mod waiting;

mod bed;
mod cases;
mod claude;
mod codex;
mod gemini;
