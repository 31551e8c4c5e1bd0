//! Every control fires when it is used and stays quiet when it is not.

use super::order::{Given, Order};
use super::*;
use crate::account;
use crate::geometry::manifest::{Bit, store, template};
use crate::geometry::reports::Report;
use crate::geometry::yaml_edit::{Edit, NewValue};
use std::process::Command;
use tripwire_core::input::ReportCause;
use tripwire_fs::file::Removed;
use tripwire_testing::{TestDir, skip};

struct Person {
    layout: Layout,
    seen: Seen,
    _dir: TestDir,
}

impl Person {
    fn new() -> Self {
        let dir = TestDir::new();
        let layout = Layout::at(dir.path());
        template::write_if_missing(&layout.manifest()).unwrap();
        let mut person = Self { layout, seen: Seen::default(), _dir: dir };
        assert_eq!(person.look(), [], "a fresh workspace says nothing");
        person
    }

    fn look(&mut self) -> Vec<ControlFact> {
        let found = look(&self.layout, &session(), &self.seen, now()).unwrap();
        // What is kept between two processes must survive being written and read.
        let kept = serde_json::to_string(&found.seen).unwrap();
        let (facts, seen) = (found.facts, found.seen.into_owned());
        self.seen = serde_json::from_str(&kept).unwrap();
        assert_eq!(self.seen, seen);
        facts
    }

    fn edit(&self, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.layout.manifest()).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(self.layout.manifest(), text.replace(from, to)).unwrap();
    }
}

fn session() -> SessionId {
    SessionId::parse("auto-2026-01-31-120000").unwrap()
}

#[test]
fn prog_1_a_report_that_stood_before_is_told_apart_from_one_that_comes_later() {
    let dir = TestDir::new();
    let layout = Layout::at(dir.path());
    template::write_if_missing(&layout.manifest()).unwrap();
    Report::Blocker.write_for(&layout, "auto-2026-01-30-120000", ReportCause::Work, "# Blocked\n").unwrap();
    let mut new = Person { layout, seen: Seen::default(), _dir: dir };
    assert_eq!(new.look(), [ControlFact::Stood { file: ControlFile::BlockerReport, about: ReportCause::Work }]);
    Report::Checkpoint.write_for(&new.layout, "auto-2026-01-30-120000", ReportCause::Work, "# Checkpoint\n").unwrap();
    assert!(matches!(new.look()[..], [ControlFact::Appeared { file: ControlFile::Checkpoint, .. }]), "it runs already");
    let mut writer = Person { layout: new.layout.clone(), seen: Seen::default(), _dir: TestDir::new() };
    Report::Blocker.write_for(&new.layout, session().as_str(), ReportCause::Work, "# Mine\n").unwrap();
    assert_eq!(
        writer.look(),
        [ControlFact::Stood { file: ControlFile::Checkpoint, about: ReportCause::Work }],
        "its own holds nothing"
    );
    Report::Blocker.remove_for(&new.layout, "auto-2026-01-30-120000").unwrap();
    assert_eq!((writer.look(), new.look()), (vec![], vec![]), "another one's part was acknowledged");
    Report::Blocker.remove_for(&new.layout, session().as_str()).unwrap();
    assert_eq!(new.look(), [ControlFact::Removed { file: ControlFile::BlockerReport }]);
}

fn now() -> WallClock {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    WallClock::from_epoch_ms(u64::try_from(since.as_millis()).unwrap())
}

#[test]
fn ctrl_1_a_touched_file_is_an_order_and_its_removal_ends_it() {
    let mut person = Person::new();
    for file in ControlFile::ALL {
        std::fs::write(file.path(&person.layout), "").unwrap();
        let note = Note { who: Some(account::current()), ..Note::default() };
        assert_eq!(person.look(), [ControlFact::Appeared { file, note }]);
        assert!(person.seen.has(file));
        assert_eq!(person.look(), [], "an order is reported once");
        std::fs::remove_file(file.path(&person.layout)).unwrap();
        assert_eq!(person.look(), [ControlFact::Removed { file }]);
        assert!(!person.seen.has(file));
    }
}

#[test]
fn ctrl_1_an_order_of_any_kind_of_file_counts() {
    let mut person = Person::new();
    std::os::unix::fs::symlink("nowhere", person.layout.stop()).unwrap();
    std::fs::create_dir(person.layout.pause()).unwrap();
    assert_eq!(person.look().len(), 2);
    assert!(person.seen.has(ControlFile::Stop) && person.seen.has(ControlFile::Pause));
}

