//! The state file: where the session stood after some record, so that opening it reads no journal.
//!
//! It holds nothing that the journal does not hold: the frozen head, and what the records after it came to. It is bytes
//! and not JSON because every hook reads and writes it. A checksum behind it tells what a crash left half written; it proves
//! nothing more, and nothing rests on the file that the journal does not hold.

use super::dir::SessionDir;
use super::recent::Memo;
use crate::body::Frozen;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::path::PathBuf;
use tripwire_core::chain::{Chain, SnapshotError};
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::record::chain::Digest;
use tripwire_fs::file::{self, FileError, ReadError, read_bounded};
use tripwire_workspace::control::Seen;
use tripwire_workspace::geometry::wall_clock::WallClock;
use twox_hash::XxHash64;

/// The version of the file; a newer one is refused, an unreadable one is rebuilt.
const VERSION: u32 = 12;
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
    /// The engine's state has no snapshot.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] FileError),
}

impl Explain for StateError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Newer { path, .. } => {
                format!("use the newer tripwire, or remove `{}`: it is rebuilt from the journal", path.display()).into()
            }
            Self::Read(_) => "give yourself read access to `.geometry/state`".into(),
            Self::Snapshot(_) => "this is a defect of tripwire; please report it".into(),
            Self::Write(error) => error.hint(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Snapshot(_) => ExitClass::Internal,
            Self::Newer { .. } | Self::Read(_) | Self::Write(_) => ExitClass::DoesNotHold,
        }
    }
}

/// What the file holds.
#[derive(Debug, Deserialize)]
pub(super) struct StateFile {
    /// How many journal records the state has taken in.
    pub(super) records: u64,
    /// The hash of the last of them.
    pub(super) hash: Digest,
    /// When the session began.
    start_ms: u64,
    /// What was last seen of the control files.
    seen: Seen,
    /// What `status` shows beside the engine's figures.
    memo: Memo,
    /// What the session froze of its authority.
    frozen: Frozen,
    /// The engine's own snapshot.
    chain: Snapshot,
}

/// Bytes that are read and written in one piece and not one by one.
#[derive(Debug)]
struct Snapshot(Vec<u8>);

impl Serialize for Snapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Snapshot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&[u8]>::deserialize(deserializer).map(|bytes| Self(bytes.to_owned()))
    }
}

/// The same, borrowed from what a process knows.
#[derive(Serialize)]
struct WrittenState<'a> {
    version: u32,
    records: u64,
    hash: Digest,
    start_ms: u64,
    seen: &'a Seen,
    memo: &'a Memo,
    frozen: &'a Frozen,
    chain: Snapshot,
}

/// Everything that a process knows of a session, and that a state file carries to the next process.
#[derive(Debug)]
pub(super) struct SessionState {
    /// The engine.
    pub(super) chain: Chain,
    /// What was last seen of the control files.
    pub(super) seen: Seen,
    /// What `status` shows beside the engine's figures.
    pub(super) memo: Memo,
    /// What the session froze of its authority.
    pub(super) frozen: Frozen,
    /// When the session began.
    pub(super) start: WallClock,
    /// How many journal records the chain has taken in.
    pub(super) known: u64,
}

/// How often the state file follows the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StateSaves {
    /// With every input: the next one comes to another process, which opens the session from the file.
    #[default]
    Each,
    /// When it would spare another process much, or the journal does not hold what changed: this process stays, and knows the
    /// state itself.
    Seldom,
}

/// Lets the state file follow the journal.
#[derive(Debug, Default)]
pub(super) struct StateFollower {
    saves: StateSaves,
    /// What the file held when it was last written, where it is written seldom.
    saved: Option<SavedState>,
}

#[derive(Debug)]
struct SavedState {
    records: u64,
    signed: u64,
    seen: Seen,
}

/// Records that another process may have to step over: about a millisecond's work for it, and a write of the whole state is as
/// much as a call for this one.
const BEHIND_MAX: u64 = 128;

