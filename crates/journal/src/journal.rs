//! The journal: the truth of a session, as an append-only file that survives crashes and shows every change.
//!
//! An append is one write under the session's lock, synced before anything with consequences. [`Journal::open`] reads
//! `HEAD` and the bytes behind it, never the whole journal; [`verify::verify`] reads everything. A torn tail is cut and
//! the next record says so; anything else that does not verify is damage and is refused with the first bad index.
//! Several processes may append to one session: whoever holds the lock first looks at what the others wrote.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::IgnoredAny;
use tripwire_core::record::chain::Digest;

use crate::storage::Storage;

pub mod blob;
pub mod bundle;
pub mod checkpoint;
pub mod error;
mod head;
pub mod keys;
pub mod line;
mod merkle;
pub mod names;
pub mod note;
pub mod payload;
mod read;
mod recover;
mod segment;
pub mod storage;
mod turn;
pub mod verify;

use blob::Blobs;
pub use error::{Damage, DamageCause, JournalError};
pub use head::Place;
pub use line::{Cut, LineFault, Tail, Times};
pub use read::{Page, Record};
use segment::LineCheck;
pub use turn::Turn;

/// Where a session keeps its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPaths {
    session: String,
    dir: PathBuf,
    blobs: PathBuf,
}

impl SessionPaths {
    /// The places of a session below a `.geometry` directory.
    ///
    /// # Errors
    /// A name that is empty, too long, or holds anything but letters, digits, dots, dashes and underscores.
    pub fn new(geometry: &Path, session: &str) -> Result<Self, JournalError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if session.is_empty()
            || session.len() > SESSION_NAME_BYTES_MAX
            || session.starts_with('.')
            || !session.bytes().all(is_plain)
        {
            return Err(JournalError::SessionName(session.to_owned()));
        }
        Ok(Self {
            session: session.to_owned(),
            dir: geometry.join(names::JOURNAL).join(session),
            blobs: geometry.join(names::BLOBS),
        })
    }

    /// The names of the sessions below a `.geometry` directory, oldest first as far as their names tell.
    ///
    /// # Errors
    /// The directory is there and cannot be read.
    pub fn list<S: Storage>(storage: &S, geometry: &Path) -> Result<Vec<String>, JournalError> {
        let dir = geometry.join(names::JOURNAL);
        match storage.list(&dir) {
            Ok(names) => Ok(names.into_iter().filter(|name| Self::new(geometry, name).is_ok()).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(JournalError::io("list", &dir, error)),
        }
    }

    /// The session's name.
    #[must_use]
    pub fn session(&self) -> &str {
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

    fn head(&self) -> PathBuf {
        self.dir.join(names::HEAD)
    }

    fn segment(&self, number: u64) -> PathBuf {
        self.dir.join(segment::name(number))
    }
}

/// What a journal needs to know about its surroundings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The machine's name, noted outside the hash of each record.
    pub host: String,
    /// A segment that has reached this size is followed by a new one; at most eight megabytes.
    pub segment_bytes: u64,
    /// How long to wait for another process before giving up.
    pub lock_wait: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { host: String::new(), segment_bytes: SEGMENT_BYTES, lock_wait: LOCK_WAIT }
    }
}

/// A record to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'body> {
    /// Canonical JSON text; the journal does not look into it.
    pub body: Cow<'body, str>,
    /// How long things took, outside the hash.
    pub durations_ms: BTreeMap<String, u64>,
    /// The wall clock in milliseconds since 1970, outside the hash.
    pub wall_ms: u64,
}

/// Records that are written together or, after a crash, as a prefix of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch<'body> {
    /// The records, in order.
    pub entries: Vec<Entry<'body>>,
    /// Whether consequences follow.
    pub durability: Durability,
    /// If set, the batch is written only if exactly this many records are there: whoever decided on an older state is
    /// told so instead of being appended behind what it has not seen.
    pub after: Option<u64>,
}

/// When a record must be on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// With the next synced batch: a power cut may lose it, the end of the process does not.
    Grouped,
    /// Before the call returns, together with everything before it.
    Synced,
}

/// What became of a batch.
#[derive(Debug)]
#[must_use = "only an acknowledged batch may have consequences"]
pub enum Append {
    /// It is in the journal.
    Ack(Ack),
    /// Nothing was written: another writer was here first.
    Fenced(Fenced),
    /// It may or may not be in the journal, and this handle is poisoned. Opening the journal again decides.
    Unknown(JournalError),
}

/// An acknowledged batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// The index of its first record.
    pub first: u64,
    /// The place behind its last record.
    pub place: Place,
}

