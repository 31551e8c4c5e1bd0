//! The list of snapshots: one line of JSON each, appended under the store's lock when its objects are on the disk.

use crate::error::UndoError;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use tripwire_core::record::chain::Digest;
use tripwire_fs::file::{self, FileAction, FileError};

/// Larger than any list: retention keeps it far below.
const LOG_BYTES_MAX: u64 = 256 << 20;
/// How much of the end is read to find the last line.
const TAIL_BYTES: u64 = 16 << 10;
/// Paths that a mark names; a call that names more may change anything.
const PATHS_MAX: usize = 64;
/// Characters of a step's words.
const LABEL_CHARS_MAX: usize = 200;

/// A step that is about to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepMark {
    /// The session.
    pub session: String,
    /// The number of the decision that let it pass.
    pub step: u64,
    /// What tells the call from others until its end is reported.
    pub call: String,
    /// The call in a few words.
    pub label: String,
    /// The only paths that it changes, where it names them all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// Whether other calls of the session run beside it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beside_others: bool,
}

impl StepMark {
    /// The mark as it is written down.
    pub(crate) fn bounded(&self) -> Self {
        let mut mark = self.clone();
        mark.label = mark.label.chars().take(LABEL_CHARS_MAX).collect();
        mark.paths = mark.paths.filter(|paths| paths.len() <= PATHS_MAX);
        mark
    }
}

/// Who takes something back, for the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doer {
    /// The account.
    pub who: String,
    /// Why, in the person's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Why a snapshot was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Act {
    /// A session begins.
    Begin { session: String },
    /// A step is about to run.
    Before(StepMark),
    /// A step has ended.
    After { session: String, call: String },
    /// A step runs without a snapshot before it: it cannot be taken back.
    Missing { mark: StepMark, why: String },
    /// Steps are about to be taken back, or brought back again.
    TakingBack(TakingBack),
    /// They were.
    TookBack { of: u64 },
    /// By hand.
    Look,
}

/// What is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TakingBack {
    pub(crate) session: String,
    /// The steps, where steps are taken back.
    pub(crate) steps: Vec<u64>,
    /// The earlier act that is taken back, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) redoes: Option<u64>,
    /// Whether it was about some paths alone: then its steps do not count as taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) only: Vec<String>,
    pub(crate) by: Doer,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    pub(crate) number: u64,
    pub(crate) at_ms: u64,
    pub(crate) act: Act,
    /// The folder then; none where no snapshot could be taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tree: Option<Digest>,
}

impl Record {
    /// Whether something could not be brought back without it: all but a step that found the folder as the line before has it.
    fn says_more_than(&self, last: Option<LastLine>) -> bool {
        let is_about_step = matches!(self.act, Act::Before(_) | Act::After { .. });
        !is_about_step || self.tree.is_none() || last.and_then(|last| last.tree) != self.tree
    }
}

