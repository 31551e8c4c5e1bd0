//! `tripwire run`: what the supervisor carries out, whatever the client does. The client here is a script that calls its
//! hooks as Claude Code does and otherwise misbehaves as each test needs; the real clients are in `run_clients`.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a broken premise must end the test, and a skipped test must say so"
)]

#[path = "../support/programs.rs"]
mod programs;

mod bed;
mod broken;
mod endings;
mod engines;
mod forgery;
mod people;
mod reach;
mod refusals;
