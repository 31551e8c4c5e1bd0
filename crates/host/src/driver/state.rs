//! The state file: where the chain stood after some record, so that opening a session reads no journal.

use super::recent::Memo;
use crate::control::Seen;
use crate::geometry::file::{self, FileError, ReadError, read_bounded};
use crate::geometry::layout::Layout;
use crate::geometry::wall_clock::WallClock;
use crate::workspace::session::SessionId;
use serde::{Deserialize, Serialize};
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

    /// Writes the file over the one before, under the session's lock, in place: a new file and a rename would cost every
    /// hook ten times as much. Not synced: what a crash or a power cut leaves half written does not fit its seal, and then
    /// the journal gives it again.
    pub(super) fn save(&self, layout: &Layout, session: &SessionId) -> Result<(), FileError> {
        let mut text = serde_json::to_string(self).unwrap_or_default();
        let seal = seal(text.as_bytes());
        text.push_str(&seal);
        file::write_in_place(&path(layout, session), text.as_bytes())
    }

    /// Reads the file; `None` when there is none or it is damaged, an error when it is of a newer version.
    pub(super) fn load(layout: &Layout, session: &SessionId) -> Result<Option<Self>, StateError> {
        let path = path(layout, session);
        if !path.exists() {
            return Ok(None);
        }
        let bytes = read_bounded(&path, BYTES_MAX)?;
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
        let (body, sealed) = bytes.split_at_checked(end).unwrap_or((&bytes, &[]));
        // Read as a whole at once: only a file that is not understood is asked for its version alone.
        let file: Option<Self> = if sealed == seal(body).as_bytes() { serde_json::from_slice(body).ok() } else { None };
        let version = match &file {
            Some(file) => Some(file.version),
            None => serde_json::from_slice::<Header>(body).ok().map(|header| header.version),
        };
        match version {
            Some(found) if found > VERSION => Err(StateError::Newer { path, found }),
            Some(_) | None => Ok(file),
        }
    }
}

/// The line behind a state that is whole: its digest, as JSON like the state itself.
fn seal(body: &[u8]) -> String {
    format!("\n\"{}\"\n", Digest::of(body))
}

/// Where a session's state lives.
pub(super) fn path(layout: &Layout, session: &SessionId) -> PathBuf {
    layout.state().join(format!("{session}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn saved() -> (tempfile::TempDir, Layout, SessionId, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(&folder.path().join(".geometry"));
        let session = SessionId::parse("auto-2026-01-31-120000").unwrap();
        let kept = Kept::fresh(Chain::new(Policy::default()).unwrap(), WallClock::from_epoch_ms(7));
        StateFile::of(&kept, Digest::of(b"x")).unwrap().save(&layout, &session).unwrap();
        let bytes = fs::read(path(&layout, &session)).unwrap();
        (folder, layout, session, bytes)
    }

    #[test]
    fn chain_3_a_state_cut_or_mixed_with_an_older_one_is_rebuilt() {
        let (_folder, layout, session, bytes) = saved();
        let load = || StateFile::load(&layout, &session).unwrap().map(|file| file.start_ms);
        assert_eq!(load(), Some(7));
        for end in (0..bytes.len()).step_by(7) {
            fs::write(path(&layout, &session), &bytes[..end]).unwrap();
            assert_eq!(load(), None, "cut at {end}");
        }
        for flipped in (0..bytes.len()).step_by(11) {
            let mut mixed = bytes.clone();
            mixed[flipped] ^= 1;
            fs::write(path(&layout, &session), &mixed).unwrap();
            assert!(StateFile::load(&layout, &session).is_ok_and(|file| file.is_none()), "flipped at {flipped}");
        }
        let longer = [bytes.as_slice(), b"left over"].concat();
        fs::write(path(&layout, &session), longer).unwrap();
        assert_eq!(load(), None);
    }

    #[test]
    fn chain_3_a_shorter_state_replaces_a_longer_one_and_a_link_is_not_followed() {
        let (folder, layout, session, bytes) = saved();
        let target = path(&layout, &session);
        fs::write(&target, [bytes.as_slice(), &[b' '; 500]].concat()).unwrap();
        let kept = Kept::fresh(Chain::new(Policy::default()).unwrap(), WallClock::from_epoch_ms(7));
        let file = StateFile::of(&kept, Digest::of(b"x")).unwrap();
        file.save(&layout, &session).unwrap();
        assert_eq!(fs::read(&target).unwrap(), bytes);
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, "mine").unwrap();
        fs::remove_file(&target).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &target).unwrap();
        file.save(&layout, &session).unwrap();
        assert_eq!((fs::read(&target).unwrap(), fs::read(&elsewhere).unwrap()), (bytes, b"mine".to_vec()));
    }
}
