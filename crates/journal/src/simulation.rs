//! Thousands of seeded machines that lose power, fail and fill up at any moment, against a model that forgets nothing.
//!
//! The rules: what was acknowledged as synced is there after any crash; what was acknowledged as grouped is there unless
//! the power failed; nothing is there that was not appended at that very index; and no crash makes a journal refuse to
//! open. Four deliberately broken journals show that the rules can fail.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::blob::Blobs;
use super::line;
use super::note::Signer;
use super::segment::LineCheck;
use super::verify::{Trust, verify};
use super::{Append, Batch, Durability, Entry, Journal, JournalError, Options, SessionId, SessionPaths};
use crate::storage::simulated::{Faults, Random, SimulatedDisk};
use crate::test_disk::TestDisk;
use crate::wall_clock::WallClock;
use tripwire_testing::sized;

mod mutants;

use mutants::{Mutant, unchecked};

/// What a journal may and must hold.
#[derive(Default)]
struct Model {
    /// Bodies that are durable for ever.
    durable: Vec<String>,
    /// Bodies that every process sees until the power fails.
    visible: Vec<String>,
    /// Every body that was ever tried at an index.
    tried: BTreeMap<usize, BTreeSet<String>>,
    counter: u64,
}

impl Model {
    /// Compares with what a journal holds and takes that as the new truth.
    fn compare(&mut self, found: Vec<String>) -> Result<(), String> {
        if found.get(..self.durable.len()) != Some(&self.durable) {
            return Err(format!(
                "synced records were lost or changed: {} were acknowledged, {} are there",
                self.durable.len(),
                found.len()
            ));
        }
        if found.get(..self.visible.len()) != Some(&self.visible) {
            return Err("grouped records were lost without a power cut".to_owned());
        }
        for (index, body) in found.iter().enumerate().skip(self.visible.len()) {
            if !self.tried.get(&index).is_some_and(|tried| tried.contains(body)) {
                return Err(format!("record {index} was never appended there: {body}"));
            }
        }
        self.visible = found;
        Ok(())
    }

    fn body(&mut self, random: &mut Random) -> String {
        self.counter += 1;
        let filler = "x".repeat(random.below(120));
        format!("{{\"n\":{},\"x\":\"{filler}\"}}", self.counter)
    }
}

/// What happened in a machine's life, so that a run over nothing cannot pass for a test.
#[derive(Debug, Default, Clone, Copy)]
struct Events {
    synced: u64,
    unknown: u64,
    fenced: u64,
    cuts: u64,
    rotations: u64,
    power_cuts: u64,
    checkpoints: u64,
}

impl Events {
    fn add(&mut self, other: &Self) {
        self.synced += other.synced;
        self.unknown += other.unknown;
        self.fenced += other.fenced;
        self.cuts += other.cuts;
        self.rotations += other.rotations;
        self.power_cuts += other.power_cuts;
        self.checkpoints += other.checkpoints;
    }
}

/// One machine's life.
struct Life {
    disk: TestDisk<Mutant>,
    paths: SessionPaths,
    options: Options,
    check: LineCheck,
    random: Random,
    model: Model,
    signer: Option<Signer>,
    witness: PathBuf,
    events: Events,
}

impl Life {
    fn new(seed: u64, mutant: Mutant) -> Self {
        let mut random = Random::new(seed ^ 0x5eed);
        // Signing is slow, so only some machines do it.
        let signer = random.chance(30).then(|| Signer::from_seed("sim", &[3; 32]));
        Self {
            disk: TestDisk { inner: SimulatedDisk::new(seed), change: mutant },
            paths: SessionPaths::new(Path::new("/g"), &SessionId::first(WallClock::from_epoch_ms(0))),
            options: Options { segment_bytes: 1200, ..Options::default() },
            check: match mutant {
                Mutant::ChainUnchecked => unchecked,
                Mutant::None | Mutant::SyncRemoved | Mutant::CutTooMuch | Mutant::SyncRetried => line::check,
            },
            random,
            model: Model::default(),
            signer,
            witness: PathBuf::from("/outside/witness.note"),
            events: Events::default(),
        }
    }

    fn live(&mut self) -> Result<(), String> {
        let boots = 2 + self.random.below(3);
        for _ in 0..boots {
            let faults = Faults {
                power_cut_after: self.random.chance(800).then_some(self.random.bits() % 120),
                error_per_mille: if self.random.chance(400) { 12 } else { 0 },
                full_per_mille: if self.random.chance(300) { 40 } else { 0 },
            };
            self.disk.inner.set_faults(faults);
            self.boot()?;
            self.events.power_cuts += u64::from(self.disk.inner.is_off());
            self.disk.inner.reboot();
            self.model.visible.clone_from(&self.model.durable);
        }
        self.check_at_the_end()
    }

