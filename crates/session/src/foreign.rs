//! Someone else's session and ours: one of ours for each (client, foreign session id), whichever process comes first.

use crate::driver::{Driver, DriverError, Signing};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tripwire_authority::identity::Configuration;
use tripwire_core::input::{HumanAct, What};
use tripwire_core::record::chain::Digest;
use tripwire_fs::file::{self, FileAction, FileError};
use tripwire_fs::lock::{FileLock, KeptFileLock, KeptLockFile, Wait};
use tripwire_observe::Observer;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::wall_clock::WallClock;
use tripwire_workspace::mode::KnownMode;
use tripwire_workspace::session::SessionId;
use tripwire_workspace::{Workspace, clock, mode, test_command};

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
        self.open_with(layout, None, || Driver::begin(layout, now, |_| Ok(())))
    }

    /// The same for a whole workspace, whose files show how it is tested, and for an agent whose role was named.
    ///
    /// # Errors
    /// See [`Self::open`].
    pub fn open_in(
        self,
        workspace: &Workspace,
        signing: Option<Signing>,
        now: WallClock,
        role: Option<&str>,
    ) -> Result<Driver, DriverError> {
        let layout = workspace.layout();
        self.open_with(layout, role, || {
            Driver::begin_signed(layout, signing, now, Configuration::default(), |policy| {
                policy.set_role(role)?;
                test_command::fill_in(workspace.root(), policy)
            })
        })
    }

    fn open_with(
        self,
        layout: &Layout,
        role: Option<&str>,
        begin: impl FnOnce() -> Result<Driver, DriverError>,
    ) -> Result<Driver, DriverError> {
        let path = self.path(layout);
        let resumed = |session| Ok(Driver::resume(layout, &session)?.acting_as(role.map(str::to_owned)));
        if let Some(session) = read(&path) {
            return resumed(session);
        }
        let folder = path.parent().unwrap_or(layout.folder());
        file::make_folder(&layout.state())?;
        file::make_folder(folder)?;
        let _lock = lock(&folder.join("lock"))?;
        if let Some(session) = read(&path) {
            return resumed(session);
        }
        let driver = begin()?;
        file::replace(&path, driver.session().as_str().as_bytes())?;
        Ok(driver)
    }

    /// Our session for it, if one was begun; makes nothing.
    #[must_use]
    pub fn known(self, layout: &Layout) -> Option<SessionId> {
        read(&self.path(layout))
    }

    /// What the hooks of this session have seen of late; a lost one starts empty, and then more looks new.
    #[must_use]
    pub fn observer(self, layout: &Layout) -> Observer {
        let bytes = file::read_bounded(&self.observer_path(layout), OBSERVER_BYTES_MAX).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Keeps it for the next hook. The facts it gave are journaled, so losing it costs only sharpness, and no caller waits
    /// for the disk.
    pub fn keep_observer(self, layout: &Layout, observer: &Observer) {
        if let Ok(text) = serde_json::to_string(observer) {
            drop(file::write_in_place(&self.observer_path(layout), text.as_bytes()));
        }
    }

    /// What the hooks of this session measured of the disk before; nothing if there is no such look, or it cannot be read.
    #[must_use]
    pub fn disk_look<T: DeserializeOwned>(self, layout: &Layout) -> Option<T> {
        let bytes = file::read_bounded(&self.disk_path(layout), DISK_LOOK_BYTES_MAX).ok()?;
        postcard::from_bytes(&bytes).ok()
    }

    /// Keeps a look at the disk for the hook that hears of the call's end. Losing it means that nothing is measured.
    pub fn keep_disk_look(self, layout: &Layout, look: &impl Serialize) {
        match postcard::to_allocvec(look) {
            Ok(bytes) if u64::try_from(bytes.len()).is_ok_and(|length| length <= DISK_LOOK_BYTES_MAX) => {
                drop(file::write_in_place(&self.disk_path(layout), &bytes));
            }
            Ok(_) | Err(_) => drop(std::fs::remove_file(self.disk_path(layout))),
        }
    }

    fn disk_path(self, layout: &Layout) -> PathBuf {
        self.path(layout).with_extension("disk")
    }

    /// The notes that the hooks of this session leave for each other, locked until they are dropped: hooks of parallel
    /// calls must not count the same tokens twice.
    ///
    /// # Errors
    /// When the file cannot be opened, or another hook holds it for too long.
    pub fn notes(self, layout: &Layout) -> Result<Notes, FileError> {
        self.notes_file(layout).take(layout)
    }

    /// The file of these notes, for a process that takes them again and again.
    #[must_use]
    pub fn notes_file(self, layout: &Layout) -> NotesFile {
        let path = self.path(layout).with_extension("notes");
        NotesFile { file: KeptLockFile::at(&path), path }
    }

    fn observer_path(self, layout: &Layout) -> PathBuf {
        self.path(layout).with_extension("observer")
    }

    /// The note that ties the two ids together. A foreign id may hold anything, so its digest is the name.
    fn path(self, layout: &Layout) -> PathBuf {
        let digest = Digest::of(self.session.as_bytes()).to_string();
        layout.clients().join(format!("{}-{}", self.client, digest.get(..32).unwrap_or(&digest)))
    }
}

