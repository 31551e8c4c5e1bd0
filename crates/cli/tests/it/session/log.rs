//! `tripwire log`.

use crate::session::fixture::{Place, call, calls};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

#[test]
fn a_log_shows_each_input_and_filters_by_rule_level_type_and_time() {
    let place = Place::new();
    place.step(&format!("{}{}", calls(3), call("make", "error").repeat(4))).ended(7);
    place.run(&["pause"]).ended(0);
    assert!(place.run(&["log"]).ended(0).out.lines().count() >= 8);
    let loops = place.run(&["log", "--rule", "loop-1", "--json"]).ended(0).json_lines();
    assert!(loops.iter().all(|line| line.to_string().contains("LOOP-1")) && loops.len() >= 2, "{loops:?}");
    let held = place.run(&["log", "--level", "stop", "--json"]).ended(0).json_lines();
    assert_eq!((held.len(), &held[0]["i"]), (1, &6.into()));
    assert_eq!(
        place.run(&["log", "--level", "note"]).ended(0).out.lines().filter(|line| line.starts_with("20")).count(),
        4
    );
    place
        .run(&["log", "--type", "human"])
        .ended(0)
        .says(&format!("PAUSE by {}", tripwire_workspace::account::current()));
    place.run(&["log", "--type", "SYSTEM_ERROR"]).ended(0).says("stop SYSTEM_ERROR");
    place.run(&["log", "--type", "refused"]).ended(0).says("refused: ");
    assert_eq!(place.run(&["log", "--since", "1h"]).ended(0).out, place.run(&["log"]).out);
    assert_eq!(place.run(&["log", "--since", "2999-01-01T00:00:00Z"]).ended(0).out, "");
    assert_eq!(place.run(&["log", "--rule", "GATE-5"]).ended(0).out, "", "a rule that did not speak");
    assert!(!place.run(&["log", "--rule", "LOOP"]).ended(0).out.is_empty(), "a whole family");
}

#[test]
fn a_followed_log_shows_what_others_journal_meanwhile_and_ends_in_time() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    let follow = ["log", "--follow", "--timeout"];
    let mut child = place.command(&[&follow[..], &["60"]].concat()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("work 0")));
    place.step(&call("a late call", "x")).ended(0);
    assert!(lines.any(|line| line.contains("a late call")));
    child.kill().unwrap();
    child.wait().unwrap();
    place.run(&[&follow[..], &["1"]].concat()).ended(0).says("work 0").says("a late call");
}

#[test]
fn a_log_that_cannot_be_shown_says_why() {
    let place = Place::new();
    place.run(&["log"]).ended(2).complains("there is no session");
    place.step(&calls(1)).ended(0);
    place.run(&["log", "--since", "yesterday"]).ended(2).complains("neither a time");
    assert_eq!(place.run(&["log", "--level", "loud"]).code, 2);
    place.run(&["log", "--rule", "LOPP-1"]).ended(2).complains("`LOOP-1`");
    place.run(&["log", "--rule", "NOSUCH"]).ended(2).complains("`NOSUCH`").complains("tripwire explain");
    place.run(&["log", "--rule", ""]).ended(2).complains("tripwire explain");
    std::fs::write(place.journal("00000001.jsonl"), "rubbish\n").unwrap();
    place.run(&["log"]).ended(9).complains("damaged at record 0");
}
