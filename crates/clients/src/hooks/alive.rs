//! The mark that a hook was called: what tells a guarded session from one whose hooks the client skips in silence.

use crate::client::Client;
use std::path::PathBuf;
use tripwire_core::record::chain::Digest;
use tripwire_fs::file::{self, FileError};
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::wall_clock::WallClock;

/// What a mark says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// The hook was called at the beginning of the session.
    Alive,
    /// The client said that the session ended.
    Ended,
}

/// Where the mark of a client's session is: `.geometry/state/hook-alive/CLIENT-SESSION`. An id that is no plain file name
/// is replaced by its digest.
#[must_use]
pub fn path(layout: &Layout, client: Client, session: &str) -> PathBuf {
    let plain = !session.is_empty()
        && session.len() <= 64
        && session.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    let name = if plain { session.to_owned() } else { Digest::of(session.as_bytes()).to_string() };
    layout.hook_alive().join(format!("{}-{name}", client.name()))
}

/// Leaves the mark.
///
/// # Errors
/// When the file cannot be written.
pub fn mark(layout: &Layout, client: Client, session: &str, life: Life, now: WallClock) -> Result<(), FileError> {
    let path = path(layout, client, session);
    file::make_folder(&layout.state())?;
    if let Some(folder) = path.parent() {
        file::make_folder(folder)?;
    }
    let word = match life {
        Life::Alive => "alive",
        Life::Ended => "ended",
    };
    file::replace(&path, format!("{word} {}\n", now.epoch_ms()).as_bytes())
}

/// Reads the mark: what it says and when it was left, in milliseconds since 1970; none if no hook was called.
#[must_use]
pub fn look(layout: &Layout, client: Client, session: &str) -> Option<(Life, u64)> {
    let bytes = file::read_bounded(&path(layout, client, session), 64).ok()?;
    let (word, at) = std::str::from_utf8(&bytes).ok()?.trim().split_once(' ')?;
    let life = match word {
        "alive" => Life::Alive,
        "ended" => Life::Ended,
        _ => return None,
    };
    Some((life, at.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_back_and_an_odd_id_stays_inside_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        for session in ["a1-b2", "../../etc/passwd", ""] {
            assert_eq!(look(&layout, Client::Codex, session), None);
            let now = WallClock::from_epoch_ms(1_790_000_000_000);
            mark(&layout, Client::Codex, session, Life::Alive, now).unwrap();
            assert_eq!(look(&layout, Client::Codex, session), Some((Life::Alive, 1_790_000_000_000)));
            assert_eq!(look(&layout, Client::Claude, session), None, "of another client");
        }
        let inside = std::fs::read_dir(layout.hook_alive()).unwrap().count();
        assert_eq!(inside, 3);
    }
}
