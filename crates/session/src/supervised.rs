//! The record of a supervised run: who watches over a session, and how it ended.
//!
//! One small file per session. The supervisor holds its lock as long as it lives, so that others can tell a run that is
//! going on from one whose supervisor was killed: the lock ends with the process, whatever ends it. The file is written
//! in full at the start and only ever overwritten in place, so that its end can be noted on a full disk too.

use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tripwire_fs::file::{self, Draft, FileAction, FileError, FileMode, Published, ReadError, read_bounded};
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::wall_clock::WallClock;
use tripwire_workspace::session::SessionId;

/// What is known of a supervised run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The form of this record; a newer one is not read.
    pub version: u32,
    /// The supervisor's process.
    pub pid: u32,
    /// The client that is supervised.
    pub client: String,
    /// What holds the client's processes together.
    pub containment: String,
    /// Whether the client's processes see `.geometry/` read-only and no key.
    pub shielded: bool,
    /// How it ended; nothing while it goes on.
    pub end: Option<RunEnd>,
}

/// How a supervised run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    /// When; records of older versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<WallClock>,
    /// In a few words.
    pub how: String,
    /// What broke the guard, if anything did.
    pub broken: Option<String>,
    /// The proof that nothing is left of the client.
    pub receipt: StopReceipt,
}

/// The proof that a process tree is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StopReceipt {
    /// Processes that were alive when the end began and are gone now.
    pub ended: u64,
    /// Processes that are still alive; anything but 0 is a failure.
    pub survivors: u64,
    /// From the decision to the last process gone, in milliseconds.
    pub took_ms: u64,
}

impl RunRecord {
    /// The version that this program writes.
    pub const VERSION: u32 = 1;
}

/// The part of a record that says how to read the rest.
#[derive(Deserialize)]
struct RecordVersion {
    version: u32,
}

/// A record that this process holds: it is the supervisor.
#[derive(Debug)]
pub struct HeldRecord {
    file: File,
    path: PathBuf,
}

/// What others see of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenRecord {
    /// What it says.
    pub record: RunRecord,
    /// Whether its supervisor lives.
    pub supervisor: Supervisor,
}

/// Whether a supervisor lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supervisor {
    /// It holds the lock.
    Alive,
    /// It is gone.
    Gone,
}

impl HeldRecord {
    /// Writes the record of a run that begins, and holds it from now on.
    ///
    /// # Errors
    /// When the file cannot be made or another process holds it: then the run must not begin.
    pub fn begin(layout: &Layout, session: &SessionId, record: &RunRecord) -> Result<Self, FileError> {
        let path = path(layout, session);
        file::make_folder(&layout.state())?;
        // Locked and written before it has its name: no reader sees a run that has begun and seems to be over.
        let draft = Draft::new(&path, FileMode::PRIVATE)?;
        let held = Self { file: draft.lock()?, path };
        held.write(record)?;
        match draft.publish_new()? {
            Published::New => Ok(held),
            Published::AlreadyThere => {
                Err(FileError::at(&held.path, FileAction::Create)(std::io::ErrorKind::AlreadyExists.into()))
            }
        }
    }

    /// Rewrites the record.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn write(&self, record: &RunRecord) -> Result<(), FileError> {
        let mut text = serde_json::to_string(record).unwrap_or_default();
        if text.len() > RECORD_BYTES {
            // Only foreign words can be that long, and they matter less than the end itself.
            let end = record.end.clone().map(|end| RunEnd { how: "too long to tell".to_owned(), broken: None, ..end });
            text = serde_json::to_string(&RunRecord { end, ..record.clone() }).unwrap_or_default();
        }
        let padded = format!("{text:<RECORD_BYTES$}");
        self.file.write_all_at(padded.as_bytes(), 0).map_err(FileError::at(&self.path, FileAction::Write))
    }
}

impl Drop for HeldRecord {
    /// A child that was just forked has the file open for a moment; the run must not seem alive for that.
    fn drop(&mut self) {
        self.file.unlock().ok();
    }
}

/// Looks at the record of a session; nothing if it was never supervised.
///
/// # Errors
/// When the file cannot be read, or is of a newer version.
pub fn look(layout: &Layout, session: &SessionId) -> Result<Option<SeenRecord>, ReadError> {
    let path = path(layout, session);
    let file = match OpenOptions::new().read(true).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(FileError::at(&path, FileAction::Read)(error).into()),
    };
    let supervisor = match file.try_lock_shared() {
        Ok(()) => Supervisor::Gone,
        Err(TryLockError::WouldBlock) => Supervisor::Alive,
        Err(TryLockError::Error(error)) => return Err(FileError::at(&path, FileAction::Lock)(error).into()),
    };
    drop(file);
    let bytes = read_bounded(&path, RECORD_BYTES_MAX)?;
    let unreadable = |cause: Box<dyn std::error::Error + Send + Sync>| {
        let cause = std::io::Error::new(std::io::ErrorKind::InvalidData, cause);
        ReadError::from(FileError::at(&path, FileAction::Read)(cause))
    };
    // The version alone first: a newer record may have another form.
    let RecordVersion { version } = serde_json::from_slice(&bytes).map_err(|error| unreadable(error.into()))?;
    if version > RunRecord::VERSION {
        let why = format!("its version {version} is newer than {}, which this program reads", RunRecord::VERSION);
        return Err(unreadable(why.into()));
    }
    let record: RunRecord = serde_json::from_slice(&bytes).map_err(|error| unreadable(error.into()))?;
    Ok(Some(SeenRecord { record, supervisor }))
}