impl StateFollower {
    pub(super) fn new(saves: StateSaves) -> Self {
        Self { saves, saved: None }
    }

    /// How often the state file is written.
    pub(super) const fn saves(&self) -> StateSaves {
        self.saves
    }

    /// Writes the state file, where another process needs it.
    pub(super) fn save(&mut self, state: &SessionState, dir: SessionDir<'_>, hash: Digest) -> Result<(), StateError> {
        if self.saved.as_ref().is_some_and(|saved| !saved.is_left_behind_by(state)) {
            return Ok(());
        }
        state.save(dir, hash)?;
        self.saved = match self.saves {
            StateSaves::Each => None,
            StateSaves::Seldom => {
                Some(SavedState { records: state.known, signed: state.memo.signed, seen: state.seen.clone() })
            }
        };
        Ok(())
    }
}

impl SavedState {
    fn is_left_behind_by(&self, state: &SessionState) -> bool {
        state.known.saturating_sub(self.records) > BEHIND_MAX
            || state.memo.signed != self.signed
            || !state.seen.is_same_but_for_marks(&self.seen)
    }
}

impl SessionState {
    /// A session of which nothing is known yet but what it froze and when.
    pub(super) fn fresh(chain: Chain, frozen: Frozen, start: WallClock) -> Self {
        Self { chain, seen: Seen::default(), memo: Memo::default(), frozen, start, known: 0 }
    }

    /// Writes the state file over the one before, under the session's lock, in place: a new file and a rename would cost
    /// every hook ten times as much. Not synced: what a crash or a power cut leaves half written does not fit its checksum,
    /// and then the journal gives it again. `hash` is that of the last record that was taken in.
    pub(super) fn save(&self, dir: SessionDir<'_>, hash: Digest) -> Result<(), StateError> {
        let written = WrittenState {
            version: VERSION,
            records: self.known,
            hash,
            start_ms: self.start.epoch_ms(),
            seen: &self.seen,
            memo: &self.memo,
            frozen: &self.frozen,
            chain: Snapshot(self.chain.snapshot()?),
        };
        let mut bytes = postcard::to_allocvec(&written).map_err(|error| SnapshotError::Damaged(error.to_string()))?;
        let checksum = checksum(&bytes);
        bytes.extend_from_slice(&checksum);
        Ok(file::write_in_place(&path(dir), &bytes)?)
    }
}

impl StateFile {
    /// What it says; `None` when the engine's snapshot is damaged or older, and must be rebuilt.
    pub(super) fn state(self, dir: SessionDir<'_>) -> Result<Option<SessionState>, StateError> {
        match Chain::restore(&self.chain.0) {
            Ok(chain) => Ok(Some(SessionState {
                chain,
                seen: self.seen,
                memo: self.memo,
                frozen: self.frozen,
                start: WallClock::from_epoch_ms(self.start_ms),
                known: self.records,
            })),
            Err(SnapshotError::Version { found, known }) if found > known => {
                Err(StateError::Newer { path: path(dir), found })
            }
            Err(SnapshotError::Version { .. } | SnapshotError::Damaged(_) | SnapshotError::BadPolicy(_)) => Ok(None),
        }
    }

