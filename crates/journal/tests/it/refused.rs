//! A disk that refuses one call: whichever it is, the answer is the usual one or the very error, never another answer, and
//! nothing that was acknowledged is lost.

use super::journal::{Outcome, options};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use tripwire_journal::blob::{BLOB_BYTES_MAX, BlobPointer, Blobs};
use tripwire_journal::note::Signer;
use tripwire_journal::storage::simulated::SimulatedDisk;
use tripwire_journal::storage::{OpenMode, Storage, read_file, read_range, replace};
use tripwire_journal::verify::{Trust, verify};
use tripwire_journal::wall_clock::WallClock;
use tripwire_journal::{
    Append, Batch, Durability, Entry, Follower, Journal, JournalError, Options, SessionId, SessionPaths,
};

type File = <SimulatedDisk as Storage>::File;

/// The simulated disk, which refuses the call that comes after so many others.
#[derive(Debug, Clone)]
struct RefusingDisk {
    inner: SimulatedDisk,
    calls_left: Rc<Cell<i64>>,
    kind: io::ErrorKind,
    locks_refused: Option<io::ErrorKind>,
}

impl RefusingDisk {
    fn new(inner: &SimulatedDisk, calls: i64, kind: io::ErrorKind) -> Self {
        Self { inner: inner.clone(), calls_left: Rc::new(Cell::new(calls)), kind, locks_refused: None }
    }

    fn has_refused(&self) -> bool {
        self.calls_left.get() < 0
    }

    fn admit(&self) -> io::Result<&SimulatedDisk> {
        self.calls_left.set(self.calls_left.get() - 1);
        if self.calls_left.get() == -1 { Err(self.kind.into()) } else { Ok(&self.inner) }
    }
}

impl Storage for RefusingDisk {
    type File = File;
    type Lock = <SimulatedDisk as Storage>::Lock;

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.admit()?.create_dir(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.admit()?.list(dir)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<File> {
        self.admit()?.open(path, mode)
    }

    fn size(&self, file: &File) -> io::Result<u64> {
        self.admit()?.size(file)
    }

    fn read_at(&self, file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.admit()?.read_at(file, offset, buffer)
    }

    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        self.admit()?.append(file, bytes)
    }

    fn write_at(&self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.admit()?.write_at(file, offset, bytes)
    }

