//! Refused calls: those that the client denies, those that are held, and what follows from many of them.

use crate::hooks::fixture::{HookFixture, fixture, shell};
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};
use tripwire_testing::write_program;

/// A shell call with an id of its own.
fn call(n: usize, command: &str) -> Value {
    json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": format!("t{n}")})
}

fn done(fixture: &HookFixture, mut call: Value, text: &str) -> Value {
    call["tool_response"] = json!({"stdout": text, "stderr": ""});
    fixture.answer("PostToolUse", &call)
}

/// Folders with work that nothing can restore, old enough to be somebody's.
fn with_work(fixture: &HookFixture, count: usize) {
    for n in 0..count {
        let folder = fixture.root().join(format!("q{n}"));
        fs::create_dir(&folder).unwrap();
        for name in ["a", "b", "c"] {
            fs::write(folder.join(name), "work\n").unwrap();
        }
    }
}

fn is_denied(answer: &Value) -> bool {
    answer["hookSpecificOutput"]["permissionDecision"] == "deny"
}

fn ends_turn(answer: &Value) -> bool {
    answer["continue"] == false
}

/// The number of calls until the turn ended.
fn until_end(mut ask: impl FnMut(usize) -> Value, count: usize) -> Option<usize> {
    (0..count).find(|n| ends_turn(&ask(*n)))
}

#[test]
fn loop_6_a_call_that_the_client_denies_ends_the_turn_at_the_fourth() {
    let fixture = fixture("claude");
    fixture.answer("UserPromptSubmit", &json!({"prompt": "go"}));
    let ask = |n: usize| {
        let block = json!({"type": "tool_use", "id": format!("t{n}"), "name": "Bash", "input": {"command": "curl x"}});
        fixture.said(&json!({"type": "assistant", "message": {"id": format!("m{n}"), "content": [block]}}));
        let answer = fixture.answer("PreToolUse", &call(n, "curl x"));
        let result = json!({"type": "tool_result", "tool_use_id": format!("t{n}"), "is_error": true,
            "content": "This command requires approval"});
        fixture.said(&json!({"type": "user", "message": {"content": [result]}}));
        answer
    };
    assert_eq!(until_end(ask, 12), Some(3));
    assert!(fixture.log().contains("LOOP-1.exact"), "{}", fixture.log());
}

#[test]
fn loop_6_two_denied_calls_and_calls_whose_end_was_reported_are_quiet() {
    let fixture = fixture("claude");
    for n in 0..8 {
        let command = if n < 2 { "curl x".to_owned() } else { format!("cat part{n}") };
        let input = json!({ "command": command });
        let block = json!({"type": "tool_use", "id": format!("t{n}"), "name": "Bash", "input": input});
        fixture.said(&json!({"type": "assistant", "message": {"id": format!("m{n}"), "content": [block]}}));
        assert_eq!(fixture.answer("PreToolUse", &call(n, &command)), Value::Null, "{n}");
        if n >= 2 {
            assert!(!ends_turn(&done(&fixture, call(n, &command), &format!("part {n}"))));
        }
        let result = json!({"type": "tool_result", "tool_use_id": format!("t{n}"), "is_error": true, "content": "no"});
        fixture.said(&json!({"type": "user", "message": {"content": [result]}}));
    }
    fixture.answer("Stop", &json!({"stop_hook_active": false}));
    assert!(!fixture.log().contains("LOOP"), "{}", fixture.log());
}

#[test]
fn loop_6_without_a_record_ten_equal_requests_without_a_result_end_the_turn() {
    let fixture = fixture("claude");
    assert_eq!(until_end(|n| fixture.answer("PreToolUse", &call(n, "curl x")), 20), Some(9));
    let other = crate::hooks::fixture::fixture("claude");
    assert_eq!(until_end(|n| other.answer("PreToolUse", &call(n, &format!("curl {n}"))), 20), None, "parallel calls");
}

#[test]
fn loop_7_held_commands_in_a_row_end_the_turn_and_the_session_stays_held() {
    let fixture = fixture("claude");
    with_work(&fixture, 12);
    let mut last = Value::Null;
    let ended = until_end(
        |n| {
            last = fixture.answer("PreToolUse", &call(n, &format!("rm -rf q{n}")));
            assert!(is_denied(&last), "{last}");
            last.clone()
        },
        12,
    );
    assert_eq!(ended, Some(4), "the fifth");
    let text = last.to_string();
    assert!(text.contains("tripwire allow --once") && text.contains("calls in a row were refused"), "{text}");
    assert!(ends_turn(&fixture.answer("PreToolUse", &call(20, "ls"))), "the session is held");
    assert!(ends_turn(&fixture.answer("PreToolUse", &call(21, "rm -rf q9"))), "what is held anyway ends it too");
}

