//! Starting a session: the first free id is taken on the disk.

use crate::geometry::layout::Layout;
pub use crate::geometry::session_id::{SessionId, SessionIdError};
use crate::geometry::wall_clock::WallClock;
use std::io;
use tripwire_fs::file::{FileAction, FileError, make_folder};

/// Takes the first free id by making its journal folder: two processes that start together get two ids.
///
/// # Errors
/// When the folder cannot be made.
pub fn claim(layout: &Layout, start: WallClock) -> Result<SessionId, FileError> {
    claim_unless(layout, start, |_| false)
}

/// The same, and passes over ids that were given before: a journal that is gone must not be mistaken for a new one.
///
/// # Errors
/// See [`claim`].
pub fn claim_unless(
    layout: &Layout,
    start: WallClock,
    was_given: impl Fn(&SessionId) -> bool,
) -> Result<SessionId, FileError> {
    let journals = layout.journal();
    make_folder(&journals)?;
    for n in 1..=CLAIMS_PER_SECOND_MAX {
        let id = SessionId::nth(start, n);
        if was_given(&id) {
            continue;
        }
        let folder = journals.join(id.as_str());
        match std::fs::create_dir(&folder) {
            Ok(()) => return Ok(id),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(FileError::at(&folder, FileAction::Create)(cause)),
        }
    }
    Err(FileError::at(&journals, FileAction::Create)(io::ErrorKind::AlreadyExists.into()))
}

/// Sessions of one workspace that may start within one second.
const CLAIMS_PER_SECOND_MAX: u32 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_testing::TestDir;

    const START: WallClock = WallClock::from_epoch_ms(1_772_289_120_000);

    #[test]
    fn sessions_that_start_together_get_different_ids() {
        let dir = TestDir::new();
        let layout = Layout::at(dir.path());
        let ids: std::collections::BTreeSet<_> = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..8).map(|_| scope.spawn(|| claim(&layout, START).unwrap())).collect();
            starts.into_iter().map(|start| start.join().unwrap()).collect()
        });
        assert_eq!(ids.len(), 8);
        assert!(ids.contains(&SessionId::first(START)) && ids.contains(&SessionId::nth(START, 8)));
    }
}
