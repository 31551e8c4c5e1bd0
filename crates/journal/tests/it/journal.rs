//! The journal's promises through its public interface, on a real disk.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::time::{Duration, Instant};
use tripwire_core::explain::Explain as _;

use tripwire_journal::keys::KeyHome;
use tripwire_journal::storage::simulated::SimulatedDisk;
use tripwire_journal::storage::{Disk, Storage as _};
use tripwire_journal::verify::{Trust, verify};
use tripwire_journal::wall_clock::WallClock;
use tripwire_journal::{
    Append, Batch, Durability, Entry, Fenced, Journal, JournalError, Options, SessionId, SessionPaths,
};

use tripwire_testing::sized;

pub(crate) type Outcome = Result<(), Box<dyn std::error::Error>>;

pub(crate) fn options() -> Options {
    Options { host: "test".into(), segment_bytes: 2_000, lock_wait: Duration::from_millis(300) }
}

fn session() -> SessionId {
    SessionId::first(WallClock::from_epoch_ms(0))
}

pub(crate) fn open(geometry: &Path) -> Result<Journal<Disk>, JournalError> {
    Journal::open(Disk, SessionPaths::new(geometry, &session()), options())
}

fn batch<'body>(bodies: &[&'body str], durability: Durability) -> Batch<'body> {
    Batch {
        entries: bodies
            .iter()
            .map(|body| Entry { body: Cow::Borrowed(*body), durations_ms: BTreeMap::new(), wall_ms: 5 })
            .collect(),
        durability,
        after: None,
    }
}

pub(crate) fn bodies(journal: &Journal<Disk>) -> Result<Vec<String>, JournalError> {
    let page = journal.read(journal.beginning(), usize::MAX)?;
    Ok(page.records.into_iter().map(|record| record.body).collect())
}

/// Appends and insists on the acknowledgement.
pub(crate) fn put(journal: &mut Journal<Disk>, bodies: &[&str], durability: Durability) {
    let outcome = journal.append(&batch(bodies, durability));
    assert!(matches!(outcome, Ok(Append::Ack(_))), "{outcome:?}");
}

#[test]
fn log_1_records_come_back_after_reopening_and_across_segments() -> Outcome {
    let temp = tempfile::tempdir()?;
    let mut journal = open(temp.path())?;
    let mut expected = Vec::new();
    for index in 0..50 {
        let body = format!("{{\"n\":{index}}}");
        put(&mut journal, &[&body], Durability::Grouped);
        expected.push(body);
    }
    put(&mut journal, &["true", "null"], Durability::Synced);
    expected.extend(["true".to_owned(), "null".to_owned()]);
    assert_eq!(journal.synced(), 52);
    assert_eq!(bodies(&journal)?, expected);
    let again = open(temp.path())?;
    assert_eq!(again.records(), 52);
    assert_eq!(bodies(&again)?, expected);
    let files = Disk.list(again.paths().dir())?;
    assert!(files.len() > 4, "there are several segments: {files:?}");
    let report = verify(&Disk, again.paths(), &Trust::default())?;
    assert!(report.holds() && report.records == 52);
    Ok(())
}

#[test]
fn the_name_of_the_host_is_stored_plain_and_short() -> Outcome {
    let temp = tempfile::tempdir()?;
    let options = Options { host: format!("a\nb\u{1b}[31m\"{}", "x".repeat(100)), ..options() };
    let mut journal = Journal::open(Disk, SessionPaths::new(temp.path(), &session()), options)?;
    put(&mut journal, &["true"], Durability::Synced);
    let page = journal.read(journal.beginning(), 1)?;
    assert_eq!(page.records[0].times.host, format!("ab[31m{}", "x".repeat(58)));
    Ok(())
}

#[test]
fn no_option_makes_a_segment_that_could_not_be_read_back() -> Outcome {
    let temp = tempfile::tempdir()?;
    let options = Options { segment_bytes: u64::MAX, ..options() };
    let mut journal = Journal::open(Disk, SessionPaths::new(temp.path(), &session()), options)?;
    let body = format!("\"{}\"", "x".repeat(60_000));
    for _ in 0..150 {
        put(&mut journal, &[&body], Durability::Grouped);
    }
    let segments = Disk.list(journal.paths().dir())?.into_iter().filter(|name| name.ends_with(".jsonl")).count();
    assert_eq!(segments, 2, "nine megabytes do not fit one segment");
    Ok(())
}

