//! Arguments and results against what a tool declares, and results that are too large.

use super::fixture::{McpClient, McpFixture, refusal, server, server_of};
use serde_json::json;
use std::fs;

fn listed(fixture: &McpFixture, client: &mut McpClient) {
    let tool = json!({
        "name": "add",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false},
        "outputSchema": {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]},
    });
    let message = json!({"jsonrpc": "2.0", "id": "ID", "result": {"tools": [tool]}});
    fs::write(fixture.path("list"), format!("{message}\n")).unwrap();
    client.say(r#"{"id":90,"method":"tools/list"}"#);
    assert_eq!(client.answer()["id"], 90);
}

#[test]
fn mcp_3_arguments_that_do_not_fit_end_before_the_server_and_are_journaled() {
    let fixture = server();
    let mut client = fixture.start();
    listed(&fixture, &mut client);
    let refused = refusal(&client.call(1, "add", &json!({"a": "one", "b": 2}))).unwrap();
    assert!(refused.contains("at `/a`") && refused.contains("at `/b`") && refused.contains("[MCP-3]"), "{refused}");
    assert_eq!(refusal(&client.call(2, "add", &json!({"a": 1}))), None);
    assert_eq!(client.close().0, Some(0));
    assert!(!fixture.log().contains("\"id\":1,"), "{}", fixture.log());
    assert_eq!(fixture.journal().matches("\"request\"").count(), 2);
    fixture.verify();
}

#[test]
fn mcp_3_a_structured_result_that_does_not_fit_is_not_passed_on_and_one_that_fits_is() {
    let fixture = server_of(
        "#!/bin/sh\nwhile IFS= read -r line; do\n  case \"$line\" in\n    *tools/list*) sed 's/\"ID\"/90/' LIST ;;\n    *'\"a\":1'*) echo '{\"id\":1,\"result\":{\"content\":[],\"structuredContent\":{\"sum\":\"no\"}}}' ;;\n    *) echo '{\"id\":2,\"result\":{\"content\":[],\"structuredContent\":{\"sum\":3}}}' ;;\n  esac\ndone\n",
    );
    let mut client = fixture.start();
    listed(&fixture, &mut client);
    let refused = refusal(&client.call(1, "add", &json!({"a": 1}))).unwrap();
    assert!(refused.contains("outputSchema") && refused.contains("/sum"), "{refused}");
    assert_eq!(client.call(2, "add", &json!({"a": 2}))["result"]["structuredContent"]["sum"], 3);
    assert_eq!(client.close().0, Some(0));
    fixture.verify();
}

#[test]
fn mcp_3_a_large_result_is_cut_and_the_whole_is_in_memory() {
    let fixture = server_of(
        "#!/bin/sh\nread -r line\nprintf '{\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"'\nhead -c 20000 /dev/zero | tr '\\0' 'x'\nprintf 'END\"}]}}\\n'\nread -r line\necho '{\"id\":2,\"result\":{\"content\":[]}}'\nread -r line\n",
    );
    fs::write(fixture.hooks.geometry("MANIFEST.yaml"), "tools:\n  \"demo/big\": { max_output: 4KB }\n").unwrap();
    let mut client = fixture.start();
    let answer = client.call(1, "big", &json!({}));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("xxxx") && text.len() < 4_500 && !text.contains("END"), "{}", text.len());
    let pointer = text.split("memory get ").nth(1).unwrap().split('`').next().unwrap();
    assert_eq!(client.call(2, "small", &json!({}))["result"]["content"], json!([]));
    assert_eq!(client.close().0, Some(0));
    let whole = fixture.text_of(&["memory", "get", pointer]);
    assert!(whole.len() > 20_000 && whole.contains("END"), "{}", whole.len());
    fixture.verify();
}

#[test]
fn mcp_3_no_secret_of_a_call_or_a_result_is_in_anything_we_wrote() {
    // Put together here, so that no scanner takes this file for a leak.
    let token = format!("ghp_{}", "1a2B3c4D5e6F7g8H9i0JkLmNoPqRsTuVwXyZ");
    let fixture = server_of(&format!(
        "#!/bin/sh\nread -r line\nprintf '%s\\n' \"$line\" >> LOG\necho '{{\"id\":1,\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"your token is {token}\"}}]}}}}'\nread -r line\n"
    ));
    let mut client = fixture.start();
    let answer = client.call(1, "login", &json!({"token": token}));
    assert!(answer.to_string().contains(&token), "the agent gets the real value");
    assert!(fixture.log().contains(&token), "and so does the server");
    assert_eq!(client.close().0, Some(0));
    let mut folders = vec![fixture.hooks.root(), fixture.path("home")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().filter_map(Result::ok) {
            if entry.path().is_dir() {
                folders.push(entry.path());
                continue;
            }
            files += 1;
            let text = String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned();
            assert!(!text.contains(&token), "{}", entry.path().display());
        }
    }
    assert!(files > 3 && fixture.journal().contains("mcp__demo__login"));
    fixture.verify();
}
