//! The real disk for a process that appends to one journal for a long time: it keeps the files open that it uses again and
//! again.
//!
//! Nothing is taken on trust for long: under each lock the names are looked at again, and one that leads elsewhere by now is
//! opened again. So a journal that was replaced, moved away or cut is found as [`Disk`] finds it. Appends that follow each other
//! closely share one lock and one look; it is kept for [`LEASE`] at most, and only until [`KeptDisk::rest`] is called, so that
//! another process waits for some milliseconds at most.

use std::fs::{File, Metadata};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tripwire_fs::lock::{FileLock, Wait};

use super::disk::{lock_seen, open_seen};
use super::{Disk, LockTurn, OpenMode, Storage, offset};

/// How long one lock may be kept for appends that follow each other.
pub const LEASE: Duration = Duration::from_millis(25);
/// How closely they have to follow each other.
const BURST: Duration = Duration::from_millis(5);
/// Files that are kept open: `HEAD`, the segment, and the one before it while they change.
const KEPT_MAX: usize = 3;

/// The file system of this machine, with the last used files kept open. Clones share them.
#[derive(Debug, Clone)]
pub struct KeptDisk {
    state: Arc<Mutex<KeptState>>,
    /// How long one lock may be kept.
    lease: Duration,
}

impl Default for KeptDisk {
    fn default() -> Self {
        Self { state: Arc::default(), lease: LEASE }
    }
}

#[derive(Debug, Default)]
struct KeptState {
    files: Vec<Arc<OpenFile>>,
    /// A lock that nobody uses at the moment.
    held: Option<HeldLock>,
    /// When a lock was last given back.
    given_back: Option<Instant>,
    /// Counts the times for which a lock was held: what was seen in another one is not believed.
    period: u64,
    /// Counts how often a lock was handed out.
    turns: u64,
    /// Whether a lock is handed out: nobody else writes meanwhile.
    in_use: bool,
}

/// A file that was opened under a name.
#[derive(Debug)]
struct OpenFile {
    path: Box<Path>,
    file: Arc<File>,
    device: u64,
    inode: u64,
    /// The period in which the name was last looked at, and the size that it had, with what was appended since.
    looked: AtomicU64,
    size: AtomicU64,
}

impl OpenFile {
    /// A file as it was seen when its name led to it, in this period.
    fn new(path: &Path, file: Arc<File>, seen: &Metadata, period: u64) -> Self {
        Self {
            path: path.into(),
            file,
            device: seen.dev(),
            inode: seen.ino(),
            looked: AtomicU64::new(period),
            size: AtomicU64::new(seen.len()),
        }
    }

    /// Whether the name still leads here.
    fn is_named(&self, period: u64) -> bool {
        match std::fs::symlink_metadata(&self.path) {
            Ok(named) if named.dev() == self.device && named.ino() == self.inode => {
                self.size.store(named.len(), Ordering::Relaxed);
                self.looked.store(period, Ordering::Relaxed);
                true
            }
            Ok(_) | Err(_) => false,
        }
    }
}

/// A period that never is.
const NEVER: u64 = u64::MAX;

/// An open file of a [`KeptDisk`].
#[derive(Debug)]
pub struct KeptFile(Arc<OpenFile>);

/// Since when a lock is held that is handed out.
#[derive(Debug, Clone, Copy)]
enum LockSince {
    /// It was kept since an earlier turn.
    Earlier,
    /// It was free, or another process had it.
    Now,
}

#[derive(Debug)]
struct HeldLock {
    _lock: FileLock,
    file: KeptFile,
    until: Instant,
}

/// A lock of a [`KeptDisk`] that is in use.
#[derive(Debug)]
pub struct KeptLock {
    held: Option<HeldLock>,
    file: KeptFile,
    turn: LockTurn,
    disk: KeptDisk,
}

impl Deref for KeptLock {
    type Target = KeptFile;

    fn deref(&self) -> &KeptFile {
        &self.file
    }
}

