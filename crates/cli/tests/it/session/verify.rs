//! `tripwire verify`: what was changed, removed or cut is found, also by someone who can recompute the chain.

use crate::session::fixture::{Place, Said, call, calls};
use std::fs;
use std::path::PathBuf;
use tripwire_core::label::Label;
use tripwire_core::ledger::LedgerRecord;
use tripwire_session::ledger::LedgerBook;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::wall_clock::WallClock;

fn damaged(place: &Place, words: &str) {
    place.run(&["verify"]).ended(9).says("DAMAGED").says(words);
    let json = place.run(&["verify", "--json"]).ended(9).json();
    assert_eq!(json["holds"], false);
}

#[test]
fn log_4_an_untouched_journal_verifies_with_its_signatures() {
    let place = Place::new();
    place.step(&calls(8)).ended(0);
    place.run(&["verify"]).ended(0).says("17 records verify").says("by the key of this machine");
    let json = place.run(&["verify", &place.session(), "--json"]).ended(0).json();
    assert_eq!((&json["holds"], &json["records"]), (&true.into(), &17.into()));
    assert!(json["checkpoints_trusted"].as_u64().unwrap() >= 3, "{json}");
    place.feed(&["step", "--new"], &calls(1)).ended(0);
    assert_eq!(place.run(&["verify", "--all", "--json"]).ended(0).json_lines().len(), 2);
}

#[test]
fn log_4_a_journal_that_was_deleted_as_a_whole_is_told() {
    let place = Place::new();
    place.step(&calls(8)).ended(0);
    let session = place.session();
    place.run(&["doctor"]).says("records verify");
    let geometry = place.journal("").parent().unwrap().parent().unwrap().to_owned();
    fs::remove_dir_all(geometry.join("journal")).unwrap();
    place.run(&["verify"]).ended(9).says("LOST").says(&session);
    let json = place.run(&["verify", "--json"]).ended(9).json();
    assert_eq!((&json["holds"], &json["session"]), (&false.into(), &session.as_str().into()));
    place.run(&["doctor"]).says("is gone");
    // A new session does not make it forgotten. In the same second it would take the lost one's name.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    place.feed(&["step", "--new"], &calls(1)).ended(0);
    place.run(&["verify"]).ended(9).says("LOST").says("records verify");
}

#[test]
fn log_4_a_flipped_byte_is_found_with_its_index() {
    let place = Place::new();
    place.step(&calls(4)).ended(0);
    let segment = place.journal("00000001.jsonl");
    let good = fs::read_to_string(&segment).unwrap();
    for (index, line) in good.lines().enumerate() {
        let at = good.find(line).unwrap() + line.len() / 3;
        let mut bytes = good.clone().into_bytes();
        bytes[at] ^= 1;
        fs::write(&segment, &bytes).unwrap();
        damaged(&place, &format!("at record {index}:"));
    }
    fs::write(&segment, good).unwrap();
    place.run(&["verify"]).ended(0);
}

#[test]
fn log_4_a_shorter_valid_prefix_is_found_although_head_was_removed_too() {
    let place = Place::new();
    place.step(&calls(8)).ended(0);
    let segment = place.journal("00000001.jsonl");
    let good = fs::read_to_string(&segment).unwrap();
    let prefix: String = good.lines().take(5).flat_map(|line| [line, "\n"]).collect();
    fs::write(&segment, prefix).unwrap();
    fs::remove_file(place.journal("HEAD")).unwrap();
    damaged(&place, "at record 5:");
    fs::remove_dir_all(place.journal("checkpoints")).unwrap();
    damaged(&place, "at record 5:");
}

#[test]
fn log_4_a_journal_rewritten_as_a_whole_is_found_by_its_checkpoints_and_by_the_witness() {
    let place = Place::new();
    place.step(&calls(8)).ended(0);
    let mine = place.journal("");
    // Another home makes another session of the same name whose chain is sound: the rewriter's work.
    let other = Place::new();
    other.step(&calls(1)).ended(0);
    let forged = other.geometry("journal").join(place.session());
    fs::rename(other.journal(""), &forged).unwrap();
    fs::remove_dir_all(forged.join("checkpoints")).unwrap();
    for file in ["00000001.jsonl", "HEAD"] {
        fs::copy(forged.join(file), mine.join(file)).unwrap();
    }
    damaged(&place, "at record ");
    fs::remove_dir_all(mine.join("checkpoints")).unwrap();
    damaged(&place, "at record ");
}

