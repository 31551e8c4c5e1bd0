//! The state as bytes: versioned, with the policy that it is under, bounded in size (CHAIN-3, CHAIN-6).
//!
//! Positional, not JSON: a hook reads and writes it on the path of every tool call. Its meaning hangs on the order of the
//! fields, so a change of any type in it is a new [`STATE_VERSION`]; a test holds the bytes of a known state.

use super::{Chain, State};
use crate::explain::{ExitClass, Explain};
use crate::limits::STATE_VERSION;
use crate::policy::Policy;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
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
    /// It cannot be read.
    #[error("the state cannot be read: {0}; rebuild it from the journal")]
    Damaged(String),
    /// The policy itself is unusable.
    #[error("{0}")]
    BadPolicy(String),
}

impl Explain for SnapshotError {
    fn hint(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::Version { .. } => "use the program that wrote it, or rebuild the state from the journal",
            Self::Damaged(_) => "rebuild the state from the journal: remove it and run the same command again",
            Self::BadPolicy(_) => "list all settings with `tripwire policy show`",
        })
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::DoesNotHold
    }
}

#[derive(Serialize)]
struct Written<'a> {
    version: u32,
    policy: &'a Policy,
    state: &'a State,
}

/// What follows the version.
#[derive(Deserialize)]
struct Read {
    policy: Policy,
    state: Box<State>,
}

impl Chain {
    /// Writes down the state and its policy.
    ///
    /// # Errors
    /// When it has no form; never for a chain that was stepped.
    pub fn snapshot(&self) -> Result<Vec<u8>, SnapshotError> {
        let written = Written { version: STATE_VERSION, policy: &self.policy, state: &self.state };
        postcard::to_allocvec(&written).map_err(|error| SnapshotError::Damaged(error.to_string()))
    }

    /// Takes up a state where it was left. The caller keeps the bytes unchanged: they are not sealed here.
    ///
    /// # Errors
    /// When it is of another version, damaged, or under a policy that contradicts itself: then nothing is guessed.
    pub fn restore(snapshot: &[u8]) -> Result<Self, SnapshotError> {
        let damaged = |error: postcard::Error| SnapshotError::Damaged(error.to_string());
        let (found, rest) = postcard::take_from_bytes::<u32>(snapshot).map_err(damaged)?;
        if found != STATE_VERSION {
            return Err(SnapshotError::Version { found, known: STATE_VERSION });
        }
        let (read, rest) = postcard::take_from_bytes::<Read>(rest).map_err(damaged)?;
        if !rest.is_empty() {
            return Err(SnapshotError::Damaged(String::from("something follows it")));
        }
        Self::with_state(read.policy, read.state).map_err(|error| SnapshotError::BadPolicy(error.to_string()))
    }
}
