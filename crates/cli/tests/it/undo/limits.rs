//! `tripwire set`: limits and the budget of a session that runs, in both directions, and nothing else.

use crate::hooks::fixture::{HookFixture, fixture, run, shell};
use serde_json::{Value, json};
use std::process::Output;

fn session() -> HookFixture {
    let fixture = fixture("claude");
    fixture.answer("UserPromptSubmit", &json!({"prompt": "go"}));
    fixture
}

fn set(fixture: &HookFixture, words: &[&str]) -> Output {
    let words: Vec<&str> = ["set"].into_iter().chain(words.iter().copied()).collect();
    run(fixture.command(&words), b"")
}

#[test]
fn ctrl_5_a_limit_is_set_in_both_directions_and_counts_at_once() {
    let fixture = session();
    assert_eq!(fixture.answer("PreToolUse", &shell("make a")), Value::Null);
    let lowered = set(&fixture, &["limits.max_session_runtime=1s", "--reason", "time for bed", "--json"]);
    assert_eq!(lowered.status.code(), Some(0), "{lowered:?}");
    let said: Value = serde_json::from_slice(&lowered.stdout).unwrap();
    assert_eq!(said["set"], json!([{"key": "limits.max_session_runtime_ms", "old": "off", "new": "1000"}]));
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let refused = fixture.call("PreToolUse", &shell("make b"));
    assert_ne!((refused.stdout.len(), refused.status.code()), (0, Some(0)), "the wall clock is over");
    let log = run(fixture.command(&["log", "--type", "human"]), b"");
    let log = String::from_utf8(log.stdout).unwrap();
    assert!(log.contains("limits.max_session_runtime_ms") && log.contains("time for bed"), "{log}");

    let other = session();
    for (words, old, new) in
        [(["money.budget=10usd"], "off", "10000000"), (["money.budget=-4usd"], "10000000", "6000000")]
    {
        let done = set(&other, &[words[0], "--json"]);
        let said: Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!((said["set"][0]["old"].as_str(), said["set"][0]["new"].as_str()), (Some(old), Some(new)));
    }
    let verified = run(other.command(&["verify"]), b"");
    assert_eq!(verified.status.code(), Some(0), "{verified:?}");
}

#[test]
fn ctrl_5_thresholds_stay_frozen_and_broken_input_sets_nothing() {
    let fixture = session();
    for words in [
        &["gate.max_tokens_per_minute=9"][..],
        &["loops.loop_repeat_threshold=99"],
        &["limits.max_steps"],
        &["limits.max_steps=much"],
        &["limits.max_session_runtime=+1h"],
        &["money.budget=nothing"],
        &["auto-2020-01-01-000000", "limits.max_steps=3"],
        &[],
    ] {
        let done = set(&fixture, words);
        assert_ne!(done.status.code(), Some(0), "{words:?}");
    }
    let log = run(fixture.command(&["log", "--type", "human"]), b"");
    assert!(!String::from_utf8(log.stdout).unwrap().contains("sets"), "nothing was journaled");
}
