//! `tripwire replay` on sessions.

use crate::session::fixture::{Place, call, calls};
use std::fs;

#[test]
fn replay_1_a_session_replays_to_the_same_decisions_across_processes_and_people() {
    let place = Place::new();
    for n in 0..4 {
        place.step(&call(&format!("c{n}"), "ok")).ended(0);
    }
    place.run(&["pause", "--reason", "tea"]).ended(0);
    place.step(&calls(1)).ended(5);
    place.run(&["resume"]).ended(0);
    place.step(&call("make", "error").repeat(4)).ended(7);
    place.run(&["replay", &place.session()]).ended(0).says("equal");
    assert_eq!(place.run(&["replay", &place.session(), "--json"]).ended(0).json()["equal"], true);
    assert_eq!(place.run(&["replay"]).ended(0).out, place.run(&["replay", &place.session()]).ended(0).out);
    Place::new().run(&["replay"]).ended(2).complains("there is no session");
}

#[test]
fn log_3_a_frozen_replay_is_replayed_and_a_changed_one_differs() {
    let place = Place::new();
    place.step(&format!("{}{}", calls(2), call("make", "error").repeat(4))).ended(7);
    place.run(&["export", "--replay"]).ended(0);
    let file = place.geometry(&format!("replays/{}.json", place.session()));
    let name = file.to_str().unwrap();
    place.run(&["replay", name]).ended(0).says("equal");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("\"outputLength\":6", "\"outputLength\":7", 1)).unwrap();
    assert_ne!(fs::read_to_string(&file).unwrap(), text);
    place.run(&["replay", name]).ended(9);
    fs::write(&file, &text[..text.len() / 2]).unwrap();
    place.run(&["replay", name]).ended(9).complains("is not a replay");
}

#[test]
fn replay_1_another_policy_lists_the_decisions_that_would_change() {
    let place = Place::new();
    place.step(&call("make", "error").repeat(3)).ended(0);
    let other = place.work().join("other.yaml");
    fs::write(&other, "loops:\n  loop_repeat_threshold: 2\n").unwrap();
    let said = place.run(&["replay", &place.session(), "--policy", "other.yaml"]).ended(0).says("3 inputs, ");
    assert!(!said.out.contains(" 0 decisions"), "{}", said.out);
    fs::write(&other, "loops:\n  loop_repeat_threshold: 3\n").unwrap();
    place.run(&["replay", &place.session(), "--policy", "other.yaml"]).ended(0).says("0 decisions would change");
}

#[test]
fn replay_1_a_session_that_is_not_there_or_damaged_is_not_replayed() {
    let place = Place::new();
    place.step(&calls(2)).ended(0);
    place.run(&["replay", "auto-2020-01-01-000000"]).ended(2).complains("there is no session");
    place.run(&["replay", &place.session(), "--policy", "nowhere.yaml"]).ended(2).complains("nowhere.yaml");
    let segment = place.journal("00000001.jsonl");
    let mut bytes = fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&segment, bytes).unwrap();
    place.run(&["replay", &place.session()]).ended(9).complains("damaged at record");
}

#[test]
fn replay_1_a_session_of_older_rules_verifies_and_a_difference_names_them() {
    let place = Place::new();
    // Written before a session named its rules; since then the words of its decisions have changed.
    fs::write(place.work().join("older.bundle"), include_str!("rules-1.bundle")).unwrap();
    place.run(&["verify", "older.bundle"]).ended(0).says("9 records verify");
    place
        .run(&["replay", "older.bundle"])
        .ended(9)
        .says("differs first at decision")
        .says("began under rules of version 1")
        .says("`tripwire verify` checks the record");
    let json = place.run(&["replay", "older.bundle", "--json"]).ended(9).json();
    assert_eq!((&json["rules"], &json["equal"]), (&1.into(), &false.into()));

    place.step(&calls(2)).ended(0);
    let own = place.run(&["replay", "--json"]).ended(0).json();
    assert_eq!((&own["rules"], &own["equal"]), (&2.into(), &true.into()));
}
