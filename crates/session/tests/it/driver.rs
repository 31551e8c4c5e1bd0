//! The driver on a real disk: people's files, counters, several drivers of one session, views rebuilt.

use std::fs;
use std::path::PathBuf;
use tripwire_core::chain::event::{Action, AgentEvent, Flag, Flags};
use tripwire_core::decision::{Decision, FindingKind};
use tripwire_core::effect::{HoldReason, StopReason};
use tripwire_core::explain::Explain as _;
use tripwire_core::input::{Fault, What};
use tripwire_core::label::Label;
use tripwire_core::record::chain::Digest;
use tripwire_core::units::{Count, Tokens};
use tripwire_session::driver::{Driver, StateSaves, StepOutcome, views};
use tripwire_workspace::clock;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::wall_clock::WallClock;

struct Place {
    _folder: tempfile::TempDir,
    layout: Layout,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let geometry: PathBuf = folder.path().join(".geometry");
    fs::create_dir(&geometry).unwrap();
    Place { _folder: folder, layout: Layout::at(&geometry) }
}

fn at(seconds: u64) -> WallClock {
    WallClock::from_epoch_ms(1_790_000_000_000 + seconds * 1_000)
}

fn call(args: &str, result: &str) -> What {
    What::Event(AgentEvent {
        action: Some(Action { tool: Label::cut("Bash"), args_digest: Label::new(args), ..Action::default() }),
        result_digest: Label::new(result),
        tool_calls: Count::new(1),
        ..AgentEvent::default()
    })
}

fn begin(place: &Place) -> Driver {
    Driver::begin(&place.layout, at(0), |_| Ok(())).unwrap()
}

fn take(driver: &mut Driver, n: u64) -> StepOutcome {
    driver.take(call(&n.to_string(), &n.to_string()), at(n)).unwrap()
}

fn kinds(decision: &Decision) -> Vec<FindingKind> {
    decision.findings.iter().map(|finding| finding.kind).collect()
}

#[test]
fn ctrl_1_a_touched_stop_ends_the_session_at_the_next_step() {
    let place = place();
    let mut driver = begin(&place);
    assert!(take(&mut driver, 1).decision.safety.allowed);
    fs::write(place.layout.stop(), "").unwrap();
    let taken = take(&mut driver, 2);
    assert!(!taken.decision.safety.allowed);
    assert_eq!(driver.view().stopped, Some(StopReason::StoppedByPerson));
    assert_eq!(kinds(&taken.before[0]), [FindingKind::ManualOverride], "what a person did is journaled");
    fs::remove_file(place.layout.stop()).unwrap();
    assert!(take(&mut driver, 3).decision.safety.allowed, "the order was taken back");
}

#[test]
fn ctrl_1_a_leftover_stop_blocks_a_new_session() {
    let place = place();
    fs::write(place.layout.stop(), "").unwrap();
    assert!(!take(&mut begin(&place), 1).decision.safety.allowed);
}

#[test]
fn ctrl_1_pause_holds_and_removing_it_resumes() {
    let place = place();
    let mut driver = begin(&place);
    fs::write(place.layout.pause(), "").unwrap();
    assert!(!take(&mut driver, 1).decision.safety.allowed);
    assert_eq!(driver.view().held, Some(HoldReason::Paused));
    fs::remove_file(place.layout.pause()).unwrap();
    assert!(take(&mut driver, 2).decision.safety.allowed);
}

#[test]
fn const_6_an_edited_threshold_is_noted_and_not_applied_while_a_counter_is_honoured() {
    let place = place();
    let mut driver = begin(&place);
    take(&mut driver, 1);
    let text = fs::read_to_string(place.layout.manifest()).unwrap();
    let edited = text.replace("max_iterations: 100", "max_iterations: 7");
    assert_ne!(text, edited);
    fs::write(place.layout.manifest(), edited.replace("consecutive_failures: 0", "consecutive_failures: 2")).unwrap();
    let taken = take(&mut driver, 2);
    let found: Vec<_> = taken.before.iter().flat_map(kinds).collect();
    assert!(found.contains(&FindingKind::PolicyDrift) && found.contains(&FindingKind::ManualOverride), "{found:?}");
    assert_eq!(driver.policy().safety.max_iterations, Count::new(100));
    assert_eq!(driver.view().consecutive_failures, Count::new(2));
    let log = fs::read_to_string(place.layout.safety_log()).unwrap();
    assert!(log.contains("POLICY_DRIFT") && serde_json::from_str::<serde_json::Value>(&log).is_ok());
}

