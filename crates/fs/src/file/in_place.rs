//! A file that one process writes over again and again, and that stays open in between.

use super::{FileAction, FileError, put_in_place};
use std::fs::{File, Metadata};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// What is filled up at most.
const FILLED_MAX: usize = 4 * 1_024;

/// Lines that are a little shorter than the ones before in their file, filled up with empty ones: cutting a file costs ten times
/// as much as writing it. Only for contents in which line ends at the end mean nothing.
#[must_use]
pub fn filled_up(mut lines: Vec<u8>, before: usize) -> Vec<u8> {
    if before.saturating_sub(lines.len()) <= FILLED_MAX {
        lines.resize(lines.len().max(before), b'\n');
    }
    lines
}

/// A file that is written in place, as [`write_in_place`](super::write_in_place) does, without being opened each time.
#[derive(Debug)]
pub struct InPlaceFile {
    path: PathBuf,
    written: Option<(File, Stamp)>,
}

/// What moves when anybody writes to a file, or puts another one in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    names: u64,
    size: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            names: meta.nlink(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
        }
    }
}

impl InPlaceFile {
    /// The file at a path; it is opened when it is first written.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), written: None }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is as the last write left it: nobody else has written there since.
    #[must_use]
    pub fn is_as_written(&self) -> bool {
        self.written.as_ref().is_some_and(|(_, stamp)| {
            self.path.symlink_metadata().is_ok_and(|named| named.is_file() && Stamp::of(&named) == *stamp)
        })
    }

    /// How long it is, as far as this process knows.
    #[must_use]
    pub fn length(&self) -> usize {
        self.written.as_ref().map_or(0, |(_, stamp)| usize::try_from(stamp.size).unwrap_or(0))
    }

    /// Writes over what it holds; a caller that checks first that it [is as it was written](Self::is_as_written) overwrites nobody's
    /// words.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        let file = match self.written.take() {
            None => put_in_place(&self.path, bytes)?,
            Some((file, stamp)) => {
                let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                let written = file.write_all_at(bytes, 0);
                let cut = if stamp.size > length { file.set_len(length) } else { Ok(()) };
                written.and(cut).map_err(FileError::at(&self.path, FileAction::Write))?;
                Some(file)
            }
        };
        self.written = file.and_then(|file| file.metadata().ok().map(|meta| (file, Stamp::of(&meta))));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_stays_open_is_written_under_its_name_and_what_others_did_to_it_is_seen() {
        let dir = tripwire_testing::TestDir::new();
        let path = dir.path().join("file");
        let mut file = InPlaceFile::at(&path);
        assert!(!file.is_as_written(), "nothing was written yet");
        for text in ["a long text", "short", "a longer text again"] {
            file.write(text.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            assert!(file.is_as_written() && file.length() == text.len());
        }
        let changes: [&dyn Fn(); 3] = [
            &|| std::fs::write(&path, "what another process wrote").unwrap(),
            &|| std::fs::hard_link(&path, dir.path().join("other")).unwrap(),
            &|| std::fs::remove_file(&path).unwrap(),
        ];
        for change in changes {
            change();
            assert!(!file.is_as_written());
            file = InPlaceFile::at(&path);
            file.write(b"x").unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "x");
        }
    }

    #[test]
    fn what_is_a_little_shorter_is_filled_up_with_line_ends() {
        assert_eq!(filled_up(b"ab".to_vec(), 4), b"ab\n\n");
        assert_eq!(filled_up(b"ab".to_vec(), 1), b"ab");
        assert_eq!(filled_up(b"ab".to_vec(), 10 * FILLED_MAX), b"ab");
    }
}
