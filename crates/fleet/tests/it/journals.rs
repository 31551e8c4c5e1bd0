//! Journals for tests, written by the real journal.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use tripwire_fleet::subject::Name;
use tripwire_journal::storage::Disk;
use tripwire_journal::wall_clock::WallClock;
use tripwire_journal::{Append, Batch, Durability, Entry, Follower, Journal, Options, SessionId, SessionPaths};

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// A session with its journal on disk.
pub(crate) struct TestJournal {
    pub(crate) paths: SessionPaths,
    journal: Journal<Disk>,
}

impl TestJournal {
    pub(crate) fn begin(geometry: &Path, nth: u32) -> Self {
        let session = SessionId::nth(WallClock::from_epoch_ms(1_000_000), nth);
        let paths = SessionPaths::new(geometry, &session);
        let journal = Journal::open(Disk, paths.clone(), Options::default()).unwrap();
        Self { paths, journal }
    }

    pub(crate) fn add(&mut self, count: usize) {
        self.add_under("n", count);
    }

    /// Adds records whose only member has this name.
    pub(crate) fn add_under(&mut self, member: &str, count: usize) {
        let text = |n: u64| format!("{{\"{member}\":{n}}}");
        let first = self.journal.records();
        let entries = (0..u64::try_from(count).unwrap())
            .map(|n| Entry { body: Cow::Owned(text(first + n)), durations_ms: BTreeMap::new(), wall_ms: first + n })
            .collect();
        let batch = Batch { entries, durability: Durability::Grouped, after: None };
        assert!(matches!(self.journal.append(&batch).unwrap(), Append::Ack(_)));
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        Follower::from_start(Disk, self.paths.clone()).next_lines(usize::MAX).unwrap()
    }
}