    fn truncate(&self, file: &File, size: u64) -> io::Result<()> {
        self.admit()?.truncate(file, size)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.admit()?.sync(file)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.admit()?.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.admit()?.remove(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.admit()?.sync_dir(dir)
    }

    fn lock(&self, path: &Path, wait: Duration) -> io::Result<Self::Lock> {
        if let Some(kind) = self.locks_refused {
            return Err(kind.into());
        }
        self.admit()?.lock(path, wait)
    }
}

fn paths() -> SessionPaths {
    SessionPaths::new(Path::new("/w/.geometry"), &SessionId::first(WallClock::from_epoch_ms(0)))
}

fn open<S: Storage + Clone>(disk: &S) -> Result<Journal<S>, JournalError> {
    Journal::open(disk.clone(), paths(), options())
}

fn put<S: Storage + Clone>(journal: &mut Journal<S>, body: &str) -> Result<(), JournalError> {
    let entry = Entry { body: Cow::Borrowed(body), durations_ms: BTreeMap::new(), wall_ms: 5 };
    match journal.append(&Batch { entries: vec![entry], durability: Durability::Synced, after: None })? {
        Append::Ack(_) => Ok(()),
        Append::Unknown(error) => Err(error),
        fenced @ Append::Fenced(_) => panic!("{fenced:?}"),
    }
}

fn signer() -> Signer {
    Signer::from_seed("test", &[7; 32])
}

/// A body that does not fit a line.
fn large() -> String {
    format!("\"{}\"", "x".repeat(70_000))
}

const RECORDS: u64 = 31;

/// A session with several segments, a blob and a checkpoint over part of it.
fn prepared() -> SimulatedDisk {
    let disk = SimulatedDisk::new(1);
    let mut journal = open(&disk).unwrap();
    put(&mut journal, &large()).unwrap();
    (0..20).for_each(|index| put(&mut journal, &index.to_string()).unwrap());
    journal.turn().unwrap().checkpoint(&signer(), Some(Path::new("/k/witness"))).unwrap();
    (0..10).for_each(|index| put(&mut journal, &index.to_string()).unwrap());
    disk
}

/// What is done to a disk, and what it answered.
type Act = fn(&RefusingDisk) -> Result<String, JournalError>;

fn io_error(source: io::Error) -> JournalError {
    JournalError::Io { action: "use", path: "file".into(), source }
}

/// What leaves the disk as it is.
const LOOKS: [(&str, Act); 5] = [
    ("read", |disk| {
        let journal = Journal::open_existing(disk.clone(), paths(), options())?;
        let page = journal.read(journal.beginning(), usize::MAX)?;
        let last = journal.read(journal.find(RECORDS - 1)?, 1)?;
        Ok(format!("{} {} {:?}", page.records.len(), page.records[0].body.len(), last.records[0].body))
    }),
    ("verify", |disk| {
        let witness = Some("/k/witness".into());
        let report = verify(disk, &paths(), &Trust { verifier: Some(signer().verifier()), witness })?;
        Ok(format!("{report:?}"))
    }),
    ("follow", |disk| {
        let mut follower = Follower::from_start(disk.clone(), paths());
        let (first, rest) = (follower.next(2)?, follower.next_lines(usize::MAX)?);
        // A segment that cannot be opened now is followed later.
        let all = first.len() as u64 + rest.len() as u64 + follower.skip()? + follower.skip()?;
        Ok(format!("{} {all}", first[0].body.len()))
    }),
    ("skip", |disk| {
        let late = Follower::from_end(disk.clone(), paths())?.next(9)?;
        let mut all = Follower::from_start(disk.clone(), paths());
        Ok(format!("{} {}", late.len(), all.skip()? + all.skip()?))
    }),
    ("get", |disk| {
        let blobs = Blobs::new(disk.inner.clone(), paths().blobs().to_owned());
        let pointer = blobs.put(large().as_bytes())?;
        Ok(Blobs::new(disk.clone(), paths().blobs().to_owned()).get(&pointer)?.len().to_string())
    }),
];

/// What changes it.
const CHANGES: [(&str, Act); 4] = [
    ("append", |disk| {
        let mut journal = open(disk)?;
        put(&mut journal, "\"appended\"")?;
        put(&mut journal, &large().replace('x', "y"))?;
        Ok(journal.synced().to_string())
    }),
    ("sign", |disk| {
        let checkpoint = open(disk)?.turn()?.checkpoint(&signer(), Some(Path::new("/k/witness")))?;
        Ok(checkpoint.size.to_string())
    }),
    ("put", |disk| {
        let blobs = Blobs::new(disk.clone(), paths().blobs().to_owned());
        let (new, old) = (blobs.put(b"new bytes")?, blobs.put(large().as_bytes())?);
        Ok(format!("{new:?} {old:?}"))
    }),
    ("replace", |disk| {
        replace(disk, Path::new("/k/file"), b"contents").map_err(io_error)?;
        let found = read_file(disk, Path::new("/k/file"), 99).map_err(io_error)?;
        Ok(format!("{found:?} {:?}", read_file(disk, Path::new("/k/none"), 99).map_err(io_error)?))
    }),
];

#[test]
fn log_2_a_refused_look_is_told_as_it_is_and_never_takes_a_file_for_missing() {
    let prepared = prepared();
    for (name, act) in LOOKS {
        let usual = act(&RefusingDisk::new(&prepared, i64::MAX, io::ErrorKind::Other)).unwrap();
        for kind in [io::ErrorKind::Other, io::ErrorKind::PermissionDenied] {
            let refused = (0..).map_while(|calls| {
                let disk = RefusingDisk::new(&prepared, calls, kind);
                let answer = act(&disk);
                disk.has_refused().then(|| is_told(answer, &usual, kind, &format!("{name}, call {calls}")))
            });
            assert!(refused.filter(|told| *told).count() > 0, "{name}: {kind}");
        }
    }
}

#[test]
fn log_2_a_refused_change_is_told_as_it_is_and_nothing_acknowledged_is_lost() {
    let kind = io::ErrorKind::Other;
    for (name, act) in CHANGES {
        let usual = act(&RefusingDisk::new(&prepared(), i64::MAX, kind)).unwrap();
        let refused = (0..).map_while(|calls| {
            let place = format!("{name}, call {calls}");
            let disk = RefusingDisk::new(&prepared(), calls, kind);
            let answer = act(&disk);
            disk.has_refused().then(|| {
                let appended = if name == "append" && answer.is_ok() { 2 } else { 0 };
                kept(&disk.inner, RECORDS + appended, &place);
                is_told(answer, &usual, kind, &place)
            })
        });
        assert!(refused.filter(|told| *told).count() > 0, "{name}");
    }
}

/// Whether the refusal was told; an answer must be the usual one.
fn is_told(answer: Result<String, JournalError>, usual: &str, kind: io::ErrorKind, place: &str) -> bool {
    match answer {
        Ok(answer) => assert_eq!(answer, usual, "{place}"),
        Err(JournalError::Io { source, .. }) if source.kind() == kind => return true,
        Err(other) => panic!("{place}: {other:?}"),
    }
    false
}

/// After a power cut the journal holds, with at least so many records.
fn kept(disk: &SimulatedDisk, records: u64, place: &str) {
    disk.reboot();
    let journal = open(disk).unwrap_or_else(|error| panic!("{place}: {error}"));
    assert!(journal.records() >= records, "{place}: {}", journal.records());
    let report = verify(disk, &paths(), &Trust::default()).unwrap();
    assert!(report.holds(), "{place}: {report:?}");
}

#[test]
fn log_2_a_handle_that_met_an_error_says_so_and_writes_nothing_more() -> Outcome {
    let disk = RefusingDisk::new(&prepared(), i64::MAX, io::ErrorKind::StorageFull);
    let mut journal = open(&disk)?;
    assert!(!journal.is_poisoned());
    disk.calls_left.set(5);
    assert!(put(&mut journal, "1").is_err() && journal.is_poisoned());
    disk.calls_left.set(i64::MAX);
    assert!(matches!(put(&mut journal, "1"), Err(JournalError::Poisoned)));
    put(&mut open(&disk)?, "1")?;
    Ok(())
}

#[test]
fn one_record_costs_one_small_read_and_many_cost_few_reads() -> Outcome {
    let disk = SimulatedDisk::new(1);
    let mut journal = Journal::open(disk.clone(), paths(), Options { segment_bytes: 1 << 20, ..options() })?;
    let body = format!("\"{}\"", "x".repeat(1_000));
    for _ in 0..150 {
        put(&mut journal, &body)?;
    }
    let cost = |limit| {
        let before = (disk.operations(), disk.bytes_read());
        let found = journal.read(journal.beginning(), limit).unwrap().records.len();
        (found, disk.operations() - before.0, disk.bytes_read() - before.1)
    };
    let (found, _, bytes) = cost(1);
    assert!(found == 1 && bytes <= 16 << 10, "{bytes}");
    let (found, operations, _) = cost(usize::MAX);
    assert!(found == 150 && operations < 10, "{operations}");
    let long = format!("\"{}\"", "y".repeat(40_000));
    put(&mut journal, &long)?;
    assert_eq!(journal.read(journal.find(150)?, 1)?.records[0].body, long, "a line that does not fit the small read");
    Ok(())
}

#[test]
fn log_4_a_copy_that_nobody_may_write_is_verified_without_the_lock() {
    let prepared = prepared();
    let verified = |kind| {
        let disk = RefusingDisk::new(&prepared, i64::MAX, io::ErrorKind::Other);
        verify(&RefusingDisk { locks_refused: kind, ..disk }, &paths(), &Trust::default())
    };
    let usual = verified(None).unwrap();
    for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem] {
        assert_eq!(verified(Some(kind)).unwrap(), usual, "{kind}");
    }
    let held = verified(Some(io::ErrorKind::WouldBlock));
    assert!(matches!(held, Err(JournalError::Locked { .. })), "{held:?}");
    let broken = verified(Some(io::ErrorKind::Other));
    assert!(matches!(broken, Err(JournalError::Io { action: "lock", .. })), "{broken:?}");
}

