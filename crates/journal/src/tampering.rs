//! Every way to change a journal behind its back, and the index at which each one is found.

mod live;
mod rewritten;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use tripwire_core::record::chain::Digest;
use tripwire_testing::sized;

use super::head::{self, Head, HeadImage};
use super::note::{Checkpoint, Signer};
use super::verify::{Report, Trust, verify};
use super::{
    Append, Batch, DamageCause, Durability, Entry, Journal, JournalError, Options, Place, SessionId, SessionPaths, Tail,
};
use crate::storage::simulated::SimulatedDisk;
use crate::storage::{OpenMode, Storage as _};
use crate::test_disk::TestDisk;
use crate::wall_clock::WallClock;

const RECORDS: usize = 200;

fn paths() -> SessionPaths {
    SessionPaths::new(Path::new("/g"), &SessionId::first(WallClock::from_epoch_ms(0)))
}

fn open(disk: &SimulatedDisk, segment_bytes: u64) -> Result<Journal<SimulatedDisk>, JournalError> {
    let options = Options { segment_bytes, host: "test".into(), ..Options::default() };
    Journal::open(disk.clone(), paths(), options)
}

fn entry(body: String) -> Entry<'static> {
    Entry { body: Cow::Owned(body), durations_ms: BTreeMap::new(), wall_ms: 1_700_000_000_000 }
}

fn append(journal: &mut Journal<SimulatedDisk>, bodies: impl IntoIterator<Item = String>) {
    let batch = Batch { entries: bodies.into_iter().map(entry).collect(), durability: Durability::Synced, after: None };
    assert!(matches!(journal.append(&batch), Ok(Append::Ack(_))));
}

/// A disk with a journal of 200 records in segments of some size.
fn written(segment_bytes: u64) -> SimulatedDisk {
    let disk = SimulatedDisk::new(0);
    let mut journal = open(&disk, segment_bytes).unwrap();
    for index in 0..RECORDS {
        append(&mut journal, [format!("{{\"n\":{index}}}")]);
    }
    disk
}

fn check(disk: &SimulatedDisk) -> Report {
    verify(disk, &paths(), &Trust::default()).unwrap()
}

fn first() -> PathBuf {
    paths().segment(1)
}

fn lines(disk: &SimulatedDisk) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    disk.tamper(&first(), |bytes| {
        lines = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    })
    .unwrap();
    lines
}

fn put(disk: &SimulatedDisk, lines: &[Vec<u8>]) {
    disk.tamper(&first(), |bytes| *bytes = lines.concat()).unwrap();
}

#[test]
fn log_4_an_untouched_journal_verifies() {
    let report = check(&written(u64::MAX));
    assert!(report.holds());
    assert_eq!((report.records, report.segments), (200, 1));
    assert_eq!((report.head, report.torn_bytes), (Some(200), 0));
    let report = check(&written(5_000));
    assert!(report.holds() && report.segments > 5, "{report:?}");
}

/// A journal with every kind of record, and one index of each kind: plain, with durations, with a blob for a body, the
/// first after a torn tail, and the last one.
fn written_of_every_kind(records: usize) -> (SimulatedDisk, [usize; 5]) {
    let disk = SimulatedDisk::new(0);
    let kinds = [0, 1, 2, records / 2, records - 1];
    let mut journal = open(&disk, u64::MAX).unwrap();
    for index in 0..records {
        if index == records / 2 {
            disk.tamper(&first(), |bytes| bytes.extend(b"{\"b\":torn")).unwrap();
            journal = open(&disk, u64::MAX).unwrap();
            assert!(journal.cut().is_some());
        }
        let mut entry = entry(format!("{{\"n\":{index}}}"));
        match index {
            1 => drop(entry.durations_ms.insert("model".into(), 1_234)),
            2 => entry.body = format!("\"{}\"", "y".repeat(70_000)).into(),
            _ => {}
        }
        let batch = Batch { entries: vec![entry], durability: Durability::Synced, after: None };
        assert!(matches!(journal.append(&batch), Ok(Append::Ack(_))));
    }
    (disk, kinds)
}

/// Every byte of one record of each kind, and some bytes of every other one: all of all would be quadratic.
#[test]
fn log_4_every_flipped_byte_is_found_at_its_record() {
    const STRIDE: usize = 37;
    let (disk, kinds) = written_of_every_kind(sized(32, RECORDS));
    let mut start = 0;
    for (index, line) in lines(&disk).into_iter().enumerate() {
        // A prime stride from another place in each record: over the records every place of a line is hit.
        let (from, step) = if kinds.contains(&index) { (0, 1) } else { (index % STRIDE, STRIDE) };
        for position in (start + from..start + line.len()).step_by(step) {
            // Another bit at each place, so that all eight are tried in every kind of place.
            let bit = 1 << (position % 8);
            disk.tamper(&first(), |bytes| bytes[position] ^= bit).unwrap();
            assert_eq!(check(&disk).first_bad_index, Some(index as u64), "byte {position}");
            disk.tamper(&first(), |bytes| bytes[position] ^= bit).unwrap();
        }
        start += line.len();
    }
    assert!(check(&disk).holds());
}

