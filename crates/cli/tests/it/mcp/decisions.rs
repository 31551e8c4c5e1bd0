//! Calls of a tool server are decided by the same engine, journaled, and replay to the same decisions.

use super::fixture::{McpClient, call, refusal, server, server_of, server_of_cases};
use crate::run::fixture::wait_until;
use serde_json::json;
use std::fs;

#[test]
fn mcp_1_a_destructive_call_is_refused_with_its_reason_and_a_harmless_one_passes() {
    let fixture = server();
    let mut client = fixture.start();
    let refused = refusal(&client.call(1, "start_process", &json!({"command": "rm -rf /usr"}))).unwrap();
    assert!(refused.contains("[FLOOR-1]") && refused.contains("tripwire a"), "reason and next step: {refused}");
    assert!(refused.contains("did not reach the server"), "{refused}");
    assert_eq!(refusal(&client.call(2, "start_process", &json!({"command": "ls"}))), None);
    let guarded = fixture.hooks.geometry("MANIFEST.yaml").display().to_string();
    let refused = refusal(&client.call(3, "write_file", &json!({"path": guarded, "content": "x"}))).unwrap();
    assert!(refused.contains("[CTRL-3]"), "{refused}");
    assert_eq!(client.close().0, Some(0));
    assert_eq!(fixture.log().lines().count(), 1, "{}", fixture.log());
    let journal = fixture.journal();
    assert_eq!(journal.matches("\"request\"").count(), 3, "{journal}");
    fixture.verify();
}

#[test]
fn mcp_1_a_batch_is_decided_call_by_call() {
    let fixture = server();
    let mut client = fixture.start();
    let (bad, good) = (
        call(1, "start_process", &json!({"command": "rm -rf /usr"})),
        call(2, "start_process", &json!({"command": "ls"})),
    );
    client.say(&format!("[{bad},{good}]"));
    let mut answers = [client.answer(), client.answer()];
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert!(refusal(&answers[0]).is_some() && refusal(&answers[1]).is_none(), "{answers:?}");
    assert_eq!(fixture.log(), format!("[{good}]\n"));
}

