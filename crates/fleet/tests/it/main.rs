//! The fleet against real storage: one suite of demands on every kind of log, a folder and a cluster alike.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a broken premise must end the test")]

#[cfg(feature = "nats")]
mod cluster;
mod conformance;
mod folder;
mod heard;
mod journals;
mod model;
#[cfg(feature = "nats")]
mod nemesis;
