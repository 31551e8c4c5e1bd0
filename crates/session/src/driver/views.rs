//! Views that are rebuilt from the journals when a crash or a person has damaged them.

use super::error::DriverError;
use super::records::head_of;
use tripwire_core::chain::Chain;
use tripwire_core::decision::Decision;
use tripwire_core::input::Input;
use tripwire_journal::Journal;
use tripwire_journal::storage::Storage;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::wall_clock::WallClock;
use tripwire_workspace::session::SessionId;

/// Records that are read at once.
const PAGE: usize = 512;

/// Every session of a workspace that has a journal, oldest first.
///
/// # Errors
/// When the folder cannot be read; a folder that is not there has no sessions.
pub fn sessions(layout: &Layout) -> Result<Vec<SessionId>, DriverError> {
    use tripwire_fs::file::{FileAction, FileError};
    let folder = layout.journal();
    let listed = match std::fs::read_dir(&folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(FileError::at(&folder, FileAction::Inspect)(error).into()),
    };
    let mut sessions: Vec<SessionId> = listed
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str().and_then(|name| SessionId::parse(name).ok()))
        .collect();
    sessions.sort_by_key(SessionId::order);
    Ok(sessions)
}

/// The newest session of a workspace, if it has any.
///
/// # Errors
/// When the folder cannot be read.
pub fn newest(layout: &Layout) -> Result<Option<SessionId>, DriverError> {
    // A folder without records is a session that is being begun, or whose beginning failed: there is nothing to see.
    let begun = |session: &SessionId| layout.first_segment(session).exists();
    Ok(sessions(layout)?.into_iter().rfind(begun))
}

/// Decides a journal again, record by record, and shows each decision with its time and the journaled text.
///
/// # Errors
/// When the journal does not verify, or `show` fails.
pub fn replay<S: Storage>(
    journal: &Journal<S>,
    mut show: impl FnMut(&Input, &Decision, WallClock) -> Result<(), DriverError>,
) -> Result<(), DriverError> {
    let mut place = journal.beginning();
    let mut chain: Option<Chain> = None;
    loop {
        let page = journal.read(place, PAGE)?;
        if page.records.is_empty() {
            return Ok(());
        }
        for record in &page.records {
            let Some(chain) = &mut chain else {
                chain = Some(Chain::new(head_of(&record.body)?.policy()?)?);
                continue;
            };
            let wrong =
                |error: serde_json::Error| DriverError::Record { index: record.index, problem: error.to_string() };
            let body: crate::body::ReadBody<'_> = serde_json::from_str(&record.body).map_err(wrong)?;
            if let Some(input) = body.input {
                let input: Input = serde_json::from_str(input.get()).map_err(wrong)?;
                let step = chain.step(&input);
                show(&input, &step.decision, WallClock::from_epoch_ms(record.times.wall_ms))?;
            }
        }
        place = page.next;
    }
}
