//! What a supervisor needs of the driver beside taking inputs in: to know when to look, and to leave a report behind.

use super::catch_up::catch_up;
use super::dir::SessionDir;
use super::error::DriverError;
use super::report_files::Blocked;
use super::time::{since, stamped};
use super::{Driver, Reporting, authority, people, report_files};
use tripwire_core::decision::Decision;
use tripwire_core::input::{Input, What};
use tripwire_journal::storage::Storage;
use tripwire_workspace::control::{self, ControlFile, Presence};
use tripwire_workspace::geometry::reports::Report;
use tripwire_workspace::geometry::wall_clock::WallClock;

impl<S: Storage> Driver<S> {
    /// Whether people did something that no input has taken in yet. It costs a few looks at files, and journals nothing.
    ///
    /// # Errors
    /// When the files cannot be looked at: then nothing may go on.
    pub fn has_news(&self, now: WallClock) -> Result<bool, DriverError> {
        Ok(!control::look(&self.layout, &self.session, &self.state.seen, now)?.facts.is_empty())
    }

    /// What the engine would answer to an input now: an opinion for a caller whose steps are not this session's. Nothing is
    /// taken in, nothing is journaled, and an allowance that it would use stays.
    ///
    /// # Errors
    /// When the journal or the control files cannot be read: then there is no answer, and the caller has to refuse.
    pub fn would(&mut self, what: What, now: WallClock) -> Result<Decision, DriverError> {
        let Self { journal, layout, session, state, followed, .. } = self;
        let turn = journal.turn()?;
        catch_up(&turn, SessionDir { layout, session }, state, followed.as_mut())?;
        let at = since(state.start, now);
        let mut chain = state.chain.clone();
        for what in
            people::inputs(&control::look(layout, session, &state.seen, now)?.facts, &people::FoundBy::default())
        {
            chain.step(&Input { at, what });
        }
        Ok(chain.step(&authority::confirm(&state.frozen, Input { at, what: stamped(what, at) })).decision)
    }

    /// Writes `BLOCKER_REPORT.md` from the strictest of the newest alarms, else with this reason: the run ends here, and a person
    /// is to look at it. A session that another one answers for leaves none.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn report_blocker(&mut self, reason: &str, now: WallClock) -> Result<(), DriverError> {
        let Self { layout, session, state, reporting, .. } = self;
        if *reporting == Reporting::ByTheLoop {
            return Ok(());
        }
        let view = state.chain.view();
        let blocked = Blocked { reason, about: report_files::cause_of(view.stopped, view.held) };
        Ok(report_files::write_blocker(SessionDir { layout, session }, &state.memo, blocked, &mut state.seen, now)?)
    }

    /// Takes back the blocker report that this session wrote: a person has decided to go on.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn withdraw_blocker(&mut self) -> Result<(), DriverError> {
        let Self { layout, session, state, .. } = self;
        Report::Blocker.remove_for(layout, session.as_str())?;
        let presence =
            if layout.blocker_report().symlink_metadata().is_ok() { Presence::There } else { Presence::Gone };
        state.seen.took_report_back(ControlFile::BlockerReport, presence);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_core::input::What;
    use tripwire_workspace::geometry::layout::Layout;

    #[test]
    fn ctrl_1_an_opinion_knows_a_pause_and_leaves_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        let now = WallClock::from_epoch_ms(1_790_000_000_000);
        let mut driver = Driver::begin(&layout, now, |_| Ok(())).unwrap();
        let records = driver.journal().records();
        assert!(driver.would(What::IterationStarted, now).unwrap().safety.allowed);
        std::fs::write(layout.pause(), "").unwrap();
        assert!(!driver.would(What::IterationStarted, now).unwrap().safety.allowed);
        assert_eq!(driver.journal().records(), records, "nothing was journaled");
        assert!(driver.view().held.is_none() && driver.has_news(now).unwrap(), "and nothing was taken in");
    }

    #[test]
    fn ctrl_1_news_are_told_until_they_are_taken_in_and_our_own_report_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        let now = WallClock::from_epoch_ms(1_790_000_000_000);
        let mut driver = Driver::begin(&layout, now, |_| Ok(())).unwrap();
        assert!(!driver.has_news(now).unwrap());
        std::fs::write(layout.pause(), "").unwrap();
        assert!(driver.has_news(now).unwrap());
        driver.take(What::Tick, now).unwrap();
        assert!(!driver.has_news(now).unwrap());
        driver.report_blocker("held", now).unwrap();
        assert!(layout.blocker_report().exists() && !driver.has_news(now).unwrap());
        std::fs::remove_file(layout.blocker_report()).unwrap();
        assert!(driver.has_news(now).unwrap(), "a person removed it");
        std::fs::remove_dir_all(folder.path()).unwrap();
        assert!(driver.has_news(now).is_err(), "what cannot be looked at is no silence");
    }
}
