//! The socket of one proxy, in a folder that only its owner may enter.

use std::borrow::Cow;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use tripwire_core::explain::{ExitClass, Explain};

/// Names tried for the folder before it is given up.
const ATTEMPTS_MAX: u32 = 100;

/// A folder of mode 0700 with a listening socket in it: reachable only for its owner and for the sandbox's bridge.
/// Dropping it removes both.
#[derive(Debug)]
pub struct PrivateSocket {
    folder: PathBuf,
}

/// Why there is no private socket.
#[derive(Debug, thiserror::Error)]
pub enum PrivateSocketError {
    /// The folder could not be made.
    #[error("cannot make `{}`: {cause}", folder.display())]
    Folder {
        /// Which folder.
        folder: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// Every name was taken already.
    #[error("cannot make a private folder in `{}`", base.display())]
    NoFreeName {
        /// Where it was tried.
        base: PathBuf,
    },
    /// The socket could not be bound.
    #[error("cannot listen in `{}`: {cause}", folder.display())]
    Listen {
        /// The folder of the socket.
        folder: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
}

impl Explain for PrivateSocketError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Folder { .. } => "make the folder for temporary files writable (`TMPDIR`)".into(),
            Self::NoFreeName { base } => format!("remove the folders `{}/tripwire-net-*`", base.display()).into(),
            Self::Listen { .. } => "name a shorter folder for temporary files in `TMPDIR`".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::DoesNotHold
    }
}

impl PrivateSocket {
    /// A new folder below `base`, and the listener inside it.
    pub fn bind(base: &Path) -> Result<(Self, UnixListener), PrivateSocketError> {
        let socket = Self { folder: private_folder(base)? };
        let listener = UnixListener::bind(socket.folder.join("proxy"))
            .map_err(|cause| PrivateSocketError::Listen { folder: socket.folder.clone(), cause })?;
        Ok((socket, listener))
    }
}

fn private_folder(base: &Path) -> Result<PathBuf, PrivateSocketError> {
    for attempt in 0..ATTEMPTS_MAX {
        let folder = base.join(format!("tripwire-net-{}-{attempt}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(PrivateSocketError::Folder { folder, cause }),
        }
    }
    Err(PrivateSocketError::NoFreeName { base: base.to_owned() })
}

impl Drop for PrivateSocket {
    fn drop(&mut self) {
        // The folder holds the socket and nothing else; a leftover is empty for everyone but its owner.
        drop(fs::remove_dir_all(&self.folder));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn the_folder_is_private_and_goes_with_the_value() {
        let base = std::env::temp_dir();
        let (first, _listener) = PrivateSocket::bind(&base).unwrap();
        let (second, _other) = PrivateSocket::bind(&base).unwrap();
        assert_ne!(first.folder, second.folder);
        let mode = fs::metadata(&first.folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let folder = first.folder.clone();
        drop(first);
        assert!(!folder.exists());
    }
}
