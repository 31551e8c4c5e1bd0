//! `tripwire why`.

use crate::session::fixture::{Place, call, calls};

#[test]
fn const_4_a_decision_can_always_say_why() {
    let place = Place::new();
    place.step(&format!("{}{}", calls(2), call("make", "error").repeat(4))).ended(7);
    let said = place.run(&["why", "5"]).ended(0);
    for words in [
        "decision 5",
        "refused, LOOP_DETECTED",
        "LOOP-1.exact",
        "loops.loop_repeat_threshold = 3",
        "policy     sha256:",
    ] {
        assert!(said.out.contains(words), "`{words}` is not in:\n{}", said.out);
    }
    assert_eq!(said.out.matches("evidence ").count(), 3, "{}", said.out);
    let json = place.run(&["why", "5", "--json"]).ended(0).json();
    assert_eq!(json["rules"][0]["id"], "LOOP-1.exact");
    assert_eq!(json["rules"][0]["settings"]["loops.loop_repeat_threshold"], "3");
    assert_eq!(json["evidence"].as_array().unwrap().len(), 3);
    assert_eq!(json["policyHash"].as_str().unwrap().len(), 64);
    assert_eq!(json["decision"]["i"], 5);
    place.run(&["why", "0"]).ended(0).says("allowed: nothing speaks against it [GATE-1]");
}

#[test]
fn ctrl_1_a_persons_act_is_named_as_one() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    place.run(&["stop", "--reason", "fire"]).ended(0);
    place
        .run(&["why", "1"])
        .ended(0)
        .says(&format!("who        a person: STOP by {}", tripwire_workspace::account::current()))
        .says("because fire");
    place.run(&["why", "2"]).ended(0).says("who        a person: \"stop\"");
}

#[test]
fn without_a_number_the_last_refusal_is_explained() {
    let place = Place::new();
    place.run(&["why"]).ended(2).complains("there is no session").complains("`tripwire run claude`");
    place.step(&calls(2)).ended(0);
    place.run(&["why"]).ended(2).complains("nothing was refused").complains("`tripwire log`");
    place.step(&call("make", "error").repeat(4)).ended(7);
    let last = place.run(&["log", "--json"]).ended(0).json_lines().pop().unwrap()["i"].as_u64().unwrap();
    let said = place.run(&["why"]).ended(0).says(&format!("decision {last} of")).says("LOOP-1.exact");
    assert_eq!(said.out, place.run(&["why", &last.to_string()]).ended(0).out);
}

#[test]
fn without_a_number_what_only_follows_from_a_loop_is_passed_over() {
    let place = Place::new();
    place.step(&format!("{}{}", calls(2), call("make", "error").repeat(4))).ended(7);
    let cause = place.run(&["why"]).ended(0).says("LOOP-1.exact").out;
    place.step(&call("ls", "a")).ended(7);
    assert_eq!(place.run(&["why"]).ended(0).out, cause, "the session is over because of the loop");
    let tuned = place.run(&["tune", "--json"]).ended(5).json();
    assert_eq!(tuned["rule"], "LOOP-1.exact", "{tuned}");
}

#[test]
fn without_a_number_what_follows_from_a_persons_order_is_not_laid_to_an_older_alarm() {
    let place = Place::new();
    place.step(&format!("{}{}", calls(2), call("make", "error").repeat(3))).ended(0);
    place.run(&["why"]).ended(0).says("decision 4 of").says("LOOP-1.exact");
    place.run(&["pause"]).ended(0);
    place.step(&call("ls", "a")).ended(5);
    let said = place.run(&["why"]).ended(0);
    assert!(!said.out.contains("decision 4 of") && said.out.contains("pause"), "{}", said.out);
}

#[test]
fn a_decision_that_is_not_there_is_a_clear_error() {
    let place = Place::new();
    place.run(&["why", "0"]).ended(2).complains("there is no session");
    place.step(&calls(2)).ended(0);
    place.run(&["why", "2"]).ended(2).complains("there is no decision `2`").complains("which has 2");
    place.run(&["why", "99999999999999"]).ended(2).complains("there is no decision");
    assert_eq!(place.run(&["why", "-1"]).code, 2);
    assert_eq!(place.run(&["why", "first"]).code, 2);
}
