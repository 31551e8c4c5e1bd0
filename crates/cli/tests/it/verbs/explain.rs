//! `tripwire explain`: a rule that a decision named, in words.

use crate::verbs::support::run;
use serde_json::Value;

#[test]
fn a_rule_is_explained_with_threshold_source_and_both_examples() {
    let ran = run(&["explain", "GATE-3"], b"");
    let text = ran.done();
    assert!(text.starts_with("GATE-3: "), "{text}");
    for label in
        ["\nthreshold  ", "\nsource     ", "\nfires      ", "\nquiet      ", "gate.cooldown_duration_ms = 60000"]
    {
        assert!(text.contains(label), "{label:?} is not in:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "lines fit a screen:\n{text}");
    assert_eq!(run(&["explain", "gate-3"], b"").done(), text, "case does not matter");
}

#[test]
fn the_settings_shown_are_those_in_force() {
    let folder = tripwire_testing::folder();
    let file = folder.path().join("policy.yaml");
    std::fs::write(&file, "gate:\n  cooldown_duration_ms: 5000\n").unwrap();
    let ran = run(&["explain", "GATE-3", "--policy", file.to_str().unwrap()], b"");
    assert!(ran.done().contains("gate.cooldown_duration_ms = 5000"), "{}", ran.out);
}

#[test]
fn every_rule_that_a_scenario_names_can_be_explained() {
    let listed = run(&["explain"], b"");
    let ids: Vec<&str> = listed.done().lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(ids.contains(&"LOOP-2.cycle") && ids.contains(&"REVIEW-1") && ids.len() > 50, "{ids:?}");
    for line in run(&["explain", "--json"], b"").done().lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        assert!(ids.contains(&entry["id"].as_str().unwrap()) && !entry["fires"].as_str().unwrap().is_empty());
    }
}

#[test]
fn an_unknown_rule_is_refused_with_its_neighbour() {
    run(&["explain", "LOPP-1"], b"")
        .refused(&["there is no rule `LOPP-1`; did you mean `LOOP-1`?", "`tripwire explain`"]);
    let nonsense = run(&["explain", "bananas and custard"], b"");
    nonsense.refused(&["there is no rule `bananas and custard`"]);
    assert!(!nonsense.err.contains("did you mean"), "{}", nonsense.err);
    run(&["explain", "GATE-3", "--policy", "no/such.yaml"], b"").refused(&["no/such.yaml"]);
}