/// Binds or only watches, as the person chose; a change of mind is journaled. What the supervisor began is always armed.
///
/// # Errors
/// When the change cannot be journaled.
pub fn follow_mode(driver: &mut Driver, layout: &Layout, state: Option<&Path>) -> Result<(), DriverError> {
    follow_known_mode(driver, layout, state, &mut KnownMode::default())
}

/// The same in a process that stays, which remembers that nobody chose.
///
/// # Errors
/// See [`follow_mode`].
pub fn follow_known_mode(
    driver: &mut Driver,
    layout: &Layout,
    state: Option<&Path>,
    known: &mut KnownMode,
) -> Result<(), DriverError> {
    let wanted = known.wanted(layout, state);
    if driver.view().guard != wanted {
        let act = HumanAct::SetMode(wanted).signed(&mode::chosen_by(layout, state), "");
        driver.take_now(What::Human(act), clock::now)?;
    }
    Ok(())
}

/// Which client began each of our sessions through its hooks, as the notes between the two say.
#[must_use]
pub fn clients(layout: &Layout) -> BTreeMap<SessionId, String> {
    let notes = std::fs::read_dir(layout.clients()).into_iter().flatten().filter_map(Result::ok).take(NOTES_MAX);
    let named = notes.filter_map(|note| {
        let path = note.path();
        let client = path.file_name()?.to_str()?.split_once('-').map(|(client, _)| client.to_owned())?;
        // Files with an ending hold what hooks leave for each other.
        let session = if path.extension().is_none() { read(&path) } else { None }?;
        Some((session, client))
    });
    named.collect()
}

/// The file of one session's notes.
#[derive(Debug)]
pub struct NotesFile {
    path: PathBuf,
    file: KeptLockFile,
}

impl NotesFile {
    /// The notes, locked until they are dropped.
    ///
    /// # Errors
    /// See [`Foreign::notes`].
    pub fn take(&self, layout: &Layout) -> Result<Notes, FileError> {
        // A wait that leaves a hook enough time to refuse in.
        let wait = Wait::Until(Instant::now() + LOCK_WAIT);
        let file = match self.file.relock(wait)? {
            Some(file) => file,
            None => match self.file.take(wait) {
                Err(_) if !layout.clients().is_dir() => {
                    file::make_folder(&layout.state())?;
                    file::make_folder(&layout.clients())?;
                    self.file.take(wait)?
                }
                taken => taken?,
            },
        };
        Ok(Notes { file, path: self.path.clone(), before: Vec::new() })
    }
}

/// What the hooks of one session leave for each other.
#[derive(Debug)]
pub struct Notes {
    file: KeptFileLock,
    path: PathBuf,
    before: Vec<u8>,
}

impl Notes {
    /// What the hook before left; empty at first.
    pub fn read(&mut self) -> &[u8] {
        self.before = self.contents().unwrap_or_default();
        &self.before
    }

