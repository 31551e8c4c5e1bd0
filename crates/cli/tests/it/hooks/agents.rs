//! Sub-agents belong to their parent's session: one budget, one ladder, limits for the tree.

use crate::hooks::fixture::{HookFixture, fixture, shell};
use serde_json::{Value, json};
use std::fs;

fn as_agent(id: &str, mut call: Value) -> Value {
    call["agent_id"] = json!(id);
    call["agent_type"] = json!("general-purpose");
    call
}

fn start(fixture: &HookFixture, id: &str) -> Value {
    fixture.answer("SubagentStart", &json!({"agent_id": id, "agent_type": "general-purpose"}))
}

#[test]
fn gate_8_the_calls_of_a_sub_agent_beyond_the_limit_are_refused() {
    let fixture = fixture("claude");
    fs::write(fixture.geometry("MANIFEST.yaml"), "limits:\n  max_agents: 2\n").unwrap();
    for id in ["a", "b"] {
        assert_eq!(start(&fixture, id), Value::Null);
        assert_eq!(fixture.answer("PreToolUse", &as_agent(id, shell("ls"))), Value::Null);
    }
    assert!(start(&fixture, "c").to_string().contains("limits.max_agents"), "it is told");
    for _ in 0..2 {
        let denied = fixture.answer("PreToolUse", &as_agent("c", shell("ls")));
        assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny", "{denied}");
        assert_eq!(denied.get("continue"), None, "the parent's turn goes on");
    }
    assert_eq!(fixture.answer("PreToolUse", &as_agent("a", shell("ls"))), Value::Null);
    assert_eq!(fixture.answer("PreToolUse", &shell("ls")), Value::Null);
}

#[test]
fn gate_8_a_third_level_of_agents_is_refused() {
    let fixture = fixture("claude");
    let spawn = json!({"tool_name": "Agent", "tool_input": {"prompt": "x"}, "tool_use_id": "t"});
    fixture.answer("PreToolUse", &spawn);
    start(&fixture, "child");
    fixture.answer("PreToolUse", &as_agent("child", spawn.clone()));
    assert_eq!(start(&fixture, "grandchild"), Value::Null);
    let refused = fixture.answer("PreToolUse", &as_agent("grandchild", spawn)).to_string();
    assert!(refused.contains("limits.max_agent_depth") && refused.contains("deny"), "{refused}");
}

#[test]
fn gate_8_a_sub_agents_tokens_are_its_parents_money() {
    let fixture = fixture("claude");
    fs::write(fixture.geometry("MANIFEST.yaml"), "money:\n  budget_micro_usd: 40000\n").unwrap();
    start(&fixture, "abc");
    let folder = fixture.transcript().with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    let line = json!({"type": "assistant", "isSidechain": true, "message": {"id": "m9", "model": "claude-opus-4-5",
        "usage": {"input_tokens": 5_000, "output_tokens": 1_000}, "content": []}});
    fs::write(folder.join("agent-abc.jsonl"), format!("{line}\n")).unwrap();
    let denied = fixture.answer("PreToolUse", &as_agent("abc", shell("ls")));
    assert!(denied.to_string().contains("budget is used up"), "{denied}");
    assert!(fixture.answer("PreToolUse", &shell("ls")).to_string().contains("budget is used up"), "the parent's too");
}
