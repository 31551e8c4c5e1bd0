//! Acting below a folder that a hostile program may be changing at the same time.
//!
//! A check of a path and a later act on the same path are two looks at the world. Here the folder that a thing is in is opened
//! at the moment of the act, without following any link, and the act is relative to what was opened.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{Place, Top};
#[cfg(target_os = "linux")]
pub(crate) use linux::{Place, Top};

use std::io;

/// What stands at a place; a link is a link, whatever it points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Nothing,
    Dir {
        mode: u32,
    },
    File {
        mode: u32,
    },
    Link,
    /// Sockets, pipes, devices.
    Other,
}

impl Standing {
    fn of(meta: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let mode = meta.mode() & 0o7777;
        let kind = meta.file_type();
        if kind.is_dir() {
            Self::Dir { mode }
        } else if kind.is_file() {
            Self::File { mode }
        } else if kind.is_symlink() {
            Self::Link
        } else {
            Self::Other
        }
    }

    pub(crate) fn is_dir(self) -> bool {
        matches!(self, Self::Dir { .. })
    }
}

/// Whether the way to a place ends early: a folder is missing, or a link or a file stands where one would have to be.
pub(crate) fn leads_nowhere(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(LINK_ON_THE_WAY)
}

#[cfg(target_os = "linux")]
const LINK_ON_THE_WAY: i32 = libc::ELOOP;
#[cfg(not(target_os = "linux"))]
const LINK_ON_THE_WAY: i32 = elsewhere::LINK_ON_THE_WAY;