#[test]
fn any_index_is_found_and_read_from() -> Outcome {
    let temp = tempfile::tempdir()?;
    let mut journal = open(temp.path())?;
    for index in 0..60 {
        put(&mut journal, &[&index.to_string()], Durability::Grouped);
    }
    for index in 0..60 {
        let place = journal.find(index)?;
        assert_eq!(place.records(), index);
        let page = journal.read(place, 2)?;
        assert_eq!(page.records[0].index, index);
        assert_eq!(page.records[0].body, index.to_string());
        assert_eq!(page.records.len(), if index == 59 { 1 } else { 2 });
        assert_eq!(page.next.records(), (index + 2).min(60));
    }
    assert_eq!(journal.find(1000)?, journal.place());
    Ok(())
}

#[test]
fn log_1_a_torn_tail_is_cut_reported_and_recorded_by_the_next_entry() -> Outcome {
    let temp = tempfile::tempdir()?;
    let mut journal = open(temp.path())?;
    put(&mut journal, &["1", "2"], Durability::Synced);
    let segment = journal.paths().dir().join("00000001.jsonl");
    let whole = fs::read(&segment)?;
    let mut torn = whole.clone();
    torn.extend(b"{\"b\":3,\"h\":\"0123");
    fs::write(&segment, &torn)?;

    let report = verify(&Disk, journal.paths(), &Trust::default())?;
    assert!(report.holds() && report.torn_bytes == 16, "{report:?}");

    let mut journal = open(temp.path())?;
    assert_eq!(fs::read(&segment)?, whole);
    assert_eq!(journal.cut().map(|cut| cut.bytes), Some(16));
    // Who opens next, before any record says so, still knows.
    assert_eq!(open(temp.path())?.cut(), journal.cut());
    put(&mut journal, &["3", "4"], Durability::Grouped);
    let page = journal.read(journal.find(2)?, 9)?;
    assert_eq!(page.records[0].times.cut.map(|cut| cut.bytes), Some(16));
    assert_eq!(page.records[1].times.cut, None);
    assert_eq!(open(temp.path())?.cut(), None);
    Ok(())
}

#[test]
fn several_handles_see_each_others_records_and_never_fork() -> Outcome {
    let temp = tempfile::tempdir()?;
    let mut handles = Vec::new();
    for _ in 0..4 {
        handles.push(open(temp.path())?);
    }
    for round in 0..40 {
        let durability = if round % 3 == 0 { Durability::Synced } else { Durability::Grouped };
        put(&mut handles[round % 4], &[&round.to_string()], durability);
    }
    let expected: Vec<String> = (0..40).map(|round| round.to_string()).collect();
    assert_eq!(bodies(&open(temp.path())?)?, expected);
    Ok(())
}

#[test]
fn a_writer_that_decided_on_an_older_state_is_fenced() -> Outcome {
    let temp = tempfile::tempdir()?;
    let (mut first, mut second) = (open(temp.path())?, open(temp.path())?);
    put(&mut first, &["1"], Durability::Synced);
    let mut late = batch(&["2"], Durability::Synced);
    late.after = Some(0);
    let fenced = second.append(&late);
    assert!(matches!(fenced, Ok(Append::Fenced(Fenced { expected: 0, found: 1 }))));
    late.after = Some(1);
    assert!(matches!(second.append(&late), Ok(Append::Ack(_))));
    assert_eq!(bodies(&second)?, ["1", "2"]);
    Ok(())
}

#[test]
fn a_turn_reads_and_appends_with_nobody_between() -> Outcome {
    let temp = tempfile::tempdir()?;
    let (mut first, mut second) = (open(temp.path())?, open(temp.path())?);
    let mut turn = first.turn()?;
    assert!(matches!(second.append(&batch(&["2"], Durability::Grouped)), Err(JournalError::Locked { .. })));
    let outcome = turn.append(&batch(&["1"], Durability::Grouped));
    assert!(matches!(outcome, Ok(Append::Ack(_))));
    assert_eq!(turn.records(), 1);
    drop(turn);
    // A lock that was taken is no I/O error: the handle lives on.
    put(&mut second, &["2"], Durability::Grouped);
    assert_eq!(bodies(&second)?, ["1", "2"]);
    Ok(())
}

#[test]
fn unacceptable_entries_are_refused_and_nothing_is_written() -> Outcome {
    let temp = tempfile::tempdir()?;
    let mut journal = open(temp.path())?;
    for body in ["", "{", "1 2", "{\"a\":\n1}", "\"\u{1}\"", "{\"$blob\":1}"] {
        let refused = journal.append(&batch(&["1", body], Durability::Synced));
        assert!(matches!(refused, Err(JournalError::Entry { position: 1, .. })), "`{body}`");
    }
    let mut named = batch(&["1"], Durability::Synced);
    named.entries[0].durations_ms.insert("a b".into(), 1);
    assert!(journal.append(&named).is_err());
    assert_eq!(journal.records(), 0);
    put(&mut journal, &["1"], Durability::Synced);
    Ok(())
}