#[test]
fn log_4_a_checkpoint_that_someone_else_signed_is_not_believed() {
    let place = Place::new();
    place.step(&calls(2)).ended(0);
    let other = Place::new();
    other.step(&calls(2)).ended(0);
    let key = other.path().join("state/tripwire/keys/journal.pub");
    place
        .run(&["verify", "--key", key.to_str().unwrap()])
        .ended(9)
        .says("none of its checkpoints is signed by the key that was named");
    let own = place.path().join("state/tripwire/keys/journal.pub");
    place.run(&["verify", "--key", own.to_str().unwrap()]).ended(0).says("by the key that was named");
}

#[test]
fn what_is_not_there_cannot_be_verified() {
    let place = Place::new();
    place.run(&["verify"]).ended(2).complains("there is no session");
    place.run(&["verify", "auto-2020-01-01-000000"]).ended(2).complains("there is no session");
    place.run(&["verify", "nonsense"]).ended(2).complains("is not a session id");
    place.run(&["verify", "--key", "nonsense"]).ended(2).complains("is not a verifier key");
}

#[test]
fn log_4_the_driver_refuses_to_go_on_from_a_damaged_end() {
    let place = Place::new();
    place.step(&calls(3)).ended(0);
    let segment = place.journal("00000001.jsonl");
    let mut bytes = fs::read(&segment).unwrap();
    let at = bytes.len() - 30;
    bytes[at] ^= 1;
    fs::write(&segment, &bytes).unwrap();
    place.step(&calls(1)).ended(9).complains("tripwire verify");
    assert_eq!(fs::read(&segment).unwrap(), bytes, "the evidence is left alone");
}

#[test]
fn log_2_a_thinned_safety_log_is_found_and_rebuilt_and_an_untouched_one_is_fine() {
    let place = Place::new();
    place.step(&call("make", "error").repeat(4)).ended(7);
    place.run(&["verify"]).ended(0);
    let log = place.geometry("safety_log.json");
    let whole = fs::read_to_string(&log).unwrap();
    assert!(whole.contains("LOOP_OVERRIDE") && whole.contains("SYSTEM_ERROR"), "{whole}");
    fs::write(&log, "{\"events\":[\n]}\n").unwrap();
    place.run(&["verify"]).ended(9).says("safety_log.json: CHANGED").says("rebuilt from the journals");
    assert_eq!(fs::read_to_string(&log).unwrap(), whole);
    place.run(&["verify"]).ended(0);
}

#[test]
fn log_2_a_safety_log_that_a_kill_left_behind_is_completed_and_is_no_alarm() {
    let place = Place::new();
    let files = [place.geometry("safety_log.json"), place.geometry("state/safety_log.length")];
    place.step(&call("make", "error").repeat(3)).ended(0);
    let behind = files.each_ref().map(|file| fs::read(file).unwrap());
    place.step(&call("make", "error")).ended(7);
    let whole = fs::read_to_string(&files[0]).unwrap();
    for (file, bytes) in files.iter().zip(&behind) {
        fs::write(file, bytes).unwrap();
    }
    place.run(&["verify"]).ended(0).says("safety_log.json: was behind").says("completed from the journals");
    assert_eq!(fs::read_to_string(&files[0]).unwrap(), whole);
    for file in &files {
        fs::remove_file(file).unwrap();
    }
    place.run(&["verify"]).ended(9).says("safety_log.json: CHANGED");
}

/// The same workspace for a person with another home.
fn other_person(place: &Place, args: &[&str]) -> Said {
    Said::of(place.command(args).env("XDG_STATE_HOME", place.path().join("other")).output().unwrap())
}

