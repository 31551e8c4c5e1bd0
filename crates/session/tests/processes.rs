//! The journal among real processes: many at once, and one that is killed or failed at every system call it makes.
//!
//! This binary is its own child: with `child-work` it writes a small journal from wherever it stands to its end, with
//! `child-append` it is one short process of many. Everything is deterministic, so what an interrupted and resumed run
//! leaves must be byte for byte what an uninterrupted one leaves.
#![expect(clippy::print_stdout, reason = "a test without the usual harness says itself what it does")]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tripwire_journal::note::Signer;
use tripwire_journal::storage::Disk;
use tripwire_journal::verify::{Trust, verify};
use tripwire_journal::wall_clock::WallClock;
use tripwire_journal::{Append, Batch, Durability, Entry, Journal, JournalError, Options, SessionId, SessionPaths};

type Outcome = Result<(), Box<dyn Error>>;
type Test = fn() -> Outcome;

/// Ends a test with a message instead of a panic, because there is no harness to catch one.
macro_rules! ensure {
    ($holds:expr, $what:expr $(,)?) => {
        if !$holds {
            return Err($what.into());
        }
    };
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["child-work", dir] => child_work(Path::new(dir)),
        ["child-append", dir, body] => child_append(Path::new(dir), body),
        ["--list", ..] => {
            for (name, _test) in TESTS {
                println!("{name}: test");
            }
            Ok(())
        }
        filters => run_all(filters),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

const TESTS: [(&str, Test); 3] = [
    ("log_1_no_process_of_many_loses_a_record_or_forks", storm),
    ("log_1_a_kill_at_any_system_call_loses_nothing", kill_everywhere),
    ("log_1_an_error_at_any_system_call_loses_nothing", fail_everywhere),
];

fn run_all(filters: &[&str]) -> Outcome {
    let filters: Vec<&&str> = filters.iter().filter(|word| !word.starts_with('-')).collect();
    for (name, test) in TESTS {
        if filters.is_empty() || filters.iter().any(|filter| name.contains(**filter)) {
            let start = Instant::now();
            test().map_err(|error| format!("test {name} ... FAILED: {error}"))?;
            println!("test {name} ... ok ({} ms)", start.elapsed().as_millis());
        }
    }
    Ok(())
}

// ---- the children ----

fn open(dir: &Path) -> Result<Journal<Disk>, JournalError> {
    let options = Options { host: "test".into(), segment_bytes: SEGMENT_BYTES, lock_wait: Duration::from_secs(30) };
    Journal::open(Disk, SessionPaths::new(dir, &SessionId::first(WallClock::from_epoch_ms(0))), options)
}

fn append(journal: &mut Journal<Disk>, body: &str, after: Option<u64>) -> Result<u64, String> {
    let batch = Batch {
        entries: vec![Entry { body: Cow::Borrowed(body), durations_ms: BTreeMap::new(), wall_ms: 5 }],
        durability: Durability::Synced,
        after,
    };
    match journal.append(&batch) {
        Ok(Append::Ack(ack)) => Ok(ack.first),
        Ok(other) => Err(format!("{other:?}")),
        Err(error) => Err(error.to_string()),
    }
}

/// Works to the end, reopening the journal after every error, as a program that lives on would.
fn child_work(dir: &Path) -> Outcome {
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        match work_once(dir) {
            Ok(()) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last.into())
}

fn work_once(dir: &Path) -> Result<(), String> {
    let mut journal = open(dir).map_err(|error| error.to_string())?;
    loop {
        let next = journal.records();
        if CHECKPOINTS.contains(&next) {
            let signer = Signer::from_seed("test", &[9; 32]);
            let witness = witness(dir);
            journal
                .turn()
                .and_then(|mut turn| turn.checkpoint(&signer, Some(&witness)))
                .map_err(|error| error.to_string())?;
        }
        if next == RECORDS {
            return Ok(());
        }
        append(&mut journal, &body(next), Some(next))?;
        // One write, so that the parent never sees half a line.
        println!("ack {next}");
    }
}

fn body(index: u64) -> String {
    if index == LARGE {
        return format!("\"{}\"", "y".repeat(66_000));
    }
    format!("{{\"n\":{index}}}")
}

fn child_append(dir: &Path, body: &str) -> Outcome {
    let mut journal = open(dir)?;
    let index = append(&mut journal, body, None)?;
    println!("{index}");
    Ok(())
}

fn witness(dir: &Path) -> PathBuf {
    dir.join("outside").join("s.note")
}

// ---- many processes ----

fn storm() -> Outcome {
    let temp = tempfile::tempdir()?;
    let mut waiting = Vec::new();
    let mut answers = Vec::new();
    let processes = tripwire_testing::sized(64, 320);
    for number in 0..processes {
        let child = Command::new(std::env::current_exe()?)
            .args(["child-append".as_ref(), temp.path().as_os_str()])
            .arg(number.to_string())
            .stdout(Stdio::piped())
            .spawn()?;
        waiting.push((number, child));
        if waiting.len() == STORM_AT_ONCE || number + 1 == processes {
            for (number, child) in waiting.drain(..) {
                answers.push((number, child.wait_with_output()?));
            }
        }
    }
    let journal = open(temp.path())?;
    let records = journal.read(journal.beginning(), usize::MAX)?.records;
    ensure!(records.len() == processes, "records were lost");
    for (number, answer) in &answers {
        let text = text(answer);
        let index: usize = text.trim().parse().map_err(|_error| text.clone())?;
        let found = records.get(index).map(|record| record.body.clone());
        ensure!(found == Some(number.to_string()), "two processes share an index",);
    }
    let report = verify(&Disk, journal.paths(), &Trust::default())?;
    ensure!(report.holds(), "the chain does not verify");
    Ok(())
}

// ---- one process, interrupted everywhere ----

fn kill_everywhere() -> Outcome {
    let Some(reference) = Reference::make()? else {
        return Ok(());
    };
    let mut faults = Vec::new();
    for (call, count) in &reference.calls {
        faults.extend((1..=*count).map(|number| (call.as_str(), format!("inject={call}:signal=KILL:when={number}"))));
    }
    reference.compare_all(&faults, |fault, interrupted| {
        ensure!(!interrupted.success(), format!("{fault} hit nothing"));
        Ok(())
    })
}

fn fail_everywhere() -> Outcome {
    let Some(reference) = Reference::make()? else {
        return Ok(());
    };
    let mut faults = Vec::new();
    for (call, count) in &reference.calls {
        let errors: &[&str] = match call.as_str() {
            "write" | "pwrite64" | "openat" | "mkdir" | "rename" | "ftruncate" => &["EIO", "ENOSPC"],
            _other => &["EIO"],
        };
        for error in errors {
            let numbered = |number| (call.as_str(), format!("inject={call}:error={error}:when={number}"));
            faults.extend((1..=*count).map(numbered));
        }
    }
    reference.compare_all(&faults, |_fault, _interrupted| Ok(()))
}

/// What an uninterrupted run leaves, and which system calls it makes.
struct Reference {
    temp: tempfile::TempDir,
    files: BTreeMap<PathBuf, Vec<u8>>,
    calls: BTreeMap<String, usize>,
}

impl Reference {
    /// `None`, said loudly, where strace is missing or may not trace.
    fn make() -> Result<Option<Self>, Box<dyn Error>> {
        let temp = scratch()?;
        let dir = temp.path().join("reference");
        prepare(&dir)?;
        let log = temp.path().join("calls");
        let traced = Command::new("strace")
            .arg("-o")
            .arg(&log)
            .args(["-e", &format!("trace={}", CALLS.join(","))])
            .arg(std::env::current_exe()?)
            .env_remove(LIBRARY_PATH)
            .arg("child-work")
            .arg(&dir)
            .output();
        match traced {
            Ok(output) if output.status.success() => {}
            Ok(output) => {
                println!("SKIPPED: strace cannot trace here: {}", text(&output));
                return Ok(None);
            }
            Err(error) => {
                println!("SKIPPED: strace is not installed ({error}); install it to run this test");
                return Ok(None);
            }
        }
        let log = fs::read_to_string(log)?;
        let mut calls = BTreeMap::new();
        for call in CALLS {
            let prefix = format!("{call}(");
            let count = log.lines().filter(|line| line.starts_with(&prefix)).count();
            calls.insert(call.to_owned(), count);
        }
        println!("system calls of the uninterrupted run: {calls:?}");
        for needed in ["write", "pwrite64", "fdatasync", "fsync", "ftruncate", "rename", "flock"] {
            ensure!(calls.get(needed) > Some(&0), needed);
        }
        let files = files(&dir)?;
        ensure!(files.len() >= 7, "segments, notes, growth, witness and a blob",);
        Ok(Some(Self { temp, files, calls }))
    }

    /// Tries each system call's fault, some at once, because each is only two processes that are waited for.
    fn compare_all(
        &self,
        faults: &[(&str, String)],
        check: impl Fn(&str, ExitStatus) -> Result<(), String> + Sync,
    ) -> Outcome {
        let next = AtomicUsize::new(0);
        let work = |dir: PathBuf| {
            while let Some((call, fault)) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                let interrupted = self.compare(&dir, call, fault).map_err(|error| error.to_string())?;
                check(fault, interrupted)?;
            }
            Ok::<(), String>(())
        };
        std::thread::scope(|scope| {
            let dir = |number: usize| self.temp.path().join(format!("run-{number}"));
            let workers: Vec<_> = (0..FAULTS_AT_ONCE).map(|number| scope.spawn(move || work(dir(number)))).collect();
            for worker in workers {
                worker.join().map_err(|_panic| "a worker panicked")??;
            }
            Ok(())
        })
    }

    /// Runs with a fault in a fresh folder, resumes without one, and compares every byte.
    fn compare(&self, dir: &Path, call: &str, fault: &str) -> Result<ExitStatus, Box<dyn Error>> {
        prepare(dir)?;
        let interrupted = Command::new("strace")
            .args(["-o", "/dev/null", "-e", &format!("trace={call}"), "-e", fault])
            .arg(std::env::current_exe()?)
            .env_remove(LIBRARY_PATH)
            .arg("child-work")
            .arg(dir)
            .output()?;
        let resumed = Command::new(std::env::current_exe()?).arg("child-work").arg(dir).output()?;
        let blame = |what: &str| format!("{fault}: {what}: {} {}", text(&interrupted), text(&resumed));
        ensure!(resumed.status.success(), blame("the run cannot be resumed"),);
        // What was acknowledged once is never done again, neither after the crash nor by the process that lived on.
        let acks = text(&interrupted) + &text(&resumed);
        let mut acks: Vec<&str> = acks.lines().filter(|line| line.starts_with("ack ")).collect();
        let count = acks.len();
        acks.sort_unstable();
        acks.dedup();
        ensure!(acks.len() == count, blame("an acknowledged record was lost"));
        let found = files(dir)?;
        for (path, bytes) in &self.files {
            ensure!(found.get(path) == Some(bytes), blame(&format!("{} differs", path.display())),);
        }
        ensure!(found.len() == self.files.len(), blame("there are other files"),);
        let trust =
            Trust { verifier: Some(Signer::from_seed("test", &[9; 32]).verifier()), witness: Some(witness(dir)) };
        let report = verify(&Disk, &SessionPaths::new(dir, &SessionId::first(WallClock::from_epoch_ms(0))), &trust)?;
        ensure!(report.holds() && report.records == RECORDS, blame("it does not verify"),);
        fs::remove_dir_all(dir)?;
        Ok(interrupted.status)
    }
}

