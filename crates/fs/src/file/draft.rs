//! A file under construction: written beside its place, synced, and put there as a whole.

use super::error::{FileAction, FileError};
use super::folder::{folder_of, open_flags, open_folder, remove};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The permission bits of a file that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMode {
    /// What the user's mask leaves of these bits.
    Masked(u32),
    /// Exactly these bits; the file is private until its contents are written.
    Exact(u32),
}

impl FileMode {
    /// Readable and writable by the user alone.
    pub const PRIVATE: Self = Self::Masked(0o600);

    const fn while_written(self) -> u32 {
        match self {
            Self::Masked(bits) => bits,
            Self::Exact(_) => 0o600,
        }
    }
}

/// A file under construction beside its final place; dropping it unpublished removes it.
#[derive(Debug)]
pub struct Draft {
    folder: OwnedFd,
    file: File,
    mode: FileMode,
    /// The draft's name in the folder.
    name: String,
    target: PathBuf,
}

impl Draft {
    /// Starts a draft in the folder of `target`, so that the later rename stays on one file system.
    ///
    /// # Errors
    /// When the folder cannot be opened or written.
    pub fn new(target: &Path, mode: FileMode) -> Result<Self, FileError> {
        let folder = open_folder(folder_of(target)).map_err(FileError::at(target, FileAction::Create))?;
        Self::in_folder(folder, target, mode)
    }

    /// Starts a draft in a folder that is open already: whatever its path leads to by now, the file goes there. Of `target`
    /// only the file name is used, and the whole for messages.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn in_folder(folder: OwnedFd, target: &Path, mode: FileMode) -> Result<Self, FileError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | open_flags();
        let bits = Mode::from_raw_mode(mode.while_written());
        // A process that was killed may have left a draft, and its number may be ours today: take the next name.
        for _ in 0..DRAFT_NAMES_MAX {
            let name = draft_name(target);
            match rustix::fs::openat(&folder, name.as_str(), flags, bits) {
                Ok(file) => return Ok(Self { folder, file: file.into(), mode, name, target: target.to_owned() }),
                Err(rustix::io::Errno::EXIST) => {}
                Err(errno) => return Err(FileError::at(target, FileAction::Create)(errno.into())),
            }
        }
        Err(FileError::at(target, FileAction::Create)(io::ErrorKind::AlreadyExists.into()))
    }

    /// Adds bytes to the draft.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.file.write_all(bytes).map_err(self.failed(FileAction::Write))
    }

    /// Locks the draft for as long as the returned file is open, whatever becomes of the draft.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn lock(&self) -> Result<File, FileError> {
        let kept = self.file.try_clone().and_then(|file| file.lock().map(|()| file));
        kept.map_err(self.failed(FileAction::Lock))
    }

    /// Sets the mode and forces the contents to the disk, before the name becomes visible. Publishing does it as well;
    /// a caller that prepares several files does it for all before the first name changes.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn sync(&self) -> Result<(), FileError> {
        if let FileMode::Exact(bits) = self.mode {
            let changed = rustix::fs::fchmod(&self.file, Mode::from_raw_mode(bits));
            changed.map_err(|errno| self.failed(FileAction::Write)(errno.into()))?;
        }
        self.file.sync_all().map_err(self.failed(FileAction::Sync))
    }

    /// Syncs the draft and renames it over the target.
    ///
    /// # Errors
    /// When that fails; the target then holds the old or the new contents.
    pub fn publish(self) -> Result<(), FileError> {
        self.sync()?;
        self.rename()?;
        self.sync_folder()
    }

    /// Renames the draft over the target without waiting for the disk, for what can be lost and rebuilt.
    pub(super) fn publish_unsynced(self) -> Result<(), FileError> {
        self.rename()
    }

    /// Syncs the draft and puts it in place only if nothing is there yet; says whether it did.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn publish_new(self) -> Result<Published, FileError> {
        self.sync()?;
        let target = self.target_name();
        match rustix::fs::linkat(&self.folder, self.name.as_str(), &self.folder, target, AtFlags::empty()) {
            Ok(()) => self.sync_folder().map(|()| Published::New),
            Err(rustix::io::Errno::EXIST) => Ok(Published::AlreadyThere),
            Err(errno) => Err(self.failed(FileAction::Create)(errno.into())),
        }
    }

    /// Syncs the draft and swaps it with the target, then hands the displaced contents to `accept`.
    ///
    /// When `accept` says no, the two are swapped back: an edit that landed between the caller's read and this write
    /// is not lost. File systems without an atomic swap get a plain rename.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn exchange(self, accept: impl FnOnce(&Path) -> Accept) -> Result<Accept, FileError> {
        self.sync()?;
        match self.swap() {
            Ok(()) => {}
            // The file is gone: removing it was a decision.
            Err(rustix::io::Errno::NOENT) => return Ok(Accept::No),
            Err(_) => {
                self.rename()?;
                return self.sync_folder().map(|()| Accept::Yes);
            }
        }
        let answer = accept(&self.target.with_file_name(&self.name));
        if answer == Accept::No {
            self.swap_back()?;
        }
        self.sync_folder().map(|()| answer)
    }

    fn swap(&self) -> rustix::io::Result<()> {
        let names = (self.name.as_str(), self.target_name());
        rustix::fs::renameat_with(&self.folder, names.0, &self.folder, names.1, RenameFlags::EXCHANGE)
    }

    /// Puts a displaced file back. Should someone have replaced ours in that very moment, theirs is newer and wins.
    fn swap_back(&self) -> Result<(), FileError> {
        let mut in_place = self.file.metadata().map_err(self.failed(FileAction::Inspect))?.ino();
        for _ in 0..SWAPS_MAX {
            let put_back = self.displaced()?;
            self.swap().map_err(|errno| self.failed(FileAction::Rename)(errno.into()))?;
            if self.displaced()? == in_place {
                break;
            }
            // What came out is not what we had put there: it is newer than what just went in, so it goes back.
            in_place = put_back;
        }
        Ok(())
    }

    /// The number of the file that has the draft's name now.
    fn displaced(&self) -> Result<u64, FileError> {
        let stat = rustix::fs::statat(&self.folder, self.name.as_str(), AtFlags::SYMLINK_NOFOLLOW);
        stat.map(|stat| stat.st_ino).map_err(|errno| self.failed(FileAction::Inspect)(errno.into()))
    }

    fn rename(&self) -> Result<(), FileError> {
        let renamed = rustix::fs::renameat(&self.folder, self.name.as_str(), &self.folder, self.target_name());
        renamed.map_err(|errno| self.failed(FileAction::Rename)(errno.into()))
    }

    fn sync_folder(&self) -> Result<(), FileError> {
        let synced = rustix::fs::fsync(&self.folder);
        synced.map_err(|errno| FileError::at(folder_of(&self.target), FileAction::Sync)(errno.into()))
    }

    fn target_name(&self) -> &Path {
        self.target.file_name().map_or(self.target.as_path(), Path::new)
    }

    fn failed(&self, action: FileAction) -> impl FnOnce(io::Error) -> FileError + use<> {
        FileError::at(&self.target, action)
    }
}