#[test]
fn an_interrupted_read_is_made_again() -> Outcome {
    let inner = SimulatedDisk::new(1);
    inner.create_dir(Path::new("/d"))?;
    let path = Path::new("/d/file");
    replace(&inner, path, b"contents")?;
    let disk = RefusingDisk::new(&inner, 1, io::ErrorKind::Interrupted);
    let file = disk.open(path, OpenMode::Read)?;
    assert_eq!(read_range(&disk, &file, 3, 99)?, b"tents");
    assert!(disk.has_refused());
    let disk = RefusingDisk::new(&inner, 1, io::ErrorKind::Other);
    let file = disk.open(path, OpenMode::Read)?;
    assert!(read_range(&disk, &file, 3, 99).is_err_and(|error| error.kind() == io::ErrorKind::Other));
    Ok(())
}

#[test]
fn log_2_a_blob_beyond_its_bound_is_neither_stored_nor_read() -> Outcome {
    let disk = SimulatedDisk::new(1);
    let blobs = Blobs::new(disk.clone(), paths().blobs().to_owned());
    let refused = |error| matches!(error, JournalError::Blob { state: "larger than 256 MiB", .. });
    assert!(blobs.put(&vec![0; BLOB_BYTES_MAX + 1]).is_err_and(refused));
    assert_eq!(disk.operations(), 0);
    let small = blobs.put(b"small")?;
    let beyond = BlobPointer { bytes: BLOB_BYTES_MAX as u64 + 1, ..small };
    assert!(blobs.get(&beyond).is_err_and(refused));
    Ok(())
}