    /// Reads the file; `None` when there is none or it is damaged, an error when it is of a newer version.
    pub(super) fn load(dir: SessionDir<'_>) -> Result<Option<Self>, StateError> {
        let path = path(dir);
        let bytes = match read_bounded(&path, BYTES_MAX) {
            Ok(bytes) => bytes,
            // It is not there, or its name leads nowhere.
            Err(_) if !path.exists() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let Some((body, written)) = bytes.split_last_chunk() else { return Ok(None) };
        if checksum(body) != *written {
            return Ok(None);
        }
        match postcard::take_from_bytes::<u32>(body) {
            Ok((VERSION, rest)) => Ok(postcard::from_bytes(rest).ok()),
            Ok((found, _)) if found > VERSION => Err(StateError::Newer { path, found }),
            Ok(_) | Err(_) => Ok(None),
        }
    }
}

/// XXH64: on a processor without SHA instructions, SHA-256 of these bytes was a quarter of a hook's instructions, and anybody who
/// can write the file could write that as well.
fn checksum(bytes: &[u8]) -> [u8; 8] {
    XxHash64::oneshot(0, bytes).to_le_bytes()
}

/// Where a session's state lives.
fn path(dir: SessionDir<'_>) -> PathBuf {
    dir.layout.state_of(dir.session)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tripwire_core::policy::Policy;
    use tripwire_workspace::geometry::layout::Layout;
    use tripwire_workspace::session::SessionId;

    fn state() -> SessionState {
        let chain = Chain::new(Policy::default()).unwrap();
        SessionState::fresh(chain, Frozen::default(), WallClock::from_epoch_ms(7))
    }

    fn saved() -> (tempfile::TempDir, Layout, SessionId, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(&folder.path().join(".geometry"));
        let session = SessionId::parse("auto-2026-01-31-120000").unwrap();
        state().save(SessionDir { layout: &layout, session: &session }, Digest::of(b"x")).unwrap();
        let bytes = fs::read(path(SessionDir { layout: &layout, session: &session })).unwrap();
        (folder, layout, session, bytes)
    }

    #[test]
    fn chain_3_a_state_cut_or_mixed_with_an_older_one_is_rebuilt() {
        let (_folder, layout, session, bytes) = saved();
        let load =
            || StateFile::load(SessionDir { layout: &layout, session: &session }).unwrap().map(|file| file.start_ms);
        assert_eq!(load(), Some(7));
        for end in (0..bytes.len()).step_by(7) {
            fs::write(path(SessionDir { layout: &layout, session: &session }), &bytes[..end]).unwrap();
            assert_eq!(load(), None, "cut at {end}");
        }
        for flipped in (0..bytes.len()).step_by(11) {
            let mut mixed = bytes.clone();
            mixed[flipped] ^= 1;
            fs::write(path(SessionDir { layout: &layout, session: &session }), &mixed).unwrap();
            assert!(
                StateFile::load(SessionDir { layout: &layout, session: &session }).is_ok_and(|file| file.is_none()),
                "flipped at {flipped}"
            );
        }
        let longer = [bytes.as_slice(), b"left over"].concat();
        fs::write(path(SessionDir { layout: &layout, session: &session }), longer).unwrap();
        assert_eq!(load(), None);
    }

    #[test]
    fn chain_3_the_form_of_the_file_belongs_to_its_version() {
        let (_folder, layout, session, _) = saved();
        let mut full = state();
        full.memo.model = Some("m".to_owned());
        full.save(SessionDir { layout: &layout, session: &session }, Digest::of(b"x")).unwrap();
        let digest =
            Digest::of(&fs::read(path(SessionDir { layout: &layout, session: &session })).unwrap()).to_string();
        assert_eq!(
            (VERSION, digest.as_str()),
            (12, "15ec5b5d6b7d5cd494691bdaf7506d8f9cf2f45e032aa34487a5aad00c8fe3b7"),
            "a known session leaves another file; if a type in it changed, raise VERSION, else an older file would be read as something else",
        );
    }

    #[test]
    fn chain_3_a_shorter_state_replaces_a_longer_one_and_a_link_is_not_followed() {
        let (folder, layout, session, bytes) = saved();
        let target = path(SessionDir { layout: &layout, session: &session });
        fs::write(&target, [bytes.as_slice(), &[b' '; 500]].concat()).unwrap();
        let save = || state().save(SessionDir { layout: &layout, session: &session }, Digest::of(b"x")).unwrap();
        save();
        assert_eq!(fs::read(&target).unwrap(), bytes);
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, "mine").unwrap();
        fs::remove_file(&target).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &target).unwrap();
        save();
        assert_eq!((fs::read(&target).unwrap(), fs::read(&elsewhere).unwrap()), (bytes, b"mine".to_vec()));
    }
}
