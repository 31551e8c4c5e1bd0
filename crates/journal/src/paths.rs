//! Where a session keeps its files.

use std::path::{Path, PathBuf};

use crate::names;
use crate::session_id::SessionId;
use crate::wall_clock::WallClock;

/// Where a session keeps its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPaths {
    session: SessionId,
    dir: PathBuf,
    blobs: PathBuf,
}

impl SessionPaths {
    /// The places of a session below a `.geometry` directory.
    #[must_use]
    pub fn new(geometry: &Path, session: &SessionId) -> Self {
        Self {
            session: session.clone(),
            dir: geometry.join(names::JOURNAL).join(session.as_str()),
            blobs: geometry.join(names::BLOBS),
        }
    }

    /// The places of a workspace's ledger of model calls: a journal like a session's, beside theirs and not among them.
    #[must_use]
    pub fn of_ledger(geometry: &Path) -> Self {
        Self {
            session: SessionId::first(WallClock::from_epoch_ms(0)),
            dir: geometry.join(names::LEDGER),
            blobs: geometry.join(names::BLOBS),
        }
    }

    /// The session.
    #[must_use]
    pub const fn session(&self) -> &SessionId {
        &self.session
    }

    /// The directory with the segments and `HEAD`.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The directory with the blobs, shared by all sessions of a workspace.
    #[must_use]
    pub fn blobs(&self) -> &Path {
        &self.blobs
    }

    pub(crate) fn head(&self) -> PathBuf {
        self.dir.join(names::HEAD)
    }

    pub(crate) fn segment(&self, number: u64) -> PathBuf {
        self.dir.join(names::segment(number))
    }
}
