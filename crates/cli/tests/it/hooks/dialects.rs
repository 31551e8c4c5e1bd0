//! What each client is told, in the form in which it listens.

use crate::hooks::fixture::{HookFixture, fixture, shell};
use serde_json::{Value, json};
use std::fs;

/// Names of the same moments in the three clients.
struct Names {
    client: &'static str,
    before: &'static str,
    after: &'static str,
    prompt: &'static str,
    done: &'static str,
    others: &'static [&'static str],
}

const CLAUDE: Names = Names {
    client: "claude",
    before: "PreToolUse",
    after: "PostToolUse",
    prompt: "UserPromptSubmit",
    done: "Stop",
    others: &[
        "Notification",
        "MessageDisplay",
        "PostToolBatch",
        "PermissionRequest",
        "SubagentStop",
        "AnEventOfTomorrow",
    ],
};
const CODEX: Names = Names {
    client: "codex",
    before: "PreToolUse",
    after: "PostToolUse",
    prompt: "UserPromptSubmit",
    done: "Stop",
    others: &["Interrupt", "PreModelRequest", "PermissionRequest", "SubagentStop", "AnEventOfTomorrow"],
};
const GEMINI: Names = Names {
    client: "gemini",
    before: "BeforeTool",
    after: "AfterTool",
    prompt: "BeforeAgent",
    done: "AfterAgent",
    others: &["BeforeToolSelection", "AfterModel", "PreCompress", "Notification", "AnEventOfTomorrow"],
};
const ALL: [&Names; 3] = [&CLAUDE, &CODEX, &GEMINI];

fn edit(fixture: &HookFixture, names: &Names) -> Value {
    let response = match names.client {
        "gemini" => json!({"llmContent": "written", "returnDisplay": "written"}),
        _ => json!("written"),
    };
    fixture.answer(
        names.after,
        &json!({"tool_name": "Write", "tool_input": {"file_path": "a.rs", "content": "x"},
        "tool_response": response}),
    )
}

#[test]
fn events_that_mean_nothing_pass_and_leave_no_word() {
    for names in ALL {
        let fixture = fixture(names.client);
        for event in names.others {
            assert_eq!(fixture.answer(event, &json!({})), Value::Null, "{} {event}", names.client);
        }
    }
}

#[test]
fn ctrl_1_a_stop_is_told_in_each_clients_own_words() {
    for names in ALL {
        let fixture = fixture(names.client);
        fs::write(fixture.geometry("STOP"), "").unwrap();
        let denied = fixture.answer(names.before, &shell("ls"));
        let prompt = fixture.answer(names.prompt, &json!({"prompt": "go"}));
        match names.client {
            "codex" => {
                assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny");
                let fields: Vec<&String> = denied.as_object().unwrap().keys().collect();
                assert_eq!(fields, ["hookSpecificOutput"], "anything more and this client runs the command");
                assert_eq!(prompt["decision"], "block");
            }
            "gemini" => {
                assert_eq!((&denied["continue"], &denied["decision"]), (&json!(false), &json!("deny")));
                assert_eq!(prompt["decision"], "deny");
                let model = fixture.answer("BeforeModel", &json!({"llm_request": {"model": "gemini-2.5-pro"}}));
                assert_eq!(model["continue"], false);
            }
            _ => {
                assert_eq!(denied["continue"], false);
                assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny");
                assert_eq!(prompt["decision"], "block");
            }
        }
        let reason = prompt["reason"].as_str().unwrap();
        assert!(reason.starts_with("tripwire: stopped by a person"), "{reason}");
    }
}

#[test]
fn ctrl_1_without_an_order_nothing_is_said() {
    for names in ALL {
        let fixture = fixture(names.client);
        assert_eq!(fixture.answer(names.prompt, &json!({"prompt": "go"})), Value::Null, "{}", names.client);
        assert_eq!(fixture.answer(names.before, &shell("ls")), Value::Null, "{}", names.client);
        assert_eq!(fixture.answer(names.done, &json!({"stop_hook_active": false})), Value::Null, "{}", names.client);
    }
    let gemini = fixture("gemini");
    assert_eq!(gemini.answer("BeforeModel", &json!({"llm_request": {"model": "x", "messages": []}})), Value::Null);
}