#[test]
fn ctrl_2_an_order_by_command_says_who_when_and_why() {
    let mut person = Person::new();
    let note = Note::new("ada", WallClock::from_epoch_ms(1_772_292_600_000), "lunch\nwho: forged");
    assert_eq!(Order::Pause.give(&person.layout, &note).unwrap(), Given::Now);
    assert_eq!(Order::Pause.give(&person.layout, &Note::default()).unwrap(), Given::Before);
    let facts = person.look();
    let [ControlFact::Appeared { file: ControlFile::Pause, note }] = facts.as_slice() else { panic!("{facts:?}") };
    let who = format!("{} (signed as ada)", crate::account::current());
    assert_eq!(note.who, Some(who), "the account that wrote it, whatever it says");
    assert_eq!(note.at.as_deref(), Some("2026-02-28T15:30:00Z"));
    assert_eq!(note.reason.as_deref(), Some("lunch who: forged"));
    assert_eq!(Order::Pause.withdraw(&person.layout).unwrap(), Removed::Now);
    assert_eq!(Order::Pause.withdraw(&person.layout).unwrap(), Removed::NotThere);
    assert_eq!(person.look(), [ControlFact::Removed { file: ControlFile::Pause }]);
}

#[test]
fn ctrl_1_free_words_in_an_order_are_its_reason() {
    let mut person = Person::new();
    std::fs::write(person.layout.stop(), b"the disk smells \xff\x1b[2J\n").unwrap();
    let facts = person.look();
    let [ControlFact::Appeared { note, .. }] = facts.as_slice() else { panic!("{facts:?}") };
    let reason = note.reason.as_deref().unwrap();
    assert!(reason.starts_with("the disk smells") && !reason.contains('\u{1b}'), "{reason:?}");
}

#[test]
fn ctrl_1_edited_counters_and_bits_are_overrides() {
    let mut person = Person::new();
    person.edit("consecutive_failures: 0", "consecutive_failures: 2");
    let counter = Counter::ConsecutiveFailures;
    assert_eq!(person.look(), [ControlFact::CounterEdited { counter, from: 0, to: 2 }]);
    person.edit("tests_run: false\n  tests_passing: null", "tests_run: true\n  tests_passing: true");
    assert_eq!(
        person.look(),
        [
            ControlFact::BitEdited { bit: ManifestBit::TestsRun, from: Some(Bit::Clear), to: Some(Bit::Set) },
            ControlFact::BitEdited { bit: ManifestBit::TestsPassing, from: None, to: Some(Bit::Set) },
        ]
    );
    person.edit("last_tool_signatures: []", "last_tool_signatures: [a]");
    assert_eq!(person.look(), [ControlFact::SignaturesEdited { count: 1 }]);
    person.edit("# State", "# a comment of mine");
    assert_eq!(person.look(), [], "a comment is no edit of a value");
}

#[test]
fn const_6_an_edited_threshold_is_drift_and_no_override() {
    let mut person = Person::new();
    person.edit("max_iterations: 100", "max_iterations: 100000");
    let drift = |path: &str, from: Option<&str>, to: Option<&str>| ControlFact::SettingDrift {
        path: path.into(),
        from: from.map(str::to_owned),
        to: to.map(str::to_owned),
    };
    assert_eq!(person.look(), [drift("safety.max_iterations", Some("100"), Some("100000"))]);
    person.edit("dirty_bits:", "gate:\n  max_tokens_per_minute: 9\ndirty_bits:");
    assert_eq!(person.look(), [drift("gate.max_tokens_per_minute", None, Some("9"))]);
    person.edit("gate:\n  max_tokens_per_minute: 9\n", "");
    assert_eq!(person.look(), [drift("gate.max_tokens_per_minute", Some("9"), None)]);
}

#[test]
fn const_5_a_broken_or_missing_manifest_is_told_once_and_stands() {
    let mut person = Person::new();
    std::fs::write(person.layout.manifest(), "safety: [\n").unwrap();
    let facts = person.look();
    let [ControlFact::ManifestRefused { reason, hint }] = facts.as_slice() else { panic!("{facts:?}") };
    assert!(reason.contains("line 1") && hint.contains("fix line 1"), "{reason} {hint}");
    assert_eq!(person.look(), []);
    assert!(person.seen.refused().is_some());
    std::fs::write(person.layout.stop(), "").unwrap();
    assert_eq!(person.look().len(), 1, "STOP works with a broken manifest");
    std::fs::write(person.layout.manifest(), template::FRESH.replace("iteration_count: 0", "iteration_count: 9"))
        .unwrap();
    let counter = Counter::IterationCount;
    assert_eq!(person.look(), [ControlFact::ManifestAccepted, ControlFact::CounterEdited { counter, from: 0, to: 9 }]);
    assert_eq!(person.seen.refused(), None);
    std::fs::remove_file(person.layout.manifest()).unwrap();
    assert!(matches!(person.look().as_slice(), [ControlFact::ManifestRefused { .. }]));
    assert_eq!(person.look(), []);
    assert!(person.seen.refused().is_some());
}

