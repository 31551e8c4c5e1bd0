//! A started inner stage and its end, as the launcher sees them.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::capture::Capture;
use crate::control::{Channel, News};
use crate::interrupt::Interrupt;
use crate::layers::l02_namespaces::{Reap, Started};
use crate::outcome::{Budget, End, Finding, Receipt};
use crate::procfs::{self, Identity};
use crate::sys;
use crate::watchdog::Watch;

/// A started inner stage with its channels.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) started: Started,
    pub(crate) control: Channel,
    pub(crate) stdout: Capture,
    pub(crate) stderr: Capture,
    pub(crate) watch: Option<Watch>,
    pub(crate) interrupt: Interrupt,
}

/// How often a waiting launcher looks whether it was interrupted.
const INTERRUPT_PAUSE: Duration = Duration::from_millis(50);

/// What can happen to a run.
#[derive(Debug)]
pub(crate) enum Event {
    /// The inner stage says something.
    News(News),
    /// The inner stage is gone.
    Gone,
    /// The deadline is here.
    TimedOut,
    /// Another thread ends the run.
    Interrupted,
    /// A budget is spent.
    Spent(Budget),
}

impl Running {
    /// Ends an inner stage that is not needed after all.
    pub(crate) fn abandon(self) {
        self.started.kill();
        // It is gone for sure once it is waited for; a failure here changes nothing.
        sys::best_effort(self.started.reap());
    }

    /// Waits for the next event; reads the command's output and keeps the budgets meanwhile.
    pub(crate) fn next(&mut self, deadline: Instant) -> io::Result<Event> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Event::TimedOut);
            }
            if self.interrupt.is_raised() {
                return Ok(Event::Interrupted);
            }
            let pause = self.watch.as_ref().map_or(left, Watch::pause).min(left).min(INTERRUPT_PAUSE);
            let [news, stdout, stderr] = self.wait(pause)?;
            if stdout {
                self.stdout.read_once();
            }
            if stderr {
                self.stderr.read_once();
            }
            if news {
                return Ok(self.control.news()?.map_or(Event::Gone, Event::News));
            }
            if let Some(budget) = self.watch.as_mut().and_then(Watch::look_if_due) {
                return Ok(Event::Spent(budget));
            }
        }
    }

    /// Which of the control channel and the two streams have something to read.
    fn wait(&self, at_most: Duration) -> io::Result<[bool; 3]> {
        let timeout = Timespec {
            tv_sec: i64::try_from(at_most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(at_most.subsec_nanos()),
        };
        let sources = [Some(self.control.as_fd()), self.stdout.waiting(), self.stderr.waiting()];
        let mut fds: Vec<PollFd<'_>> =
            sources.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok([false; 3]),
            Err(errno) => return Err(errno.into()),
        }
        let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
        Ok(sources.map(|source| source.is_some() && ready.next().unwrap_or(false)))
    }
}

pub(crate) struct EndedRun {
    pub(crate) end: End,
    pub(crate) receipt: Receipt,
    pub(crate) findings: Vec<Finding>,
    pub(crate) stdout: Capture,
    pub(crate) stderr: Capture,
}

/// Who was alive when the end began.
pub(crate) enum Alive {
    /// The first process counted from inside; none means that it was alone for sure.
    Counted(u32),
    /// Seen from outside.
    Seen(Vec<Identity>),
}

impl Alive {
    /// Whether the first process has proven that it was alone.
    pub(crate) fn is_nobody(&self) -> bool {
        matches!(self, Self::Counted(0))
    }

    /// What became of them and of the first process itself, which was asked to end and waited for.
    pub(crate) fn receipt(self, first: i32, reap: Reap, took: Duration) -> Receipt {
        let living = |seen: &[Identity]| seen.iter().filter(|id| procfs::is_alive(**id)).count();
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        match (self, reap) {
            (Self::Counted(others), Reap::Gone) => Receipt { ended: u64::from(others) + 1, survivors: 0, took },
            // Counted from inside, so they are looked for now; the first process is one of those that are left.
            (Self::Counted(others), Reap::StillThere) => {
                let survivors = number(procfs::descendants(first).len() + 1);
                Receipt { ended: (u64::from(others) + 1).saturating_sub(survivors), survivors, took }
            }
            (Self::Seen(seen), Reap::Gone) => {
                let survivors = living(&seen);
                Receipt { ended: number(seen.len() + 1 - survivors), survivors: number(survivors), took }
            }
            (Self::Seen(seen), Reap::StillThere) => {
                let survivors = living(&seen);
                Receipt { ended: number(seen.len() - survivors), survivors: number(survivors + 1), took }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(receipt: &Receipt) -> (u64, u64) {
        (receipt.ended, receipt.survivors)
    }

    #[test]
    fn a_first_process_that_is_gone_leaves_no_survivors() {
        let gone = Identity { pid: i32::MAX, start: 1 };
        let receipt = |alive: Alive| counts(&alive.receipt(i32::MAX, Reap::Gone, Duration::ZERO));
        assert_eq!(receipt(Alive::Counted(2)), (3, 0));
        assert_eq!(receipt(Alive::Seen(vec![gone])), (2, 0));
    }

    #[test]
    fn a_first_process_that_is_still_there_is_a_survivor_and_so_is_who_lives_beside_it() {
        let pid = i32::try_from(std::process::id()).expect("a pid");
        let start = procfs::start_time(std::path::Path::new("/proc/self")).expect("a start time");
        let seen = vec![Identity { pid, start }, Identity { pid: i32::MAX, start: 1 }];
        let receipt = |alive: Alive| counts(&alive.receipt(i32::MAX, Reap::StillThere, Duration::ZERO));
        assert_eq!(receipt(Alive::Seen(seen)), (1, 2));
        assert_eq!(receipt(Alive::Counted(2)), (2, 1));
    }
}