#[test]
fn dirty_1_an_untested_change_is_sent_back_twice_and_then_released() {
    for names in ALL {
        let fixture = fixture(names.client);
        assert_eq!(edit(&fixture, names), Value::Null);
        for (again, word) in [(false, true), (true, true), (true, false)] {
            let told = fixture.answer(names.done, &json!({"stop_hook_active": again}));
            let expected = if names.client == "gemini" { "deny" } else { "block" };
            assert_eq!(told["decision"] == expected, word, "{} {told}", names.client);
            if word {
                assert!(told["reason"].as_str().unwrap().contains("Run tests now"), "{told}");
            }
        }
    }
}

#[test]
fn dirty_1_the_agent_is_told_the_projects_own_test_command() {
    for names in ALL {
        let fixture = fixture(names.client);
        fs::write(fixture.root().join("Cargo.toml"), "").unwrap();
        assert_eq!(edit(&fixture, names), Value::Null);
        let told = fixture.answer(names.done, &json!({"stop_hook_active": false}));
        assert!(told["reason"].as_str().unwrap().ends_with("Run tests now with: cargo test"), "{told}");
    }
}

#[test]
fn loop_4_the_override_takes_the_place_where_each_client_shows_it() {
    for names in ALL {
        let fixture = fixture(names.client);
        let response = match names.client {
            "claude" => json!({"stdout": "same", "stderr": ""}),
            "gemini" => json!({"llmContent": "Output: same\nProcess Group PGID: 7", "returnDisplay": "same"}),
            _ => json!("same"),
        };
        let done = json!({"tool_name": "Bash", "tool_input": {"command": "make it"}, "tool_response": response});
        let told: Vec<Value> = (0..4).map(|_| fixture.answer(names.after, &done)).collect();
        let told = told.iter().find(|told| told.to_string().contains("LOOP_OVERRIDE")).unwrap();
        if names.client == "codex" {
            assert_eq!(told["decision"], "block");
            assert!(told["reason"].as_str().unwrap().ends_with("same"), "the result stays readable: {told}");
        } else {
            assert!(told["hookSpecificOutput"]["additionalContext"].is_string(), "{told}");
        }
    }
}

#[test]
fn gate_2_a_throttled_call_is_refused_with_the_time_to_retry() {
    let fixture = fixture("claude");
    // More than a hook can wait for: the minute is full, and room comes only after it.
    fs::write(
        fixture.geometry("MANIFEST.yaml"),
        "gate:\n  max_tool_calls_per_minute: 2\n  tool_call_warning_threshold: 1\n",
    )
    .unwrap();
    for n in 0..3 {
        let done = json!({"tool_name": "Read", "tool_input": {"file_path": format!("{n}")}, "tool_response": "x"});
        fixture.answer("PostToolUse", &done);
    }
    let denied = fixture.answer("PreToolUse", &shell("ls"));
    let reason = denied["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
    assert!(reason.contains("tool calls in the last minute") && reason.contains("try again in"), "{reason}");
    assert_eq!(denied.get("continue"), None, "waiting helps, so the turn goes on");
}

#[test]
fn const_5_observing_blocks_nothing_but_a_persons_orders() {
    let fixture = fixture("claude");
    fixture.answer("PreToolUse", &shell("ls"));
    let disarmed = crate::hooks::fixture::run(fixture.command(&["disarm", "--project"]), b"");
    assert!(disarmed.status.success(), "{disarmed:?}");
    let done = json!({"tool_name": "Bash", "tool_input": {"command": "make it"}, "tool_response": "same"});
    for _ in 0..12 {
        assert_eq!(fixture.answer("PreToolUse", &shell("make it")), Value::Null);
        assert_eq!(fixture.answer("PostToolUse", &done), Value::Null, "nothing is injected");
    }
    assert!(fixture.log().contains("LOOP"), "but it is written down");
    fs::write(fixture.geometry("STOP"), "").unwrap();
    assert_eq!(fixture.answer("PreToolUse", &shell("ls"))["continue"], false, "a person's stop binds");
}
