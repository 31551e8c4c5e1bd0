//! What a person asked for, in the person's own words: a fresh worker knows nothing else (CTX-3).

use serde::{Deserialize, Serialize};
use tripwire_core::label;
use tripwire_fs::file::{self, FileError, read_bounded};
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::session::SessionId;

/// The most that is kept of one prompt.
const PROMPT_BYTES_MAX: usize = 32 * 1_024;
/// The most that is read back.
const FILE_BYTES_MAX: u64 = 512 * 1_024;

/// The prompts that tell what a session is about.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Said {
    first: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    newest: String,
}

/// Keeps what a person said: the first words of a session and the newest ones. An order to read the briefing is ours.
pub(super) fn keep(layout: &Layout, session: &SessionId, said: &str) -> Result<(), FileError> {
    let said = label::cut(said.trim(), PROMPT_BYTES_MAX);
    if said.is_empty() || said.contains("MISSION_BRIEFING.md") {
        return Ok(());
    }
    let mut kept = load(layout, session).unwrap_or_default();
    if kept.first.is_empty() {
        said.clone_into(&mut kept.first);
    } else if kept.first != said {
        said.clone_into(&mut kept.newest);
    }
    let text = serde_json::to_string(&kept).unwrap_or_default();
    file::make_folder(&layout.state())?;
    file::write_unsynced(&layout.objective_of(session), text.as_bytes())
}

/// The objective as it was said; without one the worker is told where to look.
pub(super) fn read(layout: &Layout, session: &SessionId) -> String {
    known(layout, session).unwrap_or_else(|| "not known to tripwire: see the first prompt of the session".to_owned())
}

/// The objective as it was said, where that is known.
pub(super) fn known(layout: &Layout, session: &SessionId) -> Option<String> {
    let Said { first, newest } = load(layout, session)?;
    Some(if newest.is_empty() { first } else { format!("{first}\n\nAsked for last:\n{newest}") })
}

fn load(layout: &Layout, session: &SessionId) -> Option<Said> {
    let bytes = read_bounded(&layout.objective_of(session), FILE_BYTES_MAX).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_workspace::geometry::wall_clock::WallClock;

    #[test]
    fn ctx_3_the_first_and_the_newest_words_of_a_person_are_kept_and_ours_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        let session = SessionId::first(WallClock::from_epoch_ms(1_790_000_000_000));
        assert!(read(&layout, &session).contains("not known"));
        for said in ["fix the parser\nand test it", "Read .geometry/MISSION_BRIEFING.md and continue", "  "] {
            keep(&layout, &session, said).unwrap();
            assert_eq!(read(&layout, &session), "fix the parser\nand test it");
        }
        keep(&layout, &session, "now the lexer").unwrap();
        keep(&layout, &session, "now the printer").unwrap();
        assert_eq!(read(&layout, &session), "fix the parser\nand test it\n\nAsked for last:\nnow the printer");
    }
}