#[test]
fn log_4_every_deleted_record_is_found_at_its_index() {
    let disk = written(u64::MAX);
    let whole = lines(&disk);
    for index in 0..RECORDS {
        let mut fewer = whole.clone();
        fewer.remove(index);
        put(&disk, &fewer);
        assert_eq!(check(&disk).first_bad_index, Some(index as u64));
    }
}

#[test]
fn log_4_every_swapped_pair_is_found_at_its_first_index() {
    let disk = written(u64::MAX);
    let whole = lines(&disk);
    for index in 0..RECORDS {
        for other in [index + 1, (index * 7) % RECORDS, RECORDS - 1] {
            if other <= index || other >= RECORDS {
                continue;
            }
            let mut swapped = whole.clone();
            swapped.swap(index, other);
            put(&disk, &swapped);
            assert_eq!(check(&disk).first_bad_index, Some(index as u64));
        }
    }
}

#[test]
fn log_4_every_inserted_or_doubled_record_is_found() {
    let disk = written(u64::MAX);
    let whole = lines(&disk);
    for index in 0..RECORDS {
        let mut more = whole.clone();
        more.insert(index, whole[index].clone());
        put(&disk, &more);
        let expected = index as u64 + 1;
        let report = check(&disk);
        if index + 1 < RECORDS {
            assert_eq!(report.first_bad_index, Some(expected));
        } else {
            // Bytes behind the last acknowledged record are what a crash leaves too: reported, and cut at the next opening.
            assert!(report.torn_bytes > 0 && report.records == 200);
        }
    }
}

#[test]
fn log_4_truncation_at_every_record_is_found_at_its_index() {
    let disk = written(u64::MAX);
    let whole = lines(&disk);
    for index in 0..RECORDS {
        put(&disk, &whole[..index]);
        let report = check(&disk);
        assert_eq!(report.first_bad_index, Some(index as u64));
        assert_eq!(report.records, index as u64);
        let error = open(&disk, u64::MAX).unwrap_err();
        assert!(matches!(&error, JournalError::Damaged(damage) if damage.index() == index as u64), "{error}");
    }
}

#[test]
fn log_4_opening_refuses_a_flip_in_the_last_record_and_names_it() {
    let disk = written(u64::MAX);
    let length = lines(&disk).concat().len();
    for position in length - lines(&disk)[RECORDS - 1].len()..length {
        disk.tamper(&first(), |bytes| bytes[position] ^= 1).unwrap();
        let error = open(&disk, u64::MAX).unwrap_err();
        assert!(matches!(&error, JournalError::Damaged(damage) if damage.index() == 199), "byte {position}: {error}");
        disk.tamper(&first(), |bytes| bytes[position] ^= 1).unwrap();
    }
    assert!(open(&disk, u64::MAX).is_ok());
}

#[test]
fn log_4_opening_refuses_a_head_that_names_another_record_than_the_one_at_its_place() {
    let disk = written(u64::MAX);
    let path = paths().head();
    let mut image = HeadImage::default();
    let known = head::read(&disk, &disk.lock(&path, Duration::ZERO).unwrap(), &path, &mut image).unwrap().unwrap();
    let tail = known.place.tail;
    for tail in [
        Tail { index: tail.index - 1, ..tail },
        Tail { index: tail.index + 1, ..tail },
        Tail { hash: Digest::of(b"another record"), ..tail },
    ] {
        let forged = Head { sequence: known.sequence + 2, place: Place { tail, ..known.place }, ..known };
        head::write(&disk, &disk.lock(&path, Duration::ZERO).unwrap(), &path, &forged, &mut image).unwrap();
        let error = open(&disk, u64::MAX).unwrap_err();
        assert!(
            matches!(&error, JournalError::Damaged(damage) if matches!(damage.cause(), DamageCause::HeadDisagrees)),
            "{tail:?}: {error}"
        );
    }
}

#[test]
fn a_missing_segment_is_named_with_its_first_record() {
    let disk = written(5_000);
    let segments = check(&disk).segments;
    for number in 1..=segments {
        let disk = written(5_000);
        let mut before = 0;
        for earlier in 1..number {
            disk.tamper(&paths().segment(earlier), |bytes| {
                before += bytes.iter().filter(|byte| **byte == b'\n').count();
            })
            .unwrap();
        }
        disk.remove(&paths().segment(number)).unwrap();
        assert_eq!(check(&disk).first_bad_index, Some(before as u64), "{number}");
        let error = open(&disk, 5_000).unwrap_err();
        assert!(
            matches!(&error, JournalError::Damaged(damage) if damage.index() == before as u64
                && matches!(damage.cause(), DamageCause::SegmentMissing { .. })),
            "{error}"
        );
    }
}