/// An editor that truncates and then writes leaves moments in which the file is empty or half.
#[test]
fn ctrl_1_a_file_that_is_being_written_is_no_edit_of_what_is_missing() {
    let mut person = Person::new();
    person.edit("consecutive_failures: 0", "consecutive_failures: 2");
    person.edit("tests_passing: null", "tests_passing: false");
    person.look();
    let whole = std::fs::read_to_string(person.layout.manifest()).unwrap();
    for (cut, _) in whole.match_indices('\n') {
        std::fs::write(person.layout.manifest(), &whole[..=cut]).unwrap();
        for fact in person.look() {
            let harmless = matches!(
                fact,
                ControlFact::SettingDrift { .. } | ControlFact::ManifestRefused { .. } | ControlFact::ManifestAccepted
            );
            assert!(harmless, "{cut}: {fact:?}");
        }
    }
    std::fs::write(person.layout.manifest(), &whole).unwrap();
    person.look();
    assert_eq!(person.seen.live().unwrap().consecutive_failures, 2);
    assert_eq!(person.seen.live().unwrap().dirty_bits.tests_passing, Some(Bit::Clear));
    std::fs::write(person.layout.manifest(), "").unwrap();
    let facts = person.look();
    assert!(
        matches!(facts.as_slice(), [ControlFact::ManifestRefused { reason, .. }] if reason.ends_with("is empty")),
        "{facts:?}"
    );
}

#[test]
fn const_5_a_manifest_that_is_a_link_is_refused() {
    let mut person = Person::new();
    let elsewhere = person.layout.folder().join("elsewhere");
    std::fs::rename(person.layout.manifest(), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, person.layout.manifest()).unwrap();
    assert!(matches!(person.look().as_slice(), [ControlFact::ManifestRefused { .. }]));
}

#[test]
fn const_5_a_folder_that_vanished_is_an_error_not_a_cleared_report() {
    let mut person = Person::new();
    std::fs::write(person.layout.blocker_report(), "x").unwrap();
    person.look();
    let folder = person.layout.folder().to_owned();
    std::fs::rename(&folder, folder.with_extension("away")).unwrap();
    let error = look(&person.layout, &session(), &person.seen, now()).unwrap_err();
    assert!(matches!(error, ControlError::FolderGone { .. }), "{error}");
    std::fs::rename(folder.with_extension("away"), &folder).unwrap();
    assert_eq!(person.look(), []);
}

#[test]
fn our_own_writes_are_not_taken_for_a_persons() {
    let mut person = Person::new();
    let read = Manifest::load(&person.layout.manifest()).unwrap();
    let written = store::update(&read, &[Edit::new("safety.iteration_count", NewValue::Number(1))]).unwrap();
    person.seen.wrote_manifest(&written);
    assert_eq!(person.look(), []);
    Report::Checkpoint.write_for(&person.layout, session().as_str(), ReportCause::Work, "ours").unwrap();
    person.seen.wrote_report(ControlFile::Checkpoint);
    assert_eq!(person.look(), []);
    // A person's edit right behind ours is found, although we had not looked in between.
    let written = store::update(&written, &[Edit::new("safety.iteration_count", NewValue::Number(2))]).unwrap();
    person.seen.wrote_manifest(&written);
    person.edit("consecutive_failures: 0", "consecutive_failures: 3");
    let counter = Counter::ConsecutiveFailures;
    assert_eq!(person.look(), [ControlFact::CounterEdited { counter, from: 0, to: 3 }]);
}

/// Edits of the same length within one step of the file times: a mark alone would miss them.
#[test]
fn edits_in_quick_succession_are_all_found() {
    let mut person = Person::new();
    for round in 1..=200_u64 {
        let digit = round % 10;
        person.edit(&format!("iteration_count: {}", (round - 1) % 10), &format!("iteration_count: {digit}"));
        let facts = person.look();
        assert_eq!(facts.len(), 1, "round {round}: {facts:?}");
    }
}

#[test]
fn an_unchanged_manifest_is_not_read_again_once_its_times_have_settled() {
    let mut person = Person::new();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(10);
    std::fs::File::options().append(true).open(person.layout.manifest()).unwrap().set_modified(old).unwrap();
    // The change of the times is itself a change at this moment; a look from a second later has settled.
    let later = WallClock::from_epoch_ms(now().epoch_ms() + 1_000);
    person.seen = look(&person.layout, &session(), &person.seen, later).unwrap().seen.into_owned();
    let mark = person.seen.mark.clone().unwrap();
    assert!(mark.still_means(&mark));
}

#[test]
fn ctrl_1_the_seeds_own_command_works_where_yq_is_installed() {
    let mut person = Person::new();
    person.edit("consecutive_failures: 0", "consecutive_failures: 2");
    person.look();
    let set = ".safety.consecutive_failures = 0";
    let manifest = person.layout.manifest();
    let tried = |arguments: &[&str]| {
        Command::new("yq").args(arguments).arg(&manifest).output().is_ok_and(|output| output.status.success())
    };
    if !tried(&[set, "-i"]) && !tried(&["-y", "-i", set]) {
        return skip("`yq` is not installed: the seed's command was not tested");
    }
    let counter = Counter::ConsecutiveFailures;
    assert_eq!(person.look(), [ControlFact::CounterEdited { counter, from: 2, to: 0 }]);
}
