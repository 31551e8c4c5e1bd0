//! What several processes, crashes and other machines do to one session, on a real disk.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use tripwire_authority::identity::Configuration;
use tripwire_core::chain::event::{AgentEvent, Flag, Flags};
use tripwire_core::decision::FindingKind;
use tripwire_core::input::{HumanAct, What};
use tripwire_core::label::Label;
use tripwire_journal::bundle;
use tripwire_journal::keys::KeyHome;
use tripwire_journal::storage::Disk;
use tripwire_journal::verify::{Trust, verify};
use tripwire_journal::{Append, Batch, Durability, Entry, Journal, Options, SessionPaths};
use tripwire_session::driver::{Driver, Signing, open_existing};
use tripwire_session::replay;
use tripwire_workspace::account;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::wall_clock::WallClock;

struct Place {
    folder: tempfile::TempDir,
    layout: Layout,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::at(&folder.path().join("work/.geometry"));
    fs::create_dir_all(layout.folder()).unwrap();
    Place { folder, layout }
}

fn at(seconds: u64) -> WallClock {
    WallClock::from_epoch_ms(1_790_000_000_000 + seconds * 1_000)
}

fn overrides(taken: &tripwire_session::driver::StepOutcome) -> usize {
    let decisions = taken.before.iter().chain([&taken.decision]);
    decisions.flat_map(|decision| &decision.findings).filter(|found| found.kind == FindingKind::ManualOverride).count()
}

#[test]
fn ctrl_1_what_another_process_wrote_into_the_manifest_is_not_taken_for_a_persons_edit() {
    let place = place();
    let mut one = Driver::begin(&place.layout, at(0), |_| Ok(())).unwrap();
    let mut two = Driver::resume(&place.layout, one.session()).unwrap();
    for n in 1..=3 {
        assert_eq!(overrides(&two.take(What::IterationStarted, at(n)).unwrap()), 0);
    }
    assert!(fs::read_to_string(place.layout.manifest()).unwrap().contains("iteration_count: 3"));
    assert_eq!(overrides(&one.take(What::Tick, at(4)).unwrap()), 0, "the counter was our own write");
    assert_eq!(one.view().iterations.get(), 3);
    // A real edit still counts, whoever sees it first, and once.
    let text = fs::read_to_string(place.layout.manifest()).unwrap().replace("iteration_count: 3", "iteration_count: 1");
    fs::write(place.layout.manifest(), text).unwrap();
    assert_eq!(overrides(&two.take(What::Tick, at(5)).unwrap()), 1);
    assert_eq!(overrides(&one.take(What::Tick, at(6)).unwrap()), 0);
    assert_eq!((one.view().iterations.get(), two.view().iterations.get()), (1, 1));
}

#[test]
fn ctrl_1_what_another_session_shows_in_the_manifest_is_nobodys_edit_and_is_not_corrected_for_ever() {
    let place = place();
    let mut one = Driver::begin(&place.layout, at(0), |_| Ok(())).unwrap();
    let mut two = Driver::begin(&place.layout, at(1), |_| Ok(())).unwrap();
    two.take(What::Tick, at(2)).unwrap();
    let edit = AgentEvent { flags: Flags::default().with(Flag::Edit), ..AgentEvent::default() };
    one.take(What::Event(edit), at(3)).unwrap();
    let shown = || fs::read_to_string(place.layout.manifest()).unwrap();
    assert!(shown().contains("code_modified: true"), "{}", shown());
    assert_eq!(overrides(&two.take(What::Tick, at(4)).unwrap()), 0, "the bit is the other session's");
    assert_eq!(two.view().dirty_bits.code_modified, Some(false));
    let before = shown();
    for n in 5..10 {
        assert_eq!(overrides(&one.take(What::Tick, at(n)).unwrap()), 0);
        assert_eq!(overrides(&two.take(What::Tick, at(n)).unwrap()), 0);
    }
    assert_eq!(shown(), before, "nobody has anything new to show");
    // What a person writes counts still.
    fs::write(place.layout.manifest(), before.replace("iteration_count: 0", "iteration_count: 4")).unwrap();
    assert_eq!(overrides(&two.take(What::Tick, at(11)).unwrap()), 1);
}

#[test]
fn ctrl_4_an_order_is_journaled_with_the_account_that_gave_it_and_its_words() {
    let place = place();
    let mut driver = Driver::begin(&place.layout, at(0), |_| Ok(())).unwrap();
    fs::write(place.layout.pause(), "").unwrap();
    let by = format!("PAUSE by {}", account::current());
    let before = driver.take(What::Tick, at(1)).unwrap().before;
    assert_eq!(before[0].findings[0].reason.to_string(), by);
    fs::remove_file(place.layout.pause()).unwrap();
    driver.take(What::Tick, at(2)).unwrap();
    fs::write(place.layout.pause(), "who: ada\nreason: lunch\n").unwrap();
    let before = driver.take(What::Tick, at(3)).unwrap().before;
    assert_eq!(before.len(), 2);
    let reason = before[0].findings[0].reason.to_string();
    assert_eq!(reason, format!("{by} (signed as ada) because lunch"), "a name in the file is not simply believed");
}

