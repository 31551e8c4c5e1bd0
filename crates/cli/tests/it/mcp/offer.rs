//! `tripwire mcp serve`: tools that look.

use super::fixture::{McpClient, server};
use crate::hooks::fixture::run;
use serde_json::{Value, json};

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn the_tools_of_serve_look_at_this_workspace_and_change_nothing() {
    let fixture = server();
    let mut guard = fixture.start();
    guard.call(1, "start_process", &json!({"command": "rm -rf /usr"}));
    assert_eq!(guard.close().0, Some(0));
    let before = fixture.journal();
    let mut client = McpClient::of(fixture.hooks.command(&["mcp", "serve"]).spawn().unwrap());
    client.say(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}"#);
    let answer = client.answer();
    assert_eq!((&answer["id"], &answer["result"]["protocolVersion"]), (&json!(0), &json!("2025-03-26")));
    client.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    client.say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let tools = client.answer();
    let names: Vec<&str> =
        tools["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["status", "why", "budget", "memory_get", "todo"]);
    let status = client.call(2, "status", &json!({}));
    assert!(text(&status).contains("session"), "{status}");
    let why = client.call(3, "why", &json!({}));
    assert!(text(&why).contains("FLOOR-1"), "{why}");
    let open = client.call(6, "why", &json!({"session": null, "decision": null}));
    assert_eq!(text(&open), text(&why), "a member that is null was not given");
    let budget: Value = serde_json::from_str(text(&client.call(4, "budget", &json!({})))).unwrap();
    let view: Value = serde_json::from_str(text(&status)).unwrap();
    let view = &view["session"]["view"];
    assert_eq!((&budget["spent"], &budget["budgetMicroUsd"]), (&view["spent"], &json!(null)), "{budget}");
    assert_eq!(client.call(5, "todo", &json!({}))["result"]["isError"], true);
    for (n, (tool, arguments)) in [
        ("stop", json!({})),
        ("memory_get", json!({"pointer": "--help"})),
        ("memory_get", json!({})),
        ("why", json!({"decision": "--session"})),
        ("status", json!({"session": "a b"})),
        ("status", json!({"sesion": "x"})),
        ("why", json!({"index": 3})),
        ("todo", json!([])),
    ]
    .iter()
    .enumerate()
    {
        let answer = client.call(10 + u64::try_from(n).unwrap(), tool, arguments);
        assert!(answer["error"]["code"].is_i64(), "{tool} {arguments}: {answer}");
    }
    client.say("nonsense");
    assert_eq!(client.answer()["error"]["code"], -32_700);
    client.say(r#"{"id":99,"method":"resources/list"}"#);
    assert_eq!(client.answer()["error"]["code"], -32_601);
    assert_eq!(client.close().0, Some(0));
    assert_eq!(fixture.journal(), before, "nothing was taken in");
}

#[test]
fn gate_8_the_budget_tool_tells_what_was_spent_of_which_budget_in_a_session_that_money_holds() {
    let fixture = server();
    let program = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocol": 1, "budget": "0.01usd"}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "usage",
            "params": {"model": "claude-sonnet-4-5", "inputTokens": 1_000_000, "outputTokens": 1_000}}),
    ];
    let lines = program.map(|line| format!("{line}\n")).concat();
    run(fixture.hooks.command(&["serve", "--stdio"]), lines.as_bytes());
    let status = fixture.text_of(&["status", "--json"]);
    let mut client = McpClient::of(fixture.hooks.command(&["mcp", "serve"]).spawn().unwrap());
    let budget: Value = serde_json::from_str(text(&client.call(1, "budget", &json!({})))).unwrap();
    let view: Value = serde_json::from_str(&status).unwrap();
    let view = &view["session"]["view"];
    assert_eq!((&budget["spent"], &budget["budgetMicroUsd"]), (&view["spent"], &view["budgetMicroUsd"]), "{budget}");
    assert!(budget["spent"]["microUsd"].as_u64() > Some(10_000), "{budget}");
    assert_eq!((&budget["budgetMicroUsd"], &budget["leftMicroUsd"]), (&json!(10_000), &json!(0)), "{budget}");
    assert!(!budget["held"].is_null() && budget["held"] == view["held"], "{budget}");
    assert_eq!(client.close().0, Some(0));
}
