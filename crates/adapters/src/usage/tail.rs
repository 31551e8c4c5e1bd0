//! The new lines of a file that someone else appends to.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// The most that is read in one go; the rest comes at the next look.
const BYTES_MAX: u64 = 32 << 20;

/// Reads the complete lines behind the offset and moves it behind them. A file that has shrunk is read from its beginning.
pub(super) fn read(path: &Path, offset: &mut u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    if size < *offset {
        *offset = 0;
    }
    if size == *offset {
        return Ok(String::new());
    }
    file.seek(SeekFrom::Start(*offset))?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes)?;
    let full = u64::try_from(bytes.len()).unwrap_or(u64::MAX) >= BYTES_MAX;
    match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => bytes.truncate(end.saturating_add(1)),
        // A line that nobody could hold in memory is skipped; what is left of it later is no JSON and counts nothing.
        None if full => {}
        None => return Ok(String::new()),
    }
    *offset = offset.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn only_complete_new_lines_are_read() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut offset = 0;
        file.write_all(b"one\ntw").unwrap();
        assert_eq!(read(file.path(), &mut offset).unwrap(), "one\n");
        assert_eq!(read(file.path(), &mut offset).unwrap(), "");
        file.write_all(b"o\nthree\n").unwrap();
        assert_eq!(read(file.path(), &mut offset).unwrap(), "two\nthree\n");
        file.as_file().set_len(4).unwrap();
        assert_eq!(read(file.path(), &mut offset).unwrap(), "one\n");
        assert!(read(Path::new("/nowhere/at/all"), &mut offset).is_err());
    }
}
