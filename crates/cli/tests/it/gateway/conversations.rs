//! Conversations of SDKs through `tripwire gateway`: the calls in their replies are decided about by the same engine as hooks'.

use super::support::{Gateway, PROVIDER_KEY, Provider, begin_stream, chunk, config, say, until};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A model that asks for one command after the other, in each API's own words, and is done after the last one.
fn model(commands: Vec<String>) -> Provider {
    let asked = AtomicUsize::new(0);
    Provider::new(move |_, socket| {
        let number = asked.fetch_add(1, Ordering::SeqCst);
        let content = match commands.get(number) {
            Some(command) => {
                json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": "bash", "input": {"command": command}})
            }
            None => json!({"type": "text", "text": "Done."}),
        };
        let body = json!({"type": "message", "model": "claude-sonnet-4-5", "content": [content],
            "usage": {"input_tokens": 100, "output_tokens": 10}});
        say(socket, "200 OK", "application/json", body.to_string().as_bytes());
    })
}

/// An agent without hooks: it runs nothing, and says `output` of each call.
fn converse(gateway: &Gateway, task: &str, rounds: usize, output: impl Fn(usize) -> String) -> (usize, u16, String) {
    let mut messages = vec![json!({"role": "user", "content": task})];
    for round in 0..rounds {
        let request = json!({"model": "claude-sonnet-4-5", "max_tokens": 1_000, "tools": [{"name": "bash"}], "messages": messages});
        let reply = gateway.post("/anthropic/v1/messages", &request.to_string());
        if reply.status != 200 {
            return (round, reply.status, reply.body);
        }
        let content = reply.json()["content"][0].clone();
        if content["type"] != "tool_use" {
            return (round, 200, content.to_string());
        }
        messages.push(json!({"role": "assistant", "content": [content]}));
        let result = json!({"type": "tool_result", "tool_use_id": content["id"], "content": output(round)});
        messages.push(json!({"role": "user", "content": [result]}));
    }
    (rounds, 200, String::new())
}

#[test]
fn loop_1_a_conversation_that_repeats_itself_is_held_and_another_one_goes_on() {
    let provider = model(vec!["echo tick".to_owned(); 14]);
    let gateway = Gateway::start(&config(&provider, ""));
    let (round, status, body) = converse(&gateway, "Do the task.", 14, |_| "tick".to_owned());
    assert_eq!(status, 403, "{body}");
    assert!(round <= 6, "{round} rounds, {body}");
    assert!(body.contains("permission_error") && body.contains("LOOP"), "{body}");
    let asked = provider.requests();
    let (again, status, body) = converse(&gateway, "Do the task.", 1, |_| "tick".to_owned());
    assert_eq!((again, status, provider.requests()), (0, 403, asked), "a held conversation costs nothing more: {body}");
    let (_, status, body) = converse(&gateway, "Another task.", 1, |_| "tick".to_owned());
    assert_eq!(status, 200, "{body}");
}

#[test]
fn loop_3_a_conversation_that_does_different_things_is_left_alone() {
    let provider = model((0..12).map(|n| format!("echo part {n}")).collect());
    let gateway = Gateway::start(&config(&provider, ""));
    let (round, status, body) = converse(&gateway, "Do the task.", 20, |n| format!("part {n} is {}", n * n));
    assert_eq!((round, status), (12, 200), "{body} {}", gateway.stderr());
}

