//! The whole journal, from its first byte: what is there, what is missing, and which record is the first bad one.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Serialize;
use tripwire_core::record::chain::Digest;

use super::blob::{BlobPointer, Blobs};
use super::checkpoint;
use super::error::{Damage, DamageCause, JournalError};
use super::head::{self, Head, HeadImage};
use super::limits::LOCK_WAIT;
use super::limits::SEGMENT_READ_MAX;
use super::line::{self, Line, Tail};
use super::merkle::Frontier;
use super::note::{Checkpoint, SignedCheckpoint, Verifier};
use super::paths::SessionPaths;
use super::{names, segment};
use crate::storage::{self, OpenMode, Storage, offset};

/// Whose checkpoints count, and where the last one is kept a second time.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// The key that signed them. Checkpoints of other keys, and all of them without one, are compared with the records but
    /// vouch for nothing.
    pub verifier: Option<Verifier>,
    /// The copy outside the workspace.
    pub witness: Option<PathBuf>,
}

/// What verification found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// How many bytes the segments have.
    pub bytes: u64,
    /// What is wrong at the first bad index.
    pub cause: Option<String>,
    /// Checkpoints that agree with the records.
    pub checkpoints: u64,
    /// Of these, how many the trusted key signed.
    pub checkpoints_trusted: u64,
    /// How many records the largest agreeing checkpoint of the trusted key covers, or of any key where none is known.
    pub covered: u64,
    /// The first record that is missing, changed or out of place.
    pub first_bad_index: Option<u64>,
    /// What `HEAD` knows to be durable; absent if it is missing or torn, which alone is no damage.
    pub head: Option<u64>,
    /// The hash of the last good record.
    pub last_hash: Digest,
    /// How many records verify from the start on.
    pub records: u64,
    /// How many segments there are.
    pub segments: u64,
    /// The session.
    pub session: String,
    /// Bytes of an unfinished write at the end, which the next opening cuts.
    pub torn_bytes: u64,
    /// The other keys that the agreeing checkpoints name, each as `NAME+ID`.
    pub unknown_keys: BTreeSet<String>,
}

impl Report {
    /// Whether nothing is wrong.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.first_bad_index.is_none()
    }
}

/// Verifies a session's journal, its checkpoints and its blobs.
///
/// # Errors
/// Only if the files cannot be read: what is wrong in them is in the report.
pub fn verify<S: Storage + Clone>(storage: &S, paths: &SessionPaths, trust: &Trust) -> Result<Report, JournalError> {
    let mut walker = Walker {
        storage,
        paths,
        blobs: Blobs::new(storage.clone(), paths.blobs().to_owned()),
        tail: Tail::genesis(),
        frontier: Frontier::default(),
        head: None,
        marks: Vec::new(),
        findings: Vec::new(),
        passed: Passed::default(),
    };
    // The marks come first: a live session may sign between the two looks, and records are there before what vouches for
    // them. The other way round its newest checkpoint would seem to vouch for records that are missing.
    walker.collect_marks(trust)?;
    let snapshot = Snapshot::take(storage, paths)?;
    walker.head = snapshot.head;
    walker.settle_marks();
    let torn_bytes = walker.walk(&snapshot)?;
    walker.finish();
    let first = walker.findings.into_iter().min_by_key(Damage::index);
    Ok(Report {
        bytes: snapshot.sizes.iter().sum(),
        cause: first.as_ref().map(|damage| damage.cause().to_string()),
        checkpoints: walker.passed.agreeing,
        checkpoints_trusted: walker.passed.trusted,
        covered: walker.passed.covered,
        first_bad_index: first.as_ref().map(Damage::index),
        head: snapshot.head.map(|head| head.place.records()),
        last_hash: walker.tail.hash,
        records: walker.tail.index,
        segments: offset(snapshot.sizes.len()),
        session: paths.session().to_string(),
        torn_bytes,
        unknown_keys: walker.passed.unknown_keys,
    })
}

/// What there was to verify at one moment; what is appended later is not looked at.
struct Snapshot {
    head: Option<Head>,
    sizes: Vec<u64>,
    missing: Option<String>,
}

