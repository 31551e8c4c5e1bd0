//! Claude Code's dialect.

use crate::hooks::fixture::{fixture, shell};
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

#[test]
fn ctrl_1_a_paused_call_waits_as_long_as_its_client_does_and_then_ends_the_turn() {
    let fixture = fixture("claude");
    assert_eq!(fixture.answer("PreToolUse", &shell("ls")), Value::Null);
    fs::write(fixture.geometry("PAUSE"), "").unwrap();
    let begun = Instant::now();
    let denied = fixture.answer("PreToolUse", &shell("ls"));
    assert!(begun.elapsed() >= Duration::from_secs(4), "{:?}", begun.elapsed());
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(denied["hookSpecificOutput"]["hookEventName"], "PreToolUse");
    assert_eq!(denied["continue"], false, "a refused call costs a model request, so the turn ends");
    assert!(denied["stopReason"].as_str().unwrap().contains("tripwire resume"), "{denied}");
    let prompt = fixture.answer("UserPromptSubmit", &json!({"prompt": "go on"}));
    assert_eq!(prompt["decision"], "block", "a person is told at once");
    fs::remove_file(fixture.geometry("PAUSE")).unwrap();
    assert_eq!(fixture.answer("PreToolUse", &shell("ls")), Value::Null);
}

#[test]
fn ctrl_1_a_call_and_a_result_that_wait_go_on_when_the_pause_is_over() {
    for event in ["PreToolUse", "PostToolUse"] {
        let fixture = fixture("claude");
        assert_eq!(fixture.answer("PreToolUse", &shell("ls")), Value::Null);
        let pause = fixture.geometry("PAUSE");
        fs::write(&pause, "").unwrap();
        let person = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(1));
            fs::remove_file(pause).unwrap();
        });
        let begun = Instant::now();
        let mut call = shell("ls");
        call["tool_response"] = json!({"stdout": "a.c", "stderr": ""});
        assert_eq!(fixture.answer(event, &call), Value::Null, "{event}");
        assert!(begun.elapsed() >= Duration::from_millis(900), "{event}: {:?}", begun.elapsed());
        person.join().unwrap();
    }
}

#[test]
fn ctrl_1_a_stop_denies_the_call_ends_the_turn_and_blocks_the_prompt() {
    let fixture = fixture("claude");
    fs::write(fixture.geometry("STOP"), "").unwrap();
    let denied = fixture.answer("PreToolUse", &shell("ls"));
    assert_eq!(denied["continue"], false);
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(fixture.answer("UserPromptSubmit", &json!({"prompt": "go on"}))["decision"], "block");
}

#[test]
fn loop_1_the_third_identical_call_is_overridden_and_the_loop_ends_with_the_turn() {
    let fixture = fixture("claude");
    let (mut overridden, mut ended) = (None, None);
    for n in 1..=12 {
        if fixture.answer("PreToolUse", &shell("make it"))["continue"] == false {
            ended = Some(n);
            break;
        }
        let result = json!({"tool_response": {"stdout": "same", "stderr": ""}, "duration_ms": 5});
        let mut done = shell("make it");
        done.as_object_mut().unwrap().extend(result.as_object().unwrap().clone());
        let told = fixture.answer("PostToolUse", &done);
        if overridden.is_none() && told.to_string().contains("LOOP_OVERRIDE do_not_repeat=") {
            assert_eq!(told["hookSpecificOutput"]["hookEventName"], "PostToolUse");
            // Which call, how often, since when, at what price, and what to do.
            for part in ["make it", " seen=", " since=#", " cost=", " next="] {
                assert!(told.to_string().contains(part), "{part}: {told}");
            }
            overridden = Some(n);
        }
        if told["continue"] == false {
            ended = Some(n);
            break;
        }
    }
    assert!(matches!(overridden, Some(3 | 4)), "{overridden:?}");
    assert!(ended.is_some_and(|n| n <= 6), "{ended:?}");
    assert!(fixture.geometry("BLOCKER_REPORT.md").exists());
}

