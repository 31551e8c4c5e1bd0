//! A session of a machine on its way into the fleet.

use crate::log::Log;
use crate::machine::SessionState;
use crate::record::{RecordError, Replication};
use crate::subject::Subject;
use tripwire_journal::SessionPaths;

/// A session on its way into the fleet.
pub(crate) struct Copied<'a> {
    pub(crate) state: SessionState,
    pub(crate) copy: Option<Replication<'a>>,
    /// Why it is not copied any more.
    pub(crate) problem: Option<String>,
}

impl<'a> Copied<'a> {
    /// Sends the next lines; says how many.
    pub(crate) fn advance(
        &mut self,
        log: &'a dyn Log,
        subject: Subject,
        paths: SessionPaths,
    ) -> Result<usize, RecordError> {
        let copy = match &mut self.copy {
            Some(copy) => copy,
            None => self.copy.insert(Replication::open(log, subject, paths)?),
        };
        let count = copy.advance(LINES_AT_ONCE)?;
        self.state.records = copy.records();
        Ok(count)
    }
}

/// Lines of one session that are sent before the next one's turn.
const LINES_AT_ONCE: usize = 200;
