//! What a person did while something runs: STOP on disk, an interrupt from the terminal, a change of the control files.

use std::path::PathBuf;
use std::time::SystemTime;
use tripwire_workspace::geometry::layout::Layout;

/// Looks at the control files with a handful of `stat` calls, cheap enough for every heartbeat.
#[derive(Debug)]
pub(super) struct Watch {
    layout: Layout,
    journal: PathBuf,
}

/// The control files at one moment; another value means that a person did something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Look(Vec<Option<(u64, SystemTime)>>);

impl Watch {
    /// Watches a session.
    pub(super) fn new(layout: &Layout, session: &str) -> Self {
        Self { layout: layout.clone(), journal: layout.journal().join(session) }
    }

    /// Whether a person's order to stop is on disk.
    pub(super) fn is_stop_ordered(&self) -> bool {
        self.layout.stop().symlink_metadata().is_ok()
    }

    /// What is in the control files, and how far the journal is: other processes may write to it.
    pub(super) fn look(&self) -> Look {
        let mut files = vec![
            self.layout.stop(),
            self.layout.pause(),
            self.layout.blocker_report(),
            self.layout.checkpoint(),
            self.layout.manifest(),
        ];
        if let Ok(entries) = std::fs::read_dir(&self.journal) {
            let segments = entries.flatten().map(|entry| entry.path());
            files.extend(segments.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).max());
        }
        let mark = |path: PathBuf| {
            let found = path.symlink_metadata().ok()?;
            Some((found.len(), found.modified().ok()?))
        };
        Look(files.into_iter().map(mark).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_another_process_is_seen_and_a_look_at_the_journal_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        let journal = layout.journal().join("s");
        std::fs::create_dir_all(journal.join("checkpoints")).unwrap();
        for name in ["00000001.jsonl", "00000002.jsonl", "HEAD"] {
            std::fs::write(journal.join(name), "x\n").unwrap();
        }
        let watch = Watch::new(&layout, "s");
        let before = watch.look();
        assert_eq!(watch.look(), before);
        std::fs::write(journal.join("00000002.jsonl"), "x\ny\n").unwrap();
        assert_ne!(watch.look(), before);
        assert!(!watch.is_stop_ordered());
        std::fs::write(layout.stop(), "").unwrap();
        assert!(watch.is_stop_ordered());
    }
}
