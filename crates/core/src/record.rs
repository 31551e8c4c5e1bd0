//! What the journal is made of, as pure functions: canonical text, the hash chain over it, and the parity hashes.
//!
//! Host writes bytes, core says which bytes: the same value gives the same text, and so the same hash, on every machine.

pub mod canonical;
pub mod chain;
pub mod parity;
