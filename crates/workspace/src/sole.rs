//! One process at a time runs our own loop of a session: two of them would each believe that the other's calls are lost.

use crate::geometry::layout::Layout;
use crate::session::SessionId;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use tripwire_fs::file::{self, FileAction, FileError};

/// The right to run a session's loop, for as long as this value lives; the system takes it back from a dead process.
#[derive(Debug)]
pub struct Sole {
    lock: File,
}

/// Why the right cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SoleError {
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

impl SoleError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Taken { .. } => "see what it does with `tripwire status`, or end it with `tripwire stop`".to_owned(),
            Self::File(error) => error.hint(),
        }
    }
}

impl Sole {
    /// Takes the right, or says who has it.
    ///
    /// # Errors
    /// When another process has it or the lock cannot be made.
    pub fn claim(layout: &Layout, session: &SessionId) -> Result<Self, SoleError> {
        file::make_folder(&layout.state())?;
        let path = layout.loop_of(session);
        let mut options = OpenOptions::new();
        let opened = options.create(true).truncate(false).write(true).open(&path);
        let lock = opened.map_err(FileError::at(&path, FileAction::Create))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { lock }),
            Err(error) if error == rustix::io::Errno::WOULDBLOCK => {
                Err(SoleError::Taken { session: session.as_str().to_owned() })
            }
            Err(error) => Err(FileError::at(&path, FileAction::Write)(error.into()).into()),
        }
    }
}

impl Drop for Sole {
    /// A child that was just forked has the file open for a moment; the right must not outlive this value by that.
    fn drop(&mut self) {
        self.lock.unlock().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::wall_clock::WallClock;

    #[test]
    fn the_second_claim_is_refused_until_the_first_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        let session = SessionId::first(WallClock::from_epoch_ms(1_790_000_000_000));
        let first = Sole::claim(&layout, &session).unwrap();
        assert!(matches!(Sole::claim(&layout, &session), Err(SoleError::Taken { .. })));
        // As a child has it that another thread forked just now.
        let _inherited = first.lock.try_clone().unwrap();
        drop(first);
        assert!(Sole::claim(&layout, &session).is_ok());
    }
}
