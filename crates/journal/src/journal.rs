//! One process's handle on a session's journal: opening and recovering it, and what must hold before it is written to.

use std::borrow::Cow;

use crate::batch::{Entry, Options};
use crate::blob::{self, Blobs};
use crate::error::JournalError;
use crate::grown::GrownTree;
use crate::head::{HeadImage, Place};
use crate::limits::{HOST_BYTES_MAX, SEGMENT_BYTES};
use crate::line::{self, Cut};
use crate::paths::SessionPaths;
use crate::recover::{Recovery, View};
use crate::segment::LineCheck;
use crate::storage::Storage;

/// One process's view of a session's journal.
#[derive(Debug)]
pub struct Journal<S: Storage> {
    pub(crate) storage: S,
    pub(crate) paths: SessionPaths,
    pub(crate) options: Options,
    pub(crate) check: LineCheck,
    pub(crate) blobs: Blobs<S>,
    pub(crate) view: View,
    pub(crate) image: HeadImage,
    pub(crate) health: Health,
    /// The last turn of this handle, where the storage counts them.
    pub(crate) last_turn: Option<u64>,
    /// The tree over all records, once this handle signed it.
    pub(crate) grown: Option<GrownTree>,
}

/// What may be done through a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    Sound,
    /// It was opened to look: nobody's lock was taken, so nothing may be written.
    ReadOnly,
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
        match storage.list(paths.dir()) {
            Ok(names) if !names.is_empty() => Self::open(storage, paths, options),
            Ok(_empty) => Err(JournalError::NoSession(paths.session().to_string())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(JournalError::NoSession(paths.session().to_string()))
            }
            Err(error) => Err(JournalError::io("list", paths.dir(), error)),
        }
    }

    /// Opens with another rule for lines: how the tests show that the chain check carries weight.
    pub(crate) fn open_checked_by(
        storage: S,
        paths: SessionPaths,
        options: Options,
        check: LineCheck,
    ) -> Result<Self, JournalError> {
        storage.create_dir(paths.dir()).map_err(|error| JournalError::io("create", paths.dir(), error))?;
        let lock = lock(&storage, &paths, &options)?;
        let recovery = Recovery { storage: &storage, paths: &paths, check };
        let mut image = HeadImage::default();
        let view = recovery.run(&lock, None, &mut image)?;
        drop(lock);
        let options = Options {
            host: plain_host(&options.host),
            // A larger segment could not be read back.
            segment_bytes: options.segment_bytes.min(SEGMENT_BYTES),
            ..options
        };
        Ok(Self {
            blobs: Blobs::new(storage.clone(), paths.blobs().to_owned()),
            storage,
            paths,
            options,
            check,
            view,
            image,
            health: Health::Sound,
            last_turn: None,
            grown: None,
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

    /// Whether the disk failed under this handle: nothing can be written through it any more, and opening the journal again
    /// decides what is in it.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.ensure_sound().is_err()
    }

    pub(crate) fn ensure_sound(&self) -> Result<(), JournalError> {
        match self.health {
            Health::Sound => Ok(()),
            Health::ReadOnly => Err(JournalError::ReadOnly),
            Health::Poisoned => Err(JournalError::Poisoned),
        }
    }

    /// Refuses every further write through this handle.
    pub(crate) const fn poison(&mut self) {
        self.health = Health::Poisoned;
    }

    pub(crate) fn poisoned_by(&mut self, error: JournalError) -> JournalError {
        self.poison();
        error
    }

    /// Turns entries into bodies that fit a line, storing large ones as blobs.
    pub(crate) fn prepare<'batch>(
        &mut self,
        entries: &'batch [Entry<'_>],
    ) -> Result<Vec<Cow<'batch, str>>, JournalError> {
        self.ensure_sound()?;
        let mut bodies = Vec::with_capacity(entries.len());
        for (position, entry) in entries.iter().enumerate() {
            entry.check().map_err(|cause| JournalError::Entry { position, cause })?;
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
pub(crate) fn lock<S: Storage>(storage: &S, paths: &SessionPaths, options: &Options) -> Result<S::Lock, JournalError> {
    let path = paths.head();
    storage.lock(&path, options.lock_wait).map_err(|error| {
        if error.kind() == std::io::ErrorKind::WouldBlock {
            return JournalError::Locked { path };
        }
        JournalError::io("lock", &path, error)
    })
}

/// A machine's name is only a note, so what does not fit a bounded line is left out instead of refused.
fn plain_host(host: &str) -> String {
    host.chars()
        .filter(|letter| letter.is_ascii_graphic() && *letter != '"' && *letter != '\\')
        .take(HOST_BYTES_MAX)
        .collect()
}