    /// One time between two power cuts: processes come, append, fail and come again.
    fn boot(&mut self) -> Result<(), String> {
        for _ in 0..4 {
            let Some(mut journal) = self.open()? else {
                if self.disk.inner.is_off() {
                    return Ok(());
                }
                continue;
            };
            let Some(found) = self.bodies(&journal)? else {
                continue;
            };
            self.model.compare(found)?;
            self.events.cuts += u64::from(journal.cut().is_some());
            // A second process on the same session, so that views go stale.
            let mut other = if self.random.chance(300) { self.open()? } else { None };
            for _ in 0..self.random.below(6) {
                let writer = match &mut other {
                    Some(other) if self.random.chance(500) => other,
                    Some(_) | None => &mut journal,
                };
                if !step(&mut self.model, &mut self.random, &mut self.events, writer)? {
                    break;
                }
            }
            if let Some(signer) = &self.signer
                && let Ok(mut turn) = journal.turn()
            {
                match turn.checkpoint(signer, Some(&self.witness)) {
                    Ok(_checkpoint) => {
                        self.events.checkpoints += 1;
                        self.model.durable.clone_from(&self.model.visible);
                    }
                    Err(JournalError::Io { .. } | JournalError::Poisoned) => {}
                    Err(error) => return Err(format!("no checkpoint: {error}")),
                }
            }
            if self.disk.inner.is_off() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn open(&self) -> Result<Option<Journal<TestDisk<Mutant>>>, String> {
        let opened = Journal::open_checked_by(self.disk.clone(), self.paths.clone(), self.options.clone(), self.check);
        match opened {
            Ok(journal) => Ok(Some(journal)),
            Err(JournalError::Io { .. }) => Ok(None),
            Err(error) => Err(format!("the journal does not open: {error}")),
        }
    }

    fn bodies(&self, journal: &Journal<TestDisk<Mutant>>) -> Result<Option<Vec<String>>, String> {
        match journal.read(journal.beginning(), usize::MAX) {
            Ok(page) => Ok(Some(page.records.into_iter().map(|record| record.body).collect())),
            Err(JournalError::Io { .. }) => Ok(None),
            Err(error) => Err(format!("the journal cannot be read: {error}")),
        }
    }

    /// After the last reboot nothing fails any more: now everything must hold, and verification must agree.
    fn check_at_the_end(&mut self) -> Result<(), String> {
        let journal = self.open()?.ok_or("the journal does not open after the last reboot")?;
        let found = self.bodies(&journal)?.ok_or("unreadable after the last reboot")?;
        let count = found.len();
        self.model.compare(found)?;
        let trust = Trust { verifier: self.signer.as_ref().map(Signer::verifier), witness: Some(self.witness.clone()) };
        let report = verify(&self.disk, &self.paths, &trust).map_err(|error| error.to_string())?;
        if !report.holds() || report.records != count as u64 || report.torn_bytes != 0 {
            return Err(format!("verification disagrees: {report:?}"));
        }
        Ok(())
    }
}

/// One append by one process; says whether the process can go on.
fn step(
    model: &mut Model,
    random: &mut Random,
    events: &mut Events,
    writer: &mut Journal<TestDisk<Mutant>>,
) -> Result<bool, String> {
    let durability = if random.chance(600) { Durability::Synced } else { Durability::Grouped };
    let bodies: Vec<String> = (0..=random.below(3)).map(|_| model.body(random)).collect();
    let expected = model.visible.len();
    let after = match random.below(4) {
        0 => Some(expected as u64),
        1 => Some(expected as u64 + 1),
        _other => None,
    };
    let batch = Batch {
        entries: bodies
            .iter()
            .map(|body| Entry { body: Cow::Borrowed(body), durations_ms: BTreeMap::new(), wall_ms: 7 })
            .collect(),
        durability,
        after,
    };
    for (index, body) in (expected..).zip(&bodies) {
        model.tried.entry(index).or_default().insert(body.clone());
    }
    match writer.append(&batch) {
        Ok(Append::Ack(ack)) => {
            if ack.first != expected as u64 || ack.place.records() != (expected + bodies.len()) as u64 {
                return Err(format!("acknowledged at {} instead of {expected}", ack.first));
            }
            if after.is_some_and(|after| after != expected as u64) {
                return Err("a fence was ignored".to_owned());
            }
            model.visible.extend(bodies);
            events.rotations += u64::from(ack.place.segment > 1);
            if durability == Durability::Synced {
                events.synced += 1;
                model.durable.clone_from(&model.visible);
            }
            Ok(true)
        }
        Ok(Append::Fenced(_)) if after == Some(expected as u64) => {
            Err("fenced although no other process wrote".to_owned())
        }
        Ok(Append::Fenced(_)) => {
            events.fenced += 1;
            Ok(true)
        }
        Ok(Append::Unknown(_)) | Err(JournalError::Io { .. } | JournalError::Poisoned) => {
            events.unknown += 1;
            Ok(false)
        }
        Err(error) => Err(format!("an append is refused: {error}")),
    }
}

fn run(seed: u64, mutant: Mutant) -> Result<Events, String> {
    let mut life = Life::new(seed, mutant);
    life.live().map(|()| life.events)
}

#[test]
fn log_1_no_crash_loses_an_acknowledged_record_or_recovers_wrongly() {
    let seeds: u64 = sized(400, 20_000);
    let worker = |first: u64| {
        let mut events = Events::default();
        for seed in (first..seeds).step_by(WORKERS) {
            match run(seed, Mutant::None) {
                Ok(more) => events.add(&more),
                Err(violation) => panic!("seed {seed}: {violation}"),
            }
        }
        events
    };
    let events = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS as u64).map(|first| scope.spawn(move || worker(first))).collect();
        let mut sum = Events::default();
        for worker in workers {
            sum.add(&worker.join().unwrap());
        }
        sum
    });
    report(&format!("{seeds} seeds: {events:?}"));
    assert!(events.synced > 10 * seeds / 4, "too few synced appends: {events:?}");
    assert!(events.power_cuts > seeds, "too few power cuts: {events:?}");
    assert!(events.cuts > seeds / 10, "too few torn tails: {events:?}");
    assert!(events.rotations > seeds / 10, "too few rotations: {events:?}");
    assert!(events.unknown > seeds / 2, "too few failures: {events:?}");
    assert!(events.fenced > seeds / 10, "too few fences: {events:?}");
    assert!(events.checkpoints > seeds / 100, "too few checkpoints: {events:?}");
}

