//! `replays/SESSION.json`: a frozen trajectory in the seed's shape, with what an exact replay needs added to it.
//!
//! Written and read as a stream of lines inside one JSON document: a session of a million inputs costs no memory.

use super::layout::Layout;
use crate::session::SessionId;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::PathBuf;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_fs::file::{Draft, FileError, FileMode, ReadError, make_folder, read_bounded};

/// The facts about a frozen session; the first three are the seed's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayHeader {
    /// The session.
    pub session_id: String,
    /// The model that spoke.
    pub model_version: String,
    /// `sha256:` of the system prompt.
    pub prompt_hash: String,
    /// The version of this file's format.
    pub format: u32,
    /// `sha256:` of the frozen policy.
    pub policy_hash: String,
    /// SHA-256 over all journaled inputs.
    pub inputs_digest: String,
    /// SHA-256 over all decisions.
    pub decisions_digest: String,
    /// The hash of the journal's last record.
    pub journal_head: String,
    /// The head of the session with its frozen policy; files of older versions lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<serde_json::Value>,
}

/// One step of the trajectory, in the seed's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// Where the agent was.
    pub state: String,
    /// What it did.
    pub action: String,
    /// Where that led.
    pub next_state: String,
    /// The journal's index of the input, added by us.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub index: Option<u64>,
}

/// A replay file as a whole, for readers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replay {
    /// The facts.
    #[serde(flatten)]
    pub header: ReplayHeader,
    /// The steps.
    pub trajectory: Vec<Transition>,
    /// The journaled inputs in order: feeding them to the engine gives the session again.
    pub inputs: Vec<serde_json::Value>,
}

/// The version that this code writes.
pub const REPLAY_FORMAT: u32 = 1;
/// The largest replay that is read whole.
pub const REPLAY_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Why a replay was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file system refused, or the file is too big.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// The file is no replay.
    #[error("`{}` is not a replay: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The file comes from a newer version.
    #[error("`{}` has format {found}, but this version reads {REPLAY_FORMAT}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// The file comes from an older version.
    #[error("`{}` has format {found}, which this version no longer reads", path.display())]
    Older {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
}

impl Explain for ReplayError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Unreadable(ReadError::File(error)) => error.hint(),
            Self::Unreadable(ReadError::TooBig { .. }) => "replay the session from its journal instead".into(),
            Self::Malformed { .. } | Self::Older { .. } => {
                "write it again from the journal: `tripwire export --replay --session ID`".into()
            }
            Self::Newer { .. } => "install the version of tripwire that wrote it".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::DoesNotHold
    }
}

/// The file of a session's replay.
#[must_use]
pub fn path(layout: &Layout, session: &SessionId) -> PathBuf {
    layout.replays().join(format!("{session}.json"))
}

/// Writes a replay as a whole; steps and inputs are taken one at a time.
pub fn write(
    layout: &Layout,
    session: &SessionId,
    header: &ReplayHeader,
    trajectory: impl IntoIterator<Item = Transition>,
    inputs: impl IntoIterator<Item = serde_json::Value>,
) -> Result<(), FileError> {
    make_folder(&layout.replays())?;
    let mut draft = Draft::new(&path(layout, session), FileMode::PRIVATE)?;
    let facts = line(header);
    // The header's closing brace makes room for the two lists.
    draft.write(facts.strip_suffix('}').unwrap_or(&facts).as_bytes())?;
    draft.write(b",\n\"trajectory\":[")?;
    lines(&mut draft, trajectory)?;
    draft.write(b"],\n\"inputs\":[")?;
    lines(&mut draft, inputs)?;
    draft.write(b"]}\n")?;
    draft.publish()
}

/// Reads a replay as a whole.
pub fn read(path: &std::path::Path) -> Result<Replay, ReplayError> {
    let bytes = read_bounded(path, REPLAY_BYTES_MAX)?;
    let malformed =
        |error: serde_json::Error| ReplayError::Malformed { path: path.to_owned(), problem: error.to_string() };
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let Format { format } = serde_json::from_slice(&bytes).map_err(malformed)?;
    let path = || path.to_owned();
    match format.cmp(&REPLAY_FORMAT) {
        std::cmp::Ordering::Less => Err(ReplayError::Older { path: path(), found: format }),
        std::cmp::Ordering::Equal => serde_json::from_slice(&bytes).map_err(malformed),
        std::cmp::Ordering::Greater => Err(ReplayError::Newer { path: path(), found: format }),
    }
}

