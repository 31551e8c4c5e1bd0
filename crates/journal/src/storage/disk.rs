//! The real disk, through the standard library; flock and fdatasync are what the journal's promises rest on.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use tripwire_fs::lock::{FileLock, Wait};

use super::{OpenMode, Storage};

/// The file system of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Storage for Disk {
    type File = File;
    type Lock = FileLock;

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        match std::fs::symlink_metadata(dir) {
            Ok(found) if found.is_dir() => return Ok(()),
            Ok(_other) => return Err(io::Error::from(io::ErrorKind::NotADirectory)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(parent) = parent {
            match std::fs::metadata(parent) {
                Ok(_exists) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => self.create_dir(parent)?,
                Err(error) => return Err(error),
            }
        }
        match std::fs::DirBuilder::new().mode(DIR_MODE).create(dir) {
            Ok(()) => {}
            // Another process of the same session was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        parent.map_or(Ok(()), |parent| self.sync_dir(parent))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(dir)? {
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<File> {
        open_seen(path, mode).map(|(file, _seen)| file)
    }

    fn size(&self, file: &File) -> io::Result<u64> {
        Ok(file.metadata()?.len())
    }

    fn read_at(&self, file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        file.read_at(buffer, offset)
    }

    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut &*file, bytes)
    }

    fn write_at(&self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        file.write_at(bytes, offset)
    }

    fn truncate(&self, file: &File, size: u64) -> io::Result<()> {
        file.set_len(size)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn lock(&self, path: &Path, wait: Duration) -> io::Result<FileLock> {
        lock_seen(path, wait).map(|(lock, _seen)| lock)
    }
}

/// Opens a file, and gives what was seen of it.
pub(super) fn open_seen(path: &Path, mode: OpenMode) -> io::Result<(File, Metadata)> {
    let mut options = options();
    match mode {
        OpenMode::Read => options.read(true),
        OpenMode::Append => options.read(true).append(true),
        OpenMode::Update => options.read(true).write(true),
        OpenMode::Create => options.read(true).append(true).create_new(true),
    };
    let file = options.open(path)?;
    let seen = file.metadata()?;
    if mode != OpenMode::Create {
        regular(&seen)?;
    }
    Ok((file, seen))
}

/// Locks a file, and gives what was seen of it.
pub(super) fn lock_seen(path: &Path, wait: Duration) -> io::Result<(FileLock, Metadata)> {
    let deadline = Instant::now() + wait;
    loop {
        let file = options().read(true).write(true).create(true).open(path)?;
        let file = FileLock::on(file, Wait::Until(deadline))?;
        // A lock on a file that lost its name protects nothing: the next process would lock another one.
        let ours = file.metadata()?;
        regular(&ours)?;
        match std::fs::symlink_metadata(path) {
            Ok(named) if named.ino() == ours.ino() && named.dev() == ours.dev() => return Ok((file, named)),
            Ok(_replaced) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        if Instant::now() >= deadline {
            return Err(io::ErrorKind::WouldBlock.into());
        }
    }
}

/// Refuses what is no plain file: a pipe in a file's place would keep its reader waiting for ever.
fn regular(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

/// No symbolic link, and no waiting for the other end of a named pipe.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC;
    options.mode(FILE_MODE).custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    options
}

/// Journals hold prompts and outputs: no other user may read them.
const FILE_MODE: u32 = 0o600;
const DIR_MODE: u32 = 0o700;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_in_a_files_place_is_refused_and_nobody_waits() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, plain) = (folder.path().join("pipe"), folder.path().join("plain"));
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        std::fs::write(&plain, "x").unwrap();
        for mode in [OpenMode::Read, OpenMode::Append, OpenMode::Update] {
            assert!(Disk.open(&pipe, mode).is_err(), "{mode:?}");
            assert!(Disk.open(&plain, mode).is_ok(), "{mode:?}");
        }
        assert_eq!(Disk.lock(&pipe, Duration::ZERO).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert!(Disk.lock(&plain, Duration::ZERO).is_ok());
    }

    #[test]
    fn a_lock_ends_with_its_value_even_where_a_forked_child_has_the_file_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("HEAD");
        let lock = Disk.lock(&path, Duration::ZERO).unwrap();
        assert!(Disk.lock(&path, Duration::ZERO).is_err());
        let _inherited = lock.try_clone().unwrap();
        drop(lock);
        assert!(Disk.lock(&path, Duration::ZERO).is_ok());
    }
}
