//! A started inner stage and its end, as the launcher sees them.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::capture::Capture;
use crate::control::{Channel, News};
use crate::layers::l02_namespaces::Started;
use crate::outcome::{Budget, End, Receipt};
use crate::procfs::{self, Identity};

/// A started inner stage with its channels.
pub(crate) struct Running {
    pub(crate) started: Started,
    pub(crate) control: Channel,
    pub(crate) stdout: Capture,
    pub(crate) stderr: Capture,
    pub(crate) watch: Option<(OwnedFd, OwnedFd)>,
}

impl Running {
    /// The next news, or an error of kind `TimedOut` at the deadline.
    pub(crate) fn next_news(&mut self, deadline: Instant) -> io::Result<Option<News>> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let timeout = Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(left.subsec_nanos()),
            };
            let control = self.control.as_fd();
            let mut fds = [PollFd::from_borrowed_fd(control, PollFlags::IN)];
            match poll(&mut fds, Some(&timeout)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return self.control.news(),
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

pub(crate) struct Ended {
    pub(crate) end: End,
    pub(crate) receipt: Receipt,
    pub(crate) stdout: Capture,
    pub(crate) stderr: Capture,
}

/// Who was alive when the end began.
pub(crate) enum Alive {
    /// The first process counted from inside.
    Counted(u32),
    /// Seen from outside.
    Seen(Vec<Identity>),
}

impl Alive {
    pub(crate) fn receipt(self, took: Duration) -> Receipt {
        match self {
            Self::Counted(others) => Receipt {
                ended: u64::from(others) + 1,
                survivors: 0,
                took,
            },
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

pub(crate) struct Watcher {
    pub(crate) stop: Sender<()>,
    pub(crate) handle: JoinHandle<Option<Budget>>,
}

impl Watcher {
    pub(crate) fn finish(self) -> Option<Budget> {
        drop(self.stop);
        self.handle.join().ok().flatten()
    }
}
