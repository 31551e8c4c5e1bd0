//! Gemini CLI's session file: an answer's line comes again with its calls and their results in it.

use super::reader::{Form, Reader};
use crate::hooks::gemini::plain;
use serde_json::Value;

/// Takes one line in. `$set` lines hold the whole conversation once more and add nothing.
pub(super) fn line(line: &Value, reader: &mut Reader) -> Form {
    if line["sessionId"].is_string() {
        reader.name(&line["sessionId"]);
        return Form::Known;
    }
    match line["type"].as_str() {
        Some("user") => {
            let is_text = |part: &Value| part["text"].is_string();
            let content = &line["content"];
            if content.is_string() || content.as_array().is_some_and(|parts| parts.iter().any(is_text)) {
                reader.person();
            }
            Form::Known
        }
        Some("gemini") => {
            answer(line, reader);
            Form::Known
        }
        Some("info" | "error" | "warning") => Form::Known,
        Some(_) => Form::Foreign,
        None if line["$set"].is_object() => Form::Known,
        None => Form::Foreign,
    }
}

fn answer(line: &Value, reader: &mut Reader) {
    let calls = line["toolCalls"].as_array();
    if calls.is_none_or(Vec::is_empty) {
        reader.said(&line["content"]);
    }
    for call in calls.into_iter().flatten() {
        let tool = call["name"].as_str().unwrap_or_default();
        let answer = line["id"].as_str().map(str::to_owned);
        reader.call(&call["id"], tool, call["args"].clone(), (answer, &call["timestamp"]));
        let response = &call["result"][0]["functionResponse"]["response"];
        let (output, error) = (response["output"].as_str(), response["error"].as_str());
        let failed = match call["status"].as_str() {
            Some("error") => Some(true),
            Some(_) | None => error.map(|_| true),
        };
        if let Some(text) = error.or(output) {
            reader.result(&call["id"], plain(text), failed);
        }
    }
}
