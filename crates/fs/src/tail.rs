//! The new lines of a file that someone else appends to.

use crate::bounded;
use crate::file;
use std::io::{self, Seek as _, SeekFrom};
use std::path::Path;

/// The most that is read in one go; the rest comes at the next look.
const BYTES_MAX: u64 = 32 << 20;
/// How much of a line that is too long is handed on, to see what kind of line it is.
const BEGINNING_BYTES: usize = 64 << 10;

/// How far a file was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TailPosition {
    /// Bytes before the next look.
    pub offset: u64,
    /// Whether the next look begins inside a line that is too long.
    pub inside: bool,
}

/// What is new in a file.
#[derive(Debug, Default)]
pub struct NewLines {
    /// The complete lines.
    pub text: String,
    /// The beginning of a line that is too long to be held in memory; its rest is passed over.
    pub too_long: Option<String>,
}

/// Reads the complete lines behind the place and moves it behind them. A file that has shrunk is read from its beginning.
///
/// # Errors
/// When the file is missing, cannot be read, or is no regular file.
pub fn read(path: &Path, place: &mut TailPosition) -> io::Result<NewLines> {
    let mut file = file::open_regular(path)?;
    let size = file.metadata()?.len();
    if size < place.offset {
        *place = TailPosition::default();
    }
    if size == place.offset {
        return Ok(NewLines::default());
    }
    file.seek(SeekFrom::Start(place.offset))?;
    let mut bytes = bounded::read_beginning(file, BYTES_MAX)?;
    let mut moved = bytes.len();
    let full = u64::try_from(moved).unwrap_or(u64::MAX) >= BYTES_MAX;
    let mut too_long = None;
    match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => {
            moved = end.saturating_add(1);
            bytes.truncate(moved);
            if std::mem::take(&mut place.inside) {
                let rest = bytes.iter().position(|byte| *byte == b'\n').map_or(moved, |first| first.saturating_add(1));
                bytes.drain(..rest);
            }
        }
        None if full => {
            if !std::mem::replace(&mut place.inside, true) {
                let beginning = bytes.get(..BEGINNING_BYTES).unwrap_or(&bytes);
                too_long = Some(String::from_utf8_lossy(beginning).into_owned());
            }
            bytes.clear();
        }
        None => return Ok(NewLines::default()),
    }
    place.offset = place.offset.saturating_add(u64::try_from(moved).unwrap_or(u64::MAX));
    let text = String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Ok(NewLines { text, too_long })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn only_complete_new_lines_are_read() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut place = TailPosition::default();
        let mut text = |file: &tempfile::NamedTempFile| read(file.path(), &mut place).unwrap().text;
        file.write_all(b"one\ntw").unwrap();
        assert_eq!(text(&file), "one\n");
        assert_eq!(text(&file), "");
        file.write_all(b"o\nthree\n").unwrap();
        assert_eq!(text(&file), "two\nthree\n");
        file.as_file().set_len(4).unwrap();
        assert_eq!(text(&file), "one\n");
        assert!(read(Path::new("/nowhere/at/all"), &mut place).is_err());
    }

    #[test]
    fn a_line_that_is_too_long_is_reported_once_and_the_next_line_is_read_whole() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut place = TailPosition::default();
        file.write_all(b"{\"long\":\"").unwrap();
        file.write_all(&vec![b'x'; 40 << 20]).unwrap();
        file.write_all(b"\"}\nnext\n").unwrap();
        let first = read(file.path(), &mut place).unwrap();
        assert!(first.too_long.unwrap().starts_with("{\"long\"") && first.text.is_empty());
        let second = read(file.path(), &mut place).unwrap();
        assert_eq!((second.too_long, second.text.as_str()), (None, "next\n"));
    }

    #[test]
    fn a_pipe_in_the_files_place_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(read(&pipe, &mut TailPosition::default()).is_err());
    }
}