/// Waits for the end of a run that was supervised before it was told to end, or not: it may be over by now.
///
/// # Errors
/// See [`look`].
pub fn wait(layout: &Layout, session: &SessionId, before: Supervisor, within: Duration) -> Result<Waited, ReadError> {
    let until = Instant::now() + within;
    let mut supervised = before == Supervisor::Alive;
    loop {
        match look(layout, session)? {
            Some(SeenRecord { record: RunRecord { end: Some(end), .. }, .. }) if supervised => {
                return Ok(Waited::Ended(end));
            }
            // It ended before, or was never there: there is nothing that could be waited for.
            None | Some(SeenRecord { supervisor: Supervisor::Gone, .. }) if !supervised => {
                return Ok(Waited::NotSupervised);
            }
            None | Some(SeenRecord { supervisor: Supervisor::Gone, .. }) => return Ok(Waited::Lost),
            Some(SeenRecord { supervisor: Supervisor::Alive, .. }) => supervised = true,
        }
        if Instant::now() >= until {
            return Ok(Waited::Late);
        }
        std::thread::sleep(WAIT_STEP);
    }
}

/// What came of waiting for a run's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waited {
    /// The session is not supervised.
    NotSupervised,
    /// It ended, with its receipt.
    Ended(RunEnd),
    /// Its supervisor ended without a report; the client's processes ended with it.
    Lost,
    /// It did not end in time.
    Late,
}

/// The time between two looks at a run that is to end.
const WAIT_STEP: Duration = Duration::from_millis(20);

fn path(layout: &Layout, session: &SessionId) -> PathBuf {
    layout.run_of(session)
}

/// The room that a record takes from its start.
const RECORD_BYTES: usize = 4_096;
/// The most that is read back.
const RECORD_BYTES_MAX: u64 = 64 * 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> RunRecord {
        RunRecord {
            version: RunRecord::VERSION,
            pid: 7,
            client: "claude".to_owned(),
            containment: "pid_namespace".to_owned(),
            shielded: true,
            end: None,
        }
    }

    #[test]
    fn a_run_is_alive_as_long_as_its_record_is_held_and_its_end_stays() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        let session = tripwire_workspace::session::claim(&layout, WallClock::from_epoch_ms(1_790_000_000_000)).unwrap();
        assert_eq!(look(&layout, &session).unwrap(), None, "a session that was never supervised has no record");
        let held = HeldRecord::begin(&layout, &session, &record()).unwrap();
        assert_eq!(look(&layout, &session).unwrap().unwrap().supervisor, Supervisor::Alive);
        assert!(HeldRecord::begin(&layout, &session, &record()).is_err(), "one supervisor for one session");
        let receipt = StopReceipt { ended: 3, survivors: 0, took_ms: 4 };
        let end = RunEnd { at: None, how: "x".repeat(9_000), broken: None, receipt };
        held.write(&RunRecord { end: Some(end), ..record() }).unwrap();
        assert_eq!(
            wait(&layout, &session, Supervisor::Gone, Duration::ZERO).unwrap(),
            Waited::Late,
            "it holds its record still"
        );
        // As a child has it that another thread forked just now.
        let inherited = held.file.try_clone().unwrap();
        drop(held);
        assert_eq!(wait(&layout, &session, Supervisor::Gone, Duration::ZERO).unwrap(), Waited::NotSupervised);
        let ended = wait(&layout, &session, Supervisor::Alive, Duration::ZERO).unwrap();
        assert!(matches!(ended, Waited::Ended(_)), "it was faster than the process that waits for it");
        let seen = look(&layout, &session).unwrap().unwrap();
        assert_eq!(seen.supervisor, Supervisor::Gone);
        assert_eq!(seen.record.end.unwrap().receipt, receipt, "what matters is kept when the words are too long");
        drop(inherited);
    }

    #[test]
    fn a_record_of_a_newer_version_is_refused_by_its_version() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        let session = tripwire_workspace::session::claim(&layout, WallClock::from_epoch_ms(1_790_000_000_000)).unwrap();
        file::make_folder(&layout.state()).unwrap();
        std::fs::write(path(&layout, &session), r#"{"version":2,"of":["tomorrow"]}"#).unwrap();
        assert!(look(&layout, &session).unwrap_err().to_string().contains("its version 2 is newer"));
        std::fs::write(path(&layout, &session), serde_json::to_string(&record()).unwrap()).unwrap();
        assert_eq!(look(&layout, &session).unwrap().unwrap().record, record());
    }

    #[test]
    fn whoever_looks_while_a_run_begins_sees_nothing_or_the_whole_run() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        let sessions: Vec<_> = (0..50_u32)
            .map(|_| tripwire_workspace::session::claim(&layout, WallClock::from_epoch_ms(1_790_000_000_000)).unwrap())
            .collect();
        std::thread::scope(|scope| {
            let (layout, sessions) = (&layout, &sessions);
            let looking = scope.spawn(move || {
                for session in sessions {
                    let seen = (0..10_000_000).find_map(|_| look(layout, session).unwrap()).expect("a run");
                    assert_eq!(seen.supervisor, Supervisor::Alive, "{session}");
                    assert_eq!(seen.record, record());
                }
            });
            let held: Vec<_> =
                sessions.iter().map(|session| HeldRecord::begin(layout, session, &record()).unwrap()).collect();
            looking.join().unwrap();
            drop(held);
        });
    }
}