impl Ack {
    /// The hash of the batch's last record.
    #[must_use]
    pub const fn hash(&self) -> Digest {
        self.place.tail.hash
    }
}

/// A batch that was decided on an older state of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fenced {
    /// How many records the writer knew.
    pub expected: u64,
    /// How many there are.
    pub found: u64,
}

/// One process's view of a session's journal.
#[derive(Debug)]
pub struct Journal<S: Storage> {
    storage: S,
    paths: SessionPaths,
    options: Options,
    check: LineCheck,
    blobs: Blobs<S>,
    view: View,
    health: Health,
}

/// What this handle knows about the files.
#[derive(Debug, Clone, Copy)]
struct View {
    /// The end of the journal.
    place: Place,
    /// The end of what is known to be durable.
    durable: Place,
    /// The sequence number of `HEAD` when it was last read or written.
    sequence: u64,
    /// A cut that no record mentions yet.
    cut: Option<Cut>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Sound,
    /// An I/O error happened: the view may be wrong, and an unsynced byte may never reach the disk.
    Poisoned,
}

impl<S: Storage + Clone> Journal<S> {
    /// Opens a session's journal, creating it if it is missing, and recovers what a crash left.
    ///
    /// # Errors
    /// Damage, I/O trouble, or a lock that is not released in time.
    pub fn open(storage: S, paths: SessionPaths, options: Options) -> Result<Self, JournalError> {
        Self::open_checked_by(storage, paths, options, line::check)
    }

    /// Opens the journal of a session that must exist already: looking must not create anything.
    ///
    /// # Errors
    /// There is no such session, or see [`Self::open`].
    pub fn open_existing(storage: S, paths: SessionPaths, options: Options) -> Result<Self, JournalError> {
        match storage.list(&paths.dir) {
            Ok(names) if !names.is_empty() => Self::open(storage, paths, options),
            Ok(_empty) => Err(JournalError::NoSession(paths.session)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(JournalError::NoSession(paths.session)),
            Err(error) => Err(JournalError::io("list", &paths.dir, error)),
        }
    }

    /// Opens with another rule for lines: how the tests show that the chain check carries weight.
    fn open_checked_by(
        storage: S,
        paths: SessionPaths,
        options: Options,
        check: LineCheck,
    ) -> Result<Self, JournalError> {
        storage.create_dir(&paths.dir).map_err(|error| JournalError::io("create", &paths.dir, error))?;
        let lock = lock(&storage, &paths, &options)?;
        let recovery = recover::Recovery { storage: &storage, paths: &paths, check };
        let view = recovery.run(&lock, None)?;
        drop(lock);
        let options = Options {
            host: plain_host(&options.host),
            // A larger segment could not be read back.
            segment_bytes: options.segment_bytes.min(SEGMENT_BYTES),
            ..options
        };
        Ok(Self {
            blobs: Blobs::new(storage.clone(), paths.blobs.clone()),
            storage,
            paths,
            options,
            check,
            view,
            health: Health::Sound,
        })
    }
}

impl<S: Storage> Journal<S> {
    /// How many records there are, as far as this handle has looked.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.view.place.tail.index
    }

    /// The end of the journal, as far as this handle has looked.
    #[must_use]
    pub const fn place(&self) -> Place {
        self.view.place
    }

    /// How many records are known to be durable.
    #[must_use]
    pub const fn synced(&self) -> u64 {
        self.view.durable.tail.index
    }

    /// A torn tail that was cut and that the next record will mention.
    #[must_use]
    pub const fn cut(&self) -> Option<Cut> {
        self.view.cut
    }

    /// Where the session keeps its files.
    #[must_use]
    pub const fn paths(&self) -> &SessionPaths {
        &self.paths
    }

    /// The session's blobs.
    #[must_use]
    pub const fn blobs(&self) -> &Blobs<S> {
        &self.blobs
    }

    /// Appends a batch.
    ///
    /// # Errors
    /// Nothing was written: the batch is not acceptable, the lock is taken, the journal is damaged, or the handle is
    /// poisoned. What may have been written is [`Append::Unknown`].
    pub fn append(&mut self, batch: &Batch<'_>) -> Result<Append, JournalError> {
        // Blobs and checks come before the lock, so that nobody waits for them.
        let bodies = self.prepare(&batch.entries)?;
        self.turn()?.append_prepared(batch, &bodies)
    }