    /// The whole file from its beginning; notes that are too long are rewritten.
    fn contents(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; NOTES_BYTES_USUAL];
        let mut length = 0;
        loop {
            let space = bytes.get_mut(length..)?;
            let wanted = space.len();
            let read = self.file.read_at(space, u64::try_from(length).ok()?).ok()?;
            length += read;
            if read < wanted {
                bytes.truncate(length);
                return Some(bytes);
            }
            if length > NOTES_BYTES_MAX {
                return None;
            }
            bytes.resize(length.saturating_mul(4).min(NOTES_BYTES_MAX + 1), 0);
        }
    }

    /// Leaves something for the next hook, if it is news. Not synced: after a power cut it is rebuilt.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        if bytes == self.before {
            return Ok(());
        }
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let mut written = self.file.write_all_at(bytes, 0);
        if bytes.len() < self.before.len() {
            written = written.and_then(|()| self.file.set_len(length));
        }
        self.before = bytes.to_owned();
        written.map_err(FileError::at(&self.path, FileAction::Write))
    }
}

/// Waits for a lock, for a time that leaves a hook enough to refuse in.
fn lock(path: &Path) -> Result<FileLock, FileError> {
    FileLock::take(path, Wait::Until(Instant::now() + LOCK_WAIT))
}

/// The longest wait for another hook of the same session.
const LOCK_WAIT: Duration = Duration::from_secs(8);
/// What notes usually need, so that reading them is one system call.
const NOTES_BYTES_USUAL: usize = 8 * 1_024;
/// Notes of sessions that are looked at.
const NOTES_MAX: usize = 20_000;
/// The longest notes that are read back.
const NOTES_BYTES_MAX: usize = 256 * 1_024;

/// The largest look at the disk that is kept.
const DISK_LOOK_BYTES_MAX: u64 = 4 << 20;
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
    fn notes_are_read_back_whole_and_a_second_hook_waits_for_them() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        let foreign = Foreign { client: "claude", session: "s" };
        let mut notes = foreign.notes(&layout).unwrap();
        assert_eq!(notes.read(), b"");
        notes.write(b"a longer text").unwrap();
        notes.write(b"short").unwrap();
        let other = layout.clone();
        let second = std::thread::spawn(move || {
            let mut notes = Foreign { client: "claude", session: "s" }.notes(&other).unwrap();
            notes.read().to_vec()
        });
        std::thread::sleep(Duration::from_millis(20));
        assert!(!second.is_finished(), "the first hook still holds them");
        drop(notes);
        assert_eq!(second.join().unwrap(), b"short");
    }

    #[test]
    fn notes_whose_file_stays_open_are_read_whole_and_those_that_are_too_long_are_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        let file = Foreign { client: "claude", session: "s" }.notes_file(&layout);
        for length in [0, NOTES_BYTES_USUAL - 1, NOTES_BYTES_USUAL, NOTES_BYTES_MAX, 10] {
            let mut notes = file.take(&layout).unwrap();
            notes.read();
            notes.write(&vec![b'x'; length]).unwrap();
            drop(notes);
            assert_eq!(file.take(&layout).unwrap().read().len(), length);
        }
        file.take(&layout).unwrap().write(&vec![b'x'; NOTES_BYTES_MAX + 1]).unwrap();
        assert_eq!(file.take(&layout).unwrap().read(), b"");
    }

    #[test]
    fn one_foreign_session_is_one_of_ours_and_another_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        let now = WallClock::from_epoch_ms(1_790_000_000_000);
        let open = |session| Foreign { client: "claude", session }.open(&layout, now).unwrap().session().clone();
        let first = open("a/../b");
        assert_eq!(open("a/../b"), first);
        assert_ne!(open("c"), first);
        drop(Foreign { client: "claude", session: "c" }.notes(&layout).unwrap());
        let clients = clients(&layout);
        assert_eq!((clients.len(), clients.get(&first).map(String::as_str)), (2, Some("claude")));
    }
}
