//! A journal brought back from a copy of its lines, byte for byte.

use crate::batch::Options;
use crate::error::{Damage, DamageCause, JournalError};
use crate::line::{self, Tail};
use crate::names;
use crate::paths::SessionPaths;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// Writes the journal of a session that is not here from its lines. Each is checked against the chain; the journal is there as a
/// whole or not at all. Says where the chain has come to.
///
/// # Errors
/// When the session is here already, a line does not continue the chain, or the disk fails.
pub fn restore<'a>(paths: &SessionPaths, lines: impl IntoIterator<Item = &'a str>) -> Result<Tail, JournalError> {
    let folder = paths.dir();
    if folder.symlink_metadata().is_ok() {
        return Err(JournalError::io("restore", folder, io::Error::from(io::ErrorKind::AlreadyExists)));
    }
    // A name that no session has; what an earlier attempt left behind is not used.
    let draft = folder.with_extension("restored");
    if draft.symlink_metadata().is_ok() {
        fs::remove_dir_all(&draft).map_err(|error| JournalError::io("remove", &draft, error))?;
    }
    fs::create_dir_all(&draft).map_err(|error| JournalError::io("create", &draft, error))?;
    let limit = usize::try_from(Options::default().segment_bytes).unwrap_or(usize::MAX);
    let (mut tail, mut segment, mut number) = (Tail::genesis(), Vec::new(), 1);
    for text in lines {
        let checked = line::check(text.as_bytes(), &tail);
        tail = checked.map_err(|fault| Damage::new(tail.index, DamageCause::Line(fault)))?.tail();
        if segment.len() >= limit {
            write(&draft.join(names::segment(number)), &segment)?;
            (segment, number) = (Vec::new(), number + 1);
        }
        segment.extend_from_slice(text.as_bytes());
        segment.push(b'\n');
    }
    write(&draft.join(names::segment(number)), &segment)?;
    sync(&draft)?;
    fs::rename(&draft, folder).map_err(|error| JournalError::io("rename", folder, error))?;
    folder.parent().map_or(Ok(()), sync)?;
    Ok(tail)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), JournalError> {
    let written = File::create_new(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(|error| JournalError::io("write", path, error))
}

fn sync(folder: &Path) -> Result<(), JournalError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| JournalError::io("sync", folder, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{Append, Batch, Durability, Entry};
    use crate::follow::Follower;
    use crate::journal::Journal;
    use crate::session_id::SessionId;
    use crate::storage::Disk;
    use crate::verify::{Trust, verify};
    use crate::wall_clock::WallClock;
    use std::borrow::Cow;
    use std::collections::BTreeMap;

    fn batch(count: u64) -> Batch<'static> {
        let entry = |n| Entry { body: Cow::Owned(format!("{{\"n\":{n}}}")), durations_ms: BTreeMap::new(), wall_ms: n };
        Batch { entries: (0..count).map(entry).collect(), durability: Durability::Synced, after: None }
    }

    #[test]
    fn a_journal_comes_back_from_its_lines_and_goes_on() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let session = SessionId::first(WallClock::from_epoch_ms(0));
        let (from, to) = (SessionPaths::new(one.path(), &session), SessionPaths::new(two.path(), &session));
        let mut journal = Journal::open(Disk, from.clone(), Options::default()).unwrap();
        assert!(matches!(journal.append(&batch(9)).unwrap(), Append::Ack(_)));
        let lines = Follower::from_start(Disk, from).next_lines(usize::MAX).unwrap();
        assert_eq!(restore(&to, lines.iter().map(String::as_str)).unwrap().index, 9);
        let mut restored = Journal::open_existing(Disk, to.clone(), Options::default()).unwrap();
        assert!(matches!(restored.append(&batch(2)).unwrap(), Append::Ack(_)));
        let report = verify(&Disk, &to, &Trust::default()).unwrap();
        assert!(report.holds() && report.records == 11, "{report:?}");
        let again = Follower::from_start(Disk, to.clone()).next_lines(9).unwrap();
        assert_eq!(again, lines, "byte for byte");
        assert!(restore(&to, lines.iter().map(String::as_str)).is_err(), "what is here is not overwritten");
    }

    #[test]
    fn lines_that_do_not_follow_leave_nothing_behind() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let session = SessionId::first(WallClock::from_epoch_ms(0));
        let (from, to) = (SessionPaths::new(one.path(), &session), SessionPaths::new(two.path(), &session));
        let mut journal = Journal::open(Disk, from.clone(), Options::default()).unwrap();
        assert!(matches!(journal.append(&batch(4)).unwrap(), Append::Ack(_)));
        let mut lines = Follower::from_start(Disk, from).next_lines(usize::MAX).unwrap();
        lines.swap(1, 2);
        let error = restore(&to, lines.iter().map(String::as_str)).unwrap_err();
        assert!(error.to_string().contains('1'), "{error}");
        assert!(!to.dir().exists());
    }
}
