//! The transcript of our own loop: `transcripts/SESSION.jsonl`, a view that the journal gives again byte for byte.

use crate::driver::{DriverError, run};
use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use tripwire_core::record::chain::Digest;
use tripwire_core::run::LoopEffect;
use tripwire_core::run::ending::Ending;
use tripwire_core::run::line::Line;
use tripwire_fs::bounded;
use tripwire_fs::file::{self, FileAction, FileError, read_bounded};
use tripwire_journal::Journal;
use tripwire_journal::storage::Storage;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::session::SessionId;

/// The largest transcript that is compared.
const BYTES_MAX: u64 = 1 << 30;
/// The longest last line that is read.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Where a session's transcript is.
#[must_use]
pub fn path(layout: &Layout, session: &SessionId) -> PathBuf {
    layout.transcripts().join(format!("{session}.jsonl"))
}

/// A transcript that is being written: lines are appended, and nothing else ever happens to it.
#[derive(Debug)]
pub struct Transcript {
    path: PathBuf,
    file: File,
}

impl Transcript {
    /// Opens the transcript of a session with what it holds already; a crash may have cost it its last lines, so it is
    /// rewritten from the lines that the journal gives.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn open(layout: &Layout, session: &SessionId, so_far: &str) -> Result<Self, FileError> {
        file::make_folder(&layout.transcripts())?;
        let path = path(layout, session);
        file::replace(&path, so_far.as_bytes())?;
        let mut options = OpenOptions::new();
        let file = options.append(true).mode(0o600).open(&path).map_err(FileError::at(&path, FileAction::Write))?;
        Ok(Self { path, file })
    }

    /// Appends one line.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn append(&mut self, line: &Line) -> Result<(), DriverError> {
        let text = line.text()? + "\n";
        let written = self.file.write_all(text.as_bytes());
        Ok(written.map_err(FileError::at(&self.path, FileAction::Write))?)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// How the loop ended, as the transcript's last line says; nothing while it goes on, and for a session that is not of our own loop.
#[must_use]
pub fn ending(layout: &Layout, session: &SessionId) -> Option<Ending> {
    let mut file = file::open_regular(&path(layout, session)).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LINE_BYTES_MAX))).ok()?;
    let tail = bounded::read_beginning(file, LINE_BYTES_MAX).ok()?;
    let last = tail.strip_suffix(b"\n")?.rsplit(|byte| *byte == b'\n').next()?;
    let line: serde_json::Value = serde_json::from_slice(last).ok()?;
    if line.get("kind")? != "end" {
        return None;
    }
    serde_json::from_value(line).ok()
}

/// What running the loop again says about the transcript on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// Lines that the journal gives.
    pub lines: u64,
    /// The SHA-256 of those lines.
    pub sha256: Digest,
    /// How the file compares.
    pub file: FileState,
}

/// How the transcript on disk compares with what the journal gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// Byte for byte the same.
    Equal,
    /// It differs first in this line, from 1.
    Differs(u64),
    /// There is none.
    Missing,
}

/// Runs the loop of a session again and compares its transcript with the file. `None` when the session is not one of our
/// own loop.
///
/// # Errors
/// When the journal does not verify or the file cannot be read.
pub fn compare<S: Storage>(
    journal: &Journal<S>,
    layout: &Layout,
    session: &SessionId,
) -> Result<Option<Compared>, DriverError> {
    let Some(text) = text_of(journal)? else { return Ok(None) };
    let lines = u64::try_from(text.lines().count()).unwrap_or(u64::MAX);
    let file = match read_bounded(&path(layout, session), BYTES_MAX) {
        Ok(bytes) if bytes == text.as_bytes() => FileState::Equal,
        Ok(bytes) => FileState::Differs(first_difference(&bytes, text.as_bytes())),
        Err(_unreadable) => FileState::Missing,
    };
    Ok(Some(Compared { lines, sha256: Digest::of(text.as_bytes()), file }))
}

/// The transcript as the journal gives it; `None` when the session is not one of our own loop.
///
/// # Errors
/// When the journal does not verify.
pub fn text_of<S: Storage>(journal: &Journal<S>) -> Result<Option<String>, DriverError> {
    let mut text = String::new();
    let mut trouble = None;
    let run = run::again(journal, |view, _, _| {
        if let LoopEffect::Line(line) = view {
            match line.text() {
                Ok(line) => text.extend([line.as_str(), "\n"]),
                Err(error) => trouble = Some(error),
            }
        }
    })?;
    match trouble {
        Some(error) => Err(error.into()),
        None => Ok(run.map(|_| text)),
    }
}

fn first_difference(one: &[u8], two: &[u8]) -> u64 {
    let same =
        one.split(|byte| *byte == b'\n').zip(two.split(|byte| *byte == b'\n')).take_while(|(a, b)| a == b).count();
    u64::try_from(same).unwrap_or(u64::MAX).saturating_add(1)
}
