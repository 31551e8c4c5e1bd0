//! `tripwire hook`: through the binary, with inputs in the clients' forms.
#![expect(clippy::unwrap_used, reason = "a broken premise must end the test")]

use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const TRIPWIRE: &str = env!("CARGO_BIN_EXE_tripwire");

fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".geometry")).unwrap();
    folder
}

fn hook(workspace: &Path, input: &[u8]) -> Output {
    let mut child = Command::new(TRIPWIRE)
        .args(["hook", "claude"])
        .current_dir(workspace)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn event(workspace: &Path, name: &str, more: Value) -> Vec<u8> {
    let mut input = json!({
        "session_id": "a1", "transcript_path": "/nowhere.jsonl", "cwd": workspace, "hook_event_name": name,
        "a_field_of_tomorrow": {"is": ["ignored"]},
    });
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    input.to_string().into_bytes()
}

fn pre(workspace: &Path) -> Vec<u8> {
    event(workspace, "PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t"}))
}

fn answer(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
}

#[test]
fn ctrl_1_a_call_passes_and_is_denied_while_pause_exists() {
    let place = workspace();
    let passed = hook(place.path(), &pre(place.path()));
    assert!(passed.status.success() && passed.stdout.is_empty(), "{passed:?}");
    fs::write(place.path().join(".geometry/PAUSE"), "").unwrap();
    let denied = answer(&hook(place.path(), &pre(place.path())));
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(denied["hookSpecificOutput"]["hookEventName"], "PreToolUse");
    assert_eq!(denied.get("continue"), None, "a paused turn goes on once it is resumed");
    fs::remove_file(place.path().join(".geometry/PAUSE")).unwrap();
    assert!(hook(place.path(), &pre(place.path())).stdout.is_empty());
}

#[test]
fn ctrl_1_a_stop_denies_the_call_ends_the_turn_and_blocks_the_prompt() {
    let place = workspace();
    fs::write(place.path().join(".geometry/STOP"), "").unwrap();
    let denied = answer(&hook(place.path(), &pre(place.path())));
    assert_eq!(denied["continue"], false);
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny");
    let prompt = event(place.path(), "UserPromptSubmit", json!({"prompt": "go on"}));
    assert_eq!(answer(&hook(place.path(), &prompt))["decision"], "block");
}

#[test]
fn an_event_that_means_nothing_to_the_engine_passes() {
    let place = workspace();
    for name in ["SessionStart", "Notification", "AnEventOfTomorrow"] {
        let output = hook(place.path(), &event(place.path(), name, json!({})));
        assert!(output.status.success() && output.stdout.is_empty(), "{name}: {output:?}");
    }
}

#[test]
fn const_5_whatever_breaks_inside_is_a_refusal_with_a_reason() {
    let place = workspace();
    for input in [&b"not json"[..], b"", b"{}", br#"{"session_id":1}"#, b"\xff\xfe"] {
        let output = hook(place.path(), input);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("the guard is broken"), "{output:?}");
    }
    fs::write(place.path().join(".geometry/MANIFEST.yaml"), "safety: [").unwrap();
    assert_eq!(hook(place.path(), &pre(place.path())).status.code(), Some(2), "an unreadable policy refuses");
    let link = workspace();
    fs::remove_dir(link.path().join(".geometry")).unwrap();
    std::os::unix::fs::symlink("/tmp", link.path().join(".geometry")).unwrap();
    assert_eq!(hook(link.path(), &pre(link.path())).status.code(), Some(2), "a planted link refuses");
}
