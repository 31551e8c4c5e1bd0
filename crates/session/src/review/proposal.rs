//! Proposals on disk, one small file each: what was proposed, and what became of it.

use super::error::{ReviewError, short};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tripwire_core::input::Verdict;
use tripwire_core::record::chain::Digest;
use tripwire_fs::file::{self, FileAction, FileError, read_bounded};
use tripwire_sandbox::ChangeSet;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::wall_clock::WallClock;

/// A change set that was put before a reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// When it was proposed.
    pub at: String,
    /// What would change, a line for each path.
    pub changes: Vec<String>,
    /// The whole SHA-256 of the change set.
    pub digest: Digest,
    /// What became of it.
    pub state: State,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When it was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<String>,
}

/// What became of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Not answered yet.
    Proposed,
    /// It may be applied.
    Approved,
    /// It may not, whatever anybody says later.
    Rejected,
    /// It was applied.
    Applied,
}

impl State {
    /// Its name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Applied => "applied",
        }
    }
}

/// A proposal in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedProposal {
    /// The proposal.
    pub proposal: Proposal,
    /// Whether it is exactly what is staged now; an approval of anything else is void.
    pub is_staged: bool,
}

impl Proposal {
    /// A new proposal.
    pub(super) fn new(digest: Digest, changes: &ChangeSet, now: WallClock) -> Self {
        let line = |change: &tripwire_sandbox::Change| {
            format!("{} {} ({})", change.kind().name(), change.path().display(), change.summary())
        };
        let changes = changes.changes().iter().map(line).collect();
        Self { at: now.to_string(), changes, digest, state: State::Proposed, by: None, decided_at: None }
    }

    /// The first 16 digits of its digest.
    #[must_use]
    pub fn short(&self) -> String {
        short(self.digest)
    }

    /// Notes an answer; a rejection stays.
    pub(super) fn decide(&mut self, verdict: Verdict, by: &str, now: WallClock) {
        self.state = match (self.state, verdict) {
            (State::Rejected, _) | (_, Verdict::Rejected) => State::Rejected,
            (State::Proposed | State::Approved | State::Applied, Verdict::Approved) => State::Approved,
        };
        (self.by, self.decided_at) = (Some(by.to_owned()), Some(now.to_string()));
    }

    /// Writes its file.
    pub(super) fn save(&self, layout: &Layout) -> Result<(), ReviewError> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        Ok(file::replace(&path(layout, self.digest), format!("{text}\n").as_bytes())?)
    }
}

/// The proposal with this digest.
pub(super) fn find(layout: &Layout, digest: Digest) -> Result<Option<Proposal>, ReviewError> {
    let path = path(layout, digest);
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    read(path).map(Some)
}

/// All proposals, newest first.
pub(super) fn list(layout: &Layout, staged: Option<Digest>) -> Result<Vec<ListedProposal>, ReviewError> {
    let folder = layout.reviews();
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(FileError::at(&folder, FileAction::Read)(error).into()),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(FileError::at(&folder, FileAction::Read))?.path();
        if path.extension().is_some_and(|kind| kind == "json") {
            let proposal = read(path)?;
            found.push(ListedProposal { is_staged: Some(proposal.digest) == staged, proposal });
        }
    }
    found.sort_by(|a, b| (&b.proposal.at, b.proposal.digest).cmp(&(&a.proposal.at, a.proposal.digest)));
    Ok(found)
}

fn read(path: PathBuf) -> Result<Proposal, ReviewError> {
    let damaged = |cause: String| ReviewError::Damaged { path: path.clone(), cause };
    let bytes = read_bounded(&path, BYTES_MAX).map_err(|error| damaged(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))
}

fn path(layout: &Layout, digest: Digest) -> PathBuf {
    layout.reviews().join(format!("{digest}.json"))
}

const BYTES_MAX: u64 = 16 << 20;