#[test]
fn log_2_what_a_crash_left_in_the_place_of_a_new_blob_is_passed_over() -> Outcome {
    let disk = prepared();
    let blobs = Blobs::new(disk.clone(), paths().blobs().to_owned());
    let pointer = blobs.put(b"some bytes")?;
    let digest = pointer.sha256.to_string();
    let stored = paths().blobs().join("sha256").join(&digest[..2]).join(&digest);
    let left = stored.with_extension(format!("{}-0.tmp", std::process::id()));
    disk.rename(&stored, &left)?;
    assert!(matches!(blobs.get(&pointer), Err(JournalError::Blob { state: "missing", .. })));
    assert_eq!(blobs.put(b"some bytes")?, pointer);
    assert_eq!(blobs.get(&pointer)?, b"some bytes");
    assert!(disk.open(&left, OpenMode::Read).is_ok(), "a leftover is never reused");
    Ok(())
}

#[test]
fn log_2_another_name_for_a_new_blob_is_tried_only_where_one_is_taken_and_not_for_ever() -> Outcome {
    let put = |calls| {
        let disk = RefusingDisk::new(&SimulatedDisk::new(1), calls, io::ErrorKind::Other);
        let answer = Blobs::new(disk.clone(), paths().blobs().to_owned()).put(b"new bytes");
        disk.has_refused().then_some(answer)
    };
    let answers: Vec<_> = (0..).map_while(put).collect();
    assert!(answers.len() > 4 && answers.iter().all(Result::is_err), "{answers:?}");

    let disk = SimulatedDisk::new(1);
    let blobs = Blobs::new(disk.clone(), paths().blobs().to_owned());
    let digest = blobs.put(b"some bytes")?.sha256.to_string();
    let stored = paths().blobs().join("sha256").join(&digest[..2]).join(&digest);
    disk.remove(&stored)?;
    for number in 0..100 {
        disk.open(&stored.with_extension(format!("{}-{number}.tmp", std::process::id())), OpenMode::Create)?;
    }
    let full = blobs.put(b"some bytes");
    assert!(matches!(full, Err(JournalError::Io { action: "create", .. })), "{full:?}");
    Ok(())
}
