//! Someone else's session and ours: one of ours for each (client, foreign session id), whichever process comes first.

use crate::driver::{Driver, DriverError};
use crate::geometry::file::{self, FileAction, FileError};
use crate::geometry::layout::Layout;
use crate::geometry::wall_clock::WallClock;
use crate::workspace::session::SessionId;
use rustix::fs::{FlockOperation, flock};
use std::fs::OpenOptions;
use std::path::PathBuf;
use tripwire_core::observe::Observer;
use tripwire_core::record::chain::Digest;

/// A session of a client that is not ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Foreign<'a> {
    /// The client's name: `claude`, `codex`, `gemini`.
    pub client: &'a str,
    /// Its own id of the session; sub-agents share their parent's.
    pub session: &'a str,
}

impl Foreign<'_> {
    /// Opens our session for it, or begins one.
    ///
    /// # Errors
    /// Whatever keeps the driver from opening: then nothing may happen.
    pub fn open(self, layout: &Layout, now: WallClock) -> Result<Driver, DriverError> {
        let path = self.path(layout);
        if let Some(session) = read(&path) {
            return Driver::resume(layout, &session);
        }
        let folder = path.parent().unwrap_or(layout.folder());
        file::make_folder(&layout.state())?;
        file::make_folder(folder)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(folder.join("lock"))
            .map_err(FileError::at(folder, FileAction::Create))?;
        flock(&lock, FlockOperation::LockExclusive)
            .map_err(|error| FileError::at(folder, FileAction::Create)(error.into()))?;
        if let Some(session) = read(&path) {
            return Driver::resume(layout, &session);
        }
        let driver = Driver::begin(layout, now, |_| Ok(()))?;
        file::replace(&path, driver.session().as_str().as_bytes())?;
        Ok(driver)
    }

    /// What the hooks of this session have seen of late; a lost one is begun anew and only finds more to be new.
    #[must_use]
    pub fn observer(self, layout: &Layout) -> Observer {
        let bytes = file::read_bounded(&self.observer_path(layout), OBSERVER_BYTES_MAX).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Keeps it for the next hook. The facts it gave are journaled, so losing it costs only sharpness.
    pub fn keep_observer(self, layout: &Layout, observer: &Observer) {
        if let Ok(text) = serde_json::to_string(observer) {
            drop(file::replace(&self.observer_path(layout), text.as_bytes()));
        }
    }

    fn observer_path(self, layout: &Layout) -> PathBuf {
        self.path(layout).with_extension("observer")
    }

    /// The note that ties the two ids together. A foreign id may hold anything, so its digest is the name.
    fn path(self, layout: &Layout) -> PathBuf {
        let digest = Digest::of(self.session.as_bytes()).to_string();
        layout.state().join("clients").join(format!("{}-{}", self.client, digest.get(..32).unwrap_or(&digest)))
    }
}

/// The largest observer that is read back.
const OBSERVER_BYTES_MAX: u64 = 64 * 1_024;

fn read(path: &std::path::Path) -> Option<SessionId> {
    let bytes = file::read_bounded(path, 1_024).ok()?;
    SessionId::parse(std::str::from_utf8(&bytes).ok()?.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_foreign_session_is_one_of_ours_and_another_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        let now = WallClock::from_epoch_ms(1_790_000_000_000);
        let open = |session| Foreign { client: "claude", session }.open(&layout, now).unwrap().session().clone();
        let first = open("a/../b");
        assert_eq!(open("a/../b"), first);
        assert_ne!(open("c"), first);
    }
}