/// Reads the list. A line that cannot be read, such as one that a crash tore, is passed over.
pub(crate) fn read(path: &Path) -> Result<Vec<Record>, UndoError> {
    let bytes = match file::read_bounded(path, LOG_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(file::ReadError::File(error)) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    Ok(bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

/// The list as a process writes it, which need not read its last line again where nobody else wrote one since.
#[derive(Debug, Default)]
pub(crate) struct LogWriter {
    known: Option<KnownEnd>,
}

/// The end of the list as this process left it.
#[derive(Debug)]
struct KnownEnd {
    file: File,
    device: u64,
    inode: u64,
    size: u64,
    last: Option<LastLine>,
    torn: bool,
}

/// The last line that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LastLine {
    number: u64,
    tree: Option<Digest>,
}

impl From<&Record> for LastLine {
    fn from(record: &Record) -> Self {
        Self { number: record.number, tree: record.tree }
    }
}

impl KnownEnd {
    /// Whether the name still leads to this file, and it still ends here: every other writer appends or replaces.
    fn is_current(&self, path: &Path) -> bool {
        let named = path.symlink_metadata();
        named.is_ok_and(|named| (named.dev(), named.ino(), named.len()) == (self.device, self.inode, self.size))
    }

    fn read(path: &Path) -> Result<Self, UndoError> {
        let failed = |action| FileError::at(path, action);
        let file = file::open_or_create(path).map_err(failed(FileAction::Create))?;
        let metadata = file.metadata().map_err(failed(FileAction::Inspect))?;
        let size = metadata.len();
        let begin = size.saturating_sub(TAIL_BYTES);
        let mut tail = vec![0_u8; usize::try_from(size - begin).unwrap_or(0)];
        file.read_exact_at(&mut tail, begin).map_err(failed(FileAction::Read))?;
        let lines = tail.rsplit(|byte| *byte == b'\n');
        let last = lines.filter_map(|line| serde_json::from_slice::<Record>(line).ok()).next();
        let last = match last {
            None if size > 0 => read(path)?.pop(),
            last => last,
        };
        // A crash tore the last line: it stays alone on its own.
        let torn = tail.last().is_some_and(|byte| *byte != b'\n');
        Ok(Self {
            file,
            device: metadata.dev(),
            inode: metadata.ino(),
            size,
            last: last.as_ref().map(LastLine::from),
            torn,
        })
    }

    fn append(&mut self, at_ms: u64, act: Act, tree: Option<Digest>) -> std::io::Result<(u64, Waited)> {
        let number = self.last.map_or(1, |last| last.number.saturating_add(1));
        let record = Record { number, at_ms, act, tree };
        let mut line = Vec::new();
        if self.torn {
            line.push(b'\n');
        }
        line.extend(serde_json::to_vec(&record).unwrap_or_default());
        line.push(b'\n');
        self.file.write_all_at(&line, self.size)?;
        let waited = if record.says_more_than(self.last) { Waited::Yes } else { Waited::No };
        self.size = self.size.saturating_add(u64::try_from(line.len()).unwrap_or(u64::MAX));
        (self.last, self.torn) = (Some(LastLine::from(&record)), false);
        Ok((number, waited))
    }
}

/// Whether a line is waited for until it is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waited {
    Yes,
    No,
}

impl LogWriter {
    /// Appends one line, under the store's lock, and gives its number. It is on the disk then, unless it is about a step and the
    /// folder is as the line before has it: a power cut may take such a line, and nothing that it could bring back.
    pub(crate) fn append(&mut self, path: &Path, at_ms: u64, act: Act, tree: Option<Digest>) -> Result<u64, UndoError> {
        let mut end = match self.known.take().filter(|known| known.is_current(path)) {
            Some(known) => known,
            None => KnownEnd::read(path)?,
        };
        let (number, waited) = end.append(at_ms, act, tree).map_err(FileError::at(path, FileAction::Write))?;
        if waited == Waited::Yes {
            end.file.sync_data().map_err(FileError::at(path, FileAction::Sync))?;
        }
        self.known = Some(end);
        Ok(number)
    }
}

/// Replaces the list by these lines.
pub(crate) fn replace(path: &Path, records: &[Record]) -> Result<(), UndoError> {
    let mut text = Vec::new();
    for record in records {
        text.extend(serde_json::to_vec(record).unwrap_or_default());
        text.push(b'\n');
    }
    Ok(file::replace(path, &text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(act: Act, tree: &[u8]) -> Record {
        Record { number: 1, at_ms: 0, act, tree: (!tree.is_empty()).then(|| Digest::of(tree)) }
    }

    fn after() -> Act {
        Act::After { session: "s".to_owned(), call: "c".to_owned() }
    }

    #[test]
    fn undo_1_a_line_is_waited_for_unless_its_step_found_the_folder_as_it_was() {
        let last = record(Act::Begin { session: "s".to_owned() }, b"one");
        let line = |last: Option<&Record>| last.map(LastLine::from);
        assert!(!record(after(), b"one").says_more_than(line(Some(&last))));
        for (record, last) in [
            (record(after(), b"two"), Some(&last)),
            (record(after(), b"one"), None),
            (record(after(), b""), Some(&last)),
            (record(after(), b""), Some(&record(after(), b""))),
            (record(Act::Look, b"one"), Some(&last)),
            (record(Act::TookBack { of: 1 }, b"one"), Some(&last)),
        ] {
            assert!(record.says_more_than(line(last)), "{record:?}");
        }
    }

    #[test]
    fn undo_1_two_writers_that_keep_the_list_open_number_their_lines_in_one_row() {
        let dir = tripwire_testing::TestDir::new();
        let path = dir.path().join("list");
        let (mut one, mut two) = (LogWriter::default(), LogWriter::default());
        let tree = Some(Digest::of(b"one"));
        for number in [1, 3, 5] {
            assert_eq!(one.append(&path, 0, after(), tree).unwrap(), number);
            assert_eq!(two.append(&path, 0, after(), tree).unwrap(), number + 1);
        }
        assert_eq!(two.append(&path, 0, after(), tree).unwrap(), 7);
        // Another list in its place, as a collection leaves it, and a line that a crash tore.
        replace(&path, &read(&path).unwrap()[5..]).unwrap();
        assert_eq!(two.append(&path, 0, after(), tree).unwrap(), 8);
        let torn = [std::fs::read(&path).unwrap().as_slice(), b"{\"number\":"].concat();
        std::fs::write(&path, torn).unwrap();
        assert_eq!(two.append(&path, 0, after(), tree).unwrap(), 9);
        let numbers: Vec<u64> = read(&path).unwrap().iter().map(|record| record.number).collect();
        assert_eq!(numbers, [6, 7, 8, 9]);
    }
}