#[test]
fn loop_7_a_call_that_runs_between_two_refusals_keeps_the_turn_going() {
    let fixture = fixture("claude");
    with_work(&fixture, 8);
    for n in 0..8 {
        let refused = fixture.answer("PreToolUse", &call(n, &format!("rm -rf q{n}")));
        assert!(is_denied(&refused) && !ends_turn(&refused), "{n}: {refused}");
        let work = call(100 + n, &format!("cat part{n}"));
        assert_eq!(fixture.answer("PreToolUse", &work), Value::Null);
        assert!(!ends_turn(&done(&fixture, work, &format!("part {n}"))));
    }
}

#[test]
fn gate_8_the_call_that_would_start_one_agent_too_many_is_refused_by_name_of_the_limit() {
    let fixture = fixture("claude");
    fs::write(fixture.geometry("MANIFEST.yaml"), "limits:\n  max_agents: 2\n").unwrap();
    let task = |n: usize| {
        let input = json!({"description": "x", "prompt": format!("part {n}"), "subagent_type": "general-purpose"});
        fixture.answer("PreToolUse", &json!({"tool_name": "Task", "tool_input": input, "tool_use_id": format!("t{n}")}))
    };
    assert_eq!((task(0), task(1)), (Value::Null, Value::Null));
    let third = task(2);
    assert!(is_denied(&third) && !ends_turn(&third), "{third}");
    assert!(third.to_string().contains("limits.max_agents") && !third.to_string().contains("role"), "{third}");
    for id in ["a", "b"] {
        assert_eq!(fixture.answer("SubagentStart", &json!({"agent_id": id, "agent_type": "x"})), Value::Null);
    }
    assert!(is_denied(&task(3)), "both began");
    assert_eq!(fixture.answer("PreToolUse", &shell("ls")), Value::Null, "the main agent works on");
}

#[test]
fn ctrl_2_a_command_that_waits_for_a_person_is_told_once_and_one_that_passes_is_not() {
    let fixture = fixture("claude");
    let (tell, told) = (fixture.root().join("../home/tell"), fixture.root().join("../home/told"));
    write_program(&tell, &format!("#!/bin/sh\nprintf '%s\\n' \"$*\" >> {}\n", told.display())).unwrap();
    fs::write(fixture.geometry("MANIFEST.yaml"), format!("notify:\n  command: \"{}\"\n", tell.display())).unwrap();
    with_work(&fixture, 1);
    fixture.answer("PreToolUse", &call(0, "ls"));
    for n in 1..3 {
        assert!(is_denied(&fixture.answer("PreToolUse", &call(n, "rm -rf q0"))));
    }
    let begun = Instant::now();
    while !told.exists() {
        assert!(begun.elapsed() < Duration::from_secs(30), "nobody was told");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    let text = fs::read_to_string(&told).unwrap();
    assert!(text.lines().count() == 1 && text.contains("tripwire allow --once"), "{text}");
}

#[test]
fn prog_1_prompts_between_failing_turns_do_not_undo_them() {
    let fixture = fixture("claude");
    let file = fixture.root().join("a.py");
    let mut held = None;
    for turn in 0..6 {
        let blocked = fixture.answer("UserPromptSubmit", &json!({"prompt": "continue"}));
        if blocked["decision"] == "block" {
            held = Some(turn);
            break;
        }
        let input = json!({"file_path": file, "content": format!("x = {turn}")});
        let edit = json!({"tool_name": "Write", "tool_input": input, "tool_use_id": format!("e{turn}")});
        fixture.answer("PreToolUse", &edit);
        fs::write(&file, format!("x = {turn}")).unwrap();
        done(&fixture, edit, "written");
        let test = call(turn, "pytest -q");
        fixture.answer("PreToolUse", &test);
        let mut failed = test;
        failed["error"] = json!(format!("Exit code 1\n1 failed, case {}", ["a", "b", "c", "d", "e", "f"][turn]));
        fixture.answer("PostToolUseFailure", &failed);
        for again in [false, true, true] {
            fixture.answer("Stop", &json!({"stop_hook_active": again, "last_assistant_message": "done"}));
        }
    }
    assert!(held.is_some_and(|turn| turn <= 4), "{held:?}");
    assert!(fixture.geometry("BLOCKER_REPORT.md").exists());
}
