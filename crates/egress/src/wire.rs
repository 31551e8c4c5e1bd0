//! Reading and writing with a deadline, the same for the client's unix socket and the server's TCP socket.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A moment after which a phase of a connection is over, however slowly its bytes trickle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline(Option<Instant>);

impl Deadline {
    pub(super) fn after(time: Duration) -> Self {
        // A time beyond what the clock can count never comes.
        Self(Instant::now().checked_add(time))
    }

    /// What is left, or `None` when it is over.
    pub(super) fn left(self) -> Option<Duration> {
        let Some(end) = self.0 else {
            return Some(Duration::MAX);
        };
        Some(end.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }
}

/// One end of a tunnel. Shared references read and write, so that two threads can carry the two directions.
pub(super) trait Side: Send + Sync {
    fn read_once(&self, into: &mut [u8]) -> io::Result<usize>;
    fn write_once(&self, from: &[u8]) -> io::Result<usize>;
    fn read_time(&self, time: Duration) -> io::Result<()>;
    fn write_time(&self, time: Duration) -> io::Result<()>;
    fn close(&self, how: Shutdown);
}

macro_rules! impl_side {
    ($stream:ty) => {
        impl Side for $stream {
            fn read_once(&self, into: &mut [u8]) -> io::Result<usize> {
                let mut stream = self;
                stream.read(into)
            }
            fn write_once(&self, from: &[u8]) -> io::Result<usize> {
                let mut stream = self;
                stream.write(from)
            }
            fn read_time(&self, time: Duration) -> io::Result<()> {
                self.set_read_timeout(Some(time.clamp(TIME_MIN, TIME_MAX)))
            }
            fn write_time(&self, time: Duration) -> io::Result<()> {
                self.set_write_timeout(Some(time.clamp(TIME_MIN, TIME_MAX)))
            }
            fn close(&self, how: Shutdown) {
                // Already closed is what was wanted.
                drop(self.shutdown(how));
            }
        }
    };
}

impl_side!(UnixStream);
impl_side!(TcpStream);

/// A zero time-out means none to the system, so the shortest wait is this.
const TIME_MIN: Duration = Duration::from_millis(1);
/// The longest wait that every system's time value can hold.
const TIME_MAX: Duration = Duration::from_secs(86_400);

/// Why bytes could not be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WireError {
    /// The deadline passed.
    Timeout,
    /// The other end closed, or the socket failed.
    Closed,
}

/// Reads what has arrived, at most as much as `into` has room for, and appends nothing when the end was reached.
pub(super) fn read_until(side: &dyn Side, into: &mut [u8], deadline: Deadline) -> Result<usize, WireError> {
    loop {
        let left = deadline.left().ok_or(WireError::Timeout)?;
        side.read_time(left).map_err(|_| WireError::Closed)?;
        match side.read_once(into) {
            Ok(0) => return Err(WireError::Closed),
            Ok(count) => return Ok(count),
            Err(error) if is_transient(&error) => {}
            Err(_) => return Err(WireError::Closed),
        }
    }
}

/// Writes all bytes or says why not; `count` grows by what the socket took, also when it did not take all.
pub(super) fn write_until(
    side: &dyn Side,
    mut from: &[u8],
    deadline: Deadline,
    count: &AtomicU64,
) -> Result<(), WireError> {
    while !from.is_empty() {
        let left = deadline.left().ok_or(WireError::Timeout)?;
        side.write_time(left).map_err(|_| WireError::Closed)?;
        match side.write_once(from) {
            Ok(0) => return Err(WireError::Closed),
            Ok(written) => {
                count.fetch_add(u64::try_from(written).unwrap_or(u64::MAX), Ordering::Relaxed);
                from = from.get(written..).unwrap_or_default();
            }
            Err(error) if is_transient(&error) => {}
            Err(_) => return Err(WireError::Closed),
        }
    }
    Ok(())
}

/// Interrupted or timed out: the caller looks at its clock and tries again.
pub(super) fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
