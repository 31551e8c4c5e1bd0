//! Claude Code's transcript: one line per block of an answer, and one per result.

use super::reader::{Form, Reader};
use crate::hooks::claude::response;
use serde_json::Value;
use serde_json::value::to_raw_value;

/// Takes one line in.
pub(super) fn line(line: &Value, reader: &mut Reader) -> Form {
    let message = &line["message"];
    match line["type"].as_str() {
        Some("assistant") => {
            answer(line, message, reader);
            Form::Known
        }
        Some("user") => {
            reader.name(&line["sessionId"]);
            user(line, message, reader);
            Form::Known
        }
        Some(_) | None => Form::Foreign,
    }
}

fn answer(line: &Value, message: &Value, reader: &mut Reader) {
    for block in message["content"].as_array().into_iter().flatten() {
        match block["type"].as_str() {
            Some("text") => reader.said(&block["text"]),
            Some("tool_use") => {
                let tool = block["name"].as_str().unwrap_or_default();
                let answer = message["id"].as_str().map(str::to_owned);
                reader.call(&block["id"], tool, block["input"].clone(), (answer, &line["timestamp"]));
            }
            Some(_) | None => {}
        }
    }
}

/// A result, or a person's words; the client's own notes and summaries are neither.
fn user(line: &Value, message: &Value, reader: &mut Reader) {
    let blocks: Vec<&Value> = message["content"].as_array().into_iter().flatten().collect();
    let results = blocks.iter().filter(|block| block["type"] == "tool_result").count();
    for block in blocks.iter().filter(|block| block["type"] == "tool_result") {
        let failed = block["is_error"].as_bool().unwrap_or(false);
        // Hooks see the tool's own response; it stands beside the result where that is the only one.
        let own = &line["toolUseResult"];
        let output = if own.is_object() && results == 1 && !failed {
            response(to_raw_value(own).ok().as_deref())
        } else {
            text(&block["content"])
        };
        reader.result(&block["tool_use_id"], output, Some(failed));
    }
    let own_note = [&line["isMeta"], &line["isSidechain"], &line["isCompactSummary"]].contains(&&Value::Bool(true));
    if results == 0 && !own_note {
        reader.person();
    }
}

/// The text of a result: a string, or blocks of text.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n"),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => content.to_string(),
    }
}
