//! Signed checkpoints: what makes a cut or rewritten journal visible although its own chain holds.
//!
//! Each checkpoint is a note in `checkpoints/` of the session's directory. The last one is kept a second time where the
//! key is, so that removing records together with their checkpoints is found as well. Making one reads only the records
//! since the one before it, if the same key signed that one; a process that signed it and wrote all records since has their
//! tree in memory and reads none.
//!
//! Several keys may sign the same journal, as when a second account stops a session: a note then carries a signature of
//! each, and none removes what another one signed.

use std::path::{Path, PathBuf};

use tripwire_core::record::canonical;

use super::error::{Damage, DamageCause, JournalError};
use super::grown::{GrownTree, Growth};
use super::journal::Journal;
use super::merkle::Frontier;
use super::note::{Checkpoint, SignedCheckpoint, Signer};
use super::paths::SessionPaths;
use super::turn::Turn;
use crate::names;
use crate::storage::{self, Storage};

/// What a journal is called in its checkpoints.
#[must_use]
pub fn origin(paths: &SessionPaths) -> String {
    format!("tripwire/journal/{}", paths.session())
}

impl<S: Storage> Turn<'_, S> {
    /// Makes everything durable, signs a checkpoint over it and keeps a copy as `witness`.
    ///
    /// # Errors
    /// I/O trouble, damage, or records that are not those of the checkpoint before.
    pub fn checkpoint(&mut self, signer: &Signer, witness: Option<&Path>) -> Result<Checkpoint, JournalError> {
        self.sync()?;
        let result = self.journal.sign(signer, witness);
        if let Err(JournalError::Io { .. }) = result {
            self.journal.poison();
        }
        self.journal.grown = None;
        let (checkpoint, growth) = result?;
        self.journal.grown = Some(GrownTree::signed(growth, signer.verifier()));
        Ok(checkpoint)
    }
}

impl<S: Storage> Journal<S> {
    fn sign(&self, signer: &Signer, witness: Option<&Path>) -> Result<(Checkpoint, Growth), JournalError> {
        let dir = directory(&self.paths);
        self.storage.create_dir(&dir).map_err(|error| JournalError::io("create", &dir, error))?;
        let known = self.grown.as_ref().and_then(|tree| tree.at(self.place(), &signer.verifier()));
        let growth = known.map_or_else(|| self.grown(signer, witness), Ok)?;
        let frontier = &growth.frontier;
        let checkpoint = Checkpoint { origin: origin(&self.paths), size: frontier.size(), root: frontier.root() };
        if let Some(witness) = witness {
            let parent = witness.parent().unwrap_or(witness);
            self.storage.create_dir(parent).map_err(|error| JournalError::io("create", parent, error))?;
        }
        let kept = self.keep(&checkpoint, signer);
        // Where the note cannot be kept because of another key's word, the own word is still kept outside.
        if let (Ok(()) | Err(JournalError::Checkpoint { .. }), Some(witness)) = (&kept, witness) {
            self.put(witness, checkpoint.sign(signer).as_bytes())?;
        }
        kept?;
        // What a power cut leaves of it is no tree of a signed checkpoint, and everything is read again then.
        let path = dir.join(GROWTH);
        storage::replace_unsynced(&self.storage, &path, canonical::to_string(&growth)?.as_bytes())
            .map_err(|error| JournalError::io("write", &path, error))?;
        Ok((checkpoint, growth))
    }

    /// Keeps a checkpoint's note; one that another key signed gets this signature too.
    fn keep(&self, checkpoint: &Checkpoint, signer: &Signer) -> Result<(), JournalError> {
        let path = note_path(&self.paths, checkpoint.size);
        let text = match self.read_note(&path)? {
            Some((_text, read)) if read.verified_by(&signer.verifier()) == Some(checkpoint) => return Ok(()),
            Some((_text, read)) if read.verified_by(&signer.verifier()).is_some() => {
                return Err(disagrees(0, checkpoint.size));
            }
            Some((text, read)) if read.unverified() == checkpoint => read.cosigned(&text, signer),
            Some(_) => {
                let cause = "a key that is not known here signed other records".to_owned();
                return Err(JournalError::Checkpoint { path, cause });
            }
            None => checkpoint.sign(signer),
        };
        if text.len() > NOTE_BYTES_MAX {
            return Err(JournalError::Checkpoint { path, cause: "too many keys signed it".to_owned() });
        }
        self.put(&path, text.as_bytes())
    }

