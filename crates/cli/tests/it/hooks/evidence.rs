//! What the verdict and the record of people's acts stand on, with hooks alone.

use super::fixture::{HookFixture, fixture, run, shell};
use serde_json::{Value, json};
use std::fs;

/// A session in which code was written and no test ran.
fn modified() -> HookFixture {
    let fixture = fixture("claude");
    fixture.answer("UserPromptSubmit", &json!({"prompt": "go"}));
    let path = fixture.root().join("a.py");
    let call = json!({"tool_name": "Write", "tool_input": {"file_path": path, "content": "x"}, "tool_use_id": "w"});
    fixture.answer("PreToolUse", &call);
    fs::write(&path, "x").unwrap();
    fixture.answer("PostToolUse", &with_result(call));
    fixture
}

fn with_result(mut call: Value) -> Value {
    call["tool_response"] = json!({"stdout": "", "stderr": ""});
    call
}

fn set_bits(fixture: &HookFixture) {
    let path = fixture.geometry("MANIFEST.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let edited =
        ["tests_run: false", "tests_passing: null", "tests_passing: false"].iter().fold(text.clone(), |text, bit| {
            let name = bit.split(':').next().unwrap();
            text.replace(bit, &format!("{name}: true"))
        });
    assert_ne!(text, edited, "the manifest shows no dirty bits");
    fs::write(&path, edited).unwrap();
}

fn said(fixture: &HookFixture, words: &[&str]) -> String {
    let output = run(fixture.command(words), b"");
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
}

#[test]
fn dirty_1_a_skip_by_a_person_is_reported_as_waived() {
    let fixture = modified();
    assert_eq!(fixture.answer("Stop", &json!({"stop_hook_active": false}))["decision"], "block");
    set_bits(&fixture);
    assert_eq!(fixture.answer("Stop", &json!({"stop_hook_active": true})), Value::Null, "a person may skip the tests");
    let status = said(&fixture, &["status"]);
    assert!(status.contains("work        WAIVED (check skipped by "), "{status}");
    assert!(status.contains("owner of MANIFEST.yaml") && !status.contains("work        VERIFIED"), "{status}");
}

#[test]
fn dirty_1_bits_that_are_set_while_a_call_runs_are_drift_and_are_put_back() {
    let fixture = modified();
    fixture.answer("PreToolUse", &shell("./helper"));
    set_bits(&fixture);
    fixture.answer("PostToolUse", &with_result(shell("./helper")));
    assert!(fixture.log().contains("POLICY_DRIFT") && !fixture.log().contains("MANUAL_OVERRIDE"), "{}", fixture.log());
    let shown = fs::read_to_string(fixture.geometry("MANIFEST.yaml")).unwrap();
    assert!(shown.contains("tests_run: false"), "the true bits are shown again: {shown}");
    assert_eq!(fixture.answer("Stop", &json!({"stop_hook_active": false}))["decision"], "block");
    let status = said(&fixture, &["status"]);
    assert!(status.contains("work        UNVERIFIED"), "{status}");
}

#[test]
fn ctrl_2_acts_of_people_carry_the_account_and_the_reason() {
    let fixture = fixture("claude");
    fixture.answer("UserPromptSubmit", &json!({"prompt": "go"}));
    let account = tripwire_workspace::account::current();
    for words in
        [["pause", "--reason", "lunch"], ["resume", "--reason", "back"], ["disarm", "--project", "--reason=quiet"]]
    {
        let mut command = fixture.command(&words);
        command.env("USER", "mallory").env("LOGNAME", "mallory");
        assert!(run(command, b"").status.success(), "{words:?}");
    }
    let log = said(&fixture, &["log", "--json"]);
    for reason in ["lunch", "back", "quiet"] {
        let line = log.lines().find(|line| line.contains(reason)).unwrap_or_else(|| panic!("{reason}: {log}"));
        assert!(line.contains(&account) && !line.contains("mallory"), "{line}");
    }
}
