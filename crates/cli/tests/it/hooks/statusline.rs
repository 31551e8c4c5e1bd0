//! The status line: success, nothing to show, and trouble that is shown and not thrown.

use crate::hooks::fixture::{HookFixture, fixture, run, shell};
use serde_json::json;
use std::fs;

fn line(fixture: &HookFixture, input: &[u8]) -> String {
    let output = run(fixture.command(&["statusline"]), input);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    text.trim().to_owned()
}

fn told(fixture: &HookFixture) -> Vec<u8> {
    json!({"session_id": "a1", "cwd": fixture.root(), "context_window": {"context_window_size": 500_000}})
        .to_string()
        .into()
}

#[test]
fn the_status_line_tells_money_time_context_health_tests_and_holds() {
    let fixture = fixture("claude");
    assert_eq!(line(&fixture, &told(&fixture)), "tripwire: no session yet");
    fs::write(fixture.geometry("MANIFEST.yaml"), "money:\n  budget_micro_usd: 5000000\n").unwrap();
    fixture.answer("PreToolUse", &shell("ls"));
    line(&fixture, &told(&fixture));
    fixture
        .said(&json!({"type": "assistant", "isSidechain": false, "message": {"id": "m1", "model": "claude-opus-4-5",
        "usage": {"input_tokens": 100_000, "output_tokens": 1_000}, "content": []}}));
    fixture.answer(
        "PostToolUse",
        &json!({"tool_name": "Write", "tool_input": {"file_path": "a.rs"}, "tool_response": "ok"}),
    );
    // 20 % of the 500,000 that the client told.
    let shown = line(&fixture, &told(&fixture));
    assert_eq!(shown, "$0.52/5 | 0 min | ctx 20% | health 1.00 | tests UNVERIFIED | 0 held");
    fs::write(fixture.geometry("PAUSE"), "").unwrap();
    fixture.answer("PreToolUse", &shell("ls"));
    assert!(line(&fixture, &told(&fixture)).ends_with("1 held (paused)"));
}

#[test]
fn trouble_is_one_line_and_no_error() {
    let fixture = fixture("claude");
    for input in [&b""[..], b"not json", br#"{"session_id":"a1","cwd":"/nowhere/at/all"}"#] {
        assert!(line(&fixture, input).starts_with("tripwire: guard broken"), "{input:?}");
    }
    fixture.answer("PreToolUse", &shell("ls"));
    let session = fs::read_dir(fixture.geometry("journal")).unwrap().next().unwrap().unwrap().path();
    fs::write(session.join("00000001.jsonl"), "spoilt\n").unwrap();
    assert!(line(&fixture, &told(&fixture)).starts_with("tripwire: guard broken"));
}