    /// The tree over all records, compared on the way with what this key signed before.
    fn grown(&self, signer: &Signer, witness: Option<&Path>) -> Result<Growth, JournalError> {
        let mut growth = self.growth(signer)?;
        let Growth { frontier, place } = &mut growth;
        let mut signed = if frontier.size() == 0 { self.signed_before(signer, witness)? } else { Vec::new() };
        let mut agreed = 0;
        self.visit(place, usize::MAX, |_line, raw| {
            frontier.push(raw);
            while let Some(before) = signed.pop_if(|before| before.size <= frontier.size()) {
                if before.root != frontier.root() {
                    return Err(disagrees(agreed, before.size));
                }
                agreed = before.size;
            }
            Ok(())
        })?;
        match signed.first() {
            Some(before) => Err(disagrees(frontier.size(), before.size)),
            None => Ok(growth),
        }
    }

    /// What this key signed of this journal, largest first.
    fn signed_before(&self, signer: &Signer, witness: Option<&Path>) -> Result<Vec<Checkpoint>, JournalError> {
        let dir = directory(&self.paths);
        let names = self.storage.list(&dir).map_err(|error| JournalError::io("list", &dir, error))?;
        let notes = note_sizes(&names).into_iter().map(|size| note_path(&self.paths, size));
        let mut signed = Vec::new();
        for path in notes.chain(witness.map(Path::to_owned)) {
            let note = match self.read_note(&path) {
                Ok(Some((_text, note))) => note,
                // What is no note is found by verification and vouches for nothing here.
                Ok(None) | Err(JournalError::Checkpoint { .. }) => continue,
                Err(error) => return Err(error),
            };
            let own = note.verified_by(&signer.verifier());
            signed.extend(own.filter(|own| own.origin == origin(&self.paths) && own.size > 0).cloned());
        }
        signed.sort_by_key(|checkpoint| std::cmp::Reverse(checkpoint.size));
        Ok(signed)
    }

    /// The tree of the last checkpoint if a signature vouches for it, else an empty one that reads everything.
    fn growth(&self, signer: &Signer) -> Result<Growth, JournalError> {
        let path = directory(&self.paths).join(GROWTH);
        let bytes = storage::read_file(&self.storage, &path, GROWTH_BYTES_MAX)
            .map_err(|error| JournalError::io("read", &path, error))?;
        let found: Option<Growth> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if let Some(growth) = found
            && growth.frontier.is_well_formed()
            && growth.frontier.size() == growth.place.records()
            && let Some((_text, note)) = self.read_note(&note_path(&self.paths, growth.frontier.size()))?
            && let Some(signed) = note.verified_by(&signer.verifier())
            && signed.root == growth.frontier.root()
            && signed.origin == origin(&self.paths)
        {
            let end = self.place();
            if growth.place.records() > end.records() || growth.place.segment > end.segment {
                // A signature vouches for records in places that are not there any more.
                return Err(disagrees(end.records().min(signed.size), signed.size));
            }
            return Ok(growth);
        }
        Ok(Growth { frontier: Frontier::default(), place: self.beginning() })
    }

    fn read_note(&self, path: &Path) -> Result<Option<(String, SignedCheckpoint)>, JournalError> {
        read_note(&self.storage, path)
    }

    fn put(&self, path: &Path, bytes: &[u8]) -> Result<(), JournalError> {
        storage::replace(&self.storage, path, bytes).map_err(|error| JournalError::io("write", path, error))
    }
}

/// That the records since `index` are not those of the own checkpoint of this size.
fn disagrees(index: u64, size: u64) -> JournalError {
    Damage::new(index, DamageCause::CheckpointDisagrees { size }).into()
}

/// A note as text and taken apart; a missing file is `None`, a file that is no note is an error.
pub(super) fn read_note<S: Storage>(
    storage: &S,
    path: &Path,
) -> Result<Option<(String, SignedCheckpoint)>, JournalError> {
    let bytes =
        storage::read_file(storage, path, NOTE_BYTES_MAX).map_err(|error| JournalError::io("read", path, error))?;
    let Some(bytes) = bytes else {
        return Ok(None);
    };
    let note = String::from_utf8(bytes).ok().and_then(|text| SignedCheckpoint::parse(&text).map(|note| (text, note)));
    note.map(Some)
        .ok_or_else(|| JournalError::Checkpoint { path: path.to_owned(), cause: "it is not a signed note".to_owned() })
}

/// The directory of a session's checkpoints.
pub(super) fn directory(paths: &SessionPaths) -> PathBuf {
    paths.dir().join(names::CHECKPOINTS)
}

/// The file of the checkpoint over so many records.
pub(super) fn note_path(paths: &SessionPaths, size: u64) -> PathBuf {
    directory(paths).join(names::note(size))
}

/// The sizes that the notes among some file names cover.
pub(super) fn note_sizes(names: &[String]) -> Vec<u64> {
    let mut sizes: Vec<u64> =
        names.iter().filter_map(|name| name.strip_suffix(names::NOTE_SUFFIX)?.parse().ok()).collect();
    sizes.sort_unstable();
    sizes
}

const GROWTH: &str = "growth.json";

const NOTE_BYTES_MAX: usize = 16 << 10;
const GROWTH_BYTES_MAX: usize = 16 << 10;
