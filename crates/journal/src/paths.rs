//! Where a session keeps its files.

use std::fs::File;
use std::path::{Path, PathBuf};
use tripwire_fs::bounded;

use crate::limits::SEGMENT_READ_MAX;
use crate::names;
use crate::session_id::SessionId;
use crate::storage::offset;
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

    /// The segment that holds a record, or the last one if none does; where there is none, the first one's name.
    #[must_use]
    pub fn segment_of(&self, index: u64) -> PathBuf {
        let (mut last, mut before) = (self.segment(1), 0);
        for number in 1.. {
            let path = self.segment(number);
            let Ok(file) = File::open(&path) else { break };
            let limit = u64::try_from(SEGMENT_READ_MAX).unwrap_or(u64::MAX);
            let bytes = bounded::read_beginning(file, limit).unwrap_or_default();
            before += offset(bytes.iter().filter(|byte| **byte == b'\n').count());
            last = path;
            if index < before {
                break;
            }
        }
        last
    }

    pub(crate) fn head(&self) -> PathBuf {
        self.dir.join(names::HEAD)
    }

    pub(crate) fn segment(&self, number: u64) -> PathBuf {
        self.dir.join(names::segment(number))
    }
}
