//! Looking at the folder: every name once, in parallel, contents only of what moved since the last look.

use crate::error::UndoError;
use crate::index::{Index, KnownFolder, Mark, Seen};
use crate::node::{Entry, Node, Rights, Uncovered};
use crate::objects::{LARGE_BYTES, ObjectPaths, Objects, contents_digest, stream_digest};
use crate::pack::PackWriter;
use crate::paths::joined;
use crate::settings::Settings;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tripwire_core::record::chain::Digest;
use tripwire_fs::beneath::{HeldFolder, leads_nowhere};
use tripwire_fs::bounded;
use tripwire_fs::file::{FileAction, FileError};

/// Names that one snapshot looks at.
const ENTRIES_MAX: usize = 2_000_000;
/// Threads that look at the same time.
const THREADS_MAX: usize = 8;
/// Folders that one thread takes at a time.
const CHUNK: usize = 16;
/// How often a file that changes while it is read is read again.
const READ_TRIES: u32 = 3;
/// New bytes from which it is looked whether the store has them already.
const DEDUPLICATE_FROM: u64 = 256 << 10;
/// The largest list of extended attributes.
const ATTRIBUTES_MAX: usize = 64 << 10;
/// Never part of a snapshot: our own records, which change with every step.
pub(crate) const OWN_FOLDER: &str = ".geometry";

/// Takes new objects in.
#[derive(Debug)]
pub(crate) struct Sink {
    pub(crate) writer: PackWriter,
    paths: ObjectPaths,
    stored: Option<Objects>,
    new_bytes: u64,
    bytes_max: u64,
}

impl Sink {
    pub(crate) fn new(paths: ObjectPaths, bytes_max: u64) -> Result<Self, UndoError> {
        let writer = PackWriter::new(paths.next()?);
        Ok(Self { writer, paths, stored: None, new_bytes: 0, bytes_max })
    }

    /// Adds an object, unless the store has it. A few small ones are not looked for: that would cost more than they do.
    pub(crate) fn add(&mut self, digest: Digest, bytes: &[u8]) -> Result<(), UndoError> {
        self.count(u64::try_from(bytes.len()).unwrap_or(u64::MAX))?;
        if self.new_bytes > DEDUPLICATE_FROM {
            let stored = match &self.stored {
                Some(stored) => stored,
                None => self.stored.insert(Objects::open(self.paths.clone())?),
            };
            if stored.has(&digest) {
                return Ok(());
            }
        }
        Ok(self.writer.add(digest, bytes)?)
    }

    fn count(&mut self, bytes: u64) -> Result<(), UndoError> {
        self.new_bytes = self.new_bytes.saturating_add(bytes);
        if self.new_bytes > self.bytes_max { Err(UndoError::TooLarge { mib: self.bytes_max >> 20 }) } else { Ok(()) }
    }
}

/// One look at the folder.
pub(crate) struct Scan<'a> {
    pub(crate) root: &'a HeldFolder,
    pub(crate) device: u64,
    pub(crate) settings: &'a Settings,
    /// The path of the store below the root, if it is there.
    pub(crate) store: Option<Vec<u8>>,
    pub(crate) index: &'a Index,
    pub(crate) paths: &'a ObjectPaths,
    pub(crate) sink: Mutex<Sink>,
    pub(crate) deadline: Option<Instant>,
    pub(crate) now_ns: u64,
    pub(crate) entries: AtomicUsize,
}

/// A folder as it is now; the listings of folders in it are not known yet.
#[derive(Debug)]
pub(crate) struct Scanned {
    pub(crate) folder: Arc<KnownFolder>,
    /// Whether everything in it, folders apart, is as the index has it.
    pub(crate) same: bool,
}