#[test]
fn symbolic_links_in_the_session_are_refused() -> Outcome {
    let temp = tempfile::tempdir()?;
    let outside = temp.path().join("outside");
    fs::write(&outside, "precious")?;
    let geometry = temp.path().join("geometry");
    let dir = geometry.join("journal").join(session().as_str());
    fs::create_dir_all(&dir)?;
    symlink(&outside, dir.join("HEAD"))?;
    assert!(matches!(open(&geometry), Err(JournalError::Io { .. })));
    fs::remove_file(dir.join("HEAD"))?;
    symlink(&outside, dir.join("00000001.jsonl"))?;
    assert!(matches!(open(&geometry), Err(JournalError::Io { .. })));
    fs::remove_dir_all(&dir)?;
    symlink(temp.path(), &dir)?;
    assert!(matches!(open(&geometry), Err(JournalError::Io { .. })));
    assert_eq!(fs::read(&outside)?, b"precious");
    Ok(())
}

#[test]
fn the_files_are_nobody_elses_business() -> Outcome {
    let temp = tempfile::tempdir()?;
    let geometry = temp.path().join("geometry");
    let mut journal = open(&geometry)?;
    let large = format!("\"{}\"", "z".repeat(70_000));
    put(&mut journal, &[&large], Durability::Synced);
    let mut waiting = vec![geometry];
    let mut seen = 0;
    while let Some(path) = waiting.pop() {
        let found = fs::metadata(&path)?;
        assert_eq!(found.mode() & 0o077, 0, "{}", path.display());
        seen += 1;
        if found.is_dir() {
            for entry in fs::read_dir(&path)? {
                waiting.push(entry?.path());
            }
        }
    }
    assert!(seen >= 8, "{seen} files and directories");
    Ok(())
}

#[test]
fn errors_name_the_index_the_cause_and_the_next_command() -> Outcome {
    let temp = tempfile::tempdir()?;
    let mut journal = open(temp.path())?;
    put(&mut journal, &["1", "2", "3"], Durability::Synced);
    let segment = journal.paths().dir().join("00000001.jsonl");
    let text = fs::read_to_string(&segment)?;
    fs::write(&segment, text.replace("{\"b\":2,", "{\"b\":7,"))?;
    let report = verify(&Disk, journal.paths(), &Trust::default())?;
    assert_eq!(report.first_bad_index, Some(1));
    assert_eq!(report.cause.as_deref(), Some("the hash does not match the record"));
    fs::write(&segment, text.replace("{\"b\":3,", "{\"b\":7,"))?;
    let error = open(temp.path()).err().ok_or("damage must be refused")?;
    assert_eq!(error.to_string(), "the journal is damaged at record 2: the record is not the one that `HEAD` names");
    assert!(error.hint().contains("`tripwire verify`"));
    Ok(())
}

#[test]
fn log_1_the_lines_are_plain_json_for_other_tools() -> Outcome {
    let temp = tempfile::tempdir()?;
    let mut journal = open(temp.path())?;
    put(&mut journal, &["{\"a\":[1,\"x\"]}"], Durability::Synced);
    let text = fs::read_to_string(journal.paths().dir().join("00000001.jsonl"))?;
    let value: serde_json::Value = serde_json::from_str(text.trim_end())?;
    assert_eq!(value["b"]["a"][1], "x");
    assert_eq!(value["i"], 0);
    assert_eq!(value["t"]["host"], "test");
    assert_eq!(value["t"]["wall_ms"], 5);
    Ok(())
}

#[test]
fn large_bodies_become_blobs_and_come_back_whole() -> Outcome {
    let temp = tempfile::tempdir()?;
    let mut journal = open(temp.path())?;
    let large = format!("\"{}\"", "z".repeat(100_000));
    let limit = format!("\"{}\"", "z".repeat(65_534));
    put(&mut journal, &[&large, &limit], Durability::Synced);
    assert_eq!(bodies(&open(temp.path())?)?, [large, limit]);
    let size = fs::metadata(journal.paths().dir().join("00000001.jsonl"))?.len();
    assert!(size < 67_000, "only the second body is in the line: {size}");
    Ok(())
}

#[test]
fn the_chain_is_the_same_whatever_the_clock_and_the_machine_say() -> Outcome {
    let (one, two) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let mut first = open(one.path())?;
    let elsewhere = Options { host: "elsewhere".into(), ..Options::default() };
    let mut second =
        Journal::open(Disk, SessionPaths::new(two.path(), &SessionId::nth(WallClock::from_epoch_ms(0), 2)), elsewhere)?;
    let mut late = batch(&["1", "2"], Durability::Synced);
    put(&mut first, &["1", "2"], Durability::Synced);
    for entry in &mut late.entries {
        entry.wall_ms = 99;
        entry.durations_ms.insert("model".into(), 1234);
    }
    assert!(matches!(second.append(&late), Ok(Append::Ack(_))));
    assert_eq!(first.place().records(), second.place().records());
    let hash =
        |journal: &Journal<Disk>| -> Result<_, JournalError> { Ok(journal.read(journal.find(1)?, 1)?.records[0].hash) };
    assert_eq!(hash(&first)?, hash(&second)?);
    Ok(())
}

