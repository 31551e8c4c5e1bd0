//! Limits of single tools, at the MCP guard and at hooks.

use super::fixture::{refusal, server};
use crate::hooks::fixture::{fixture, shell};
use serde_json::json;
use std::fs;

const MANIFEST: &str = "tools:\n  \"demo/send\": { max_calls: 2, approve: false }\n  \"demo/pay\": { approve: true }\n  \"demo/slow\": { per_minute: 1 }\n  Bash: { max_calls: 1 }\n";

#[test]
fn tool_3_limits_hold_at_the_guard_of_a_server_and_other_tools_pass() {
    let fixture = server();
    fs::write(fixture.hooks.geometry("MANIFEST.yaml"), MANIFEST).unwrap();
    let mut client = fixture.start();
    for n in 0..2 {
        assert_eq!(refusal(&client.call(n, "send", &json!({"n": n}))), None);
    }
    let refused = refusal(&client.call(2, "send", &json!({"n": 2}))).unwrap();
    assert!(refused.contains("[TOOL-3]") && refused.contains("`demo/send` was called 2 times"), "{refused}");
    assert_eq!(refusal(&client.call(3, "slow", &json!({"n": 3}))), None);
    let refused = refusal(&client.call(4, "slow", &json!({"n": 4}))).unwrap();
    assert!(refused.contains("within a minute") && refused.contains("again in"), "{refused}");
    let refused = refusal(&client.call(5, "pay", &json!({"n": 5}))).unwrap();
    assert!(refused.contains("waits for a person (tools: approve)"), "{refused}");
    assert_eq!(refusal(&client.call(6, "other", &json!({"n": 6}))), None);
    assert_eq!(client.close().0, Some(0));
    assert_eq!(fixture.log().lines().count(), 4, "{}", fixture.log());
    fixture.verify();
}

#[test]
fn tool_3_limits_hold_at_hooks_for_built_in_tools() {
    let fixture = fixture("claude");
    fs::write(fixture.geometry("MANIFEST.yaml"), MANIFEST).unwrap();
    assert!(fixture.answer("PreToolUse", &shell("ls")).is_null());
    let refused = fixture.answer("PreToolUse", &shell("ls -l")).to_string();
    assert!(refused.contains("TOOL-3"), "{refused}");
    let read = json!({"tool_name": "Read", "tool_input": {"file_path": "a"}, "tool_use_id": "r"});
    assert!(fixture.answer("PreToolUse", &read).is_null());
}

/// What a hook answers to a result of `Bash` with so many bytes, under a limit of 300.
fn said_after(client: &'static str, response: &serde_json::Value) -> serde_json::Value {
    let fixture = fixture(client);
    fs::write(fixture.geometry("MANIFEST.yaml"), "tools:\n  Bash: { max_output: 300 }\n").unwrap();
    let mut done = shell("cat a");
    done["tool_response"] = response.clone();
    let event = if client == "gemini" { "AfterTool" } else { "PostToolUse" };
    let said = fixture.answer(event, &done);
    let text = said.to_string();
    if let Some((_, rest)) = text.split_once("tripwire memory get ") {
        let pointer = rest.split('`').next().unwrap();
        let whole = fixture.command(&["memory", "get", pointer]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&whole.stdout).matches('o').count(), 2_000, "the whole is kept: {whole:?}");
    }
    said
}

#[test]
fn tool_3_a_result_larger_than_its_limit_is_cut_at_hooks_that_can_and_a_small_one_is_not() {
    let large = "o".repeat(2_000);
    let shape = json!({"stdout": large, "stderr": "", "interrupted": false, "isImage": false});
    let said = said_after("claude", &shape);
    let output = &said["hookSpecificOutput"]["updatedToolOutput"];
    let kept = output["stdout"].as_str().unwrap_or_else(|| panic!("{said}"));
    assert_eq!(kept.split('\n').next().map(str::len), Some(300), "{said}");
    assert!(kept.contains("the result has 2000 bytes") && output["interrupted"] == false, "{said}");
    let said = said_after("codex", &json!(large));
    let kept = said["reason"].as_str().unwrap_or_else(|| panic!("{said}"));
    assert!(said["decision"] == "block" && kept.split('\n').next().map(str::len) == Some(300), "{said}");
    for (client, response) in [
        ("claude", json!({"stdout": "o".repeat(300), "stderr": ""})),
        ("codex", json!("small")),
        // Its hooks cannot shorten a result.
        ("gemini", json!(large)),
    ] {
        let said = said_after(client, &response);
        assert!(said.is_null(), "{client}: {said}");
    }
}

#[test]
fn tool_3_a_limit_that_is_none_is_refused_with_its_line() {
    let fixture = server();
    fs::write(fixture.hooks.geometry("MANIFEST.yaml"), "tools:\n  \"demo/send\": { max_calls: many }\n").unwrap();
    let text = fixture.text_of(&["policy", "check"]);
    assert!(text.contains("line 2") && text.contains("max_calls"), "{text}");
}

/// The code by which a person allows a refused call.
fn code_in(text: &str) -> String {
    let behind = text.split("--once ").nth(1).unwrap_or_else(|| panic!("{text}"));
    behind.chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '-').collect()
}

#[test]
fn floor_1_a_call_that_is_asked_about_at_a_hook_and_at_the_guard_is_answered_where_it_waits() {
    let fixture = server();
    fs::write(fixture.hooks.geometry("MANIFEST.yaml"), MANIFEST).unwrap();
    let asked = json!({"tool_name": "mcp__demo__pay", "tool_input": {"n": 1}, "tool_use_id": "t"});
    let at_hook = || fixture.hooks.answer("PreToolUse", &asked);
    let allow = |code: &str| fixture.tripwire(&["allow", "--once", code]);
    let code = code_in(&at_hook().to_string());
    assert!(allow(&code).status.success());
    assert!(at_hook().is_null(), "the answer is spent");
    let mut client = fixture.start();
    assert_eq!(code_in(&refusal(&client.call(1, "pay", &json!({"n": 1}))).unwrap()), code, "one call, one code");
    assert!(allow(&code).status.success());
    assert!(code_in(&at_hook().to_string()) == code, "and it is asked about at the hook again");
    let allowed = allow(&code);
    assert!(allowed.status.success(), "the newer session has its answer: {allowed:?}");
    let again = allow(&code);
    assert!(!again.status.success(), "what was answered everywhere is not answered twice: {again:?}");
    assert!(at_hook().is_null());
    assert_eq!(refusal(&client.call(2, "pay", &json!({"n": 1}))), None);
    assert_eq!(client.close().0, Some(0));
    fixture.verify();
}