    /// Takes the lock and looks at what others wrote, for a caller that must read and append without anyone between.
    ///
    /// # Errors
    /// The lock is taken, the journal is damaged, or the handle is poisoned.
    pub fn turn(&mut self) -> Result<Turn<'_, S>, JournalError> {
        self.ensure_sound()?;
        let lock = lock(&self.storage, &self.paths, &self.options)?;
        let recovery = recover::Recovery { storage: &self.storage, paths: &self.paths, check: self.check };
        match recovery.run(&lock, Some(&self.view)) {
            Ok(view) => self.view = view,
            Err(error) => return Err(self.poisoned_by(error)),
        }
        Ok(Turn { journal: self, lock })
    }

    /// Whether the disk failed under this handle: nothing can be written through it any more, and opening the journal again
    /// decides what is in it.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.ensure_sound().is_err()
    }

    fn ensure_sound(&self) -> Result<(), JournalError> {
        match self.health {
            Health::Sound => Ok(()),
            Health::Poisoned => Err(JournalError::Poisoned),
        }
    }

    fn poisoned_by(&mut self, error: JournalError) -> JournalError {
        self.health = Health::Poisoned;
        error
    }

    /// Turns entries into bodies that fit a line, storing large ones as blobs.
    fn prepare<'batch>(&mut self, entries: &'batch [Entry<'_>]) -> Result<Vec<Cow<'batch, str>>, JournalError> {
        self.ensure_sound()?;
        let mut bodies = Vec::with_capacity(entries.len());
        for (position, entry) in entries.iter().enumerate() {
            check_entry(entry).map_err(|cause| JournalError::Entry { position, cause })?;
            if entry.body.len() <= blob::INLINE_BYTES_MAX {
                bodies.push(Cow::Borrowed(&*entry.body));
                continue;
            }
            let pointer = match self.blobs.put(entry.body.as_bytes()) {
                Ok(pointer) => pointer,
                Err(error) => return Err(self.poisoned_by(error)),
            };
            bodies.push(Cow::Owned(pointer.to_body()?));
        }
        Ok(bodies)
    }
}

/// Takes the session's lock, which is the lock of `HEAD`.
fn lock<S: Storage>(storage: &S, paths: &SessionPaths, options: &Options) -> Result<S::Lock, JournalError> {
    let path = paths.head();
    storage.lock(&path, options.lock_wait).map_err(|error| {
        if error.kind() == std::io::ErrorKind::WouldBlock {
            return JournalError::Locked { path };
        }
        JournalError::io("lock", &path, error)
    })
}

/// A line must stay one line, and `jq` must be able to read it for ever.
fn check_entry(entry: &Entry<'_>) -> Result<(), String> {
    if entry.body.bytes().any(|byte| byte < 0x20) {
        return Err("the body holds a control character, so it is not canonical JSON".to_owned());
    }
    if entry.body.starts_with(blob::POINTER_PREFIX) {
        return Err(format!("a body may not begin with `{}`", blob::POINTER_PREFIX));
    }
    let is_plain = |name: &String| {
        name.len() <= DURATION_NAME_BYTES_MAX && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if entry.durations_ms.len() > DURATIONS_MAX || !entry.durations_ms.keys().all(is_plain) {
        return Err(format!(
            "more than {DURATIONS_MAX} durations, or a name that is not a plain word of at most {DURATION_NAME_BYTES_MAX} bytes"
        ));
    }
    serde_json::from_str::<IgnoredAny>(&entry.body)
        .map(|_valid| ())
        .map_err(|error| format!("the body is not JSON: {error}"))
}

/// A machine's name is only a note, so what does not fit a bounded line is left out instead of refused.
fn plain_host(host: &str) -> String {
    host.chars()
        .filter(|letter| letter.is_ascii_graphic() && *letter != '"' && *letter != '\\')
        .take(HOST_BYTES_MAX)
        .collect()
}

/// Sizes of things in memory are far below 2^64.
fn offset(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// A scan of one segment is what a missing `HEAD` costs; eight megabytes take some ten milliseconds.
const SEGMENT_BYTES: u64 = 8 * 1024 * 1024;

/// One write, and what a segment may exceed its limit by.
const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A hook that is told nothing else answers within 25 seconds and keeps 20 of them for locks: this one, and up to 8 for its
/// client's notes. In a storm of hooks each holds the lock for milliseconds, so whoever waits longer waits for a fault.
const LOCK_WAIT: Duration = Duration::from_secs(10);

const SESSION_NAME_BYTES_MAX: usize = 128;
const HOST_BYTES_MAX: usize = 64;
const DURATIONS_MAX: usize = 16;
const DURATION_NAME_BYTES_MAX: usize = 32;

/// A line is a body or a pointer, and a bounded frame around it.
const LINE_BYTES_MAX: usize = blob::INLINE_BYTES_MAX + 4096;
const _: () = assert!(LINE_BYTES_MAX < BATCH_BYTES_MAX, "a single record always fits a batch");

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tampering;
