//! Files that the agent's client obeys (instructions, servers of tools, settings): a change of one during the session is drift.
//!
//! The client reads them by itself, so nothing can be kept from being applied; the record says that it changed.

use super::absent::AbsentFiles;
use super::fact::ControlFact;
use crate::geometry::wall_clock::WallClock;
use crate::mark::{Mark, stat};
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

impl WatchedFile {
    /// The next look reads the file.
    pub(super) fn forget_mark(&mut self) {
        self.mark = None;
    }
}

/// Looks at the files for the first time.
pub(super) fn begin<'a>(root: &Path, names: impl Iterator<Item = &'a str>, now: WallClock) -> Vec<WatchedFile> {
    let mut files: Vec<WatchedFile> = Vec::new();
    for name in names.take(FILES_MAX) {
        if !files.iter().any(|file| file.name == name) {
            let path = root.join(name);
            let found = stat(&path).ok().flatten();
            let (mark, held) = found.map_or((None, None), |found| held_by(&path, &found, now, None));
            files.push(WatchedFile { name: name.to_owned(), mark, held });
        }
    }
    files
}

/// Looks at them again, by their marks first. Gives those that are to be compared with something else from now on, by their
/// places.
pub(super) fn look(
    root: &Path,
    files: &[WatchedFile],
    now: WallClock,
    absent: &mut AbsentFiles,
    facts: &mut Vec<ControlFact>,
) -> Vec<(usize, WatchedFile)> {
    let mut moved = Vec::new();
    for (at, file) in files.iter().enumerate() {
        // A file below something that is no folder is not there.
        let found = absent.stat_below(root, &file.name).ok().flatten();
        if found.is_none() && file.mark.is_none() && file.held.is_none() {
            continue;
        }
        let (mark, held) = found.map_or((None, None), |found| held_by(&root.join(&file.name), &found, now, Some(file)));
        if held != file.held {
            let to = held.clone().unwrap_or_else(|| "(removed)".to_owned());
            facts.push(ControlFact::ObeyedFileChanged { path: file.name.clone(), to });
        }
        if (&mark, &held) != (&file.mark, &file.held) {
            moved.push((at, WatchedFile { name: file.name.clone(), mark, held }));
        }
    }
    moved
}

fn held_by(
    path: &Path,
    metadata: &std::fs::Metadata,
    now: WallClock,
    before: Option<&WatchedFile>,
) -> (Option<Mark>, Option<String>) {
    let mark = Mark::of(metadata, now);
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
        let mut absent = AbsentFiles::default();
        let mut changed = |files: &mut Vec<WatchedFile>| {
            let mut facts = Vec::new();
            now += 1_000;
            absent.begin(root.metadata().ok().as_ref(), WallClock::from_epoch_ms(now));
            for (at, file) in look(root, files, WallClock::from_epoch_ms(now), &mut absent, &mut facts) {
                files[at] = file;
            }
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

    #[test]
    fn const_6_a_file_that_was_known_to_be_absent_is_seen_when_it_comes_by_any_way() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let names = ["CLAUDE.md", ".claude/settings.json", ".codex/config.toml"];
        let mut files = begin(root, names.into_iter(), crate::clock::now());
        let mut absent = AbsentFiles::default();
        let mut changed = || {
            let (mut facts, now) = (Vec::new(), crate::clock::now());
            absent.begin(root.metadata().ok().as_ref(), now);
            for (at, file) in look(root, &files, now, &mut absent, &mut facts) {
                files[at] = file;
            }
            facts.len()
        };
        let settle = || std::thread::sleep(std::time::Duration::from_millis(70));
        let changes: [&dyn Fn(); 4] = [
            &|| std::fs::write(root.join("CLAUDE.md"), "x").unwrap(),
            &|| {
                std::fs::create_dir(root.join("draft")).unwrap();
                std::fs::write(root.join("draft/settings.json"), "x").unwrap();
                std::fs::rename(root.join("draft"), root.join(".claude")).unwrap();
            },
            &|| std::fs::remove_file(root.join(".claude/settings.json")).unwrap(),
            &|| std::fs::write(root.join(".claude/settings.json"), "y").unwrap(),
        ];
        for change in changes {
            settle();
            assert_eq!((changed(), changed()), (0, 0));
            change();
            assert_eq!(changed(), 1);
        }
    }
}
