//! A fleet in a folder: for several homes on one machine, for trying it out, and as the proof that nothing above the log depends
//! on a server. Each subject is a file of lines; a writer holds the folder's lock. It is not for network file systems.

use crate::log::{Append, Entry, Log, LogError, Sequence, Waited};
use crate::subject::{Kept, Subject};
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tripwire_core::record::chain::Digest;
use tripwire_fs::file;
use tripwire_fs::lock::{FileLock, Wait};
use tripwire_workspace::clock;

/// A fleet's log in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLog {
    folder: PathBuf,
}

impl FileLog {
    /// Uses a folder, which is made if it is missing.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(folder: &Path) -> Result<Self, LogError> {
        let log = Self { folder: folder.to_owned() };
        file::make_folder(&log.subjects_folder()).map_err(|error| LogError::Unreachable(error.to_string()))?;
        Ok(log)
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn subjects_folder(&self) -> PathBuf {
        self.folder.join("subjects")
    }

    fn path(&self, subject: &Subject) -> PathBuf {
        self.subjects_folder().join(subject.as_str())
    }

    fn lock(&self) -> Result<FileLock, LogError> {
        let deadline = Instant::now() + LOCK_WAIT;
        let locked = FileLock::take(&self.folder.join("lock"), Wait::Until(deadline));
        locked.map_err(|error| LogError::Unreachable(error.to_string()))
    }

    fn open_subject(&self, subject: &Subject) -> Result<Option<File>, LogError> {
        match File::open(self.path(subject)) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unreachable(&error)),
        }
    }

    /// The last entry, and where it ends: what comes behind is a torn write.
    fn end(&self, subject: &Subject) -> Result<(Option<Entry>, u64), LogError> {
        let Some(mut file) = self.open_subject(subject)? else { return Ok((None, 0)) };
        let size = file.metadata().map_err(|error| unreachable(&error))?.len();
        let from = size.saturating_sub(TAIL_BYTES);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from))
            .and_then(|_| file.read_to_end(&mut bytes))
            .map_err(|error| unreachable(&error))?;
        let Some(whole) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            return if from == 0 {
                Ok((None, 0))
            } else {
                Err(LogError::damaged(subject, "its last entry does not end"))
            };
        };
        let lines = bytes.get(..whole).unwrap_or_default();
        let first = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let last = lines.get(first..).and_then(parse);
        let last = last.ok_or_else(|| LogError::damaged(subject, "its last entry does not verify"))?;
        Ok((Some(last), from + u64::try_from(whole + 1).unwrap_or(u64::MAX)))
    }

    fn entries(&self, subject: &Subject) -> Result<Vec<Entry>, LogError> {
        let Some(mut file) = self.open_subject(subject)? else { return Ok(Vec::new()) };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| unreachable(&error))?;
        // A line that is not finished is a torn write, or one under way.
        let whole = bytes.split_inclusive(|byte| *byte == b'\n').filter_map(|raw| raw.strip_suffix(b"\n"));
        let mut entries: Vec<Entry> = Vec::new();
        for line in whole {
            let follows = |entry: &Entry| entries.last().is_none_or(|last| last.sequence.0 + 1 == entry.sequence.0);
            let entry = parse(line).filter(follows);
            entries.push(
                entry.ok_or_else(|| {
                    LogError::damaged(subject, format!("entry {} does not verify", entries.len() + 1))
                })?,
            );
        }
        Ok(entries)
    }
}

impl Log for FileLog {
    fn append(&self, subject: &Subject, after: Sequence, text: &str) -> Result<Append, LogError> {
        LogError::check_text(subject, text)?;
        let _lock = self.lock()?;
        let (last, good) = self.end(subject)?;
        if last.map_or(Sequence(0), |entry| entry.sequence) != after {
            return Ok(Append::Fenced);
        }
        let sequence = Sequence(after.0 + 1);
        let line = render(&Entry { sequence, time_ms: clock::now().epoch_ms(), text: text.to_owned() });
        let path = self.path(subject);
        if subject.kept() == Kept::Last {
            // Whole or not at all.
            return match file::replace(&path, line.as_bytes()) {
                Ok(()) => Ok(Append::Ack(sequence)),
                Err(error) => Ok(Append::Unknown(error.to_string())),
            };
        }
        let is_new = good == 0;
        match write(&path, good, &line, is_new.then(|| self.subjects_folder()).as_deref()) {
            Ok(()) => Ok(Append::Ack(sequence)),
            Err(error) => Ok(Append::Unknown(error.to_string())),
        }
    }

    fn last(&self, subject: &Subject) -> Result<Option<Entry>, LogError> {
        Ok(self.end(subject)?.0)
    }

    fn read(&self, subject: &Subject, after: Sequence, limit: usize) -> Result<Vec<Entry>, LogError> {
        let entries = self.entries(subject)?;
        Ok(entries.into_iter().filter(|entry| entry.sequence > after).take(limit).collect())
    }

