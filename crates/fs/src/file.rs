//! Whole-file writes that a crash cannot tear, and the one error type for everything that a file system refuses.

use rustix::fs::{OFlags, RenameFlags};
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What was tried on a file when it failed; the words become part of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAction {
    /// Making a file or a folder.
    Create,
    /// Reading contents.
    Read,
    /// Writing contents.
    Write,
    /// Forcing contents to the disk.
    Sync,
    /// Putting a finished file in its place.
    Rename,
    /// Deleting.
    Remove,
    /// Taking the lock that keeps several processes apart.
    Lock,
    /// Looking at size, kind and times.
    Inspect,
}

impl FileAction {
    /// The verb of the message.
    const fn verb(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync => "sync",
            Self::Rename => "replace",
            Self::Remove => "remove",
            Self::Lock => "lock",
            Self::Inspect => "inspect",
        }
    }
}

/// A refusal of the file system: which file, what was tried, and the cause as the system gave it.
#[derive(Debug, thiserror::Error)]
#[error("cannot {} `{}`: {cause}", action.verb(), path.display())]
pub struct FileError {
    path: PathBuf,
    action: FileAction,
    cause: io::Error,
}

impl FileError {
    /// Binds a cause to the file and the action, for `map_err`.
    pub fn at(path: &Path, action: FileAction) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self { path, action, cause }
    }

    /// The file that it is about.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The kind of the cause, for callers that treat a missing file apart.
    #[must_use]
    pub fn kind(&self) -> io::ErrorKind {
        self.cause.kind()
    }

    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        let folder = self.path.parent().unwrap_or(&self.path).display();
        if self.cause.kind() == io::ErrorKind::StorageFull {
            format!("free some space on the disk of `{folder}` (`df -h {folder}`), then run the command again")
        } else if self.cause.kind() == io::ErrorKind::ReadOnlyFilesystem {
            format!("`{folder}` is mounted read-only: remount it or work in a writable copy")
        } else if self.cause.kind() == io::ErrorKind::PermissionDenied {
            format!("check who may write there: `ls -ld {folder}`")
        } else if self.cause.kind() == io::ErrorKind::NotFound {
            format!("check that it exists: `ls -l {}`", self.path.display())
        } else {
            format!("look at it: `ls -l {}`", self.path.display())
        }
    }
}

/// Why a bounded read gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is larger than this reader accepts.
    #[error("`{}` holds more than {limit} bytes", path.display())]
    TooBig {
        /// The file.
        path: PathBuf,
        /// The bound it crossed.
        limit: u64,
    },
}

/// Reads a whole file of at most `limit` bytes, without following a symbolic link in its last component.
pub fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(open_flags())
        .open(path)
        .map_err(FileError::at(path, FileAction::Read))?;
    let metadata = file.metadata().map_err(FileError::at(path, FileAction::Inspect))?;
    if !metadata.is_file() {
        // A pipe or a device in a file's place would read as empty or never end.
        let cause = io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
        return Err(FileError::at(path, FileAction::Read)(cause).into());
    }
    // Room for the whole file at once: growing step by step costs a system call each, on the path of every tool call.
    let size = usize::try_from(metadata.len().min(limit)).unwrap_or(0);
    let mut bytes = Vec::with_capacity(size.saturating_add(64));
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(FileError::at(path, FileAction::Read))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        return Err(ReadError::TooBig { path: path.to_owned(), limit });
    }
    Ok(bytes)
}

/// Opens a file for reading through links, but only a real file and without waiting: an agent may put a named pipe in the
/// place of a file that others read.
///
/// # Errors
/// When it cannot be opened or is no regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

/// Flags for every open: no symbolic link, and no waiting on a named pipe that someone put in a file's place.
fn open_flags() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed()
}

/// Opens an existing file for reading and writing, without following a symbolic link.
pub fn open_read_write(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).custom_flags(open_flags()).open(path)
}

/// Opens a file for reading and writing and makes it if it is missing, without following a symbolic link.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE).custom_flags(open_flags());
    options.open(path)
}

