//! `safety_log.json`: all safety events in the seed's shape, valid JSON at every moment, appended in constant time.
//!
//! The file ends with fixed closing brackets. An append writes `,`, the entry and the same brackets over them in one
//! positioned write. The log is a view of the journal: when its end or its length is not as this file left it (a crash, an
//! editor), an append refuses and the caller rebuilds it from the journal's entries. The length is kept beside the state
//! of the sessions; that the entries themselves are those of the journals is for the caller to compare.

use super::wall_clock::WallClock;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_fs::file::{
    Draft, FileAction, FileError, FileMode, Published, make_folder, open_read_write, read_bounded, write_in_place,
};

/// What happened. The loop names and the three events of the seed keep their spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EventType {
    /// The seed's first level: 3 identical signatures, only noted.
    SoftLoop,
    /// The seed's second level: 5 identical signatures, held for the advisor.
    HardLoop,
    /// The seed's third level: 10 identical signatures, a full stop with a report.
    InfiniteLoop,
    /// Veto 1: the tempo is that of a runaway.
    RunawayDetected,
    /// Veto 2: nothing moves any more.
    LoopDetected,
    /// Veto 3: too many tokens in this minute.
    TokenBudgetExceeded,
    /// Veto 4: too many tool calls in this minute.
    RateLimitExceeded,
    /// Veto 5: an earlier veto still holds.
    CooldownActive,
    /// Veto 6: health fell below a threshold.
    HealthDegraded,
    /// A role may not do this.
    PermissionDenied,
    /// The time of the iteration or session is used up.
    WallClockTimeout,
    /// A proposal without, against or beside its review.
    ReviewGating,
    /// The iteration ended by its step cap or an interrupt.
    CycleTermination,
    /// The session ended: a call was repeated after the override.
    SystemError,
    /// The guard itself cannot be trusted, so it holds.
    GuardFailure,
    /// The seed: completion claimed while tests did not run or fail.
    DirtyBitViolation,
    /// The seed: context use reached a threshold.
    CompactionGate,
    /// A typed constraint was injected against a repeat.
    LoopOverride,
    /// A plan, argument or output did not fit its schema.
    ValidationError,
    /// A tool was called that is not registered.
    UnknownTool,
    /// Tokens of this minute reached the warning level.
    TokenWarning,
    /// Tool calls of this minute reached the warning level.
    ToolCallWarning,
    /// The money budget is nearly or quite used up.
    BudgetWarning,
    /// Iterations in a row moved nothing.
    NoProgress,
    /// The session reached its last iteration.
    IterationCap,
    /// A frozen threshold was edited on disk and not applied.
    PolicyDrift,
    /// A person gave an order or edited a counter.
    ManualOverride,
    /// Another model engine took over.
    EngineSwitch,
}

/// What was done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionTaken {
    /// Noted, and let go on.
    ContinuedMonitoring,
    /// The agent was asked to run the tests.
    InjectedTestPrompt,
    /// The agent was given a typed constraint.
    InjectedOverride,
    /// The worker was restarted with a briefing.
    RestartedSession,
    /// The briefing was written; nobody is there who could restart the worker.
    WroteBriefing,
    /// The call was refused.
    Blocked,
    /// Everything waits for a person or the advisor.
    Held,
    /// Everything was ended.
    Stopped,
}

/// One entry of the log; the order of the fields is the seed's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// When, as `2026-02-28T15:30:00Z`.
    pub timestamp: String,
    /// What happened.
    #[serde(rename = "type")]
    pub event: EventType,
    /// The evidence, free in shape.
    pub details: serde_json::Map<String, serde_json::Value>,
    /// What was done about it.
    pub action_taken: ActionTaken,
}

impl LogEntry {
    /// An entry without details yet.
    #[must_use]
    pub fn new(at: WallClock, event: EventType, action_taken: ActionTaken) -> Self {
        Self { timestamp: at.to_string(), event, details: serde_json::Map::new(), action_taken }
    }

    /// Adds one detail.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }
}

/// Why the log was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is not as this code left it; only a rebuild from the journal may go on.
    #[error("`{}` is not as it was written: {reason}", path.display())]
    Damaged {
        /// The log.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// An entry larger than [`ENTRY_BYTES_MAX`]; the journal holds it, the log does not.
    #[error("an entry of {bytes} bytes is larger than the {ENTRY_BYTES_MAX} that the safety log takes")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
}

impl Explain for LogError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::File(error) => error.hint(),
            Self::Damaged { .. } => {
                "nothing is lost: the log is rebuilt from the journal at the next step; `tripwire verify` checks it"
                    .into()
            }
            Self::TooLarge { .. } => "keep long evidence in the journal and name its index here".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::DoesNotHold
    }
}