impl Snapshot {
    fn take<S: Storage>(storage: &S, paths: &SessionPaths) -> Result<Self, JournalError> {
        let head_path = paths.head();
        let file = match storage.open(&head_path, OpenMode::Read) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(JournalError::io("open", &head_path, error)),
        };
        let lock = match &file {
            Some(_) => match storage.lock(&head_path, LOCK_WAIT) {
                Ok(lock) => Some(lock),
                // A read-only copy has no writers to wait for.
                Err(error) if is_read_only(&error) => None,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    return Err(JournalError::Locked { path: head_path });
                }
                Err(error) => return Err(JournalError::io("lock", &head_path, error)),
            },
            None => None,
        };
        let head = match &file {
            Some(file) => head::read(storage, file, &head_path, &mut HeadImage::default())?,
            None => None,
        };
        let names = storage.list(paths.dir()).map_err(|error| JournalError::io("list", paths.dir(), error))?;
        let (count, missing) = match segment::numbers(&names) {
            Ok(count) => (count, None),
            Err(name) => (segment::before(&name), Some(name)),
        };
        let mut sizes = Vec::new();
        for number in 1..=count {
            let path = paths.segment(number);
            let size = storage
                .open(&path, OpenMode::Read)
                .and_then(|file| storage.size(&file))
                .map_err(|error| JournalError::io("open", &path, error))?;
            sizes.push(size);
        }
        drop(lock);
        Ok(Self { head, sizes, missing })
    }
}

fn is_read_only(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::PermissionDenied || error.kind() == std::io::ErrorKind::ReadOnlyFilesystem
}

/// A checkpoint that the records must agree with.
struct Mark {
    checkpoint: Checkpoint,
    trust: MarkTrust,
    /// The keys that it names beside the trusted one.
    unknown_keys: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkTrust {
    /// The trusted key signed it.
    Signed,
    /// Only other keys did.
    Foreign,
    /// No key is trusted, so any word counts.
    Unchecked,
}

impl MarkTrust {
    /// Whose word a note is; `None` if it names the trusted key and that key did not sign it.
    fn of(note: &SignedCheckpoint, trusted: Option<&Verifier>) -> Option<Self> {
        let Some(verifier) = trusted else { return Some(Self::Unchecked) };
        match (note.verified_by(verifier).is_some(), note.names(verifier)) {
            (true, _) => Some(Self::Signed),
            (false, false) => Some(Self::Foreign),
            (false, true) => None,
        }
    }
}

/// How the checkpoints fared.
#[derive(Default)]
struct Passed {
    agreeing: u64,
    trusted: u64,
    covered: u64,
    unknown_keys: BTreeSet<String>,
}

struct Walker<'journal, S> {
    storage: &'journal S,
    paths: &'journal SessionPaths,
    blobs: Blobs<S>,
    tail: Tail,
    frontier: Frontier,
    head: Option<Head>,
    /// By size, largest first, so that the next one is at the end.
    marks: Vec<Mark>,
    findings: Vec<Damage>,
    passed: Passed,
}