#[test]
fn const_5_a_manifest_that_cannot_be_read_holds_until_it_is_mended() {
    let place = place();
    let mut driver = begin(&place);
    take(&mut driver, 1);
    let text = fs::read_to_string(place.layout.manifest()).unwrap();
    fs::write(place.layout.manifest(), "safety: [").unwrap();
    let taken = take(&mut driver, 2);
    assert!(!taken.decision.safety.allowed);
    assert_eq!(driver.view().held, Some(HoldReason::GuardFailure));
    fs::write(place.layout.pause(), "").unwrap();
    fs::write(place.layout.manifest(), text).unwrap();
    take(&mut driver, 3);
    assert_eq!(driver.view().held, Some(HoldReason::Paused), "mending the manifest clears nothing else");
    fs::remove_file(place.layout.pause()).unwrap();
    assert!(take(&mut driver, 4).decision.safety.allowed);
}

#[test]
fn loop_1_the_blocker_report_is_written_when_a_loop_ends_the_session() {
    let place = place();
    let mut driver = Driver::begin(&place.layout, at(0), |policy| policy.set("profile", "strict")).unwrap();
    for n in 1..=4 {
        driver.take(call("same", "same"), at(n)).unwrap();
    }
    assert_eq!(driver.view().stopped, Some(StopReason::SystemError));
    let report = fs::read_to_string(place.layout.blocker_report()).unwrap();
    assert!(report.contains("SYSTEM_ERROR") && report.contains("4 times in a row"), "{report}");
    let taken = take(&mut driver, 9);
    assert!(taken.before.is_empty(), "our own report is not taken for a person's act");
}

#[test]
fn chain_5_a_report_that_cannot_be_written_undoes_no_decision() {
    let place = place();
    let mut driver = Driver::begin(&place.layout, at(0), |policy| policy.set("profile", "strict")).unwrap();
    fs::create_dir(place.layout.blocker_report()).unwrap();
    fs::create_dir(place.layout.mission_briefing()).unwrap();
    let full = AgentEvent { context_tokens: Some(Tokens::new(162_000)), ..AgentEvent::default() };
    let taken = driver.take(What::Event(full), at(1)).unwrap();
    assert!(taken.notices.iter().any(|notice| notice.contains("the briefing was not written")), "{:?}", taken.notices);
    let mut notices = Vec::new();
    for n in 2..=5 {
        notices.extend(driver.take(call("same", "same"), at(n)).unwrap().notices);
    }
    assert!(notices.iter().any(|notice| notice.contains("the report was not written")), "{notices:?}");
    assert_eq!(driver.view().stopped, Some(StopReason::SystemError), "what was decided stands");
    let mut again = Driver::resume(&place.layout, driver.session()).unwrap();
    assert!(take(&mut again, 9).before.is_empty(), "what people did is not taken in twice");
}

#[test]
fn ctx_3_a_mandatory_compaction_writes_the_briefing_and_a_roomy_context_does_not() {
    let place = place();
    let mut driver = begin(&place);
    assert!(place.layout.compaction_hook().exists(), "the gate's script stands from the beginning");
    take(&mut driver, 1);
    assert!(!place.layout.mission_briefing().exists());
    let full = AgentEvent { context_tokens: Some(Tokens::new(162_000)), ..AgentEvent::default() };
    driver.take(What::Event(full), at(2)).unwrap();
    let briefing = fs::read_to_string(place.layout.mission_briefing()).unwrap();
    assert!(briefing.contains("call Bash") && briefing.contains(driver.session().as_str()), "{briefing}");
}

#[test]
fn iter_1_the_checkpoint_tells_what_was_done() {
    let place = place();
    let mut driver = Driver::begin(&place.layout, at(0), |policy| policy.set("safety.max_iterations", "1")).unwrap();
    driver.take(What::IterationStarted, at(1)).unwrap();
    for (n, target) in [(2, "a.rs"), (3, "b.rs"), (4, "a.rs")] {
        let action = Action { tool: Label::cut("Edit"), target: Label::new(target), ..Action::default() };
        let flags = Flags::default().with(Flag::Edit);
        driver.take(What::Event(AgentEvent { action: Some(action), flags, ..AgentEvent::default() }), at(n)).unwrap();
    }
    driver.take(What::IterationStarted, at(5)).unwrap();
    let text = fs::read_to_string(place.layout.checkpoint()).unwrap();
    for line in ["Reached iteration cap: 1/1", "- Last action: Edit", "- Files modified: 2", "- Tests run: 0"] {
        assert!(text.contains(line), "`{line}` is not in:\n{text}");
    }
}