/// Writes over a file's contents without waiting for the disk and without a new file, which costs a tenth of a replacement:
/// for what tells by itself whether it is whole, and can be begun anew. What is no plain file is replaced.
pub fn write_in_place(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let opened = open_or_create(path).or_else(|error| {
        if error.kind() != io::ErrorKind::NotFound {
            return Err(error);
        }
        make_folder(folder_of(path)).map_err(|_| error)?;
        open_or_create(path)
    });
    let Ok((file, metadata)) = opened.and_then(|file| file.metadata().map(|metadata| (file, metadata))) else {
        return write_unsynced(path, bytes);
    };
    // A name that stands for a file elsewhere must not be written through.
    if !metadata.is_file() || metadata.nlink() != 1 {
        return write_unsynced(path, bytes);
    }
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let written = file.write_all_at(bytes, 0);
    let cut = if metadata.len() > length { file.set_len(length) } else { Ok(()) };
    written.and(cut).map_err(FileError::at(path, FileAction::Write))
}

/// Writes a file over the one before without waiting for the disk: for what can be lost and begun anew.
pub fn write_unsynced(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let mut draft = Draft::new(path, FILE_MODE)?;
    draft.write(bytes)?;
    std::fs::rename(&draft.draft, &draft.target).map_err(FileError::at(path, FileAction::Rename))
}

/// Replaces a file as a whole: after a crash it holds either the old or the new contents, never a mixture.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    replace_with_mode(path, bytes, FILE_MODE)
}

/// As [`replace`], with explicit permission bits (the generated hook must be executable).
pub fn replace_with_mode(path: &Path, bytes: &[u8], mode: u32) -> Result<(), FileError> {
    let mut draft = Draft::new(path, mode)?;
    draft.write(bytes)?;
    draft.publish()
}

/// A file under construction beside its final place; dropping it unpublished removes it.
#[derive(Debug)]
pub struct Draft {
    file: File,
    draft: PathBuf,
    target: PathBuf,
}

impl Draft {
    /// Starts a draft in the folder of `target`, so that the later rename stays on one file system.
    pub fn new(target: &Path, mode: u32) -> Result<Self, FileError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(mode).custom_flags(open_flags());
        // A process that was killed may have left a draft, and its number may be ours today: take the next name.
        for _ in 0..DRAFT_NAMES_MAX {
            let draft = draft_name(target);
            match options.open(&draft) {
                Ok(file) => return Ok(Self { file, draft, target: target.to_owned() }),
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
                Err(cause) => return Err(FileError::at(target, FileAction::Create)(cause)),
            }
        }
        Err(FileError::at(target, FileAction::Create)(io::ErrorKind::AlreadyExists.into()))
    }

    /// Adds bytes to the draft.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.file.write_all(bytes).map_err(FileError::at(&self.target, FileAction::Write))
    }

    /// Locks the draft for as long as the returned file is open, whatever becomes of the draft.
    pub fn lock(&self) -> Result<File, FileError> {
        let kept = self.file.try_clone().and_then(|file| file.lock().map(|()| file));
        kept.map_err(FileError::at(&self.target, FileAction::Lock))
    }

    /// Syncs the draft and renames it over the target.
    pub fn publish(self) -> Result<(), FileError> {
        self.sync()?;
        std::fs::rename(&self.draft, &self.target).map_err(FileError::at(&self.target, FileAction::Rename))?;
        sync_folder_of(&self.target)
    }

    /// Syncs the draft and puts it in place only if nothing is there yet; says whether it did.
    pub fn publish_new(self) -> Result<Published, FileError> {
        self.sync()?;
        match std::fs::hard_link(&self.draft, &self.target) {
            Ok(()) => sync_folder_of(&self.target).map(|()| Published::New),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(Published::AlreadyThere),
            Err(cause) => Err(FileError::at(&self.target, FileAction::Create)(cause)),
        }
    }

    /// Syncs the draft and swaps it with the target, then hands the displaced contents to `accept`.
    ///
    /// When `accept` says no, the two are swapped back: an edit that landed between the caller's read and this write
    /// is not lost. File systems without an atomic swap get a plain rename.
    pub fn exchange(self, accept: impl FnOnce(&Path) -> Accept) -> Result<Accept, FileError> {
        self.sync()?;
        let swap = || {
            rustix::fs::renameat_with(
                rustix::fs::CWD,
                &self.draft,
                rustix::fs::CWD,
                &self.target,
                RenameFlags::EXCHANGE,
            )
        };
        match swap() {
            Ok(()) => {}
            // The file is gone: whoever removed it meant something by it.
            Err(rustix::io::Errno::NOENT) => return Ok(Accept::No),
            Err(_) => {
                std::fs::rename(&self.draft, &self.target).map_err(FileError::at(&self.target, FileAction::Rename))?;
                return sync_folder_of(&self.target).map(|()| Accept::Yes);
            }
        }
        let answer = accept(&self.draft);
        if answer == Accept::No {
            self.swap_back(swap)?;
        }
        sync_folder_of(&self.target).map(|()| answer)
    }

    /// Puts a displaced file back. Should someone have replaced ours in that very moment, theirs is newer and wins.
    fn swap_back(&self, swap: impl Fn() -> rustix::io::Result<()>) -> Result<(), FileError> {
        let inspect = || FileError::at(&self.target, FileAction::Inspect);
        let mut in_place = self.file.metadata().map_err(inspect())?.ino();
        for _ in 0..SWAPS_MAX {
            let put_back = self.draft.symlink_metadata().map_err(inspect())?.ino();
            swap().map_err(|errno| FileError::at(&self.target, FileAction::Rename)(errno.into()))?;
            if self.draft.symlink_metadata().map_err(inspect())?.ino() == in_place {
                break;
            }
            // What came out is not what we had put there: it is newer than what just went in, so it goes back.
            in_place = put_back;
        }
        Ok(())
    }

    /// Forces the draft's contents to the disk before its name becomes visible.
    fn sync(&self) -> Result<(), FileError> {
        self.file.sync_all().map_err(FileError::at(&self.target, FileAction::Sync))
    }
}