impl<S: Storage> Walker<'_, S> {
    /// Reads all checkpoints; one that is no note, of another journal or changed since the trusted key signed it is a finding.
    fn collect_marks(&mut self, trust: &Trust) -> Result<(), JournalError> {
        let dir = checkpoint::directory(self.paths);
        let names = match self.storage.list(&dir) {
            Ok(names) => names,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(JournalError::io("list", &dir, error)),
        };
        let mut files: Vec<(Option<u64>, PathBuf)> = checkpoint::note_sizes(&names)
            .into_iter()
            .map(|size| (Some(size), checkpoint::note_path(self.paths, size)))
            .collect();
        files.extend(trust.witness.iter().map(|path| (None, path.clone())));
        for (size, path) in files {
            let note = match checkpoint::read_note(self.storage, &path) {
                Ok(Some((_text, note))) => note,
                Ok(None) => continue,
                Err(JournalError::Checkpoint { .. }) => {
                    self.distrust(size);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let found = note.unverified();
            let is_ours = found.origin == checkpoint::origin(self.paths) && size.is_none_or(|size| size == found.size);
            match MarkTrust::of(&note, trust.verifier.as_ref()) {
                Some(mark_trust) if is_ours => {
                    let own = trust.verifier.as_ref().map(Verifier::to_string).unwrap_or_default();
                    let unknown_keys = note.key_names().filter(|name| !own.starts_with(name)).collect();
                    self.marks.push(Mark { checkpoint: found.clone(), trust: mark_trust, unknown_keys });
                }
                Some(_) | None => self.distrust(size),
            }
        }
        // Of one size the words of other keys come first: what the trusted key vouches for must not hide a contradiction.
        self.marks.sort_by_key(|mark| (std::cmp::Reverse(mark.checkpoint.size), mark.trust == MarkTrust::Foreign));
        Ok(())
    }

    /// A checkpoint that cannot be trusted proves nothing about any record, so the first one is suspect.
    fn distrust(&mut self, size: Option<u64>) {
        let which = match size {
            Some(size) => format!("the checkpoint over {size} records"),
            None => "the copy of the last checkpoint beside the key".to_owned(),
        };
        let cause = DamageCause::CheckpointChanged { which };
        self.findings.push(Damage::new(0, cause));
    }

    /// Verifies all segments; returns how many bytes at the end are torn.
    fn walk(&mut self, snapshot: &Snapshot) -> Result<u64, JournalError> {
        let last = offset(snapshot.sizes.len());
        for (number, size) in (1..).zip(&snapshot.sizes) {
            let path = self.paths.segment(number);
            let length = usize::try_from(*size).unwrap_or(usize::MAX);
            let bytes = self
                .storage
                .open(&path, OpenMode::Read)
                .and_then(|file| {
                    let length = length.min(SEGMENT_READ_MAX);
                    storage::read_range(self.storage, &file, 0, length)
                })
                .map_err(|error| JournalError::io("read", &path, error))?;
            let tail = self.tail;
            let scan = segment::scan(&bytes, tail, line::check, |line, raw| self.take(line, raw))?;
            self.tail = scan.tail;
            if length > SEGMENT_READ_MAX {
                let name = names::segment(number);
                self.found(DamageCause::SegmentTooLarge { name });
                return Ok(0);
            }
            let Some(fault) = scan.fault else { continue };
            let rest = bytes.get(scan.valid..).unwrap_or_default();
            let is_end = number == last && snapshot.missing.is_none();
            match segment::judge(rest, self.tail.index, fault) {
                Ok(()) if is_end && !self.is_promised() => return Ok(offset(rest.len())),
                Ok(()) | Err(_) => self.found(DamageCause::Line(fault)),
            }
            return Ok(0);
        }
        if let Some(name) = &snapshot.missing {
            let name = name.clone();
            self.found(DamageCause::SegmentMissing { name });
        }
        Ok(0)
    }

    /// Takes a valid line in: its blob, the tree, and the promises about it.
    fn take(&mut self, line: &Line<'_>, raw: &[u8]) -> Result<(), JournalError> {
        if let Some(pointer) = BlobPointer::from_body(line.body) {
            match self.blobs.get(&pointer) {
                Ok(_bytes) => {}
                Err(JournalError::Blob { digest, state }) => {
                    let cause = DamageCause::Blob { digest, state };
                    self.findings.push(Damage::new(line.index, cause));
                }
                Err(error) => return Err(error),
            }
        }
        if !self.marks.is_empty() {
            self.frontier.push(raw);
        }
        let is_named = |head: &Head| head.place.records() == line.index + 1;
        if let Some(head) = self.head.filter(is_named)
            && head.place.tail.hash != line.hash
        {
            let cause = DamageCause::HeadDisagrees;
            self.findings.push(Damage::new(line.index, cause));
        }
        if !self.marks.is_empty() {
            self.settle_marks();
        }
        Ok(())
    }

    /// Compares the tree with the checkpoints of its present size.
    fn settle_marks(&mut self) {
        let size = self.frontier.size();
        while let Some(mark) = self.marks.pop_if(|mark| mark.checkpoint.size == size) {
            if mark.checkpoint.root != self.frontier.root() {
                // The records agree among themselves, so all that is known is that one since the last agreement differs.
                let cause = match mark.trust {
                    MarkTrust::Signed | MarkTrust::Unchecked => DamageCause::CheckpointDisagrees { size },
                    MarkTrust::Foreign => DamageCause::UnknownKeyDisagrees { size },
                };
                let damage = Damage::new(self.passed.covered, cause);
                self.findings.push(damage);
                continue;
            }
            self.passed.agreeing += 1;
            self.passed.unknown_keys.extend(mark.unknown_keys);
            match mark.trust {
                MarkTrust::Signed => {
                    self.passed.trusted += 1;
                    self.passed.covered = size;
                }
                MarkTrust::Unchecked => self.passed.covered = size,
                MarkTrust::Foreign => {}
            }
        }
    }

    /// Whether someone promised records beyond the last good one.
    fn is_promised(&self) -> bool {
        !self.marks.is_empty() || self.head.is_some_and(|head| head.place.records() > self.tail.index)
    }

    /// Whatever was promised and did not come is missing.
    fn finish(&mut self) {
        let head = self.head.map_or(0, |head| head.place.records());
        let marked = self.marks.first().map_or(0, |mark| mark.checkpoint.size);
        let known = head.max(marked);
        if known > self.tail.index {
            self.found(DamageCause::Missing { known });
        }
    }

    fn found(&mut self, cause: DamageCause) {
        self.findings.push(Damage::new(self.tail.index, cause));
    }
}
