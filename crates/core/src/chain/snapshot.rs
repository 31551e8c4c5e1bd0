//! The state as text: versioned, bound to its policy, bounded in size (CHAIN-3, CHAIN-6).

use super::{Chain, State};
use crate::limits::STATE_VERSION;
use crate::policy::Policy;
use crate::record::chain::Digest;
use alloc::string::{String, ToString};
use serde::{Deserialize, Serialize};

/// Why a snapshot cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// It was written by another version.
    #[error(
        "the state is of version {found}, this program knows version {known}; use the program that wrote it, or rebuild the state from the journal"
    )]
    Version {
        /// What the snapshot says.
        found: u32,
        /// What this program knows.
        known: u32,
    },
    /// It belongs to another policy.
    #[error("the state belongs to another policy ({found}); start a new session")]
    Policy {
        /// The hash in the snapshot.
        found: Digest,
    },
    /// It cannot be read.
    #[error("the state cannot be read: {0}; rebuild it from the journal")]
    Damaged(String),
    /// The policy itself is unusable.
    #[error("{0}")]
    BadPolicy(String),
}

#[derive(Serialize)]
struct Written<'a> {
    version: u32,
    policy: Digest,
    state: &'a State,
}

#[derive(Deserialize)]
struct Header {
    version: u32,
}

#[derive(Deserialize)]
struct Read {
    version: u32,
    policy: Digest,
    state: State,
}

/// The policy's hash, once it was computed: a hook needs it twice in a process that lives for a millisecond. It follows
/// from the policy, so it says nothing about whether two chains are equal.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KnownHash(Option<Digest>);

impl PartialEq for KnownHash {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for KnownHash {}

impl Chain {
    /// Writes the state down.
    ///
    /// # Errors
    /// When the policy cannot be hashed; never for a checked one.
    pub fn snapshot(&self) -> Result<String, SnapshotError> {
        let policy = match self.known_hash.0 {
            Some(hash) => hash,
            None => self.policy.hash().map_err(|error| SnapshotError::BadPolicy(error.to_string()))?,
        };
        let written = Written { version: STATE_VERSION, policy, state: &self.state };
        serde_json::to_string(&written).map_err(|error| SnapshotError::Damaged(error.to_string()))
    }

    /// Takes up a state where it was left.
    ///
    /// # Errors
    /// When it is of another version, of another policy, or damaged: then nothing is guessed.
    pub fn restore(policy: Policy, snapshot: &str) -> Result<Self, SnapshotError> {
        let damaged = |error: serde_json::Error| SnapshotError::Damaged(error.to_string());
        let other = |found: u32| SnapshotError::Version { found, known: STATE_VERSION };
        let read: Read = match serde_json::from_str::<Read>(snapshot) {
            Ok(read) if read.version == STATE_VERSION => read,
            Ok(read) => return Err(other(read.version)),
            // Another version may have another form: its number alone tells whether it is that, or damage.
            Err(error) => {
                let header: Header = serde_json::from_str(snapshot).map_err(damaged)?;
                return Err(if header.version == STATE_VERSION { damaged(error) } else { other(header.version) });
            }
        };
        let mut chain = Self::new(policy).map_err(|error| SnapshotError::BadPolicy(error.to_string()))?;
        let expected = chain.policy.hash().map_err(|error| SnapshotError::BadPolicy(error.to_string()))?;
        if read.policy != expected {
            return Err(SnapshotError::Policy { found: read.policy });
        }
        chain.state = read.state;
        chain.known_hash = KnownHash(Some(expected));
        Ok(chain)
    }
}
