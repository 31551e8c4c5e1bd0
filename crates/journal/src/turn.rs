//! A turn: the session's lock, held, and the writing that is only legal under it.

use std::borrow::Cow;
use std::io;

use crate::batch::{Ack, Append, Batch, Durability, Fenced};
use crate::error::JournalError;
use crate::head::{self, Head, Place, State};
use crate::journal::{Journal, lock};
use crate::limits::BATCH_BYTES_MAX;
use crate::line::{self, Times};
use crate::recover::{self, Recovery};
use crate::storage::{OpenMode, Storage, offset};

/// The session's lock, held: what this process sees is all there is until the turn is dropped.
#[derive(Debug)]
pub struct Turn<'journal, S: Storage> {
    pub(super) journal: &'journal mut Journal<S>,
    pub(super) lock: S::Lock,
}

impl<S: Storage> Journal<S> {
    /// Appends a batch.
    ///
    /// # Errors
    /// Nothing was written: the batch is not acceptable, the lock is taken, the journal is damaged, or the handle is
    /// poisoned. What may have been written is [`Append::Unknown`].
    pub fn append(&mut self, batch: &Batch<'_>) -> Result<Append, JournalError> {
        // Blobs and checks come before the lock, so that no other process waits for them.
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
        let turn = self.storage.turn_of(&lock);
        // The lock was not free since the last turn of this very handle: nobody wrote, and what it knows is all there is.
        let is_next = turn.is_some_and(|turn| turn.after.is_some() && turn.after == self.last_turn);
        self.last_turn = turn.map(|turn| turn.number);
        if is_next {
            return Ok(Turn { journal: self, lock });
        }
        let recovery = Recovery { storage: &self.storage, paths: &self.paths, check: self.check };
        match recovery.run(&lock, Some(&self.view), &mut self.image) {
            Ok(view) => self.view = view,
            Err(error) => return Err(self.poisoned_by(error)),
        }
        Ok(Turn { journal: self, lock })
    }
}

impl<S: Storage> Turn<'_, S> {
    /// How many records there are.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.journal.view.place.tail.index
    }

    /// The journal, for reading.
    #[must_use]
    pub const fn journal(&self) -> &Journal<S> {
        self.journal
    }

    /// Appends a batch within the turn.
    ///
    /// # Errors
    /// See [`Journal::append`].
    pub fn append(&mut self, batch: &Batch<'_>) -> Result<Append, JournalError> {
        let bodies = self.journal.prepare(&batch.entries)?;
        self.append_prepared(batch, &bodies)
    }

    pub(super) fn append_prepared(
        &mut self,
        batch: &Batch<'_>,
        bodies: &[Cow<'_, str>],
    ) -> Result<Append, JournalError> {
        self.journal.ensure_sound()?;
        let found = self.records();
        if let Some(expected) = batch.after.filter(|expected| *expected != found) {
            return Ok(Append::Fenced(Fenced { expected, found }));
        }
        if self.journal.view.place.end >= self.journal.options.segment_bytes {
            self.rotate().map_err(|error| self.journal.poisoned_by(error))?;
        }
        let (text, place) = self.render(batch, bodies)?;
        match self.write(&text, place, batch.durability) {
            Ok(()) => Ok(Append::Ack(Ack { first: found, place })),
            Err(error) => Ok(Append::Unknown(self.journal.poisoned_by(error))),
        }
    }

    /// Makes everything so far durable.
    ///
    /// # Errors
    /// The disk failed; the handle is poisoned.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        self.journal.ensure_sound()?;
        if self.journal.view.durable.tail.index == self.records() {
            return Ok(());
        }
        self.sync_segment().map_err(|error| self.journal.poisoned_by(error))
    }

    /// The lines of a batch and the place behind them.
    fn render(&self, batch: &Batch<'_>, bodies: &[Cow<'_, str>]) -> Result<(String, Place), JournalError> {
        let view = &self.journal.view;
        let mut text = String::new();
        let mut tail = view.place.tail;
        let mut last = 0;
        let mut cut = view.cut;
        for (position, (entry, body)) in batch.entries.iter().zip(bodies).enumerate() {
            last = text.len();
            let times = Times {
                cut: cut.take(),
                durations_ms: entry.durations_ms.clone(),
                host: self.journal.options.host.clone(),
                synced: view.durable.tail.index,
                wall_ms: entry.wall_ms,
            };
            line::render(&mut text, &mut tail, body, &times)
                .map_err(|error| JournalError::Entry { position, cause: error.to_string() })?;
        }
        if text.len() > BATCH_BYTES_MAX {
            return Err(JournalError::BatchTooLarge { bytes: text.len(), limit: BATCH_BYTES_MAX });
        }
        let place = Place {
            end: view.place.end + offset(text.len()),
            last: view.place.end + offset(last),
            segment: view.place.segment,
            tail,
        };
        Ok((text, place))
    }

    /// The one write, and for a synced batch the marks around it.
    fn write(&mut self, text: &str, place: Place, durability: Durability) -> Result<(), JournalError> {
        if durability == Durability::Synced {
            self.write_head(State::Pending)?;
        }
        let path = self.journal.paths.segment(place.segment);
        let storage = &self.journal.storage;
        let file = storage.open(&path, OpenMode::Append).map_err(|error| JournalError::io("open", &path, error))?;
        let written =
            storage.append(&file, text.as_bytes()).map_err(|error| JournalError::io("append to", &path, error))?;
        if written != text.len() {
            return Err(JournalError::io("append to", &path, io::ErrorKind::StorageFull.into()));
        }
        if durability == Durability::Synced {
            storage.sync(&file).map_err(|error| JournalError::io("sync", &path, error))?;
        }
        let Journal { view, grown, .. } = &mut *self.journal;
        *grown = grown.take().and_then(|tree| tree.grown_by(text, view.place.tail, place));
        view.place = place;
        let had_cut = view.cut.take().is_some();
        match durability {
            Durability::Synced => {
                view.durable = place;
                self.write_head(State::Clean)
            }
            Durability::Grouped if had_cut => self.write_head(State::Clean),
            Durability::Grouped => Ok(()),
        }
    }

    fn sync_segment(&mut self) -> Result<(), JournalError> {
        let place = self.journal.view.place;
        self.write_head(State::Pending)?;
        let path = self.journal.paths.segment(place.segment);
        let file = self
            .journal
            .storage
            .open(&path, OpenMode::Append)
            .map_err(|error| JournalError::io("open", &path, error))?;
        self.journal.storage.sync(&file).map_err(|error| JournalError::io("sync", &path, error))?;
        self.journal.view.durable = place;
        self.write_head(State::Clean)
    }

    /// Begins a new segment. The old one is made durable first, so that only a journal's last segment can be torn.
    fn rotate(&mut self) -> Result<(), JournalError> {
        self.sync_segment()?;
        let place = self.journal.view.place;
        let next = Place::start_of(place.segment + 1, place.tail);
        self.journal.view.place = next;
        self.journal.view.durable = next;
        // `HEAD` first: after a crash in between, the next process makes the file.
        self.write_head(State::Clean)?;
        recover::create_segment(&self.journal.storage, &self.journal.paths, next.segment)
    }

    /// Writes `HEAD` for what is known to be durable.
    fn write_head(&mut self, state: State) -> Result<(), JournalError> {
        let Journal { storage, paths, view, image, .. } = &mut *self.journal;
        let head = Head::next(view.sequence, view.durable, state, view.cut);
        head::write(storage, &self.lock, &paths.head(), &head, image)?;
        view.sequence = head.sequence;
        Ok(())
    }
}
