//! `tripwire replay`: equal, or the first index that differs; and what another policy would change.

use crate::verbs::support::{EVENT, VerbEnd, run, scenario};
use std::path::Path;

/// Records a scenario and gives the file's name.
fn record(folder: &Path, name: &str) -> String {
    let file = folder.join("recorded.jsonl").to_str().unwrap().to_owned();
    let recorded = run(&["decide", "--record", &file, &scenario(name)], b"");
    assert!(!recorded.done().is_empty());
    file
}

#[test]
fn replay_1_a_recording_replays_equal_with_the_hashes_of_the_live_run() {
    let folder = tripwire_testing::folder();
    let file = record(folder.path(), "readme/loop-caught");
    let live = run(&["decide", "--text", &scenario("readme/loop-caught")], b"");
    let parity = live.done().lines().last().unwrap().to_owned();
    assert_eq!(run(&["replay", &file], b"").done(), format!("{parity} · equal\n"));
    let json: serde_json::Value = serde_json::from_str(run(&["replay", "--json", &file], b"").done()).unwrap();
    assert_eq!((json["equal"].as_bool(), json["events"].as_u64()), (Some(true), Some(11)));
    assert!(parity.contains(json["decisionsSha256"].as_str().unwrap()));
    let plain = run(&["replay", &scenario("readme/loop-caught")], b"");
    assert_eq!(plain.done(), format!("{parity} · equal\n"), "a plain stream gives the same hashes");
}

/// Replays a changed recording.
fn changed(folder: &Path, change: impl Fn(&[&str]) -> Vec<String>) -> VerbEnd {
    let text = std::fs::read_to_string(folder.join("recorded.jsonl")).unwrap();
    let file = folder.join("changed.jsonl");
    std::fs::write(&file, change(&text.lines().collect::<Vec<_>>()).join("\n")).unwrap();
    run(&["replay", file.to_str().unwrap()], b"")
}

#[test]
fn log_4_a_flipped_deleted_moved_or_cut_record_is_named_by_its_index() {
    let folder = tripwire_testing::folder();
    record(folder.path(), "readme/loop-caught");
    let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let flipped = changed(folder.path(), |lines| {
        let mut lines = owned(lines);
        lines[4] = lines[4].replace("\"allowed\":true", "\"allowed\":false");
        lines
    });
    let deleted = changed(folder.path(), |lines| owned(&[&lines[..5], &lines[6..]].concat()));
    let moved = changed(folder.path(), |lines| {
        let mut lines = owned(lines);
        lines.swap(7, 9);
        lines
    });
    let cut = changed(folder.path(), |lines| owned(&lines[..8]));
    let short = changed(folder.path(), |lines| owned(&lines[..9]));
    for (ran, place) in [
        (flipped, "record 4"),
        (deleted, "record 5"),
        (moved, "record 7"),
        (cut, "record 8: the decision is missing"),
        (short, "record 9: the end is missing"),
    ] {
        assert_eq!((ran.code, ran.out.as_str()), (9, ""), "{ran:?}");
        ran.complained(&[place, "keep the file as evidence"]);
    }
}

#[test]
fn replay_1_a_forged_decision_with_a_good_chain_is_found_by_its_index() {
    use tripwire_session::formats::recording::Recorder;
    let folder = tripwire_testing::folder();
    let file = record(folder.path(), "budgets/tokens-fires");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut forged = Vec::new();
    let mut recorder = Recorder::new(&mut forged);
    for line in text.lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        let start = line.find("\"b\":").unwrap() + 4;
        let end = line.find(",\"h\":\"").unwrap();
        let refused = record["b"]["decision"]["safety"]["allowed"] == false;
        let body = &line[start..end];
        // Somebody who can write the whole file can make the chain fit; the decisions cannot be made to fit the engine.
        recorder
            .add(&if refused { body.replace("\"allowed\":false", "\"allowed\":true") } else { body.to_owned() })
            .unwrap();
    }
    recorder.finish().unwrap();
    let name = folder.path().join("forged.jsonl");
    std::fs::write(&name, forged).unwrap();
    let ran = run(&["replay", name.to_str().unwrap()], b"");
    assert_eq!((ran.code, ran.err.as_str()), (9, ""));
    assert!(ran.out.contains("differs first at decision 1") && ran.out.contains("recorded: "), "{}", ran.out);
    let json = run(&["replay", "--json", name.to_str().unwrap()], b"");
    assert!(json.code == 9 && json.out.contains("\"firstDifference\":1"), "{json:?}");
}

#[test]
fn replay_1_another_policy_lists_the_decisions_that_would_change() {
    let folder = tripwire_testing::folder();
    let file = record(folder.path(), "budgets/tokens-fires");
    let policy = folder.path().join("policy.yaml");
    std::fs::write(&policy, "profile: strict\ngate:\n  max_tokens_per_minute: 60000\n").unwrap();
    let policy = policy.to_str().unwrap();
    for source in [file.clone(), scenario("budgets/tokens-fires")] {
        let ran = run(&["replay", "--policy", policy, &source], b"");
        let lines: Vec<&str> = ran.done().lines().collect();
        assert!(lines[0].starts_with("decision 1: 50001 tokens in the last minute"), "{lines:?}");
        assert!(lines[0].ends_with("-> allowed, note [GATE-1]"), "{lines:?}");
        assert_eq!(lines.last(), Some(&"3 inputs, 2 decisions would change"));
        let json = run(&["replay", "--json", "--policy", policy, &source], b"");
        let last: serde_json::Value = serde_json::from_str(json.done().lines().last().unwrap()).unwrap();
        assert_eq!(last, serde_json::json!({"changed": 2, "inputs": 3}));
    }
    std::fs::write(folder.path().join("same.yaml"), "profile: strict\n").unwrap();
    let same = run(&["replay", "--policy", folder.path().join("same.yaml").to_str().unwrap(), &file], b"");
    assert_eq!(same.done(), "3 inputs, 0 decisions would change\n");
}

#[test]
fn log_4_a_run_that_broke_off_leaves_a_recording_that_says_so() {
    let folder = tripwire_testing::folder();
    let file = folder.path().join("broken-off.jsonl").to_str().unwrap().to_owned();
    let broken = run(&["decide", "--record", &file], format!("{EVENT}\nnonsense\n{EVENT}\n").as_bytes());
    assert_eq!((broken.code, broken.out.lines().count()), (2, 1));
    let ran = run(&["replay", &file], b"");
    assert_eq!((ran.code, ran.out.as_str()), (9, ""));
    ran.complained(&["record 3: the end is missing"]);
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    run(&["replay", "-"], b"").refused(&["standard input: holds no event"]);
    run(&["replay", "-"], b"garbage").refused(&["line 1", "a JSON object was expected"]);
    run(&["replay", "no/such/file"], b"").refused(&["cannot open `no/such/file`"]);
    run(&["replay", "scenarios"], b"").refused(&["is a directory"]);
    run(&["replay", "--policy", "no/policy.yaml", "-"], EVENT.as_bytes()).refused(&["no/policy.yaml"]);
    let without = run(&["replay"], b"");
    assert_eq!((without.code, without.out.as_str()), (2, ""), "{without:?}");
}
