//! Everything that needs the real clients, which talk to a scripted model on loopback. `cargo test` lists these tests as
//! ignored; `just test-clients` runs them. A client that is not installed is skipped, loudly.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a broken premise must end the test, and a skipped test must say so"
)]

mod agent;
mod doctor;
mod hooks;
mod init;
mod mcp_peers;
mod run;
mod support;