/// The largest entry.
pub const ENTRY_BYTES_MAX: usize = 64 * 1024;

/// The log of one `.geometry/` folder. It holds no open file: hooks are many short processes.
#[derive(Debug, Clone)]
pub struct SafetyLog {
    path: PathBuf,
}

impl SafetyLog {
    /// The log at a path; nothing is touched yet.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Adds one entry with one write; makes the file if there is none.
    pub fn append(&self, entry: &LogEntry) -> Result<(), LogError> {
        let line = encode(entry)?;
        let file = self.locked(Lock::Exclusive)?;
        let length = self.check_end(&file)?;
        let at = length.saturating_sub(bytes_of(TAIL));
        let comma = if at == bytes_of(HEAD) { "" } else { "," };
        let bytes = format!("{comma}\n{line}{TAIL}");
        // One call, so that no moment exists in which the brackets are missing.
        let cause = match file.write_at(bytes.as_bytes(), at) {
            Ok(written) if written == bytes.len() => {
                return self.note_length(at.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX)));
            }
            Ok(_) => io::ErrorKind::StorageFull.into(),
            Err(cause) => cause,
        };
        // A full disk took a part: the old brackets go back into the bytes that they had. If even that fails, the
        // next append finds the damage and the log is rebuilt.
        file.write_at(TAIL.as_bytes(), at).and_then(|_| file.set_len(length)).ok();
        Err(self.file_error(FileAction::Write)(cause).into())
    }

    /// Reads all entries and checks the whole file.
    pub fn read(&self) -> Result<Vec<LogEntry>, LogError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Shape {
            events: Vec<LogEntry>,
        }
        let file = self.locked(Lock::Shared)?;
        let mut text = String::new();
        let mut reader: &File = &file;
        match reader.read_to_string(&mut text) {
            Ok(_) => {}
            Err(cause) if cause.kind() == io::ErrorKind::InvalidData => return Err(self.damaged("it is not UTF-8")),
            Err(cause) => return Err(self.file_error(FileAction::Read)(cause).into()),
        }
        serde_json::from_str::<Shape>(&text).map(|shape| shape.events).map_err(|error| self.damaged(&error.to_string()))
    }

    /// Rewrites the log from the journal's entries, whatever it holds; readers see the old or the new file.
    pub fn rebuild(&self, entries: impl IntoIterator<Item = LogEntry>) -> Result<u64, LogError> {
        // A process that waits for the old file's lock finds, once it has it, that the name moved on, and opens again.
        let _old = self.locked(Lock::Exclusive)?;
        let mut draft = Draft::new(&self.path, FileMode::PRIVATE)?;
        draft.write(HEAD.as_bytes())?;
        let mut count = 0_u64;
        let mut length = bytes_of(HEAD).saturating_add(bytes_of(TAIL));
        for entry in entries {
            let comma = if count == 0 { "" } else { "," };
            let line = format!("{comma}\n{}", encode(&entry)?);
            draft.write(line.as_bytes())?;
            count = count.saturating_add(1);
            length = length.saturating_add(u64::try_from(line.len()).unwrap_or(u64::MAX));
        }
        draft.write(TAIL.as_bytes())?;
        draft.publish()?;
        self.note_length(length)?;
        Ok(count)
    }

    /// Whether the file has the length that the last writer left it with; a log that was never written is as it was left.
    #[must_use]
    pub fn is_as_left(&self) -> bool {
        let length = self.path.symlink_metadata().ok().map(|found| found.len());
        self.noted_length() == length
    }

    /// Opens the file that the name means *now* and locks it.
    fn locked(&self, lock: Lock) -> Result<File, LogError> {
        loop {
            let file = match open_read_write(&self.path) {
                Ok(file) => file,
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                    self.create()?;
                    continue;
                }
                Err(cause) => return Err(self.file_error(FileAction::Read)(cause).into()),
            };
            let taken = match lock {
                Lock::Shared => file.lock_shared(),
                Lock::Exclusive => file.lock(),
            };
            taken.map_err(self.file_error(FileAction::Lock))?;
            let ours = file.metadata().map_err(self.file_error(FileAction::Inspect))?;
            match self.path.symlink_metadata() {
                Ok(named) if (named.dev(), named.ino()) == (ours.dev(), ours.ino()) => return Ok(file),
                // Replaced or removed while we waited for the lock: open what is there now.
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// Puts an empty log in place as a whole, so that not even the first moment shows half a file.
    fn create(&self) -> Result<(), LogError> {
        let mut draft = Draft::new(&self.path, FileMode::PRIVATE)?;
        draft.write(format!("{HEAD}{TAIL}").as_bytes())?;
        match draft.publish_new()? {
            Published::New | Published::AlreadyThere => Ok(()),
        }
    }

    /// Checks head and end in constant time and gives the length: what an append may build on.
    fn check_end(&self, file: &File) -> Result<u64, LogError> {
        let length = file.metadata().map_err(self.file_error(FileAction::Inspect))?.len();
        if length < bytes_of(HEAD).saturating_add(bytes_of(TAIL)) {
            return Err(self.damaged("it is shorter than an empty log"));
        }
        if self.noted_length().is_some_and(|noted| noted != length) {
            return Err(self.damaged("its length is not the one that it was left with"));
        }
        if self.slice(file, 0..bytes_of(HEAD))? != HEAD.as_bytes() {
            return Err(self.damaged("it does not start as a log"));
        }
        let window = if self.last_line(file, length, SHORT_LOOK)?.is_some() { SHORT_LOOK } else { LONG_LOOK };
        let Some(last) = self.last_line(file, length, window)? else {
            return Err(self.damaged("its end is cut or was edited"));
        };
        let empty = length == bytes_of(HEAD).saturating_add(bytes_of(TAIL));
        if empty || serde_json::from_slice::<LogEntry>(&last).is_ok() {
            Ok(length)
        } else {
            Err(self.damaged("its last entry is cut or was edited"))
        }
    }

    /// Where the length is noted.
    fn length_file(&self) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(LENGTH_FILE)
    }

    /// The length that the log was left with, where one was noted.
    fn noted_length(&self) -> Option<u64> {
        let bytes = read_bounded(&self.length_file(), LENGTH_BYTES_MAX).ok()?;
        std::str::from_utf8(&bytes).ok()?.trim().parse().ok()
    }

    fn note_length(&self, length: u64) -> Result<(), LogError> {
        let file = self.length_file();
        if let Some(folder) = file.parent() {
            make_folder(folder)?;
        }
        Ok(write_in_place(&file, format!("{length}\n").as_bytes())?)
    }

    /// The last line before the closing brackets, looking back at most `window` bytes.
    fn last_line(&self, file: &File, length: u64, window: u64) -> Result<Option<Vec<u8>>, LogError> {
        let bytes = self.slice(file, length.saturating_sub(window)..length)?;
        let Some(body) = bytes.strip_suffix(TAIL.as_bytes()) else { return Ok(None) };
        let at = body.iter().rposition(|byte| *byte == b'\n');
        if at.is_none() && length > window {
            return Ok(None);
        }
        Ok(Some(body.get(at.map_or(0, |at| at.saturating_add(1))..).unwrap_or_default().to_vec()))
    }

    /// Reads a part of the file.
    fn slice(&self, file: &File, range: std::ops::Range<u64>) -> Result<Vec<u8>, LogError> {
        let length = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, range.start).map_err(self.file_error(FileAction::Read))?;
        Ok(bytes)
    }

    /// Binds a cause to this file.
    fn file_error(&self, action: FileAction) -> impl FnOnce(io::Error) -> FileError {
        FileError::at(&self.path, action)
    }

    /// Binds a reason to this file.
    fn damaged(&self, reason: &str) -> LogError {
        LogError::Damaged { path: self.path.clone(), reason: reason.to_owned() }
    }
}

/// How a file is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lock {
    /// For readers.
    Shared,
    /// For the one writer.
    Exclusive,
}

/// One entry as one line.
fn encode(entry: &LogEntry) -> Result<String, LogError> {
    let line = serde_json::to_string(entry).unwrap_or_default();
    if line.len() > ENTRY_BYTES_MAX {
        return Err(LogError::TooLarge { bytes: line.len() });
    }
    Ok(line)
}

/// The length of a constant as a file offset.
const fn bytes_of(text: &str) -> u64 {
    text.len() as u64
}

/// Where the length is noted, below the folder of the log.
const LENGTH_FILE: &str = "state/safety_log.length";
/// The largest note of a length.
const LENGTH_BYTES_MAX: u64 = 64;
/// How the file starts.
const HEAD: &str = "{\"events\":[";
/// How the file ends.
const TAIL: &str = "\n]}\n";
/// Most entries are found in this many bytes from the end.
const SHORT_LOOK: u64 = 2 * 1024;
/// The largest entry with its brackets.
const LONG_LOOK: u64 = ENTRY_BYTES_MAX as u64 + 64;

#[cfg(test)]
mod tests;
