//! One process at a time runs our own loop of a session: two of them would each believe that the other's calls are lost.

use crate::geometry::layout::Layout;
use crate::session::SessionId;
use std::borrow::Cow;
use std::fs::TryLockError;
use std::time::{Duration, Instant};
use tripwire_core::explain::Explain;
use tripwire_fs::file::{self, FileError};
use tripwire_fs::lock::{FileLock, Wait};

/// The right to run a session's loop, for as long as this value lives; the system takes it back from a dead process.
#[derive(Debug)]
pub struct LoopLock {
    _lock: FileLock,
}

/// Why the right cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LoopLockError {
    /// Another process has it.
    #[error("session {session} is being run by another process")]
    Taken {
        /// The session.
        session: String,
    },
    /// The lock cannot be made.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Explain for LoopLockError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Taken { .. } => "see what it does with `tripwire status`, or end it with `tripwire stop`".into(),
            Self::File(error) => error.hint(),
        }
    }
}

impl LoopLock {
    /// Takes the right, or says who has it.
    ///
    /// # Errors
    /// When another process has it or the lock cannot be made.
    pub fn claim(layout: &Layout, session: &SessionId) -> Result<Self, LoopLockError> {
        file::make_folder(&layout.state())?;
        let path = layout.loop_of(session);
        let deadline = Instant::now() + LOOK_WITHIN;
        // Someone who only looks holds it for a moment. No waiter is left behind, which would look like a holder later on.
        loop {
            match FileLock::take(&path, Wait::No) {
                Ok(lock) => return Ok(Self { _lock: lock }),
                Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => return Err(error.into()),
                Err(_) if Instant::now() < deadline => std::thread::sleep(LOOK_AGAIN),
                Err(_) => return Err(LoopLockError::Taken { session: session.as_str().to_owned() }),
            }
        }
    }

    /// Whether a process runs the session's loop now.
    #[must_use]
    pub fn is_held(layout: &Layout, session: &SessionId) -> bool {
        let Ok(file) = std::fs::File::open(layout.loop_of(session)) else { return false };
        match file.try_lock_shared() {
            Ok(()) => {
                // Given back at once: a child that another thread has just forked may still have the file open.
                drop(file.unlock());
                false
            }
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(_)) => false,
        }
    }
}

/// How long a look at the lock may take.
const LOOK_WITHIN: Duration = Duration::from_millis(50);

/// How long it takes until the next one.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::wall_clock::WallClock;

    #[test]
    fn the_second_claim_is_refused_until_the_first_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        let session = SessionId::first(WallClock::from_epoch_ms(1_790_000_000_000));
        assert!(!LoopLock::is_held(&layout, &session));
        let first = LoopLock::claim(&layout, &session).unwrap();
        assert!(LoopLock::is_held(&layout, &session));
        assert!(matches!(LoopLock::claim(&layout, &session), Err(LoopLockError::Taken { .. })));
        // As a child has it that another thread forked just now.
        let _inherited = first._lock.try_clone().unwrap();
        drop(first);
        assert!(!LoopLock::is_held(&layout, &session));
        assert!(LoopLock::claim(&layout, &session).is_ok());
    }
}