#[test]
fn chain_5_two_drivers_of_one_session_lose_nothing_and_agree() {
    let place = place();
    let mut one = begin(&place);
    let mut two = Driver::resume(&place.layout, one.session()).unwrap();
    for n in 1..=20 {
        take(if n % 2 == 0 { &mut one } else { &mut two }, n);
    }
    let view = one.view();
    take(&mut two, 21);
    take(&mut one, 22);
    assert_eq!(one.view().inputs.get(), 22);
    assert_eq!(view.inputs.get(), 20);
    let resumed = Driver::resume(&place.layout, one.session()).unwrap();
    assert_eq!(resumed.view(), one.view());
}

#[test]
fn a_session_begins_without_the_drafts_of_dead_processes() {
    let place = place();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let draft = place.layout.folder().join(format!(".MANIFEST.yaml.draft-{}-0", child.id()));
    let file = fs::File::create(&draft).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    begin(&place);
    assert!(!draft.exists());
}

#[test]
fn log_1_a_lost_or_damaged_state_file_is_rebuilt_from_the_journal() {
    let place = place();
    let mut driver = begin(&place);
    for n in 1..=5 {
        take(&mut driver, n);
    }
    let state = place.layout.state().join(format!("{}.state", driver.session()));
    for damage in ["", "{", "{\"version\":1}"] {
        fs::write(&state, damage).unwrap();
        let mut resumed = Driver::resume(&place.layout, driver.session()).unwrap();
        let inputs = take(&mut resumed, 9).decision.i.get();
        assert!(inputs >= 5, "{damage}: {inputs}");
        driver = resumed;
    }
    // A whole file of version 99.
    fs::write(&state, [[99].as_slice(), &twox_hash::XxHash64::oneshot(0, &[99]).to_le_bytes()].concat()).unwrap();
    let error = Driver::resume(&place.layout, driver.session()).unwrap_err();
    assert!(error.to_string().contains("version 99") && error.hint().contains("remove"), "{error}");
}

#[test]
fn log_2_a_spoilt_safety_log_is_rebuilt_from_the_journal() {
    let place = place();
    let mut driver = begin(&place);
    fs::write(place.layout.pause(), "").unwrap();
    take(&mut driver, 1);
    let before = fs::read_to_string(place.layout.safety_log()).unwrap();
    fs::write(place.layout.safety_log(), &before[..before.len() / 2]).unwrap();
    fs::remove_file(place.layout.pause()).unwrap();
    let taken = take(&mut driver, 2);
    assert!(taken.notices.iter().any(|notice| notice.contains("rebuilt")), "{:?}", taken.notices);
    let log = fs::read_to_string(place.layout.safety_log()).unwrap();
    let parsed: serde_json::Value = serde_json::from_str(&log).unwrap();
    // Who paused it, that it is paused, that it goes on.
    assert_eq!(parsed["events"].as_array().unwrap().len(), 3, "{log}");
}

#[test]
fn replay_1_the_journal_replays_to_the_same_decisions() {
    let place = place();
    let mut driver = begin(&place);
    let mut decided = Vec::new();
    for n in 1..=8 {
        decided.push(take(&mut driver, n).decision);
    }
    let mut again = Vec::new();
    views::replay(driver.journal(), |_, decision, _| {
        again.push(decision.clone());
        Ok(())
    })
    .unwrap();
    assert_eq!(decided, again);
}