#[test]
fn floor_1_a_destructive_call_does_not_reach_a_program_that_streams() {
    let provider = Provider::new(|_, socket| {
        begin_stream(socket);
        let events = [
            r#"{"type":"message_start","message":{"model":"claude-sonnet-4-5","usage":{"input_tokens":10,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"bash","input":{}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"command\":\"rm -rf / --no-preserve-root\"}"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}"#,
            r#"{"type":"message_stop"}"#,
        ];
        for event in events {
            let kind: Value = serde_json::from_str(event).unwrap();
            chunk(socket, &format!("event: {}\ndata: {event}\n\n", kind["type"].as_str().unwrap()));
        }
        chunk(socket, "");
    });
    let gateway = Gateway::start(&config(&provider, ""));
    let request = json!({"model": "claude-sonnet-4-5", "max_tokens": 1_000, "stream": true, "tools": [{"name": "bash"}],
        "messages": [{"role": "user", "content": "Clean up."}]});
    let reply = gateway.post("/anthropic/v1/messages", &request.to_string());
    assert!(!reply.body.contains("no-preserve-root\\\""), "the call did not leave: {}", reply.body);
    assert!(reply.body.contains("permission_error"), "{}", reply.body);
    assert!(!reply.body.contains(PROVIDER_KEY));
}

#[test]
fn loop_1_a_client_that_sends_only_what_is_new_is_followed_by_the_ids_of_its_calls() {
    let asked = AtomicUsize::new(0);
    let provider = Provider::new(move |_, socket| {
        let number = asked.fetch_add(1, Ordering::SeqCst);
        let call = json!({"type": "function_call", "call_id": format!("call_{number}"), "name": "bash",
            "arguments": "{\"command\":\"echo tick\"}"});
        let body = json!({"id": format!("resp_{number}"), "object": "response", "status": "completed", "model": "gpt-5",
            "output": [call], "usage": {"input_tokens": 10, "output_tokens": 5}});
        say(socket, "200 OK", "application/json", body.to_string().as_bytes());
    });
    let gateway = Gateway::start(&config(&provider, ""));
    let mut request =
        json!({"model": "gpt-5", "tools": [{"type": "function", "name": "bash"}], "input": "Do the task."});
    let mut statuses = Vec::new();
    for _ in 0..8 {
        let reply = gateway.post("/openai/v1/responses", &request.to_string());
        statuses.push(reply.status);
        if reply.status != 200 {
            break;
        }
        let said = reply.json();
        request = json!({"model": "gpt-5", "tools": [{"type": "function", "name": "bash"}], "previous_response_id": said["id"],
            "input": [{"type": "function_call_output", "call_id": said["output"][0]["call_id"], "output": "tick"}]});
    }
    assert_eq!(statuses.last(), Some(&403), "{statuses:?} {}", gateway.stderr());
    assert!(gateway.stderr().matches("for the conversation").count() == 1, "one session: {}", gateway.stderr());
}

#[test]
fn loop_3_tool_calls_pass_where_the_configuration_says_so_and_a_plain_question_makes_no_session() {
    let provider = model(vec!["echo tick".to_owned(); 9]);
    let gateway = Gateway::start(&format!("tool_calls = \"pass\"\n{}", config(&provider, "")));
    let (round, status, body) = converse(&gateway, "Do the task.", 14, |_| "tick".to_owned());
    assert_eq!((round, status), (9, 200), "{body}");
    let gateway = Gateway::start(&config(&provider, ""));
    let plain =
        json!({"model": "claude-sonnet-4-5", "max_tokens": 10, "messages": [{"role": "user", "content": "Hello"}]});
    assert_eq!(gateway.post("/anthropic/v1/messages", &plain.to_string()).status, 200);
    assert!(!gateway.stderr().contains("session"), "{}", gateway.stderr());
}

#[test]
fn rep_1_the_sessions_of_conversations_verify_and_know_what_their_model_calls_cost() {
    let provider = model(vec!["ls".to_owned(), "pwd".to_owned()]);
    let gateway = Gateway::start(&config(&provider, ""));
    assert_eq!(converse(&gateway, "Look.", 9, |n| format!("out {n}")).0, 2);
    assert!(gateway.verb(&["verify"]).status.success());
    until("the session was told of each call", || {
        gateway.json(&["status"])["session"]["view"]["spent"]["microUsd"] == gateway.spent()
    });
}
