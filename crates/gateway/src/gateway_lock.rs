//! One gateway at a time keeps the budgets of a workspace: a second one would know nothing of what the first one has reserved,
//! and every budget could be spent twice.
//!
//! The lock is held on the ledger's folder: a lock on a file is worth nothing once somebody has deleted that file, because the next
//! gateway would make and lock another one. The lock file beside it says whose it is, and is locked as well.

use std::borrow::Cow;
use std::io::{self, Write as _};
use std::path::Path;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_fs::file::{self, FileAction, FileError};
use tripwire_fs::lock::{FileLock, Wait};
use tripwire_workspace::geometry::layout::Layout;

/// The longest number of a process.
const PID_BYTES_MAX: u64 = 32;

/// The right to keep the budgets of a workspace, for as long as this value lives; the system takes it back from a dead process.
#[derive(Debug)]
pub(crate) struct GatewayLock {
    _ledger: FileLock,
    _file: FileLock,
}

/// Why the right cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum GatewayLockError {
    /// Another gateway has it.
    #[error("a gateway already runs for this workspace{}", holder(*.pid))]
    Taken {
        /// The other one's process, where it is known.
        pid: Option<u32>,
    },
    /// The lock cannot be made.
    #[error(transparent)]
    File(#[from] FileError),
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}

impl Explain for GatewayLockError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Taken { pid: Some(pid) } => {
                format!("end that one with `kill {pid}`, or keep the budgets elsewhere with `--workspace DIR`").into()
            }
            Self::Taken { pid: None } => "end that one, or keep the budgets elsewhere with `--workspace DIR`".into(),
            Self::File(error) => error.hint(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Taken { .. } => ExitClass::Refused,
            Self::File(error) => error.exit_class(),
        }
    }
}

impl GatewayLock {
    /// Takes the right, or says who has it.
    pub(crate) fn claim(layout: &Layout) -> Result<Self, GatewayLockError> {
        file::make_folder(&layout.state())?;
        file::make_folder(&layout.ledger())?;
        let path = layout.state().join("gateway.lock");
        let refused = |error: FileError| {
            let is_taken = error.kind() == io::ErrorKind::WouldBlock;
            if is_taken { GatewayLockError::Taken { pid: pid_in(&path) } } else { error.into() }
        };
        let ledger = FileLock::folder(&layout.ledger(), Wait::No).map_err(refused)?;
        let lock = FileLock::take(&path, Wait::No).map_err(refused)?;
        let written = lock.set_len(0).and_then(|()| (&*lock).write_all(std::process::id().to_string().as_bytes()));
        written.map_err(FileError::at(&path, FileAction::Write))?;
        Ok(Self { _ledger: ledger, _file: lock })
    }
}

/// The process that wrote itself into the lock; it may not have come to that yet.
fn pid_in(path: &Path) -> Option<u32> {
    let bytes = file::read_bounded(path, PID_BYTES_MAX).ok()?;
    String::from_utf8(bytes).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_testing::TestDir;

    #[test]
    fn gate_8_the_second_gateway_of_a_workspace_is_refused_and_told_of_the_first() {
        let dir = TestDir::new();
        let layout = Layout::at(dir.path());
        let _first = GatewayLock::claim(&layout).unwrap();
        let refused = GatewayLock::claim(&layout).unwrap_err();
        let pid = std::process::id();
        assert_eq!(refused.to_string(), format!("a gateway already runs for this workspace (process {pid})"));
        assert!(refused.hint().contains(&format!("kill {pid}")) && refused.hint().contains("--workspace"));
    }

    #[test]
    fn gate_8_the_second_gateway_is_refused_also_where_the_lock_file_or_the_folder_was_deleted() {
        let dir = TestDir::new();
        let layout = Layout::at(dir.path());
        let first = GatewayLock::claim(&layout).unwrap();
        std::fs::remove_file(layout.state().join("gateway.lock")).unwrap();
        let refused = GatewayLock::claim(&layout).unwrap_err();
        assert_eq!(refused.to_string(), "a gateway already runs for this workspace");
        assert!(refused.hint().contains("end that one"), "{}", refused.hint());
        std::fs::remove_dir_all(layout.state()).unwrap();
        assert!(matches!(GatewayLock::claim(&layout), Err(GatewayLockError::Taken { pid: None })));
        drop(first);
        let _next = GatewayLock::claim(&layout).unwrap();
        std::fs::rename(layout.ledger(), dir.path().join("away")).unwrap();
        assert!(matches!(GatewayLock::claim(&layout), Err(GatewayLockError::Taken { pid: Some(_) })));
    }

    #[test]
    fn gate_8_a_lock_file_that_nobody_holds_or_that_is_missing_keeps_no_gateway_away() {
        let dir = TestDir::new();
        let layout = Layout::at(dir.path());
        drop(GatewayLock::claim(&layout).unwrap());
        std::fs::remove_file(layout.state().join("gateway.lock")).unwrap();
        drop(GatewayLock::claim(&layout).unwrap());
        std::fs::write(layout.state().join("gateway.lock"), "1").unwrap();
        assert!(GatewayLock::claim(&layout).is_ok());
    }

    #[test]
    fn gate_8_a_gateway_begins_where_the_one_before_has_ended_and_in_another_workspace() {
        let (dir, other) = (TestDir::new(), TestDir::new());
        let layout = Layout::at(dir.path());
        let first = GatewayLock::claim(&layout).unwrap();
        assert!(GatewayLock::claim(&Layout::at(other.path())).is_ok());
        drop(first);
        assert!(GatewayLock::claim(&layout).is_ok());
    }
}