/// A journal with one record and an unfinished write behind it, so that the run begins with a recovery.
fn prepare(dir: &Path) -> Outcome {
    let mut journal = open(dir)?;
    append(&mut journal, &body(0), None)?;
    let segment = journal.paths().dir().join("00000001.jsonl");
    let mut file = fs::OpenOptions::new().append(true).open(segment)?;
    file.write_all(b"{\"b\":{\"n\":1},\"h\":\"5e")?;
    Ok(())
}

/// A directory in memory where there is one: kills and injected errors do not depend on what is below.
fn scratch() -> Result<tempfile::TempDir, std::io::Error> {
    tempfile::tempdir_in("/dev/shm").or_else(|_error| tempfile::tempdir())
}

/// Every file below a directory, without `HEAD`, whose count of writes differs, and without temporary leftovers.
fn files(dir: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>, Box<dyn Error>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(&next)? {
            let path = entry?.path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.file_name() != Some("HEAD".as_ref()) && path.extension() != Some("tmp".as_ref()) {
                found.insert(path.strip_prefix(dir)?.to_owned(), fs::read(&path)?);
            }
        }
    }
    Ok(found)
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Every system call with which the journal touches the disk.
const CALLS: [&str; 15] = [
    "openat",
    "flock",
    "fstat",
    "statx",
    "newfstatat",
    "pread64",
    "getdents64",
    "mkdir",
    "write",
    "pwrite64",
    "ftruncate",
    "fdatasync",
    "fsync",
    "rename",
    "unlink",
];

/// The test runner sets it, and each entry costs a child some system calls that say nothing about the journal.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

const RECORDS: u64 = 5;
const LARGE: u64 = 2;
const CHECKPOINTS: [u64; 2] = [3, 5];
const SEGMENT_BYTES: u64 = 500;
const ATTEMPTS: usize = 4;
const STORM_AT_ONCE: usize = 16;
const FAULTS_AT_ONCE: usize = 4;