/// A blob that was stored is there after any crash, and a name never leads to other bytes.
#[test]
fn mem_1_no_crash_loses_a_stored_blob_or_changes_it() {
    let mut stored_in_all: u64 = 0;
    let disks = sized(100, 2_000);
    for seed in 0..disks {
        let disk = SimulatedDisk::new(seed);
        let mut random = Random::new(seed);
        let blobs = Blobs::new(disk.clone(), PathBuf::from("/g/blobs"));
        let mut stored = Vec::new();
        for _ in 0..3 {
            disk.set_faults(Faults {
                power_cut_after: Some(random.bits() % 60),
                error_per_mille: 10,
                full_per_mille: 20,
            });
            while !disk.is_off() {
                let bytes = vec![u8::try_from(random.below(4)).unwrap(); 1 + random.below(200)];
                if let Ok(pointer) = blobs.put(&bytes) {
                    stored.push((pointer, bytes));
                }
            }
            disk.reboot();
            for (pointer, bytes) in &stored {
                let found = blobs.get(pointer);
                assert!(found.is_ok_and(|found| found == *bytes), "seed {seed}");
            }
        }
        stored_in_all += u64::try_from(stored.len()).unwrap();
    }
    assert!(stored_in_all > 2 * disks, "only {stored_in_all} blobs were stored");
}

/// The seed at which a mutant is caught.
fn caught(mutant: Mutant) -> Option<u64> {
    (0..MUTANT_SEEDS).find(|seed| match run(*seed, mutant) {
        Ok(_events) => false,
        Err(violation) => {
            report(&format!("{mutant:?} is caught by seed {seed}: {violation}"));
            true
        }
    })
}

#[test]
fn a_journal_without_sync_is_caught() {
    assert!(caught(Mutant::SyncRemoved).is_some());
}

#[test]
fn a_recovery_that_cuts_too_much_is_caught() {
    assert!(caught(Mutant::CutTooMuch).is_some());
}

#[test]
fn a_recovery_that_does_not_check_the_chain_is_caught() {
    assert!(caught(Mutant::ChainUnchecked).is_some());
}

#[test]
fn a_sync_that_is_tried_again_is_caught() {
    assert!(caught(Mutant::SyncRetried).is_some());
}

#[expect(clippy::print_stdout, reason = "a person who asks with --nocapture wants to see figures")]
fn report(text: &str) {
    println!("{text}");
}

const WORKERS: usize = 2;
const MUTANT_SEEDS: u64 = 2_000;