#[test]
fn log_1_an_append_to_a_journal_that_nobody_else_wrote_reads_little_of_it() {
    let disk = written(u64::MAX);
    let mut journal = open(&disk, u64::MAX).unwrap();
    append(&mut journal, ["{}".to_owned()]);
    let before = disk.bytes_read();
    append(&mut journal, ["{}".to_owned()]);
    let alone = disk.bytes_read() - before;
    let mut other = open(&disk, u64::MAX).unwrap();
    append(&mut other, ["{\"n\":1}".to_owned()]);
    let before = disk.bytes_read();
    append(&mut journal, ["{}".to_owned()]);
    let after_another = disk.bytes_read() - before;
    assert!(alone < after_another, "{alone} {after_another}");
}

#[test]
fn log_1_a_segment_that_vanishes_under_an_open_journal_is_named_as_damage() {
    let disk = written(4_096);
    let mut journal = open(&disk, 4_096).unwrap();
    append(&mut journal, ["{}".to_owned()]);
    let last = (1..).take_while(|number| disk.open(&paths().segment(*number), OpenMode::Read).is_ok()).last().unwrap();
    disk.remove(&paths().segment(last)).unwrap();
    let batch = Batch { entries: vec![entry("{}".to_owned())], durability: Durability::Synced, after: None };
    assert!(matches!(journal.append(&batch), Err(JournalError::Damaged(_))), "{:?}", journal.append(&batch));
}

#[test]
fn without_head_a_hole_is_proved_by_the_records_behind_it() {
    let disk = written(u64::MAX);
    let whole = lines(&disk);
    disk.remove(&paths().head()).unwrap();
    for index in 0..RECORDS - 1 {
        let mut holed = whole.clone();
        holed[index][9] ^= 1;
        put(&disk, &holed);
        let error = open(&disk, u64::MAX).unwrap_err();
        assert!(matches!(&error, JournalError::Damaged(damage) if damage.index() == index as u64), "{index}: {error}");
        disk.remove(&paths().head()).unwrap();
    }
}

#[test]
fn a_damaged_or_missing_blob_is_found_at_its_record() {
    let disk = SimulatedDisk::new(0);
    let mut journal = open(&disk, u64::MAX).unwrap();
    let large = format!("\"{}\"", "y".repeat(70_000));
    append(&mut journal, ["1".to_owned(), large.clone(), "2".to_owned()]);
    let page = journal.read(journal.beginning(), 10).unwrap();
    assert_eq!(page.records[1].body, large);
    assert!(check(&disk).holds());
    let digest = Digest::of(large.as_bytes()).to_string();
    let path = paths().blobs().join("sha256").join(&digest[..2]).join(&digest);
    disk.tamper(&path, |bytes| bytes[5] = b'z').unwrap();
    assert_eq!(check(&disk).first_bad_index, Some(1));
    assert!(matches!(journal.read(journal.beginning(), 10), Err(JournalError::Blob { .. })));
    disk.remove(&path).unwrap();
    let report = check(&disk);
    assert_eq!(report.first_bad_index, Some(1));
    assert!(report.cause.unwrap().contains("missing"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sized(100, 400), failure_persistence: None, ..ProptestConfig::default() })]

    /// Any bytes anywhere in any file: nothing panics, and what verifies is what was written.
    #[test]
    fn arbitrary_damage_is_found_or_harmless(
        target in 0_usize..4,
        start in 0_usize..6_000,
        removed in 0_usize..3_000,
        inserted in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let disk = SimulatedDisk::new(0);
        let mut journal = open(&disk, 1_600)?;
        let bodies: Vec<String> = (0..20).map(|index| format!("{{\"n\":{index}}}")).collect();
        for body in &bodies {
            append(&mut journal, [body.clone()]);
        }
        let path = match target {
            0 => paths().head(),
            number => paths().segment(number as u64),
        };
        disk.tamper(&path, |bytes| {
            let start = start.min(bytes.len());
            let end = (start + removed).min(bytes.len());
            bytes.splice(start..end, inserted);
        })?;
        let report = check(&disk);
        let reopened = open(&disk, 1_600);
        if report.holds() {
            prop_assert_eq!(report.records, 20);
            let reopened = reopened?;
            let page = reopened.read(reopened.beginning(), usize::MAX)?;
            let found: Vec<String> = page.records.into_iter().map(|record| record.body).collect();
            prop_assert_eq!(found, bodies);
        }
    }
}