impl Drop for Draft {
    /// A published draft has no name of its own any more, or is only a second link; both may go, errors included.
    fn drop(&mut self) {
        rustix::fs::unlinkat(&self.folder, self.name.as_str(), AtFlags::empty()).ok();
    }
}

/// Whether a draft became the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// It is the file now.
    New,
    /// Someone else was first; the file was left alone.
    AlreadyThere,
}

/// The caller's verdict on the contents that its write displaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accept {
    /// They are what the new contents were made from.
    Yes,
    /// They are not: put them back.
    No,
}

/// A name that no other process and no other thread uses at the same time; cut so that it is no longer than a file
/// system takes.
fn draft_name(target: &Path) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let name = name.get(..name.floor_char_boundary(DRAFT_STEM_BYTES_MAX)).unwrap_or_default();
    format!(".{name}{DRAFT_MARK}{}-{number}", std::process::id())
}

/// Removes drafts in a folder whose processes are gone, and says how many; at session start, never on the quiet path. Young
/// ones stay: a process in a namespace of its own has a number that means nothing here.
///
/// # Errors
/// When the folder cannot be read or a draft cannot be removed.
pub fn sweep_drafts(folder: &Path) -> Result<u64, FileError> {
    let mut swept = 0_u64;
    for entry in std::fs::read_dir(folder).map_err(FileError::at(folder, FileAction::Read))? {
        let entry = entry.map_err(FileError::at(folder, FileAction::Read))?;
        let name = entry.file_name();
        let owner = name.to_str().and_then(draft_owner);
        if owner.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists()) && is_old(&entry) {
            remove(&entry.path())?;
            swept = swept.saturating_add(1);
        }
    }
    Ok(swept)
}

fn is_old(entry: &std::fs::DirEntry) -> bool {
    let age = entry.metadata().and_then(|metadata| metadata.modified()).map(|written| written.elapsed());
    matches!(age, Ok(Ok(age)) if age >= DRAFT_AGE_MIN)
}

/// The process that wrote a draft, if the name is that of one.
fn draft_owner(name: &str) -> Option<u32> {
    let (_, numbers) = name.strip_prefix('.')?.rsplit_once(DRAFT_MARK)?;
    let (process, number) = numbers.split_once('-')?;
    number.parse::<u64>().ok()?;
    process.parse().ok()
}

/// Distinguishes a draft from other files.
const DRAFT_MARK: &str = ".draft-";
/// How old a draft is before it counts as left behind; writing one takes moments.
const DRAFT_AGE_MIN: Duration = Duration::from_secs(3_600);
/// Names that are tried before giving up.
const DRAFT_NAMES_MAX: u32 = 1_000;
/// How much of a file's name is in its draft's: names may have 255 bytes in all.
const DRAFT_STEM_BYTES_MAX: usize = 200;
/// Swaps before giving up on someone who renames files into place faster than we can look.
const SWAPS_MAX: u32 = 8;
