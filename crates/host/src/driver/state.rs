//! The state file: where the chain stood after some record, so that opening a session reads no journal.

use super::recent::Memo;
use crate::control::Seen;
use crate::geometry::file::{self, FileAction, FileError, ReadError, read_bounded};
use crate::geometry::layout::Layout;
use crate::geometry::wall_clock::WallClock;
use crate::workspace::session::SessionId;
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use tripwire_core::chain::{Chain, SnapshotError};
use tripwire_core::policy::Policy;
use tripwire_core::record::chain::Digest;

/// The version of the file; a newer one is refused, an unreadable one is rebuilt.
const VERSION: u32 = 1;
/// The largest state file that is read.
const BYTES_MAX: u64 = 1 << 20;

/// Why a state file must not be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// A newer tripwire wrote it.
    #[error("`{}` is of version {found}; this tripwire knows version {VERSION}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl StateError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Newer { path, .. } => {
                format!("use the newer tripwire, or remove `{}`: it is rebuilt from the journal", path.display())
            }
            Self::Read(_) => "give yourself read access to `.geometry/state`".to_owned(),
        }
    }
}

/// What the file holds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StateFile {
    version: u32,
    /// How many journal records the state has taken in.
    pub(super) records: u64,
    /// The hash of the last of them.
    pub(super) hash: Digest,
    /// When the session began.
    pub(super) start_ms: u64,
    /// What was last seen of the control files.
    pub(super) seen: Seen,
    /// What `status` shows beside the engine's figures.
    #[serde(default)]
    pub(super) memo: Memo,
    /// The engine's own snapshot.
    chain: String,
}

/// Everything that a process knows of a session, and that a state file carries to the next process.
#[derive(Debug)]
pub(super) struct Kept {
    /// The engine.
    pub(super) chain: Chain,
    /// What was last seen of the control files.
    pub(super) seen: Seen,
    /// What `status` shows beside the engine's figures.
    pub(super) memo: Memo,
    /// When the session began.
    pub(super) start: WallClock,
    /// How many journal records the chain has taken in.
    pub(super) known: u64,
}

impl Kept {
    /// A session of which nothing is known yet but its policy and its start.
    pub(super) fn fresh(chain: Chain, start: WallClock) -> Self {
        Self { chain, seen: Seen::default(), memo: Memo::default(), start, known: 0 }
    }
}

#[derive(Deserialize)]
struct Header {
    version: u32,
}

impl StateFile {
    /// What is known after the record with this hash.
    pub(super) fn of(kept: &Kept, hash: Digest) -> Result<Self, SnapshotError> {
        Ok(Self {
            version: VERSION,
            records: kept.known,
            hash,
            start_ms: kept.start.epoch_ms(),
            seen: kept.seen.clone(),
            memo: kept.memo.clone(),
            chain: kept.chain.snapshot()?,
        })
    }

    /// The engine as it stood; `None` when the snapshot is damaged, older or of another policy, and must be rebuilt.
    pub(super) fn chain(
        &self,
        layout: &Layout,
        session: &SessionId,
        policy: &Policy,
    ) -> Result<Option<Chain>, StateError> {
        match Chain::restore(policy.clone(), &self.chain) {
            Ok(chain) => Ok(Some(chain)),
            Err(SnapshotError::Version { found, known }) if found > known => {
                Err(StateError::Newer { path: path(layout, session), found })
            }
            Err(
                SnapshotError::Version { .. }
                | SnapshotError::Policy { .. }
                | SnapshotError::Damaged(_)
                | SnapshotError::BadPolicy(_),
            ) => Ok(None),
        }
    }

    /// Writes the file over the one before, under the session's lock. Not synced: a power cut may cost it, and then the
    /// journal gives it again; waiting for the disk here would make every other process wait too.
    pub(super) fn save(&self, layout: &Layout, session: &SessionId) -> Result<(), FileError> {
        file::make_folder(&layout.state())?;
        let (target, draft) = (path(layout, session), layout.state().join(format!("{session}.draft")));
        let text = serde_json::to_string(self).unwrap_or_default();
        // What a crash left, or someone put there, is removed and not written through.
        file::remove(&draft)?;
        let mut fresh = OpenOptions::new();
        fresh.write(true).create_new(true).mode(0o600);
        let mut file = fresh.open(&draft).map_err(FileError::at(&draft, FileAction::Create))?;
        file.write_all(text.as_bytes()).map_err(FileError::at(&draft, FileAction::Write))?;
        std::fs::rename(&draft, &target).map_err(FileError::at(&target, FileAction::Rename))
    }

    /// Reads the file; `None` when there is none or it is damaged, an error when it is of a newer version.
    pub(super) fn load(layout: &Layout, session: &SessionId) -> Result<Option<Self>, StateError> {
        let path = path(layout, session);
        if !path.exists() {
            return Ok(None);
        }
        let bytes = read_bounded(&path, BYTES_MAX)?;
        // Read as a whole at once: only a file that is not understood is asked for its version alone.
        let file: Option<Self> = serde_json::from_slice(&bytes).ok();
        let version = match &file {
            Some(file) => Some(file.version),
            None => serde_json::from_slice::<Header>(&bytes).ok().map(|header| header.version),
        };
        match version {
            Some(found) if found > VERSION => Err(StateError::Newer { path, found }),
            Some(_) | None => Ok(file),
        }
    }
}

/// Where a session's state lives.
pub(super) fn path(layout: &Layout, session: &SessionId) -> PathBuf {
    layout.state().join(format!("{session}.json"))
}