/// Items of a list, one per line, gathered into writes of a sensible size.
fn lines<T: Serialize>(draft: &mut Draft, items: impl IntoIterator<Item = T>) -> Result<(), FileError> {
    let mut buffer = String::new();
    for (index, item) in items.into_iter().enumerate() {
        buffer.push_str(if index == 0 { "\n" } else { ",\n" });
        buffer.push_str(&line(&item));
        if buffer.len() > WRITE_BYTES {
            draft.write(buffer.as_bytes())?;
            buffer.clear();
        }
    }
    draft.write(buffer.as_bytes())
}

/// One value as one line; these types have no value that JSON cannot hold.
fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Bytes gathered before they are written.
const WRITE_BYTES: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::wall_clock::WallClock;
    use tripwire_testing::TestDir;

    fn header() -> ReplayHeader {
        ReplayHeader {
            session_id: "auto-2026-02-28-143200".into(),
            model_version: "claude-sonnet-4.6".into(),
            prompt_hash: "sha256:def456".into(),
            format: REPLAY_FORMAT,
            policy_hash: "sha256:aa".into(),
            inputs_digest: "bb".into(),
            decisions_digest: "cc".into(),
            journal_head: "dd".into(),
            session: None,
        }
    }

    fn step(index: u64) -> Transition {
        Transition {
            state: "planning".into(),
            action: "read_roadmap".into(),
            next_state: "executing".into(),
            index: Some(index),
        }
    }

    fn session() -> SessionId {
        SessionId::first(WallClock::from_epoch_ms(1_772_289_120_000))
    }

    #[test]
    fn log_3_a_replay_has_the_seeds_shape_and_reads_back() {
        let dir = TestDir::new();
        let layout = Layout::at(dir.path());
        write(
            &layout,
            &session(),
            &header(),
            (0..3_000).map(step),
            (0..3_000_u64).map(|n| serde_json::json!({"at": n})),
        )
        .unwrap();
        let file = dir.path().join("replays/auto-2026-02-28-143200.json");
        let raw: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(raw["session_id"], "auto-2026-02-28-143200");
        assert_eq!(raw["model_version"], "claude-sonnet-4.6");
        assert_eq!(raw["prompt_hash"], "sha256:def456");
        assert_eq!(raw["trajectory"][0]["next_state"], "executing");
        let replay = read(&file).unwrap();
        assert_eq!(replay.header, header());
        assert_eq!((replay.trajectory.len(), replay.inputs.len()), (3_000, 3_000));
        assert_eq!(replay.inputs[2_999]["at"], 2_999);
    }

    #[test]
    fn log_3_an_empty_session_is_a_valid_replay() {
        let dir = TestDir::new();
        let layout = Layout::at(dir.path());
        write(&layout, &session(), &header(), [], []).unwrap();
        let replay = read(&path(&layout, &session())).unwrap();
        assert!(replay.trajectory.is_empty() && replay.inputs.is_empty());
    }

    #[test]
    fn log_3_a_damaged_or_newer_replay_is_refused() {
        let dir = TestDir::new();
        let layout = Layout::at(dir.path());
        let file = path(&layout, &session());
        write(&layout, &session(), &ReplayHeader { format: 2, ..header() }, [], []).unwrap();
        let error = read(&file).unwrap_err();
        assert!(error.to_string().contains("has format 2") && error.hint().contains("version"), "{error}");
        write(&layout, &session(), &ReplayHeader { format: 0, ..header() }, [], []).unwrap();
        let error = read(&path(&layout, &session())).unwrap_err();
        assert!(matches!(error, ReplayError::Older { found: 0, .. }), "{error}");
        assert!(error.hint().contains("`tripwire export --replay --session ID`"), "{}", error.hint());
        write(&layout, &session(), &header(), [step(0)], []).unwrap();
        let whole = std::fs::read(&file).unwrap();
        std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
        assert!(matches!(read(&file).unwrap_err(), ReplayError::Malformed { .. }));
    }
}