#[test]
fn log_4_a_journal_that_was_made_anew_is_found_by_the_persons_key() -> Outcome {
    let temp = tempfile::tempdir()?;
    let workspace = temp.path().join("workspace");
    let geometry = workspace.join("geometry");
    fs::create_dir_all(&geometry)?;
    let home = KeyHome::at(temp.path().join("state"));
    let mut journal = open(&geometry)?;
    let paths = journal.paths().clone();
    let signer = home.signer(&workspace)?;
    for index in 0..30 {
        put(&mut journal, &[&index.to_string()], Durability::Grouped);
        if index == 9 || index == 29 {
            let mut turn = journal.turn()?;
            let checkpoint = turn.checkpoint(&signer, Some(&home.witness(&paths)))?;
            assert_eq!(checkpoint.size, index + 1);
        }
    }
    let report = verify(&Disk, &paths, &home.trust(&paths)?)?;
    assert!(report.holds(), "{report:?}");
    assert_eq!((report.checkpoints_trusted, report.covered), (3, 30));

    // Everything in the agent's reach is removed and written again, shorter and valid in itself.
    fs::remove_dir_all(paths.dir())?;
    let mut forged = open(&geometry)?;
    for index in 0..20 {
        put(&mut forged, &[&index.to_string()], Durability::Synced);
    }
    let naive = verify(&Disk, &paths, &Trust::default())?;
    assert!(naive.holds(), "nothing else could know");
    let report = verify(&Disk, &paths, &home.trust(&paths)?)?;
    assert_eq!(report.first_bad_index, Some(20), "{report:?}");
    Ok(())
}

#[test]
fn looking_at_a_session_that_is_not_there_creates_nothing() -> Outcome {
    let temp = tempfile::tempdir()?;
    let geometry = temp.path().join("geometry");
    let paths = SessionPaths::new(&geometry, &session());
    let missing = Journal::open_existing(Disk, paths.clone(), options());
    assert!(matches!(missing, Err(JournalError::NoSession(name)) if name == session().as_str()));
    assert!(!geometry.exists());
    put(&mut open(&geometry)?, &["1"], Durability::Synced);
    let found = Journal::open_existing(Disk, paths, options())?;
    assert_eq!(found.records(), 1);
    Ok(())
}

/// Opening reads `HEAD` and the record that it names, however long the journal is.
#[test]
fn opening_does_not_read_the_journal() -> Outcome {
    let disk = SimulatedDisk::new(1);
    let paths = SessionPaths::new(Path::new("/g"), &session());
    let options = Options { segment_bytes: 100_000, ..Options::default() };
    let mut writer = Journal::open(disk.clone(), paths.clone(), options.clone())?;
    let mut costs = Vec::new();
    for _ in 0..3 {
        for _ in 0..20 {
            let outcome = writer.append(&batch(&["{\"n\":1}"; 100], Durability::Synced));
            assert!(matches!(outcome, Ok(Append::Ack(_))));
        }
        let before = disk.bytes_read();
        let opened = Journal::open(disk.clone(), paths.clone(), options.clone())?;
        assert_eq!(opened.records(), writer.records());
        costs.push(disk.bytes_read() - before);
    }
    assert!(costs.iter().all(|cost| *cost < 2_000), "bytes read: {costs:?}");
    // Without `HEAD` it is one segment.
    disk.remove(&paths.dir().join("HEAD"))?;
    let before = disk.bytes_read();
    Journal::open(disk.clone(), paths, options)?;
    assert!(disk.bytes_read() - before < 300_000);
    Ok(())
}

#[test]
fn a_long_journal_opens_in_far_less_than_fifty_milliseconds() -> Outcome {
    let temp = tempfile::tempdir()?;
    let paths = SessionPaths::new(temp.path(), &session());
    let mut writer = Journal::open(Disk, paths.clone(), Options::default())?;
    let records = sized(100_000, 1_000_000);
    while writer.records() < records {
        let outcome = writer.append(&batch(&["{}"; 1_000], Durability::Grouped));
        assert!(matches!(outcome, Ok(Append::Ack(_))));
    }
    put(&mut writer, &["{}"], Durability::Synced);
    // The best of a few, because the machine may be busy and only the journal's own time is the question.
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        let opened = Journal::open(Disk, paths.clone(), Options::default())?;
        best = best.min(start.elapsed());
        assert_eq!(opened.records(), records + 1);
    }
    assert!(best < Duration::from_millis(50), "{best:?}");
    Ok(())
}