impl Drop for KeptLock {
    fn drop(&mut self) {
        let now = Instant::now();
        let mut state = self.disk.state();
        state.in_use = false;
        let last = state.given_back.replace(now);
        let is_burst = last.is_some_and(|last| now.duration_since(last) < BURST);
        match self.held.take() {
            Some(held) if is_burst && now < held.until => state.held = Some(held),
            ended => state.end_period(ended),
        }
    }
}

impl KeptState {
    /// What was seen so far is not believed from now on; the lock is free.
    fn end_period(&mut self, lock: Option<HeldLock>) {
        self.period += 1;
        drop(lock);
    }

    /// The period in which a look counts that is made now; none where nothing keeps others from writing.
    fn look_counts_in(&self) -> u64 {
        if self.in_use { self.period } else { NEVER }
    }

    fn find(&self, path: &Path) -> Option<Arc<OpenFile>> {
        // Compared as bytes: both come from the same place, and a look at each component takes longer.
        self.files.iter().find(|file| file.path.as_os_str() == path.as_os_str()).cloned()
    }

    fn keep(&mut self, file: &Arc<OpenFile>) {
        self.forget(&file.path);
        if self.files.len() >= KEPT_MAX {
            self.files.remove(0);
        }
        self.files.push(Arc::clone(file));
    }

    /// Whether a file may be kept that is only read now, without another one being closed for it.
    fn has_room_in_use(&self) -> bool {
        self.in_use && self.files.len() < KEPT_MAX
    }

    fn forget(&mut self, path: &Path) {
        self.files.retain(|file| file.path.as_os_str() != path.as_os_str());
    }
}

impl KeptDisk {
    /// The same with a lock that ends with its use: nobody has to call [`Self::rest`].
    #[must_use]
    pub fn without_lease() -> Self {
        Self { lease: Duration::ZERO, ..Self::default() }
    }

    /// Lets other processes have the lock. A process that keeps appending calls it every few milliseconds.
    pub fn rest(&self) {
        let mut state = self.state();
        if let Some(held) = state.held.take() {
            state.end_period(Some(held));
        }
    }

    fn state(&self) -> MutexGuard<'_, KeptState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self, path: &Path) -> Option<Arc<OpenFile>> {
        let mut state = self.state();
        let file = state.find(path)?;
        if file.looked.load(Ordering::Relaxed) == state.period || file.is_named(state.period) {
            return Some(file);
        }
        state.forget(path);
        None
    }

    fn lock_kept(&self, path: &Path, deadline: Instant) -> io::Result<Option<HeldLock>> {
        let Some(file) = self.state().find(path) else { return Ok(None) };
        let lock = FileLock::on(Arc::clone(&file.file), Wait::Until(deadline))?;
        let mut state = self.state();
        // A lock on a file that lost its name protects nothing: the next process would lock another one.
        if file.is_named(state.period) {
            return Ok(Some(HeldLock { _lock: lock, file: KeptFile(file), until: Instant::now() + self.lease }));
        }
        state.forget(path);
        Ok(None)
    }

    fn hand_out(&self, held: HeldLock, since: LockSince) -> KeptLock {
        let file = KeptFile(Arc::clone(&held.file.0));
        let mut state = self.state();
        let before = state.turns;
        state.turns += 1;
        state.in_use = true;
        let after = match since {
            LockSince::Earlier => Some(before),
            LockSince::Now => None,
        };
        let turn = LockTurn { number: state.turns, after };
        drop(state);
        KeptLock { held: Some(held), file, turn, disk: self.clone() }
    }
}