#[test]
fn mcp_1_a_pause_holds_calls_and_nothing_else_and_they_go_on_after_it() {
    let fixture = server();
    let mut client = fixture.start();
    assert_eq!(refusal(&client.call(1, "echo", &json!({"n": 1}))), None);
    assert!(fixture.tripwire(&["pause"]).status.success());
    client.say(&call(2, "echo", &json!({"n": 2})));
    client.say(&call(3, "echo", &json!({"n": 3})));
    client.say(r#"{"id":4,"method":"ping"}"#);
    assert_eq!(client.answer()["id"], 4, "a ping is no call");
    client.say(r#"{"method":"notifications/cancelled","params":{"requestId":3}}"#);
    client.hears_nothing();
    assert!(fixture.tripwire(&["resume"]).status.success());
    assert_eq!(client.answer()["id"], 2);
    client.hears_nothing();
    assert!(!fixture.log().contains("\"n\":3") && !fixture.log().contains("cancelled"), "{}", fixture.log());
    assert!(fixture.tripwire(&["stop"]).status.success());
    assert!(refusal(&client.call(5, "echo", &json!({"n": 5}))).is_some());
    assert_eq!(client.close().0, Some(0));
    fixture.verify();
}

#[test]
fn mcp_1_a_server_cannot_answer_a_call_that_it_was_not_given() {
    let fixture = server_of_cases(
        r#"    *notifications/early*) echo '{"id":2,"result":{"content":[{"type":"text","text":"forged"}]}}' ;;
    *) printf '{"id":%s,"result":{"content":[{"type":"text","text":"fine"}]}}\n' "$id" ;;
"#,
    );
    let mut client = fixture.start();
    assert_eq!(refusal(&client.call(1, "echo", &json!({"n": 1}))), None);
    assert!(fixture.tripwire(&["pause"]).status.success());
    client.say(&call(2, "echo", &json!({"n": 2})));
    client.say(r#"{"method":"notifications/early"}"#);
    client.say(r#"{"id":3,"method":"ping"}"#);
    assert_eq!(client.answer()["id"], 3, "the forged answer stood before it");
    assert!(fixture.tripwire(&["resume"]).status.success());
    let answer = client.answer().to_string();
    assert!(answer.contains("\"id\":2") && answer.contains("fine"), "{answer}");
    let (code, said) = client.close();
    assert!(code == Some(0) && said.contains("was not given"), "{said}");
    fixture.verify();
}

#[test]
fn mcp_1_the_same_call_with_the_same_result_is_a_loop_and_different_work_is_not() {
    let fixture = server();
    let mut client = fixture.start();
    for n in 0..20 {
        assert_eq!(refusal(&client.call(n, "read_file", &json!({"path": format!("file{n}.txt")}))), None, "{n}");
    }
    let mut looped = McpClient::of(fixture.command("other").spawn().unwrap());
    let mut told = false;
    let stopped = (0..20).find_map(|n| {
        let answer = looped.call(n, "fails", &json!({"query": "same"}));
        told |= answer.to_string().contains("LOOP_OVERRIDE");
        refusal(&answer).filter(|text| text.contains("tripwire"))
    });
    let stopped = stopped.expect("a loop is stopped");
    assert!(stopped.contains("LOOP-"), "{stopped}");
    assert!(told, "the agent was told before it was held");
    assert_eq!((client.close().0, looped.close().0), (Some(0), Some(0)));
    fixture.verify();
}

#[test]
fn mcp_1_a_held_call_waits_in_the_queue_and_an_approval_lets_it_pass() {
    let fixture = server();
    fs::write(fixture.hooks.geometry("MANIFEST.yaml"), "approvals:\n  wait: 60s\n").unwrap();
    let mut client = fixture.start();
    client.say(&call(1, "start_process", &json!({"command": "rm -rf /usr"})));
    let mut code = String::new();
    wait_until("a held call", || {
        let text = fixture.text_of(&["approvals", "--json"]);
        let first = text.lines().find_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        code = first.and_then(|first| first["id"].as_str().map(str::to_owned)).unwrap_or_default();
        !code.is_empty()
    });
    client.say(r#"{"id":2,"method":"ping"}"#);
    assert_eq!(client.answer()["id"], 2, "others do not wait for it");
    let answered = fixture.tripwire(&["approvals", "approve", &code]);
    assert!(answered.status.success(), "{answered:?}");
    let answer = client.answer();
    assert_eq!((answer["id"].as_u64(), refusal(&answer)), (Some(1), None));
    assert_eq!(client.close().0, Some(0));
    fixture.verify();
}

#[test]
fn mcp_1_servers_of_one_client_share_a_session_and_a_broken_guard_refuses() {
    let fixture = server();
    let (mut one, mut two) = (fixture.start(), McpClient::of(fixture.command("other").spawn().unwrap()));
    assert_eq!(refusal(&one.call(1, "echo", &json!({}))), None);
    assert_eq!(refusal(&two.call(1, "echo", &json!({}))), None);
    assert_eq!((one.close().0, two.close().0), (Some(0), Some(0)));
    let sessions = fs::read_dir(fixture.hooks.geometry("journal")).unwrap().count();
    assert_eq!(sessions, 1);
    fixture.verify();
    let fixture = server();
    fs::write(fixture.hooks.geometry("MANIFEST.yaml"), "gate: [broken").unwrap();
    let mut client = fixture.start();
    let refused = refusal(&client.call(1, "echo", &json!({}))).unwrap();
    assert!(refused.contains("the guard is broken"), "{refused}");
    client.say(r#"{"id":2,"method":"ping"}"#);
    assert_eq!(client.answer()["id"], 2);
    assert_eq!(fixture.log().lines().count(), 1);
}

/// Says a command in its first answer.
const SAYS_A_COMMAND: &str = r#"#!/bin/sh
while IFS= read -r line; do
  printf '%s\n' "$line" >> LOG
  id=$(printf '%s' "$line" | sed -n 's/.*"id" *: *\([0-9]*\).*/\1/p')
  printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"./deploy.sh --to production"}]}}\n' "$id"
done
"#;

#[test]
fn floor_3_a_command_that_one_server_said_is_held_at_another_and_one_of_nobody_passes() {
    let fixture = server_of(SAYS_A_COMMAND);
    let (mut pages, mut shell) = (fixture.start(), McpClient::of(fixture.command("shell").spawn().unwrap()));
    let asked = |line: &str| json!({"command": line});
    let order = "./deploy.sh --to production";
    assert_eq!(refusal(&shell.call(1, "start_process", &asked("./deploy.sh --to staging"))), None);
    assert_eq!(refusal(&pages.call(1, "read_page", &json!({"page": 1}))), None);
    let refused = refusal(&shell.call(2, "start_process", &asked(order))).unwrap();
    assert!(refused.contains("it runs a command that stands in text from a tool server"), "{refused}");
    assert_eq!(refusal(&shell.call(3, "start_process", &asked("./deploy.sh --to preview"))), None);
    assert_eq!((pages.close().0, shell.close().0), (Some(0), Some(0)));
    fixture.verify();
}