#[test]
fn replay_1_an_input_that_a_crash_left_alone_is_decided_by_the_next_process_and_replays() {
    let place = place();
    let mut driver = Driver::begin(&place.layout, at(0), |_| Ok(())).unwrap();
    driver.take(What::Tick, at(1)).unwrap();
    let paths = SessionPaths::new(place.layout.folder(), driver.session());
    let mut journal = Journal::open(Disk, paths, Options::default()).unwrap();
    let act = What::Human(HumanAct::Other(Label::cut("said and not heard")));
    let mut text = String::new();
    let input = tripwire_core::input::Input { at: tripwire_core::units::RunMillis::new(2_000), what: act };
    tripwire_session::body::write_input(&input, &mut text).unwrap();
    append(&mut journal, text);
    driver.take(What::Tick, at(3)).unwrap();
    assert_eq!(driver.view().inputs.get(), 3);
    let replayed = replay::session(&open_existing(&place.layout, driver.session()).unwrap()).unwrap();
    assert_eq!((replayed.recorded, replayed.first_difference), (replayed.recomputed, None));
    assert_eq!((replayed.recorded.events.count, replayed.recorded.decisions.count), (3, 2));
}

fn append(journal: &mut Journal<Disk>, text: String) {
    let entry = Entry { body: Cow::Owned(text), durations_ms: BTreeMap::new(), wall_ms: 0 };
    let batch = Batch { entries: vec![entry], durability: Durability::Synced, after: None };
    assert!(matches!(journal.append(&batch).unwrap(), Append::Ack(_)));
}

#[test]
fn log_4_the_name_of_a_journal_that_was_signed_is_never_given_again() {
    let place = place();
    let home = KeyHome::at(place.folder.path().join("keys"));
    let begin = |signing: Option<Signing>| {
        let own = Configuration::default();
        Driver::begin_signed(&place.layout, signing, at(0), own, |_| Ok(())).unwrap()
    };
    let signing = || Some(Signing::new(home.clone(), place.folder.path().join("work")));
    let mut first = begin(signing());
    first.take(What::Tick, at(1)).unwrap();
    let name = first.session().clone();
    std::fs::remove_dir_all(place.layout.journal().join(name.as_str())).unwrap();
    let second = begin(signing());
    assert_ne!(second.session(), &name, "begun in the same second");
    assert_eq!(home.lost(place.layout.folder()).len(), 1, "that the first one is gone stays known");
    // A journal for which nobody vouched leaves its name.
    std::fs::remove_dir_all(place.layout.journal().join(second.session().as_str())).unwrap();
    assert_eq!(begin(signing()).session(), second.session());
}

#[test]
fn log_4_a_bundle_carries_blobs_and_checkpoints_and_verifies_elsewhere() {
    let place = place();
    let home = KeyHome::at(place.folder.path().join("keys"));
    let signing = Signing::new(home.clone(), place.folder.path().join("work"));
    let mut driver = Driver::begin(&place.layout, at(0), |_| Ok(())).unwrap().signed_by(Some(signing));
    driver.take(What::Tick, at(1)).unwrap();
    let paths = SessionPaths::new(place.layout.folder(), driver.session());
    let mut journal = Journal::open(Disk, paths, Options::default()).unwrap();
    append(&mut journal, format!("{{\"large\":\"{}\"}}", "x".repeat(100_000)));
    let key = home.verifier().unwrap().unwrap();
    let mut bytes = Vec::new();
    let exported = bundle::write(&mut journal, Some(&key), &mut bytes).unwrap();
    assert_eq!((exported.records, exported.blobs), (4, 1));
    assert!(exported.checkpoints >= 1);

    let verified = |bytes: &[u8]| {
        let unpacked = bundle::unpack(bytes).unwrap();
        let trust = Trust { verifier: unpacked.key.clone(), witness: None };
        let report = verify(&Disk, &unpacked.paths(), &trust).unwrap();
        (report.first_bad_index, report.checkpoints_trusted >= 1, unpacked.problem.clone())
    };
    assert_eq!(verified(&bytes), (None, true, None));
    let text = String::from_utf8(bytes).unwrap();
    let without: String =
        text.lines().filter(|line| !line.starts_with("{\"blob\"")).flat_map(|line| [line, "\n"]).collect();
    let (first_bad, _, problem) = verified(without.as_bytes());
    assert_eq!((first_bad, problem.is_some()), (Some(3), true), "the blob is missing at its record");
}
