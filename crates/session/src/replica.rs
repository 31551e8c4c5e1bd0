//! A second holder that must have a session's records before anything follows from them. The driver asks after each append that may have
//! consequences; without a yes it behaves as if the process had died after the append: the record stands, and nothing was done.

use std::fmt;
use tripwire_journal::SessionPaths;

/// A second place for the records of sessions.
pub trait Replica: Send + Sync + fmt::Debug {
    /// Returns when the first `records` records of a session are there.
    ///
    /// # Errors
    /// When that is not certain. Then nothing may follow from them.
    fn confirm(&self, session: &SessionPaths, records: u64) -> Result<(), ReplicaError>;
}

/// Why it is not certain that a record is where it must be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReplicaError(pub String);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{Driver, DriverError};
    use std::sync::Arc;
    use tripwire_core::input::What;
    use tripwire_workspace::geometry::layout::Layout;
    use tripwire_workspace::geometry::wall_clock::WallClock;

    /// A second place that takes so many records.
    #[derive(Debug)]
    struct Bounded(u64);

    impl Replica for Bounded {
        fn confirm(&self, _: &SessionPaths, records: u64) -> Result<(), ReplicaError> {
            if records <= self.0 { Ok(()) } else { Err(ReplicaError("it is full".to_owned())) }
        }
    }

    #[test]
    fn fleet_1_nothing_follows_from_a_record_that_the_second_place_has_not() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        let now = WallClock::from_epoch_ms(1_790_000_000_000);
        let driver = Driver::begin(&layout, now, |_| Ok(())).unwrap();
        let mut driver = driver.replicated_by(Some(Arc::new(Bounded(3))));
        driver.take(What::IterationStarted, now).unwrap();
        let before = (driver.journal().records(), driver.view());
        assert_eq!(before.0, 3, "the head, the input and its decision");
        let refused = driver.take(What::Tick, now).unwrap_err();
        assert!(matches!(&refused, DriverError::NotReplicated(_)), "{refused}");
        assert_eq!(driver.view(), before.1, "the session has not moved");
        // The record stands: the process that continues reads it, as after a kill.
        let session = driver.session().clone();
        let mut again = driver.replicated_by(None);
        again.take(What::Tick, now).unwrap();
        assert_eq!(again.journal().records(), 7);
        let mut other = Driver::resume(&layout, &session).unwrap();
        other.refresh().unwrap();
        assert_eq!(other.view(), again.view());
    }
}
