//! Answers that cannot be passed on as they came: the caller gets an error in their place, and words for the agent reach it all the
//! same.

use super::fixture::{McpClient, McpFixture, call, refusal, server_of, server_of_cases};
use serde_json::{Value, json};
use std::fs;

/// Answers each call in the way that its tool's name says.
const BY_NAME: &str = r#"    *notifications*) ;;
    *tools/list*) sed "s/\"ID\"/$id/" LIST ;;
    *tasks/result*) printf '{"id":%s,"result":{"content":[{"type":"text","text":"%02000d"}]}}\n' "$id" 0 ;;
    *'"task"'*) printf '{"id":%s,"result":{"task":{"taskId":"t1","status":"working"}}}\n' "$id" ;;
    *'"half"'*) printf '{"id":%s,"result":{"content":[{"type":"text","text":"cut \\ud83d"}]}}\n' "$id" ;;
    *'"latin"'*) printf '{"result":{"content":[{"type":"text","text":"caf\351"}]},"id":%s}\n' "$id" ;;
    *'"number"'*) printf '{"id":%s,"result":{"content":[],"n":1e400}}\n' "$id" ;;
    *'"error"'*) printf '{"id":%s,"error":{"code":-5,"message":"no such thing"}}\n' "$id" ;;
    *'"bare"'*) printf '{"id":%s,"result":{"structuredContent":{"n":1}}}\n' "$id" ;;
    *'"big"'*) printf '{"id":%s,"result":{"content":[{"type":"text","text":"%02000d"}]}}\n' "$id" 0 ;;
    *'"bigbare"'*) printf '{"id":%s,"result":{"structuredContent":{"v":"%02000d"}}}\n' "$id" 0 ;;
    *'"bigerror"'*) printf '{"id":%s,"error":{"code":-5,"message":"%02000d"}}\n' "$id" 0 ;;
    *'"never"'*) ;;
    *) printf '{"id":%s,"result":{"content":[{"type":"text","text":"fine"}]}}\n' "$id" ;;
"#;

fn capped() -> McpFixture {
    let fixture = server_of_cases(BY_NAME);
    let limits: String = ["big", "bigbare", "bigerror", "slow"]
        .iter()
        .map(|tool| format!("  \"demo/{tool}\": {{ max_output: 1KB }}\n"))
        .collect();
    fs::write(fixture.hooks.geometry("MANIFEST.yaml"), format!("tools:\n{limits}")).unwrap();
    fixture
}

#[test]
fn mcp_3_an_answer_that_is_refused_is_an_error_for_the_caller_and_the_call_has_failed() {
    let fixture = server_of_cases(BY_NAME);
    let mut client = fixture.start();
    for tool in ["latin", "number"] {
        let answer = client.call(1, tool, &json!({}));
        assert_eq!((answer["id"].as_u64(), answer["error"]["code"].as_i64()), (Some(1), Some(-32_603)), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("the server's answer is refused"), "{answer}");
    }
    assert_eq!(refusal(&client.call(1, "echo", &json!({}))), None, "the id is free again");
    assert_eq!(client.close().0, Some(0));
    assert_eq!((count(&fixture, "request"), count(&fixture, "event")), (3, 3), "{}", fixture.journal());
    fixture.verify();
}

#[test]
fn mcp_3_a_text_that_was_cut_inside_a_character_reaches_the_client_and_reads_the_same_everywhere() {
    let fixture = server_of_cases(BY_NAME);
    let mut client = fixture.start();
    client.say(&call(1, "half", &json!({})));
    assert_eq!(client.line(), "{\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"cut \\ufffd\"}]}}\n");
    assert_eq!(client.close().0, Some(0));
    fixture.verify();
}

/// Calls a tool again and again until it is refused; says whether the agent was told before.
fn told_before_it_was_held(client: &mut McpClient, tool: &str, arguments: &Value) -> bool {
    let mut told = false;
    for n in 0..20 {
        let answer = client.call(n, tool, arguments).to_string();
        if answer.contains("did not reach the server") && !answer.contains("inputSchema") {
            return told;
        }
        told |= answer.contains("LOOP_OVERRIDE");
    }
    panic!("`{tool}` never ended");
}