impl Storage for KeptDisk {
    type File = KeptFile;
    type Lock = KeptLock;

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        Disk.create_dir(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        Disk.list(dir)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<KeptFile> {
        match mode {
            OpenMode::Read | OpenMode::Append => {
                if let Some(kept) = self.kept(path) {
                    return Ok(KeptFile(kept));
                }
            }
            OpenMode::Update | OpenMode::Create => self.state().forget(path),
        }
        // What is read under the lock is most often appended to next.
        let is_next = mode == OpenMode::Read && self.state().has_room_in_use();
        let appended = if is_next { open_seen(path, OpenMode::Append).ok() } else { None };
        let is_kept = mode == OpenMode::Append || appended.is_some();
        let (file, seen) = appended.map_or_else(|| open_seen(path, mode), Ok)?;
        let mut state = self.state();
        let file = Arc::new(OpenFile::new(path, Arc::new(file), &seen, state.look_counts_in()));
        if is_kept {
            state.keep(&file);
        }
        Ok(KeptFile(file))
    }

    fn size(&self, file: &KeptFile) -> io::Result<u64> {
        if file.0.looked.load(Ordering::Relaxed) == self.state().period {
            return Ok(file.0.size.load(Ordering::Relaxed));
        }
        Disk.size(&file.0.file)
    }

    fn read_at(&self, file: &KeptFile, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Disk.read_at(&file.0.file, offset, buffer)
    }

    fn append(&self, file: &KeptFile, bytes: &[u8]) -> io::Result<usize> {
        let written = Disk.append(&file.0.file, bytes)?;
        file.0.size.fetch_add(offset(written), Ordering::Relaxed);
        Ok(written)
    }

    fn write_at(&self, file: &KeptFile, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        Disk.write_at(&file.0.file, offset, bytes)
    }

    fn truncate(&self, file: &KeptFile, size: u64) -> io::Result<()> {
        Disk.truncate(&file.0.file, size)
    }

    fn sync(&self, file: &KeptFile) -> io::Result<()> {
        Disk.sync(&file.0.file)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Disk.remove(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        Disk.sync_dir(dir)
    }

    fn lock(&self, path: &Path, wait: Duration) -> io::Result<KeptLock> {
        let now = Instant::now();
        let held = {
            let mut state = self.state();
            match state.held.take() {
                Some(held) if now < held.until && held.file.0.path.as_os_str() == path.as_os_str() => Some(held),
                ended => {
                    state.end_period(ended);
                    None
                }
            }
        };
        if let Some(held) = held {
            return Ok(self.hand_out(held, LockSince::Earlier));
        }
        let deadline = now + wait;
        if let Some(held) = self.lock_kept(path, deadline)? {
            return Ok(self.hand_out(held, LockSince::Now));
        }
        let (lock, seen) = lock_seen(path, deadline.saturating_duration_since(Instant::now()))?;
        let mut state = self.state();
        let file = Arc::new(OpenFile::new(path, lock.shared(), &seen, state.period));
        state.keep(&file);
        drop(state);
        let held = HeldLock { _lock: lock, file: KeptFile(file), until: Instant::now() + self.lease };
        Ok(self.hand_out(held, LockSince::Now))
    }

    fn turn_of(&self, lock: &KeptLock) -> Option<LockTurn> {
        Some(lock.turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Append, Batch, Durability, Entry, Journal, JournalError, Options, SessionPaths};
    use std::borrow::Cow;
    use std::collections::BTreeMap;

    fn open<S: Storage + Clone>(storage: S, folder: &Path) -> Journal<S> {
        Journal::open(storage, SessionPaths::of_ledger(folder), Options::default()).unwrap()
    }

    fn add<S: Storage>(journal: &mut Journal<S>, durability: Durability) -> Result<(), JournalError> {
        let body = format!("{{\"n\":{}}}", journal.records());
        let entry = Entry { body: Cow::Owned(body), durations_ms: BTreeMap::new(), wall_ms: 1 };
        match journal.append(&Batch { entries: vec![entry], durability, after: None })? {
            Append::Ack(_) => Ok(()),
            Append::Unknown(error) => Err(error),
            Append::Fenced(_) => unreachable!("no place was asked for"),
        }
    }

    fn count(folder: &Path) -> u64 {
        open(Disk, folder).records()
    }

    #[test]
    fn two_writers_of_one_journal_see_each_others_records_while_one_keeps_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let disk = KeptDisk::default();
        let mut kept = open(disk.clone(), folder.path());
        let mut plain = open(Disk, folder.path());
        for round in 0..20 {
            let durability = if round % 3 == 0 { Durability::Synced } else { Durability::Grouped };
            add(&mut kept, durability).unwrap();
            disk.rest();
            add(&mut plain, durability).unwrap();
            assert_eq!(count(folder.path()), 2 * round + 2);
        }
        kept.turn().unwrap().sync().unwrap();
        assert_eq!(kept.synced(), 40);
    }

    #[test]
    fn a_lock_is_kept_in_a_burst_and_free_when_the_writer_rests_or_its_lease_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let disk = KeptDisk::default();
        let mut kept = open(disk.clone(), folder.path());
        let head = SessionPaths::of_ledger(folder.path()).head();
        let is_free = || Disk.lock(&head, Duration::ZERO).is_ok();
        std::thread::sleep(2 * BURST);
        add(&mut kept, Durability::Grouped).unwrap();
        assert!(is_free(), "one append alone keeps nothing");
        // A machine that is slow between two of them keeps nothing either.
        let keeps = (0..1_000).any(|_| {
            add(&mut kept, Durability::Grouped).unwrap();
            !is_free()
        });
        assert!(keeps);
        disk.rest();
        assert!(is_free());
        let began = Instant::now();
        while began.elapsed() < 4 * LEASE {
            add(&mut kept, Durability::Grouped).unwrap();
        }
        // Others get their turn between two leases, and the writer sees what they wrote.
        disk.rest();
        let mut other = open(Disk, folder.path());
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| {
                let began = Instant::now();
                while began.elapsed() < 4 * LEASE {
                    add(&mut kept, Durability::Grouped).unwrap();
                }
                disk.rest();
            });
            (0..3).for_each(|_| add(&mut other, Durability::Grouped).unwrap());
            writing.join().unwrap();
        });
        drop(kept);
        let lines = std::fs::read(SessionPaths::of_ledger(folder.path()).segment(1)).unwrap();
        let lines = lines.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(count(folder.path()), lines as u64);
    }

    #[test]
    fn a_turn_says_which_one_it_follows_only_while_the_lock_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (disk, path) = (KeptDisk::default(), folder.path().join("HEAD"));
        let turn = || disk.turn_of(&disk.lock(&path, Duration::ZERO).unwrap()).unwrap();
        // A machine that is slow between two of them keeps nothing.
        let follows = (0..1_000).any(|_| {
            let (one, next) = (turn(), turn());
            assert!(next.number > one.number && next.after.is_none_or(|after| after == one.number));
            next.after.is_some()
        });
        assert!(follows);
        disk.rest();
        assert_eq!(turn().after, None, "others may have had it");
        std::thread::sleep(LEASE);
        assert_eq!(turn().after, None, "its lease was over");
    }

    #[test]
    fn handles_that_take_turns_under_one_kept_lock_see_each_others_records() {
        let folder = tempfile::tempdir().unwrap();
        let disk = KeptDisk::default();
        let (mut one, mut other) = (open(disk.clone(), folder.path()), open(disk.clone(), folder.path()));
        for round in 0..100 {
            add(&mut one, Durability::Grouped).unwrap();
            add(&mut one, Durability::Grouped).unwrap();
            add(&mut other, if round % 9 == 0 { Durability::Synced } else { Durability::Grouped }).unwrap();
        }
        assert_eq!((other.records(), one.records()), (300, 299), "the last turn was the other's");
        disk.rest();
        assert_eq!(count(folder.path()), 300);
    }

    #[test]
    fn without_a_lease_the_lock_is_free_between_two_appends_however_closely_they_follow() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = open(KeptDisk::without_lease(), folder.path());
        let mut plain = open(Disk, folder.path());
        let head = SessionPaths::of_ledger(folder.path()).head();
        for round in 1..=20 {
            add(&mut kept, Durability::Grouped).unwrap();
            assert!(Disk.lock(&head, Duration::ZERO).is_ok());
            add(&mut plain, Durability::Synced).unwrap();
            assert_eq!(kept.turn().unwrap().records(), 2 * round);
        }
    }

    #[test]
    fn a_segment_that_was_cut_or_replaced_or_removed_is_found() {
        type Change = fn(&Path);
        let changes: [(&str, Change); 3] = [
            ("cut", |path| {
                let file = File::options().write(true).open(path).unwrap();
                file.set_len(file.metadata().unwrap().len() / 2).unwrap();
            }),
            ("replaced", |path| {
                let bytes = std::fs::read(path).unwrap();
                std::fs::remove_file(path).unwrap();
                std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
            }),
            ("removed", |path| std::fs::remove_file(path).unwrap()),
        ];
        for (name, change) in changes {
            let folder = tempfile::tempdir().unwrap();
            let disk = KeptDisk::default();
            let mut kept = open(disk.clone(), folder.path());
            for _ in 0..4 {
                add(&mut kept, Durability::Synced).unwrap();
            }
            disk.rest();
            change(&SessionPaths::of_ledger(folder.path()).segment(1));
            assert!(add(&mut kept, Durability::Grouped).is_err(), "{name}");
        }
    }

    #[test]
    fn a_copy_in_a_files_place_is_written_and_not_the_file_that_lost_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let disk = KeptDisk::default();
        let mut kept = open(disk.clone(), folder.path());
        add(&mut kept, Durability::Synced).unwrap();
        let paths = SessionPaths::of_ledger(folder.path());
        for path in [paths.segment(1), paths.head()] {
            disk.rest();
            let bytes = std::fs::read(&path).unwrap();
            std::fs::rename(&path, folder.path().join("away")).unwrap();
            std::fs::write(&path, bytes).unwrap();
            add(&mut kept, Durability::Synced).unwrap();
        }
        disk.rest();
        assert_eq!(count(folder.path()), 3);
    }

    #[test]
    fn the_last_used_files_are_kept_and_one_that_is_only_read_closes_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let disk = KeptDisk::default();
        let path = |name: &str| folder.path().join(name);
        for name in ["a", "b", "c"] {
            std::fs::write(path(name), name).unwrap();
        }
        let open = |name: &str, mode| disk.open(&path(name), mode).unwrap();
        let kept = || -> Vec<String> {
            let name = |file: &Arc<OpenFile>| file.path.file_name().unwrap().to_string_lossy().into_owned();
            disk.state().files.iter().map(name).collect()
        };
        open("a", OpenMode::Read);
        assert!(kept().is_empty(), "nothing says that it is appended to next");
        let lock = disk.lock(&path("HEAD"), Duration::ZERO).unwrap();
        let read = open("a", OpenMode::Read);
        assert!(Arc::ptr_eq(&read.0, &open("a", OpenMode::Append).0), "it is opened once");
        open("b", OpenMode::Read);
        open("c", OpenMode::Read);
        assert_eq!(kept(), ["HEAD", "a", "b"]);
        open("c", OpenMode::Append);
        assert_eq!(kept(), ["a", "b", "c"]);
        open("b", OpenMode::Update);
        assert_eq!(kept(), ["a", "c"], "what is written in its middle is opened again");
        drop(lock);
        std::fs::write(path("other"), "other").unwrap();
        std::fs::rename(path("other"), path("a")).unwrap();
        assert!(!Arc::ptr_eq(&read.0, &open("a", OpenMode::Append).0), "another file has its name");
        assert_eq!(kept(), ["c", "a"]);
    }

    #[test]
    fn a_lock_that_is_kept_is_no_lock_on_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let disk = KeptDisk::default();
        let (path, other) = (folder.path().join("HEAD"), folder.path().join("other"));
        for _ in 0..20 {
            drop(disk.lock(&path, Duration::ZERO).unwrap());
            drop(disk.lock(&path, Duration::ZERO).unwrap());
            let held = disk.lock(&other, Duration::ZERO).unwrap();
            assert!(Disk.lock(&other, Duration::ZERO).is_err());
            assert!(Disk.lock(&path, Duration::ZERO).is_ok());
            drop(held);
        }
    }
}