#[test]
fn ctx_3_the_briefing_is_written_before_a_compaction_and_told_after_it() {
    let fixture = fixture("claude");
    fixture.answer("UserPromptSubmit", &json!({"prompt": "fix the parser, and nothing else"}));
    fixture.answer("PreToolUse", &shell("ls src"));
    assert_eq!(fixture.answer("PreCompact", &json!({"trigger": "auto", "custom_instructions": null})), Value::Null);
    assert_eq!(fixture.answer("PostCompact", &json!({"trigger": "auto", "compact_summary": "x"})), Value::Null);
    let told = fixture.answer("SessionStart", &json!({"source": "compact"}));
    let context = told["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.contains("ls src") && context.contains("fix the parser, and nothing else"), "{context}");
    assert_eq!(fixture.answer("SessionStart", &json!({"source": "startup"})), Value::Null, "a fresh session has none");
}

#[test]
fn ctx_4_three_compactions_without_a_change_hold() {
    let fixture = fixture("claude");
    for _ in 0..3 {
        fixture.answer("PostCompact", &json!({"trigger": "auto"}));
    }
    assert_eq!(fixture.answer("PreToolUse", &shell("ls"))["continue"], false);
}

#[test]
fn the_hook_leaves_a_sign_of_life() {
    let fixture = fixture("claude");
    let mark = fixture.geometry("state/hook-alive/claude-a1");
    fixture.answer("SessionStart", &json!({"source": "startup"}));
    assert!(fs::read_to_string(&mark).unwrap().starts_with("alive "));
    fixture.answer("SessionEnd", &json!({"reason": "other"}));
    assert!(fs::read_to_string(&mark).unwrap().starts_with("ended "));
}

#[test]
fn loop_4_the_override_and_the_stop_name_the_call_and_the_way_on() {
    let fixture = fixture("claude");
    let read = json!({"tool_name": "Read", "tool_input": {"file_path": "src/settings_main.py"}});
    let mut done = read.clone();
    done["tool_response"] = json!({"stdout": "a=1"});
    let told: Vec<String> = (0..3)
        .map(|_| {
            assert_eq!(fixture.answer("PreToolUse", &read), Value::Null);
            fixture.answer("PostToolUse", &done).to_string()
        })
        .collect();
    assert!(told[2].contains("do_not_repeat=\\\"Read src/settings_main.py\\\""), "{}", told[2]);
    assert!(!told[2].contains("workspace="), "with hooks alone nothing was measured: {}", told[2]);
    let denied = fixture.answer("PreToolUse", &read);
    let reason = denied["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
    let seen: String = reason.chars().take(120).collect();
    assert!(seen.contains("tripwire resume --restart"), "{seen}");
    assert!(reason.contains("Read src/settings_main.py") && reason.contains("tripwire why"), "{reason}");
    assert!(reason.contains("[LOOP-1.exact]") && !reason.contains("SYSTEM_ERROR"), "{reason}");
}

#[test]
fn ctx_3_the_briefing_under_hooks_holds_the_last_calls_and_their_results() {
    let fixture = fixture("claude");
    fixture.answer("UserPromptSubmit", &json!({"prompt": "fix the parser"}));
    let mut done = shell("sh t.sh tests/unit/test_parser.py");
    done["tool_response"] = json!({"stdout": "FAIL: got seven, wanted two", "stderr": ""});
    assert_eq!(fixture.answer("PreToolUse", &shell("sh t.sh tests/unit/test_parser.py")), Value::Null);
    fixture.answer("PostToolUse", &done);
    fixture.answer("PreCompact", &json!({"trigger": "auto"}));
    let text = fs::read_to_string(fixture.geometry("MISSION_BRIEFING.md")).unwrap();
    for fact in ["tests/unit/test_parser.py", "got seven, wanted two", "fix the parser"] {
        assert!(text.contains(fact), "{fact}: {text}");
    }
}
