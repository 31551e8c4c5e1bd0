//! The fleet: many machines with one budget, one stop and one record.
//!
//! Everything stands in a log of short entries by subject ([`log::Log`]), in which a writer names the entry that it believes to be
//! the last one. A cluster of NATS JetStream servers keeps it (feature `nats`), or a folder ([`file_log::FileLog`]); what is built on it exists
//! once. The transitions that must never be wrong know neither clock nor storage: [`escrow`] (budgets), [`fence`] (who may write
//! a record), [`settle::resolve`] (what to believe of an unclear answer), [`bucket`] (rates).

pub mod approval;
pub mod audit;
pub mod bucket;
pub mod budget;
pub mod checks;
mod copied;
pub mod copier;
pub mod dead_man;
pub mod escrow;
pub mod fence;
pub mod file_log;
pub mod host;
pub mod log;
pub mod machine;
pub mod member;
#[cfg(feature = "nats")]
pub mod nats;
pub mod order;
pub mod policy;
mod questions;
pub mod record;
pub mod settings;
pub mod settle;
pub mod spender;
mod stash;
pub mod subject;
mod value;

use std::io::Read as _;

/// A word that was never used before.
///
/// # Errors
/// When the system has no randomness.
pub fn nonce() -> Result<String, String> {
    let bytes: [u8; 12] = random().map_err(|error| format!("no randomness: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Random bytes of the system.
fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0_u8; N];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
