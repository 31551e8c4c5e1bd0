//! What a name in a folder is.

/// What is at a place; a link is a link, whatever it points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// Nothing has this name.
    Nothing,
    /// A folder.
    Dir {
        /// Its permission bits.
        mode: u32,
    },
    /// A plain file.
    File {
        /// Its permission bits.
        mode: u32,
    },
    /// A symbolic link.
    Link,
    /// Neither a file nor a folder.
    Special(SpecialKind),
}

/// What is neither a file nor a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialKind {
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A device, or something that this system does not name.
    Device,
}

impl EntryKind {
    /// What these metadata describe.
    #[must_use]
    pub fn of(meta: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
        let mode = meta.mode() & 0o7777;
        let kind = meta.file_type();
        if kind.is_dir() {
            Self::Dir { mode }
        } else if kind.is_file() {
            Self::File { mode }
        } else if kind.is_symlink() {
            Self::Link
        } else if kind.is_fifo() {
            Self::Special(SpecialKind::Pipe)
        } else if kind.is_socket() {
            Self::Special(SpecialKind::Socket)
        } else {
            Self::Special(SpecialKind::Device)
        }
    }

    /// Whether it is a folder.
    #[must_use]
    pub const fn is_dir(self) -> bool {
        matches!(self, Self::Dir { .. })
    }
}
