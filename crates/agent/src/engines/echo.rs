//! What an earlier answer said, in a form that strict servers take back.
//!
//! A model may write a tool's name or arguments that no API would accept in a request. The loop answers such a call with
//! what is wrong; the next question must still hold it, or nothing could be asked any more.

use serde_json::{Value, json};

/// The longest name that every API accepts.
const NAME_CHARS_MAX: usize = 64;

/// The name of a tool within what all APIs accept: letters, digits, `_` and `-`.
pub(super) fn name(tool: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let name: String = tool.chars().take(NAME_CHARS_MAX).map(fit).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// The arguments as an object; text that is none is shown to the model as it wrote it.
pub(super) fn arguments(text: &str) -> Value {
    match serde_json::from_str::<Value>(text) {
        Ok(object @ Value::Object(_)) => object,
        Err(_) if text.trim().is_empty() => json!({}),
        Ok(_) | Err(_) => json!({"unreadable_arguments": text}),
    }
}

/// The same as text. An object keeps its own bytes, so that a provider's cache still knows it.
pub(super) fn written_arguments(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(_)) => text.to_owned(),
        Ok(_) | Err(_) => arguments(text).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_arguments_that_no_api_takes_are_made_fit() {
        assert_eq!(name("functions.read file/ä"), "functions_read_file__");
        assert_eq!(name(&"x".repeat(100)).len(), NAME_CHARS_MAX);
        assert_eq!(name(""), "unnamed");
        assert_eq!(written_arguments("{broken"), r#"{"unreadable_arguments":"{broken"}"#);
        assert_eq!(written_arguments("[1]"), r#"{"unreadable_arguments":"[1]"}"#);
        assert_eq!(written_arguments(" "), "{}");
    }

    #[test]
    fn good_ones_stay_as_they_are() {
        assert_eq!(name("read_file-2"), "read_file-2");
        assert_eq!(written_arguments(r#"{ "path" : "a" }"#), r#"{ "path" : "a" }"#);
        assert_eq!(arguments(r#"{"path":"a"}"#), json!({"path": "a"}));
    }
}
