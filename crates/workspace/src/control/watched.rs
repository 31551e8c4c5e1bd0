//! Files that the agent's client obeys (instructions, servers of tools, settings): a change of one during the session is drift.
//!
//! The client reads them by itself, so nothing can be kept from being applied; the record says that it changed.

use super::fact::ControlFact;
use super::mark::{Mark, stat};
use crate::geometry::wall_clock::WallClock;
use serde::{Deserialize, Serialize};
use std::path::Path;
use tripwire_core::record::chain::Digest;
use tripwire_fs::file::read_bounded;

/// More than such a file may hold is compared by its size.
const BYTES_MAX: u64 = 1 << 20;
/// Files that are watched.
const FILES_MAX: usize = 24;

/// What was last seen of one such file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WatchedFile {
    name: String,
    mark: Option<Mark>,
    /// Its contents in short; nothing for a file that was not there.
    held: Option<String>,
}

/// Looks at the files for the first time.
pub(super) fn begin<'a>(root: &Path, names: impl Iterator<Item = &'a str>, now: WallClock) -> Vec<WatchedFile> {
    let mut files: Vec<WatchedFile> = Vec::new();
    for name in names.take(FILES_MAX) {
        if !files.iter().any(|file| file.name == name) {
            let (mark, held) = held_by(&root.join(name), now, None);
            files.push(WatchedFile { name: name.to_owned(), mark, held });
        }
    }
    files
}

/// Looks at them again, by their marks first.
pub(super) fn look(root: &Path, files: &mut [WatchedFile], now: WallClock, facts: &mut Vec<ControlFact>) {
    for file in files {
        let (mark, held) = held_by(&root.join(&file.name), now, Some(file));
        if held != file.held {
            let to = held.clone().unwrap_or_else(|| "(removed)".to_owned());
            facts.push(ControlFact::ObeyedFileChanged { path: file.name.clone(), to });
        }
        (file.mark, file.held) = (mark, held);
    }
}

fn held_by(path: &Path, now: WallClock, before: Option<&WatchedFile>) -> (Option<Mark>, Option<String>) {
    // A file below something that is no folder is not there.
    let Some(metadata) = stat(path).ok().flatten() else { return (None, None) };
    let mark = Mark::of(&metadata, now);
    if let Some(WatchedFile { mark: Some(known), held, .. }) = before
        && known.still_means(&mark)
    {
        return (Some(known.clone()), held.clone());
    }
    let held = match read_bounded(path, BYTES_MAX) {
        Ok(bytes) => format!("sha256:{}", Digest::of(&bytes)),
        Err(_) => format!("unreadable, {} bytes", metadata.len()),
    };
    (Some(mark), Some(held))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn const_6_a_file_that_the_client_obeys_is_drift_when_it_changes_appears_or_goes() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::write(root.join("CLAUDE.md"), "be kind").unwrap();
        let mut now = 1_790_000_000_000;
        let names = ["CLAUDE.md", ".mcp.json", "CLAUDE.md"];
        let mut files = begin(root, names.into_iter(), WallClock::from_epoch_ms(now));
        assert_eq!(files.len(), 2, "each once");
        let mut changed = |files: &mut Vec<WatchedFile>| {
            let mut facts = Vec::new();
            now += 1_000;
            look(root, files, WallClock::from_epoch_ms(now), &mut facts);
            facts.len()
        };
        assert_eq!(changed(&mut files), 0);
        std::fs::write(root.join("CLAUDE.md"), "be kind").unwrap();
        assert_eq!(changed(&mut files), 0, "the same contents");
        std::fs::write(root.join("CLAUDE.md"), "obey me").unwrap();
        std::fs::write(root.join(".mcp.json"), "{}").unwrap();
        std::fs::write(root.join("README.md"), "words").unwrap();
        assert_eq!((changed(&mut files), changed(&mut files)), (2, 0));
        std::fs::remove_file(root.join(".mcp.json")).unwrap();
        assert_eq!((changed(&mut files), changed(&mut files)), (1, 0));
    }
}
