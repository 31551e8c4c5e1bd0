//! What the journal costs on this machine's disk: appends, opening a long journal, verifying it.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use tripwire_journal::note::Signer;
use tripwire_journal::storage::Disk;
use tripwire_journal::verify::{Trust, verify};
use tripwire_journal::wall_clock::WallClock;
use tripwire_journal::{Append, Batch, Durability, Entry, Journal, JournalError, Options, SessionId, SessionPaths};

fn main() -> Result<(), Box<dyn Error>> {
    let temp = tempfile::tempdir()?;
    let body = format!("{{\"filler\":\"{}\",\"n\":1}}", "x".repeat(370));
    let mut journal = open(temp.path(), SMALL)?;
    let mut synced = Vec::new();
    for _ in 0..SYNCED {
        synced.push(timed(|| append(&mut journal, &body, 2, Durability::Synced))?);
    }
    print("append of input and decision, synced", &mut synced);
    let mut grouped = Vec::new();
    for _ in 0..GROUPED {
        grouped.push(timed(|| append(&mut journal, &body, 1, Durability::Grouped))?);
    }
    print("append of one record, grouped", &mut grouped);
    let mut opened = Vec::new();
    for _ in 0..SYNCED {
        opened.push(timed(|| {
            let mut journal = open(temp.path(), SMALL)?;
            append(&mut journal, &body, 2, Durability::Synced)
        })?);
    }
    print("open and append, synced (a hook)", &mut opened);

    let mut long = open(temp.path(), LONG_SESSION)?;
    let start = Instant::now();
    while long.records() < LONG {
        append(&mut long, &body, BATCH, Durability::Grouped)?;
    }
    let rate = u128::from(LONG) * 1_000_000 / start.elapsed().as_micros().max(1);
    println!("{LONG} records written in batches of {BATCH}: {rate} records/s");
    let signer = Signer::from_seed("bench", &[1; 32]);
    let first = timed(|| long.turn()?.checkpoint(&signer, None).map(|_checkpoint| ()))?;
    println!("first checkpoint over {LONG} records: {} ms", first.as_millis());
    append(&mut long, &body, 100, Durability::Grouped)?;
    let next = timed(|| long.turn()?.checkpoint(&signer, None).map(|_checkpoint| ()))?;
    println!("next checkpoint, 100 records later: {} us", next.as_micros());
    let mut reopened = Vec::new();
    for _ in 0..100 {
        reopened.push(timed(|| open(temp.path(), LONG_SESSION).map(|_journal| ()))?);
    }
    print("opening it", &mut reopened);
    std::fs::remove_file(long.paths().dir().join("HEAD"))?;
    let without = timed(|| open(temp.path(), LONG_SESSION).map(|_journal| ()))?;
    println!("opening it without HEAD: {} us", without.as_micros());
    let start = Instant::now();
    let report = verify(&Disk, long.paths(), &Trust::default())?;
    println!(
        "verifying {} records, {} MB: {} ms, holds: {}",
        report.records,
        report.bytes / 1_000_000,
        start.elapsed().as_millis(),
        report.holds()
    );
    Ok(())
}

fn open(dir: &Path, session: u32) -> Result<Journal<Disk>, JournalError> {
    let session = SessionId::nth(WallClock::from_epoch_ms(0), session);
    Journal::open(Disk, SessionPaths::new(dir, &session), Options::default())
}

fn append(journal: &mut Journal<Disk>, body: &str, count: usize, durability: Durability) -> Result<(), JournalError> {
    let entry = Entry { body: Cow::Borrowed(body), durations_ms: BTreeMap::new(), wall_ms: 1_700_000_000_000 };
    let batch = Batch { entries: vec![entry; count], durability, after: None };
    match journal.append(&batch)? {
        Append::Ack(_) => Ok(()),
        Append::Unknown(error) => Err(error),
        Append::Fenced(_) => Err(JournalError::Poisoned),
    }
}

fn timed(step: impl FnOnce() -> Result<(), JournalError>) -> Result<Duration, JournalError> {
    let start = Instant::now();
    step()?;
    Ok(start.elapsed())
}

fn print(name: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |per_cent: usize| times[(times.len() * per_cent / 100).min(times.len() - 1)].as_micros();
    println!("{name}: p50 {} us, p99 {} us ({} times)", at(50), at(99), times.len());
}

const SYNCED: usize = 500;
const GROUPED: usize = 20_000;
const LONG: u64 = 1_000_000;
const BATCH: usize = 1_000;

/// The numbers of the two sessions.
const SMALL: u32 = 1;
const LONG_SESSION: u32 = 2;
