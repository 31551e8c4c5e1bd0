//! A started inner stage and its end, as the launcher sees them.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::capture::Capture;
use crate::control::{Channel, News};
use crate::interrupt::Interrupt;
use crate::layers::l02_namespaces::Started;
use crate::outcome::{Budget, End, Finding, Receipt};
use crate::procfs::{self, Identity};
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
        drop(self.started.reap());
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

pub(crate) struct Ended {
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

    pub(crate) fn receipt(self, took: Duration) -> Receipt {
        match self {
            Self::Counted(others) => Receipt { ended: u64::from(others) + 1, survivors: 0, took },
            Self::Seen(seen) => {
                let survivors = seen.iter().filter(|id| procfs::is_alive(**id)).count();
                let ended = seen.len() + 1 - survivors;
                Receipt {
                    ended: u64::try_from(ended).unwrap_or(u64::MAX),
                    survivors: u64::try_from(survivors).unwrap_or(u64::MAX),
                    took,
                }
            }
        }
    }
}
