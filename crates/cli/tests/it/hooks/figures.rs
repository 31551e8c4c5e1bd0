//! Tokens, context and money out of the clients' own transcripts.

use crate::hooks::fixture::{HookFixture, fixture, shell};
use serde_json::{Value, json};
use std::fs;

fn answer_of(id: &str, input: u64, output: u64) -> Value {
    json!({"type": "assistant", "isSidechain": false, "message": {"id": id, "model": "claude-opus-4-5",
        "usage": {"input_tokens": input, "output_tokens": output}, "content": []}})
}

/// An answer whose whole input came from the cache: it fills the context and not the minute.
fn cached(id: &str, tokens: u64) -> Value {
    let mut line = answer_of(id, 1, 1);
    line["message"]["usage"]["cache_read_input_tokens"] = json!(tokens);
    line
}

fn spent(fixture: &HookFixture) -> u64 {
    let output = crate::hooks::fixture::run(fixture.command(&["status", "--json"]), b"");
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    find(&status, "microUsd").and_then(Value::as_u64).unwrap_or_else(|| panic!("{status}"))
}

fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => fields.get(name).or_else(|| fields.values().find_map(|field| find(field, name))),
        Value::Array(items) => items.iter().find_map(|item| find(item, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

#[test]
fn gate_8_a_persons_own_prices_hold_for_what_a_transcript_tells() {
    for (prices, expected) in [("", 50_000), ("  prices: \"claude-opus-4-5=1/2\"\n", 7_000)] {
        let fixture = fixture("claude");
        fs::write(fixture.geometry("MANIFEST.yaml"), format!("money:\n  budget_micro_usd: 1000000\n{prices}")).unwrap();
        fixture.said(&answer_of("m1", 5_000, 1_000));
        assert_eq!(fixture.answer("PreToolUse", &shell("ls")), Value::Null);
        assert_eq!(spent(&fixture), expected, "{prices}");
    }
}

#[test]
fn gate_8_the_budget_is_told_at_80_per_cent_and_reached_is_a_hold_that_ends_the_turn() {
    let fixture = fixture("claude");
    fs::write(fixture.geometry("MANIFEST.yaml"), "money:\n  budget_micro_usd: 100000\n").unwrap();
    // 5 dollars per million in, 25 per million out: 0.05 dollars each.
    fixture.said(&answer_of("m1", 5_000, 1_000));
    fixture.said(&answer_of("m1", 5_000, 1_000));
    assert_eq!(fixture.answer("PreToolUse", &shell("ls")), Value::Null);
    assert_eq!(spent(&fixture), 50_000, "one answer on two lines costs once");
    fixture.said(&answer_of("m2", 2_500, 1_000));
    let done = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {"stdout": "a"}});
    let told = fixture.answer("PostToolUse", &done);
    let text = told["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(text.contains("of the $0.10 budget left: wrap up"), "{text}");
    fixture.said(&answer_of("m3", 2_500, 1_000));
    let denied = fixture.answer("PreToolUse", &shell("ls"));
    assert_eq!(denied["continue"], false, "{denied}");
    let reason = denied["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
    assert!(reason.contains("budget is used up"), "{reason}");
    let prompt = fixture.answer("UserPromptSubmit", &json!({"prompt": "more"}));
    assert_eq!(prompt["decision"], "block", "no further model request");
}

#[test]
fn gate_8_parallel_hooks_count_the_same_answer_once() {
    let fixture = fixture("claude");
    fixture.answer("SessionStart", &json!({"source": "startup"}));
    fixture.said(&answer_of("m1", 5_000, 1_000));
    std::thread::scope(|threads| {
        for n in 0..6 {
            let fixture = &fixture;
            threads.spawn(move || fixture.answer("PreToolUse", &shell(&format!("ls {n}"))));
        }
    });
    assert_eq!(spent(&fixture), 50_000);
}

#[test]
fn gate_8_what_an_earlier_session_spent_is_not_this_ones() {
    let fixture = fixture("claude");
    fixture.said(&answer_of("m1", 5_000, 1_000));
    fixture.answer("SessionStart", &json!({"source": "resume"}));
    fixture.answer("PreToolUse", &shell("ls"));
    assert_eq!(spent(&fixture), 0);
}

#[test]
fn gate_8_without_a_transcript_the_cost_is_estimated_and_never_nothing() {
    let fixture = fixture("claude");
    let done = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {"stdout": "many words"}});
    fixture.answer("PostToolUse", &done);
    assert!(spent(&fixture) > 0, "it names a file that is not there");
    let fixture = self::fixture("claude");
    let mut done = done;
    done["transcript_path"] = Value::Null;
    fixture.answer("PostToolUse", &done);
    assert!(spent(&fixture) > 0, "it names none");
}

#[test]
fn ctx_2_the_context_warns_and_blocks_by_the_clients_own_figures() {
    let fixture = fixture("claude");
    let done = json!({"tool_name": "Read", "tool_input": {"file_path": "a"}, "tool_response": "a"});
    fixture.said(&cached("m1", 152_000));
    let told = fixture.answer("PostToolUse", &done);
    assert!(told.to_string().contains("WARNING: Context at 76%"), "{told}");
    fixture.said(&cached("m2", 172_000));
    let denied = fixture.answer("PreToolUse", &shell("ls"));
    assert!(denied.to_string().contains("fuller than the limit"), "{denied}");
    fixture.answer("PostCompact", &json!({"trigger": "manual"}));
    assert_eq!(fixture.answer("PreToolUse", &shell("ls")), Value::Null, "a compaction clears it");
}

#[test]
fn ctx_1_codex_tells_its_window_itself() {
    let fixture = fixture("codex");
    fixture.said(&json!({"type": "turn_context", "payload": {"model": "gpt-5-codex"}}));
    fixture.said(&json!({"type": "event_msg", "payload": {"type": "task_started", "model_context_window": 1_000_000}}));
    fixture.said(&json!({"type": "token_usage_record", "payload": {"response_id": "r1",
        "usage": {"input_tokens": 180_000, "cached_input_tokens": 180_000, "output_tokens": 1},
        "thread_token_usage": {"input_tokens": 180_000, "cached_input_tokens": 180_000, "output_tokens": 1}}}));
    assert_eq!(fixture.answer("PreToolUse", &shell("ls")), Value::Null, "18 % of this window");
    fixture.said(&json!({"type": "token_usage_record", "payload": {"response_id": "r2",
        "usage": {"input_tokens": 900_000, "cached_input_tokens": 900_000, "output_tokens": 1},
        "thread_token_usage": {"input_tokens": 1_080_000, "cached_input_tokens": 1_080_000, "output_tokens": 2}}}));
    let denied = fixture.answer("PreToolUse", &shell("ls"));
    assert!(denied.to_string().contains("fuller than the limit"), "{denied}");
}

#[test]
fn gate_8_gemini_is_refused_at_the_model_request_when_the_money_is_gone() {
    let fixture = fixture("gemini");
    fs::write(fixture.geometry("MANIFEST.yaml"), "money:\n  budget_micro_usd: 1000\n").unwrap();
    let ask = json!({"llm_request": {"model": "gemini-2.5-pro"}});
    assert_eq!(fixture.answer("BeforeModel", &ask), Value::Null);
    fixture.said(&json!({"id": "a", "type": "gemini", "model": "gemini-2.5-pro",
        "tokens": {"input": 1_000, "output": 500, "cached": 0, "thoughts": 0, "tool": 0}}));
    let denied = fixture.answer("BeforeModel", &ask);
    assert_eq!((&denied["decision"], &denied["continue"]), (&json!("deny"), &json!(false)));
}