/// A disk that is full for one call and has room again: the call has no consequences, the engine has not moved, and the last
/// record of the run says what happened.
#[test]
fn log_1_a_full_disk_moves_nothing_and_the_end_of_the_run_is_recorded() {
    let Some(disk) = tripwire_testing::tiny_disk() else { return };
    let geometry = disk.path().join(".geometry");
    fs::create_dir(&geometry).unwrap();
    let layout = Layout::at(&geometry);
    let mut driver = Driver::begin(&layout, at(0), |_| Ok(())).unwrap();
    take(&mut driver, 1);
    let ballast = disk.path().join("ballast");
    let mut size = 4 << 20;
    while size > 0 {
        // To the last byte: what is left would be enough for a record.
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&ballast).unwrap();
        if std::io::Write::write_all(&mut file, &vec![b'x'; size]).is_err() {
            size /= 2;
        }
    }
    // The journal's last page still has room for some records.
    let (mut turn, mut before, mut records) = (2, driver.view(), driver.journal().records());
    while driver.take(call(&turn.to_string(), "2"), at(turn)).is_ok() {
        (turn, before, records) = (turn + 1, driver.view(), driver.journal().records());
        assert!(turn < 100, "the disk is full");
    }
    assert_eq!(driver.view(), before, "the engine follows the journal and not the other way round");
    fs::remove_file(&ballast).unwrap();
    assert!(driver.take(call("3", "3"), at(turn + 1)).is_err(), "a handle that failed is not used again by itself");
    assert_eq!(driver.view(), before);
    let fault = Fault { cause: Label::cut("the disk was full"), fix: Label::cut("free some space") };
    let taken = driver.take_last(What::Fault(fault), || at(turn + 2)).unwrap();
    assert_eq!(kinds(&taken.decision), [FindingKind::GuardFailure]);
    // The fault and its decision, before them the cut if a part of a record had been written, and nothing of the calls.
    let added = driver.journal().records() - records;
    assert!((2..=3).contains(&added), "{added}");
    let journal = tripwire_session::driver::open_existing(&layout, driver.session()).unwrap();
    let replayed = tripwire_session::replay::session(&journal).unwrap();
    assert!(replayed.first_difference.is_none() && replayed.recorded == replayed.recomputed);
    let resumed = Driver::resume(&layout, driver.session()).unwrap();
    assert_eq!(resumed.view(), driver.view());
}

/// The state file as it is now, in short.
fn saved(place: &Place, driver: &Driver) -> Digest {
    Digest::of(&fs::read(place.layout.state_of(driver.session())).unwrap())
}

/// Later than the files of a test were made: what was seen of them has settled.
fn take_later(driver: &mut Driver, n: u64) -> StepOutcome {
    let now = WallClock::from_epoch_ms(clock::now().epoch_ms() + n * 1_000);
    driver.take(call(&n.to_string(), &n.to_string()), now).unwrap()
}

#[test]
fn chain_3_a_process_that_stays_writes_its_state_seldom_and_others_miss_nothing() {
    let place = place();
    let mut driver = Driver::begin(&place.layout, clock::now(), |_| Ok(())).unwrap().with_saves(StateSaves::Seldom);
    for n in 1..=3 {
        take_later(&mut driver, n);
    }
    let before = saved(&place, &driver);
    take_later(&mut driver, 4);
    assert_eq!(saved(&place, &driver), before, "one more record is not worth a write");
    let mut other = Driver::resume(&place.layout, driver.session()).unwrap();
    assert_eq!(other.view(), driver.view(), "the next to open the session steps over the rest");
    assert!(take_later(&mut other, 5).decision.safety.allowed);
    for n in 6..50 {
        take_later(&mut driver, n);
    }
    assert_ne!(saved(&place, &driver), before, "nobody has to step over many");
    let other = Driver::resume(&place.layout, driver.session()).unwrap();
    assert_eq!(other.view(), driver.view());
}

#[test]
fn chain_3_a_process_that_stays_does_not_write_its_state_because_a_file_was_written_just_now() {
    let place = place();
    let mut driver = Driver::begin(&place.layout, clock::now(), |_| Ok(())).unwrap().with_saves(StateSaves::Seldom);
    for n in 1..=5 {
        driver.take(call(&n.to_string(), &n.to_string()), clock::now()).unwrap();
    }
    let before = saved(&place, &driver);
    fs::write(place.layout.manifest(), fs::read(place.layout.manifest()).unwrap()).unwrap();
    driver.take(call("6", "6"), clock::now()).unwrap();
    assert_eq!(saved(&place, &driver), before, "the manifest says what it said");
    let text = fs::read_to_string(place.layout.manifest()).unwrap();
    fs::write(place.layout.manifest(), text.replace("max_iterations: 100", "max_iterations: 99")).unwrap();
    driver.take(call("7", "7"), clock::now()).unwrap();
    assert_ne!(saved(&place, &driver), before, "what a person changed is written at once");
}

#[test]
fn ctrl_1_what_a_process_that_stays_has_seen_of_peoples_files_is_written_at_once() {
    let place = place();
    let mut driver = Driver::begin(&place.layout, clock::now(), |_| Ok(())).unwrap().with_saves(StateSaves::Seldom);
    for n in 1..=3 {
        take_later(&mut driver, n);
    }
    fs::write(place.layout.pause(), "").unwrap();
    assert!(!take_later(&mut driver, 4).decision.safety.allowed);
    let mut other = Driver::resume(&place.layout, driver.session()).unwrap();
    let taken = take_later(&mut other, 5);
    assert_eq!(taken.before.len(), 0, "the pause was taken in once");
    assert!(!taken.decision.safety.allowed);
}
