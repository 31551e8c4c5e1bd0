//! What the guard itself says: errors of the protocol, and results that tell an agent why a call was refused.

use super::message::Id;
use serde_json::json;

/// The error code for what a server failed to answer.
pub const SERVER_GONE: i64 = -32_000;

/// An error of the protocol; without an id where none is known.
#[must_use]
pub fn error(id: Option<&Id>, code: i64, why: &str) -> String {
    let id = id.map_or("null", Id::raw);
    let error = json!({"code": code, "message": format!("tripwire: {}", why.trim_start_matches("tripwire: "))});
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
}

/// A call that was not let run: a tool's own error, so that the model reads the reason and the next step.
#[must_use]
pub fn refused(id: &Id, reason: &str) -> String {
    let text = format!("{reason}\nThe call did not reach the server.");
    let result = json!({"content": [{"type": "text", "text": text}], "isError": true});
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.raw())
}

/// A result that does not fit what its tool declares.
#[must_use]
pub fn unfit_result(id: &Id, mistakes: &[String]) -> String {
    let text = format!(
        "tripwire: the server's result does not fit the tool's outputSchema and is not passed on: {} [MCP-3]",
        mistakes.join("; ")
    );
    let result = json!({"content": [{"type": "text", "text": text}], "isError": true});
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.raw())
}

/// Several messages as one batch.
#[must_use]
pub fn batch(messages: &[&str]) -> String {
    format!("[{}]", messages.join(","))
}
