//! Where the clients keep their transcripts.

use crate::client::Client;
use crate::homes::Homes;
use std::path::{Path, PathBuf};

/// How deep below a client's folder transcripts lie at most.
const DEPTH_MAX: usize = 8;
/// How many files and folders are looked at in one place.
const ENTRIES_MAX: usize = 200_000;

/// A folder in which a client keeps its transcripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptFolder {
    /// Whose they are.
    pub client: Client,
    /// The folder.
    pub folder: PathBuf,
}

/// The transcripts of one place.
#[derive(Debug, Default)]
pub struct TranscriptFiles {
    /// The files, by name.
    pub paths: Vec<PathBuf>,
    /// Whether the place holds more than is looked at.
    pub is_cut: bool,
    seen: usize,
}

/// The places of all clients, as a person's environment names them; none without a home.
#[must_use]
pub fn places(homes: &Homes) -> Vec<TranscriptFolder> {
    let place = |client: Client| {
        let folder = homes.folder(client.home())?.join(client.adapter().transcript.folder);
        Some(TranscriptFolder { client, folder })
    };
    Client::ALL.into_iter().filter_map(place).collect()
}

impl TranscriptFolder {
    /// Its transcripts. A folder that is not there or cannot be listed has none; links are not followed, so that a loop of
    /// them is no trap.
    #[must_use]
    pub fn files(&self) -> TranscriptFiles {
        let mut files = TranscriptFiles::default();
        self.collect(&self.folder, 0, &mut files);
        files.paths.sort();
        files
    }

    fn collect(&self, folder: &Path, depth: usize, files: &mut TranscriptFiles) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
            files.seen += 1;
            if files.seen > ENTRIES_MAX {
                files.is_cut = true;
                return;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() && depth < DEPTH_MAX {
                self.collect(&path, depth + 1, files);
            } else if kind.is_file() && (self.client.adapter().transcript.is_transcript)(&path) {
                files.paths.push(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transcripts_are_found_by_the_clients_own_names_and_links_are_left() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        for path in [
            ".claude/projects/-w/a.jsonl",
            ".claude/projects/-w/a.txt",
            ".codex/sessions/2026/11/15/rollout-x.jsonl",
            ".codex/sessions/2026/11/15/other.jsonl",
            ".gemini/tmp/w/chats/session-x.json",
            ".gemini/tmp/w/logs.json",
        ] {
            write(path);
        }
        std::os::unix::fs::symlink(dir.path().join(".claude"), dir.path().join(".claude/projects/loop")).unwrap();
        let homes = Homes { home: Some(dir.path().to_owned()), ..Homes::default() };
        let found: Vec<_> = places(&homes).iter().flat_map(|place| place.files().paths).collect();
        let ends = ["a.jsonl", "rollout-x.jsonl", "session-x.json"];
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().zip(ends).all(|(path, end)| path.ends_with(end)), "{found:?}");
        assert!(places(&Homes::default()).is_empty());
    }

    #[test]
    fn the_clients_own_variables_lead_elsewhere() {
        let homes = Homes { home: Some("/h".into()), ..Homes::default() };
        let homes = Client::ALL
            .into_iter()
            .zip(["/c", "/x", "/g"])
            .fold(homes, |homes, (client, folder)| homes.with(client.home(), folder.into()));
        let folders: Vec<_> = places(&homes).into_iter().map(|place| place.folder).collect();
        assert_eq!(folders, ["/c/projects", "/x/sessions", "/g/.gemini/tmp"].map(PathBuf::from));
    }
}