impl Drop for Draft {
    /// A published draft has no name of its own any more, or is only a second link; both may go, errors included.
    fn drop(&mut self) {
        std::fs::remove_file(&self.draft).ok();
    }
}

/// Whether a draft became the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// It did.
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

/// Removes a file; a file that is not there is no error, because both sides of a race want the same end.
pub fn remove(path: &Path) -> Result<Removed, FileError> {
    match std::fs::remove_file(path) {
        Ok(()) => sync_folder_of(path).map(|()| Removed::Now),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Removed::NotThere),
        Err(cause) => Err(FileError::at(path, FileAction::Remove)(cause)),
    }
}

/// Whether a removal found something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// The file was there and is gone.
    Now,
    /// There was nothing to remove.
    NotThere,
}

/// Makes a folder and its parents, private to the user: transcripts and private memories live below.
pub fn make_folder(path: &Path) -> Result<(), FileError> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(path)
        .map_err(FileError::at(path, FileAction::Create))
}

/// Keeps several of our processes apart while one of them changes a file; the lock ends with the value.
pub fn lock_folder_of(path: &Path) -> Result<File, FileError> {
    let folder = File::open(folder_of(path)).map_err(FileError::at(folder_of(path), FileAction::Lock))?;
    folder.lock().map_err(FileError::at(folder_of(path), FileAction::Lock))?;
    Ok(folder)
}

/// The folder that holds a path.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes a rename or removal durable.
fn sync_folder_of(path: &Path) -> Result<(), FileError> {
    let folder = folder_of(path);
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(FileError::at(folder, FileAction::Sync))
}

/// A name that no other process and no other thread uses at the same time.
fn draft_name(target: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}{DRAFT_MARK}{}-{number}", std::process::id()))
}

/// Removes drafts in a folder whose processes are gone, and says how many; at session start, never on the quiet path. Young
/// ones stay: a process in a namespace of its own has a number that means nothing here.
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

/// What tells a draft from a file that someone made.
const DRAFT_MARK: &str = ".draft-";
/// How old a draft is before it counts as left behind; writing one takes moments.
const DRAFT_AGE_MIN: Duration = Duration::from_secs(3_600);
/// Names that are tried before giving up.
const DRAFT_NAMES_MAX: u32 = 1_000;

/// Swaps before giving up on someone who renames files into place faster than we can look.
const SWAPS_MAX: u32 = 8;
/// Files are readable by the user alone.
const FILE_MODE: u32 = 0o600;
/// Folders as well.
const FOLDER_MODE: u32 = 0o700;

#[cfg(test)]
mod tests;
