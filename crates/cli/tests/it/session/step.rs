//! `tripwire step`.

use crate::session::fixture::{Place, call, calls};
use std::fs;

#[test]
fn chain_5_each_line_is_journaled_with_its_decision_and_answered() {
    let place = Place::new();
    let said = place.step(&calls(3)).ended(0);
    let decisions = said.json_lines();
    assert_eq!(decisions.len(), 3);
    assert_eq!(decisions[2]["i"], 2);
    assert_eq!(decisions[2]["runId"], place.session().as_str());
    let journal = fs::read_to_string(place.journal("00000001.jsonl")).unwrap();
    assert_eq!(journal.lines().count(), 7, "the head, three inputs and three decisions");
    let again = place.step(&calls(1)).ended(0).json_lines();
    assert_eq!(again[0]["i"], 3, "the newest session goes on");
}

#[test]
fn new_begins_another_session_and_session_names_an_older_one() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    let first = place.session();
    place.feed(&["step", "--new"], &calls(1)).ended(0);
    let second = place.session();
    assert_ne!(first, second);
    let said = place.feed(&["step", "--session", &first], &calls(1)).ended(0);
    assert_eq!(said.json_lines()[0]["runId"], first.as_str());
    assert_eq!(said.json_lines()[0]["i"], 1);
}

#[test]
fn loop_1_a_loop_ends_the_session_with_a_report_and_a_frozen_replay() {
    let place = Place::new();
    place.step(&call("make", "error").repeat(4)).ended(7).says("SYSTEM_ERROR").says("4 times in a row");
    let report = fs::read_to_string(place.geometry("BLOCKER_REPORT.md")).unwrap();
    assert!(report.contains(&place.session()), "{report}");
    let replay = fs::read_to_string(place.geometry(&format!("replays/{}.json", place.session()))).unwrap();
    let replay: serde_json::Value = serde_json::from_str(&replay).unwrap();
    assert_eq!(replay["inputs"].as_array().unwrap().len(), 4, "log_3: complete");
    assert_eq!(replay["trajectory"].as_array().unwrap().len(), 4);
    assert_eq!(replay["trajectory"][3]["index"], 7);
}

#[test]
fn ctrl_1_a_touched_pause_refuses_the_next_step_and_its_removal_lets_it_through() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    fs::write(place.geometry("PAUSE"), "").unwrap();
    let said = place.step(&calls(1)).ended(5);
    assert_eq!(said.json_lines().last().unwrap()["safety"]["allowed"], false);
    fs::remove_file(place.geometry("PAUSE")).unwrap();
    place.step(&calls(1)).ended(0);
    fs::write(place.geometry("STOP"), "").unwrap();
    place.step(&calls(1)).ended(10);
}

#[test]
fn a_bad_line_is_named_and_what_came_before_it_is_kept() {
    let place = Place::new();
    let lines = format!("{}nonsense\n{}", calls(2), calls(1));
    place.step(&lines).ended(2).complains("line 3");
    assert_eq!(place.run(&["log"]).ended(0).out.lines().count(), 2);
    place.run(&["step", "/nonexistent/file"]).ended(2).complains("cannot open");
    place.run(&["step", "--session", "../x", "-"]).ended(2).complains("is not a session id");
    place.run(&["step", "--session", "auto-2020-01-01-000000"]).ended(2).complains("there is no session");
    assert!(!place.geometry("journal/auto-2020-01-01-000000").exists(), "looking makes nothing");
}

#[test]
fn lines_happen_now_unless_their_own_times_are_asked_for() {
    let place = Place::new();
    let late = call("a", "b").replace("\"timestamp\":0", "\"timestamp\":600000");
    place.step(&late).ended(0);
    let now = place.run(&["log", "--json"]).json()["input"]["at"].as_u64().unwrap();
    assert!(now < 60_000, "{now}");
    place.feed(&["step", "--times", "own"], &late).ended(0);
    let log = place.run(&["log", "--json"]).json_lines();
    assert_eq!(log[1]["input"]["at"], 600_000);
}

#[test]
fn only_the_verb_that_passes_over_bad_lines_advises_it() {
    let place = Place::new();
    let said = place.step("no JSON\n").ended(2).complains("line 1");
    assert!(!said.err.contains("--lenient"), "{}", said.err);
    place.feed(&["decide", "-"], "no JSON\n").ended(2).complains("`--lenient` passes over bad lines");
}