impl Scan<'_> {
    /// Looks at these folders; those that are gone by now are left out.
    pub(crate) fn folders(&self, paths: &[Vec<u8>]) -> Result<Vec<(Vec<u8>, Scanned)>, UndoError> {
        let parts = paths.len().div_ceil(CHUNK).min(THREADS_MAX);
        // How many processors there are is asked only where it matters: the answer costs more than a look at a small folder.
        let threads =
            if parts > 1 { std::thread::available_parallelism().map_or(1, usize::from).min(parts) } else { 1 };
        let next = AtomicUsize::new(0);
        let work = || {
            let mut found = Vec::new();
            loop {
                let at = next.fetch_add(CHUNK, Ordering::Relaxed);
                let Some(chunk) = paths.get(at..).filter(|rest| !rest.is_empty()) else { return Ok(found) };
                if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    // What the other threads found is kept all the same.
                    return Ok(found);
                }
                for path in chunk.iter().take(CHUNK) {
                    if let Some(scanned) = self.folder(path)? {
                        found.push((path.clone(), scanned));
                    }
                }
            }
        };
        if threads == 1 {
            return work();
        }
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut found: Vec<(Vec<u8>, Scanned)> = work()?;
            for other in others {
                let broken = |_| UndoError::Damaged { what: "a thread that looked at the folder broke off".to_owned() };
                found.extend(other.join().map_err(broken)??);
            }
            Ok(found)
        })
    }

    /// Whether the time is over.
    pub(crate) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn folder(&self, path: &[u8]) -> Result<Option<Scanned>, UndoError> {
        let shown = Path::new(OsStr::from_bytes(path));
        let dir = match self.root.readable(shown) {
            Ok(dir) => dir,
            Err(error) if leads_nowhere(&error) => return Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return Ok(None),
            Err(error) => return Err(UndoError::folder("look at", shown)(error)),
        };
        let failed = |errno: Errno| UndoError::folder("look at", shown)(errno.into());
        let mark = Mark::of(&rustix::fs::fstat(&dir).map_err(failed)?);
        let known = self.index.folders.get(path);
        let unmoved = known.filter(|known| known.settled && known.mark == mark);
        let names = match unmoved {
            Some(known) => known.names.iter().map(|(name, _)| name.clone()).collect(),
            None => self.names(path, &dir).map_err(failed)?,
        };
        if self.entries.fetch_add(names.len(), Ordering::Relaxed) > ENTRIES_MAX {
            return Err(UndoError::TooManyFiles { limit: ENTRIES_MAX });
        }
        let mut same = known.is_some_and(|known| known.names.len() == names.len());
        let mut seen = Vec::with_capacity(names.len());
        for name in names {
            let before = known.and_then(|known| known.get(&name));
            let Some(now) = self.name(dir.as_fd(), path, &name, before)? else {
                same = false;
                continue;
            };
            same = same && before.is_some_and(|before| before.what.alone() == now.what.alone());
            seen.push((name, now));
        }
        let tree = known.map_or(Digest::of(b""), |known| known.tree);
        let settled = mark.is_settled(self.now_ns);
        Ok(Some(Scanned { folder: Arc::new(KnownFolder { mark, settled, names: seen, tree }), same }))
    }

    fn names(&self, path: &[u8], dir: impl AsFd) -> rustix::io::Result<Vec<Vec<u8>>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." || name == OWN_FOLDER.as_bytes() {
                continue;
            }
            if self.store.as_deref().is_some_and(|store| store == joined(path, name)) {
                continue;
            }
            names.push(name.to_vec());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn name(
        &self,
        dir: BorrowedFd<'_>,
        path: &[u8],
        name: &[u8],
        before: Option<&Seen<Node>>,
    ) -> Result<Option<Seen<Node>>, UndoError> {
        let os_name = OsStr::from_bytes(name);
        let shown = || Path::new(OsStr::from_bytes(path)).join(os_name);
        for _ in 0..READ_TRIES {
            let stat = match rustix::fs::statat(dir, os_name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => return Ok(None),
                Err(errno) => return Err(UndoError::folder("look at", &shown())(errno.into())),
            };
            let mark = Mark::of(&stat);
            if let Some(before) = before.filter(|before| before.settled && before.mark == mark) {
                return Ok(Some(*before));
            }
            match self.read(dir, os_name, &stat, mark) {
                Ok(Some(node)) => return Ok(Some(Seen { mark, settled: mark.is_settled(self.now_ns), what: node })),
                Ok(None) => {}
                Err(Failure::Errno(Errno::NOENT)) => return Ok(None),
                Err(Failure::Errno(Errno::ACCESS | Errno::PERM | Errno::LOOP)) => {
                    let what = node(&stat, Entry::Unsaved { why: Uncovered::Unreadable, mark: mark.figure() });
                    return Ok(Some(Seen { mark, settled: false, what }));
                }
                Err(Failure::Errno(errno)) => return Err(UndoError::folder("read", &shown())(errno.into())),
                Err(Failure::Undo(error)) => return Err(error),
            }
        }
        Err(UndoError::folder("read", &shown())(std::io::Error::other("it changes faster than it can be read")))
    }

    /// What a name stands for; nothing if it changed while it was read.
    fn read(&self, dir: BorrowedFd<'_>, name: &OsStr, stat: &Stat, mark: Mark) -> Result<Option<Node>, Failure> {
        let unsaved = |why, mark| Ok(Some(node(stat, Entry::Unsaved { why, mark })));
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory if self.settings.excludes(name) => unsaved(Uncovered::Excluded, 0),
            FileType::Directory if stat.st_dev != self.device => unsaved(Uncovered::OtherFilesystem, 0),
            FileType::Directory => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let folder = rustix::fs::openat(dir, name, flags, Mode::empty())?;
                let attributes = self.attributes(folder.as_fd())?;
                Ok(Some(Node { attributes, ..node(stat, Entry::Folder) }))
            }
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(dir, name, Vec::new())?;
                let digest = contents_digest(target.to_bytes());
                self.sink().add(digest, target.to_bytes())?;
                Ok(Some(node(stat, Entry::Link { target: digest })))
            }
            FileType::RegularFile if mark.size > self.settings.file_bytes_max => {
                unsaved(Uncovered::TooLarge, mark.figure())
            }
            FileType::RegularFile => self.read_file(dir, name, stat, mark),
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => unsaved(Uncovered::Special, 0),
        }
    }

    fn read_file(&self, dir: BorrowedFd<'_>, name: &OsStr, stat: &Stat, mark: Mark) -> Result<Option<Node>, Failure> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(dir, name, flags, Mode::empty())?);
        let (contents, size) = if mark.size > LARGE_BYTES {
            self.keep_large(&file)?
        } else {
            let Ok(bytes) = bounded::read_whole_sized(&file, LARGE_BYTES, mark.size) else { return Ok(None) };
            let digest = contents_digest(&bytes);
            let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            if Mark::of(&rustix::fs::fstat(&file)?) != mark {
                return Ok(None);
            }
            self.sink().add(digest, &bytes)?;
            (digest, size)
        };
        if Mark::of(&rustix::fs::fstat(&file)?) != mark {
            return Ok(None);
        }
        let attributes = self.attributes(file.as_fd())?;
        Ok(Some(Node { attributes, ..node(stat, Entry::File { contents, size }) }))
    }

    /// Copies large contents into the store, by reference where the file system can; the copy is what is digested.
    fn keep_large(&self, file: &File) -> Result<(Digest, u64), Failure> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let draft = self.paths.large.join(format!(".{}-{number}.part", std::process::id()));
        let kept = (|| {
            let mut copy = File::options().read(true).write(true).create(true).truncate(true).open(&draft)?;
            std::io::copy(&mut &*file, &mut copy)?;
            std::io::Seek::rewind(&mut copy)?;
            let digest = stream_digest(&copy)?;
            let place = self.paths.large(&digest.0);
            if !place.exists() {
                copy.sync_all()?;
                std::fs::rename(&draft, &place)?;
            }
            Ok(digest)
        })();
        std::fs::remove_file(&draft).ok();
        kept.map_err(|cause| Failure::Undo(FileError::at(&self.paths.large, FileAction::Write)(cause).into()))
    }

    /// The extended attributes, access lists among them, as an object.
    fn attributes(&self, file: BorrowedFd<'_>) -> Result<Option<Digest>, Failure> {
        let mut list = vec![0_u8; ATTRIBUTES_MAX];
        match rustix::fs::flistxattr(file, list.as_mut_slice()) {
            Ok(length) => list.truncate(length),
            // A file system without attributes, or more of them than anybody has.
            Err(_) => return Ok(None),
        }
        let mut names: Vec<&[u8]> = list.split(|byte| *byte == 0).filter(|name| is_restorable(name)).collect();
        names.sort_unstable();
        let mut out = crate::binary::Encoder::default();
        for name in names {
            let mut value = vec![0_u8; ATTRIBUTES_MAX];
            let Ok(length) = rustix::fs::fgetxattr(file, OsStr::from_bytes(name), value.as_mut_slice()) else {
                continue;
            };
            value.truncate(length);
            out.bytes(name);
            out.bytes(&value);
        }
        if out.0.is_empty() {
            return Ok(None);
        }
        let digest = contents_digest(&out.0);
        self.sink().add(digest, &out.0)?;
        Ok(Some(digest))
    }

    pub(crate) fn sink(&self) -> std::sync::MutexGuard<'_, Sink> {
        // A thread that broke off ends the whole look.
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Attributes that their owner may set again.
fn is_restorable(name: &[u8]) -> bool {
    name.starts_with(b"user.") || name.starts_with(b"system.posix_acl_")
}

fn node(stat: &Stat, entry: Entry) -> Node {
    let rights = Rights { mode: stat.st_mode & 0o7777, user: stat.st_uid, group: stat.st_gid };
    Node { entry, rights, attributes: None, tree: None }
}

/// Why a name could not be read.
enum Failure {
    Errno(Errno),
    Undo(UndoError),
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

impl From<UndoError> for Failure {
    fn from(error: UndoError) -> Self {
        Self::Undo(error)
    }
}