#[test]
fn log_4_a_stop_by_a_second_account_is_named_and_is_no_damage() {
    let place = Place::new();
    place.step(&calls(3)).ended(0);
    other_person(&place, &["stop"]).ended(0);
    other_person(&place, &["resume"]).ended(0);
    let unknown = "1 key that is not known here: tripwire-journal+";
    place.run(&["verify"]).ended(0).says("by the key of this machine").says(unknown);
    other_person(&place, &["verify"]).ended(0).says(unknown);
    assert!(!place.run(&["status"]).ended(0).out.contains("BROKEN"));
    // The first one goes on, and its later checkpoints stand beside the other's.
    place.step(&calls(20)).ended(0);
    let json = place.run(&["verify", "--json"]).ended(0).json();
    assert!(json["covered"].as_u64().unwrap() > 17, "{json}");
    assert_eq!(json["unknown_keys"].as_array().unwrap().len(), 1, "{json}");
}

#[test]
fn log_4_a_history_changed_after_the_own_checkpoint_is_damage_although_a_second_key_signed_it() {
    let place = Place::new();
    place.step(&calls(3)).ended(0);
    let mine = place.journal("");
    let forger = Place::new();
    forger.step(&call("make", "forged").repeat(2)).ended(0);
    forger.step(&calls(3)).ended(0);
    let forged = forger.geometry("journal").join(place.session());
    fs::rename(forger.journal(""), &forged).unwrap();
    for file in ["00000001.jsonl", "HEAD"] {
        fs::copy(forged.join(file), mine.join(file)).unwrap();
    }
    fs::remove_dir_all(place.geometry("state")).unwrap();
    other_person(&place, &["stop"]).ended(0);
    let said = place.run(&["verify"]).ended(9);
    assert!(said.out.contains("DAMAGED at record ") && said.out.contains("is intact by itself"), "{}", said.out);
    assert!(!said.out.contains("before verify"), "no record before the first one: {}", said.out);
    fs::remove_dir_all(place.geometry("state")).unwrap();
    place.step(&calls(1));
    place.run(&["verify"]).ended(9);
}

/// A ledger of three records, as the gateway writes it; its file.
fn with_ledger(place: &Place) -> PathBuf {
    let layout = Layout::at(&place.geometry(""));
    let note = |text| LedgerRecord::Noted { kind: Label::cut("reload"), text: Label::cut(text) };
    let mut book = LedgerBook::open(&layout).unwrap();
    for text in ["one", "two", "three"] {
        book.append(&[note(text)], WallClock::from_epoch_ms(5)).unwrap();
        book.sync().unwrap();
    }
    place.geometry("ledger/00000001.jsonl")
}

#[test]
fn gate_8_a_damaged_ledger_is_found_by_every_verb_that_checks_and_named_with_its_file() {
    let place = Place::new();
    fs::create_dir_all(place.geometry("")).unwrap();
    let file = with_ledger(&place);
    place.run(&["verify"]).ended(0).says("ledger: 3 records verify");
    place.run(&["check"]).ended(0);
    place.step(&calls(1)).ended(0);
    place.run(&["verify"]).ended(0).says("ledger: 3 records verify").says("by the key of this machine");
    place.run(&["doctor"]).says("3 records verify of model calls");
    let good = fs::read_to_string(&file).unwrap();
    fs::write(&file, good.replacen("two", "owt", 1)).unwrap();
    let name = file.to_str().unwrap();
    let damaged = "the ledger of model calls is damaged at record 1";
    place.run(&["verify"]).ended(9).says("ledger: DAMAGED").says(damaged).says(name).says("move it away");
    let lines = place.run(&["verify", "--json"]).ended(9).json_lines();
    assert!(lines.iter().any(|line| line["ledger"]["holds"] == false), "{lines:?}");
    place.run(&["check"]).ended(9).says("ledger: DAMAGED");
    place.run(&["doctor"]).ended(1).says("ledger").says(damaged);
    for verb in [&["gateway", "usage"][..], &["cost"]] {
        place.run(verb).ended(9).complains(damaged).complains(name).complains("move it away");
    }
    place.run(&["verify", &place.session()]).ended(0);
    // The last record is known to be there by HEAD alone.
    fs::write(&file, good.replacen("three", "eerht", 1)).unwrap();
    place.run(&["verify"]).ended(9).says("the ledger of model calls is damaged at record 2").says(name);
}
