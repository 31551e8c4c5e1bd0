//! The command through its binary: every verb, the hooks, the supervisor, our own loop and the sandbox. What needs the
//! real clients is in `tests/real_clients`.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a broken premise must end the test, and a skipped test must say so"
)]

mod agent;
mod approvals;
mod authority;
mod docs;
mod doctor;
mod fleet;
mod gateway;
mod hooks;
mod init;
mod judge;
mod known_clients;
mod mcp;
mod pushes;
mod run;
#[cfg(target_os = "linux")]
mod sandbox;
mod scan_transcripts;
mod scenarios;
mod secrets;
mod seeds;
mod session;
mod undo;
mod verbs;
mod watch;
mod web;