#[test]
fn loop_1_a_warning_reaches_the_agent_in_whatever_form_the_result_comes() {
    for tool in ["error", "bare", "big", "latin"] {
        let fixture = capped();
        let mut client = fixture.start();
        assert!(told_before_it_was_held(&mut client, tool, &json!({"q": "same"})), "{tool}");
        assert_eq!(client.close().0, Some(0));
        fixture.verify();
    }
    let fixture = server_of_cases(BY_NAME);
    let tool = json!({"name": "strict", "inputSchema": {"type": "object", "required": ["a"]}});
    let list = json!({"id": "ID", "result": {"tools": [tool]}});
    fs::write(fixture.path("list"), format!("{list}\n")).unwrap();
    let mut client = fixture.start();
    client.say(r#"{"id":90,"method":"tools/list"}"#);
    assert_eq!(client.answer()["id"], 90);
    assert!(told_before_it_was_held(&mut client, "strict", &json!({"q": "same"})), "arguments that never fit");
    assert_eq!(client.close().0, Some(0));
}

#[test]
fn loop_1_different_work_is_told_nothing_in_any_form() {
    let fixture = capped();
    let mut client = fixture.start();
    for (n, tool) in (0..).zip(["error", "bare", "big", "echo", "half"]) {
        let answer = client.call(n, tool, &json!({"n": n})).to_string();
        assert!(!answer.contains("LOOP"), "{answer}");
    }
    assert_eq!(client.close().0, Some(0));
}

#[test]
fn mcp_3_whatever_is_larger_than_its_limit_is_cut_in_every_form_of_an_answer() {
    let fixture = capped();
    let mut client = fixture.start();
    let answer = client.call(1, "bigbare", &json!({}));
    assert!(answer.to_string().len() < 1_800 && answer["result"].get("structuredContent").is_none(), "{answer}");
    assert!(refusal(&answer).unwrap().contains("tripwire memory get"), "{answer}");
    let answer = client.call(2, "bigerror", &json!({}));
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.len() < 1_500 && message.contains("tripwire memory get"), "{answer}");
    let mut task: Value = serde_json::from_str(&call(3, "slow", &json!({}))).unwrap();
    task["params"]["task"] = json!({"ttl": 60_000});
    client.say(&task.to_string());
    assert_eq!(client.answer()["result"]["task"]["taskId"], "t1");
    client.say(r#"{"id":4,"method":"tasks/result","params":{"taskId":"t1"}}"#);
    let text = client.answer()["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.len() < 1_500 && text.contains("tripwire memory get"), "{text}");
    client.say(r#"{"id":5,"method":"tasks/result","params":{"taskId":"other"}}"#);
    let text = client.answer()["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(text.len(), 2_000, "the bound of every tool is larger");
    assert_eq!(client.call(6, "bare", &json!({}))["result"], json!({"structuredContent": {"n": 1}}));
    assert_eq!(client.close().0, Some(0));
    fixture.verify();
}

/// Inputs of one kind in the journal.
fn count(fixture: &McpFixture, kind: &str) -> usize {
    fixture.journal().matches(&format!("\"what\":{{\"{kind}\"")).count()
}

#[test]
fn mcp_1_a_call_that_is_cancelled_or_left_has_no_result_and_its_id_is_free() {
    let fixture = server_of_cases(BY_NAME);
    let mut client = fixture.start();
    client.say(&call(1, "never", &json!({"n": 1})));
    client.say(r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#);
    assert_eq!(refusal(&client.call(1, "echo", &json!({"n": 2}))), None);
    client.say(&call(2, "never", &json!({"n": 3})));
    client.hears_nothing();
    assert_eq!(client.close().0, Some(0));
    assert_eq!((count(&fixture, "request"), count(&fixture, "event")), (3, 3), "{}", fixture.journal());
    fixture.verify();
}

#[test]
fn loop_6_equal_calls_that_run_at_once_are_quiet_and_equal_calls_that_are_cancelled_are_held() {
    let fixture = server_of(
        "#!/bin/sh\nwhile IFS= read -r line; do\n  n=$((n + 1))\n  ids=\"$ids $(printf '%s' \"$line\" | sed -n 's/.*\"id\" *: *\\([0-9]*\\).*/\\1/p')\"\n  [ $n = 14 ] && for id in $ids; do printf '{\"id\":%s,\"result\":{\"content\":[]}}\\n' \"$id\"; done\ndone\n",
    );
    let mut client = fixture.start();
    let lines: String = (0..14).map(|n| call(n, "slow", &json!({"q": "same"})) + "\n").collect();
    client.bytes(lines.as_bytes());
    for n in 0..14 {
        let answer = client.answer();
        assert_eq!((answer["id"].as_u64(), refusal(&answer)), (Some(n), None), "{answer}");
    }
    assert_eq!(client.close().0, Some(0));
    fixture.verify();

    let fixture = server_of_cases(BY_NAME);
    let mut client = fixture.start();
    for n in 0..20 {
        client.say(&call(n, "never", &json!({"q": "same"})));
        client.say(&json!({"method": "notifications/cancelled", "params": {"requestId": n}}).to_string());
    }
    client.say(r#"{"id":99,"method":"ping"}"#);
    let first = client.answer();
    assert!(refusal(&first).unwrap().contains("LOOP-"), "{first}");
    assert!(fixture.log().matches("tools/call").count() < 12);
    client.close();
}