    fn subjects(&self, prefix: &str) -> Result<Vec<Subject>, LogError> {
        let listed = std::fs::read_dir(self.subjects_folder()).map_err(|error| unreachable(&error))?;
        let names = listed.filter_map(Result::ok).filter_map(|entry| entry.file_name().into_string().ok());
        let mut subjects: Vec<Subject> =
            names.filter(|name| name.starts_with(prefix)).filter_map(|name| Subject::parse(&name)).collect();
        subjects.sort();
        Ok(subjects)
    }

    fn wait(&self, subject: &Subject, after: Sequence, at_most: Duration) -> Result<Waited, LogError> {
        let deadline = Instant::now() + at_most;
        loop {
            let entries = self.read(subject, after, WAITED_MAX)?;
            let left = deadline.saturating_duration_since(Instant::now());
            if !entries.is_empty() || left.is_zero() {
                return Ok(Waited::Entries(entries));
            }
            std::thread::sleep(LOOK_EVERY.min(left));
        }
    }
}

/// Cuts a torn end and writes behind the last good byte.
fn write(path: &Path, end: u64, line: &str, new_in: Option<&Path>) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    file.set_len(end)?;
    file.seek(SeekFrom::Start(end))?;
    file.write_all(line.as_bytes())?;
    file.sync_data()?;
    if let Some(folder) = new_in {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// `SEQUENCE TIME DIGEST TEXT`: the digest finds a torn or changed line.
fn render(entry: &Entry) -> String {
    let Entry { sequence, time_ms, text } = entry;
    format!("{sequence} {time_ms} {} {text}\n", digest(*sequence, *time_ms, text))
}

fn parse(line: &[u8]) -> Option<Entry> {
    let mut words = std::str::from_utf8(line).ok()?.splitn(4, ' ');
    let (sequence, time_ms) = (Sequence(words.next()?.parse().ok()?), words.next()?.parse().ok()?);
    let (seal, text) = (words.next()?, words.next()?);
    (digest(sequence, time_ms, text) == seal).then(|| Entry { sequence, time_ms, text: text.to_owned() })
}

fn digest(sequence: Sequence, time_ms: u64, text: &str) -> String {
    let place = format!("{sequence} {time_ms} ");
    let digest = Digest::of_parts([b"tripwire/fleet/file/v1\n".as_slice(), place.as_bytes(), text.as_bytes()]);
    String::from_utf8_lossy(&digest.short()).into_owned()
}

fn unreachable(error: &io::Error) -> LogError {
    LogError::Unreachable(error.to_string())
}

/// More than the longest line.
const TAIL_BYTES: u64 = 2 * 512 * 1024;
/// In a fleet of one machine each writer holds the lock for milliseconds.
const LOCK_WAIT: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(25);
const WAITED_MAX: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_testing::TestDir;

    #[test]
    fn a_torn_end_is_cut_by_the_next_write_and_a_changed_line_is_damage() {
        let folder = TestDir::new();
        let log = FileLog::open(folder.path()).unwrap();
        let subject = Subject::orders();
        let Append::Ack(one) = log.append(&subject, Sequence(0), "one").unwrap() else { panic!() };
        let Append::Ack(two) = log.append(&subject, one, "two").unwrap() else { panic!() };
        let path = log.path(&subject);
        let good = std::fs::read(&path).unwrap();
        // A write that the power cut ended.
        std::fs::write(&path, [good.as_slice(), b"3 0 dead"].concat()).unwrap();
        assert_eq!(log.last(&subject).unwrap().unwrap().text, "two");
        assert!(matches!(log.append(&subject, two, "three").unwrap(), Append::Ack(_)));
        let texts: Vec<String> =
            log.read(&subject, Sequence(0), 9).unwrap().into_iter().map(|entry| entry.text).collect();
        assert_eq!(texts, ["one", "two", "three"]);
        let good = std::fs::read(&path).unwrap();
        let mut bytes = good.clone();
        let at = bytes.iter().position(|byte| *byte == b'o').unwrap();
        bytes[at] = b'0';
        std::fs::write(&path, bytes).unwrap();
        assert!(matches!(log.read(&subject, Sequence(0), 9), Err(LogError::Damaged { .. })));
        let mut bytes = good;
        let at = bytes.len() - 2;
        bytes[at] = b'x';
        std::fs::write(&path, bytes).unwrap();
        assert!(matches!(log.last(&subject), Err(LogError::Damaged { .. })));
        assert!(matches!(log.append(&subject, Sequence(3), "x"), Err(LogError::Damaged { .. })));
    }

    #[test]
    fn a_folder_that_cannot_be_written_answers_that_it_is_not_known() {
        let folder = TestDir::new();
        let log = FileLog::open(folder.path()).unwrap();
        let subject = Subject::orders();
        std::fs::create_dir(log.path(&subject)).unwrap();
        assert!(matches!(log.append(&subject, Sequence(0), "x"), Err(LogError::Unreachable(_))));
    }
}
