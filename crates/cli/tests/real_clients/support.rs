//! What several tests of the command share: a scripted model on loopback, and real clients where they are installed.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "test support: a broken premise must end the test, and a skipped test must say so"
)]

pub(crate) mod clients;
pub(crate) mod model;
mod wire;
