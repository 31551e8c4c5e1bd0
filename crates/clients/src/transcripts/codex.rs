//! Codex CLI's rollout: calls and results as the model saw them.

use super::reader::{Form, Reader};
use serde_json::{Value, json};

/// Takes one line in.
pub(super) fn line(line: &Value, reader: &mut Reader) -> Form {
    let payload = &line["payload"];
    match (line["type"].as_str(), payload["type"].as_str()) {
        (Some("session_meta"), _) => reader.name(&payload["id"]),
        (Some("response_item"), Some(kind)) => item(kind, payload, &line["timestamp"], reader),
        (Some("event_msg"), Some("user_message")) => reader.person(),
        (Some("event_msg"), Some("item_completed")) if payload["item"]["type"] == "UserMessage" => reader.person(),
        (Some("event_msg" | "response_item" | "turn_context" | "token_usage_record" | "compacted"), _) => {}
        (Some(_) | None, _) => return Form::Foreign,
    }
    Form::Known
}

fn item(kind: &str, payload: &Value, at: &Value, reader: &mut Reader) {
    let id = &payload["call_id"];
    let beside = (Some(reader.answer()), at);
    match kind {
        "function_call" => {
            let arguments = payload["arguments"].as_str().unwrap_or_default();
            let args = serde_json::from_str(arguments).unwrap_or_else(|_| Value::from(arguments));
            let (tool, args) = as_hooks_see_it(payload["name"].as_str().unwrap_or_default(), args);
            reader.call(id, &tool, args, beside);
        }
        "custom_tool_call" => {
            let tool = payload["name"].as_str().unwrap_or_default();
            reader.call(id, tool, json!({ "command": payload["input"] }), beside);
        }
        "local_shell_call" => {
            let (tool, args) = as_hooks_see_it("shell", payload["action"].clone());
            reader.call(id, &tool, args, beside);
        }
        "function_call_output" | "custom_tool_call_output" => {
            let (output, failed) = result(&payload["output"]);
            reader.result(id, output, failed);
        }
        "message" if payload["role"] == "assistant" => {
            payload["content"].as_array().into_iter().flatten().for_each(|part| reader.said(&part["text"]));
        }
        _ => {}
    }
}

/// The client's hooks call every way to run a command `Bash`, with the command's text.
fn as_hooks_see_it(tool: &str, args: Value) -> (String, Value) {
    let command = match tool {
        "exec_command" => &args["cmd"],
        "shell" | "container.exec" | "shell_command" => &args["command"],
        _ => return (tool.to_owned(), args),
    };
    let text = match command {
        Value::String(text) => text.clone(),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            // A shell that is given one script stands for the script.
            match words.as_slice() {
                [_, flag, script] if flag.starts_with('-') && flag.ends_with('c') => (*script).to_owned(),
                words => words.join(" "),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return (tool.to_owned(), args),
    };
    ("Bash".to_owned(), json!({ "command": text }))
}

/// What a call gave and whether it failed, without the client's own frame, whose numbers differ each time.
fn result(output: &Value) -> (String, Option<bool>) {
    let text = match output {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        Value::Object(object) => {
            let text = object.get("content").and_then(Value::as_str).unwrap_or_default().to_owned();
            return (text, object.get("success").and_then(Value::as_bool).map(|success| !success));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => return (String::new(), None),
    };
    // Older versions write the result as an object inside the text.
    if text.starts_with('{')
        && let Ok(inner) = serde_json::from_str::<Value>(&text)
        && let (Some(own), Some(code)) = (inner["output"].as_str(), inner["metadata"]["exit_code"].as_i64())
    {
        return (own.to_owned(), Some(code != 0));
    }
    match text.split_once("Output:\n") {
        Some((frame, own)) if frame.lines().any(|line| line.starts_with("Wall time:")) => {
            (own.to_owned(), frame.lines().find_map(exit_code).map(|code| code != 0))
        }
        Some(_) | None => (text, None),
    }
}

fn exit_code(line: &str) -> Option<i64> {
    line.strip_prefix("Process exited with code ").or_else(|| line.strip_prefix("Exit code: "))?.trim().parse().ok()
}
