//! `tripwire export`, and what another machine makes of the file.

use crate::session::fixture::{Place, calls};
use std::fs;

fn exported() -> (Place, String) {
    let place = Place::new();
    place.step(&calls(6)).ended(0);
    let file = place.path().join("bundle").display().to_string();
    place.run(&["export", &file]).ended(0).says("13 records");
    (place, file)
}

#[test]
fn log_4_a_bundle_verifies_and_replays_on_another_machine() {
    let (place, file) = exported();
    let elsewhere = Place::new();
    elsewhere.run(&["verify", &file]).ended(0).says("13 records verify").says("by the key in the bundle itself");
    let here = place.run(&["replay", &place.session()]).ended(0).says("equal").out;
    assert_eq!(elsewhere.run(&["replay", &file]).ended(0).out, here);
    assert!(!elsewhere.geometry("").exists(), "nothing is left behind");
    let key = place.path().join("state/tripwire/keys/journal.pub").display().to_string();
    elsewhere.run(&["verify", &file, "--key", &key]).ended(0).says("by the key that was named");
    place.run(&["verify", &file]).ended(0).says("by the key of this machine");
    let json = elsewhere.run(&["verify", &file, "--json"]).ended(0).json();
    assert_eq!((&json["holds"], &json["records"]), (&true.into(), &13.into()));
}

#[test]
fn log_4_a_bundle_that_was_changed_or_cut_anywhere_is_found() {
    let (place, file) = exported();
    let good = fs::read(&file).unwrap();
    let step = good.len() / 40;
    for at in (0..good.len()).step_by(step).filter(|at| good[*at] != b'\n') {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        fs::write(&file, &bytes).unwrap();
        let said = place.run(&["verify", &file]);
        assert!(said.code == 9 || (said.code == 2 && at < 200), "byte {at}: {said:?}");
    }
    for lines in [1, 5, 12] {
        let text = String::from_utf8(good.clone()).unwrap();
        let cut: String = text.lines().take(lines).flat_map(|line| [line, "\n"]).collect();
        fs::write(&file, cut).unwrap();
        place.run(&["verify", &file]).ended(9);
    }
    let text = String::from_utf8(good).unwrap();
    let line = text.lines().position(|line| line.contains("\"i\":5,")).unwrap();
    let without: String =
        text.lines().enumerate().filter(|(n, _)| *n != line).flat_map(|(_, line)| [line, "\n"]).collect();
    fs::write(&file, without).unwrap();
    place.run(&["verify", &file]).ended(9).says("DAMAGED at record 5");
}

#[test]
fn log_4_a_bundle_signed_anew_by_someone_else_does_not_hold_with_the_right_key() {
    let (place, _) = exported();
    let forger = Place::new();
    forger.step(&calls(6)).ended(0);
    let forged = forger.path().join("forged").display().to_string();
    forger.run(&["export", &forged]).ended(0);
    let key = place.path().join("state/tripwire/keys/journal.pub").display().to_string();
    place.run(&["verify", &forged, "--key", &key]).ended(9);
}

#[test]
fn an_export_overwrites_nothing_and_a_file_that_is_no_bundle_is_refused() {
    let (place, file) = exported();
    let before = fs::read(&file).unwrap();
    place.run(&["export", &file]).ended(2).complains("cannot open");
    assert_eq!(fs::read(&file).unwrap(), before);
    place.run(&["export"]).ended(2);
    place.run(&["export", "--session", "auto-2020-01-01-000000", "x"]).ended(2).complains("there is no session");
    assert!(!place.work().join("x").exists());
    let other = place.work().join("other");
    fs::write(&other, "{\"bundle\":{\"key\":null,\"records\":1,\"session\":\"s\",\"version\":9}}\n").unwrap();
    place.run(&["verify", "other"]).ended(2).complains("version 9");
    fs::write(&other, "plain text\n").unwrap();
    place.run(&["verify", "other"]).ended(2).complains("no bundle");
    fs::write(&other, "{\"bundle\":{\"key\":null,\"records\":1,\"session\":\"../../x\",\"version\":1}}\n").unwrap();
    place.run(&["verify", "other"]).ended(2).complains("is not a session id");
}

#[test]
fn log_3_the_frozen_replay_is_written_on_demand() {
    let (place, _) = exported();
    let path = place.geometry(&format!("replays/{}.json", place.session()));
    assert!(!path.exists());
    place.run(&["export", "--replay"]).ended(0).says("13 records frozen");
    let replay: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert_eq!(replay["session_id"], place.session().as_str());
    assert_eq!(replay["inputs"].as_array().unwrap().len(), 6);
    let parity = place.run(&["replay", &place.session(), "--json"]).ended(0).json();
    assert_eq!(replay["inputs_digest"], parity["eventsSha256"]);
    assert_eq!(replay["decisions_digest"], parity["decisionsSha256"]);
}

#[test]
fn a_path_with_spaces_is_quoted_in_the_command_that_is_advised() {
    let place = Place::new();
    place.step(&calls(2)).ended(0);
    place.run(&["export", "my bundle"]).ended(0).says("`tripwire verify 'my bundle'`");
    place.run(&["export", "plain"]).ended(0).says("`tripwire verify plain`");
    let refused = place.run(&["export", "no/such/folder"]).ended(2).complains("cannot open");
    assert!(!refused.err.contains("standard input"), "{}", refused.err);
    place.run(&["decide", "nothing.jsonl"]).ended(2).complains("`-` reads standard input");
}
