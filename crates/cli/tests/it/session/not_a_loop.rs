//! `tripwire not-a-loop`.

use crate::session::fixture::{Place, call, calls};

#[test]
fn loop_3_a_false_alarm_becomes_a_scenario_that_fails_until_the_rule_is_tuned() {
    let place = Place::new();
    place.step(&format!("{}{}", calls(2), call("make", "error").repeat(3))).ended(0);
    let said = place.run(&["not-a-loop", "4", "--out", "saved.jsonl"]).ended(0).says("saved 5 inputs");
    assert!(said.out.contains("tripwire decide --check"), "{}", said.out);
    place.run(&["decide", "--check", "saved.jsonl"]).ended(9).says("`level` was expected to be none");
    // The same file, with the override one repeat later: now it stays quiet, and keeps doing so.
    let text = std::fs::read_to_string(place.work().join("saved.jsonl")).unwrap();
    let tuned = text.replacen(
        "\"policy\":{}",
        "\"policy\":{\"loops.loop_repeat_threshold\":\"9\",\"safety.soft_loop_threshold\":\"5\"}",
        1,
    );
    assert_ne!(text, tuned);
    std::fs::write(place.work().join("tuned.jsonl"), tuned).unwrap();
    place.run(&["decide", "--check", "tuned.jsonl"]).ended(0);
}

#[test]
fn loop_3_the_printed_check_passes_once_the_manifest_is_changed() {
    let place = Place::new();
    place.manifest("gate:\n  on_guard_failure: hold\n");
    place.step(&format!("{}{}", calls(2), call("make", "error").repeat(3))).ended(0);
    let said = place.run(&["not-a-loop", "4"]).ended(0);
    let printed = said.out.split("`tripwire ").nth(1).unwrap().split('`').next().unwrap().to_owned();
    let words: Vec<&str> = printed.split(' ').collect();
    assert!(words.contains(&"--workspace"), "{printed}");
    place.run(&words).ended(9);
    place.manifest("loops:\n  loop_repeat_threshold: 9\nsafety:\n  soft_loop_threshold: 5\n");
    place.run(&words).ended(0);
}

#[test]
fn loop_3_a_decision_without_an_alarm_and_a_file_that_is_there_are_refused() {
    let place = Place::new();
    place.step(&format!("{}{}", calls(2), call("make", "error").repeat(3))).ended(0);
    place.run(&["not-a-loop", "0"]).ended(2).complains("raised no alarm");
    place.run(&["not-a-loop", "99"]).ended(2).complains("there is no decision");
    std::fs::write(place.work().join("mine.jsonl"), "mine").unwrap();
    place.run(&["not-a-loop", "4", "--out", "mine.jsonl"]).ended(2).complains("mine.jsonl");
    assert_eq!(std::fs::read_to_string(place.work().join("mine.jsonl")).unwrap(), "mine");
    assert_eq!(place.run(&["not-a-loop", "four"]).code, 2);
}
