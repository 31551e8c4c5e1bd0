//! The fleet against real storage: one suite of demands on every kind of log, a folder and a cluster alike.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a broken premise must end the test, and a skipped test must say so"
)]

#[cfg(feature = "nats")]
mod cluster;
mod conformance;
mod folder;
mod journals;
