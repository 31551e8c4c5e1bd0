//! The beginning of a result that is larger than its tool's limit, in the forms in which clients take one.

use serde_json::Value;
use tripwire_core::label;

/// Texts of a result that are no larger stay: names, kinds and marks of the client's own form.
const PLAIN_BYTES_MAX: usize = 256;

/// The beginning of a result that is larger than its tool's limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortResult {
    /// What the agent is to be told beside it.
    pub beside: Option<String>,
    /// Bytes of it that stay.
    pub bytes: usize,
    /// Where the whole is.
    pub words: String,
}

impl ShortResult {
    /// A text cut to what stays of it, with the words behind it.
    pub(super) fn of_text(&self, text: &str) -> String {
        format!("{}\n{}", label::cut(text, self.bytes), self.words)
    }

    /// A result in its client's own form, with its large texts cut to what stays of all of them; nothing where it has none.
    pub(super) fn of_response(&self, response: &str) -> Option<Value> {
        let mut value: Value = serde_json::from_str(response).ok()?;
        let (mut left, mut is_cut) = (self.bytes, false);
        large_texts(&mut value, &mut |text| {
            let kept = label::cut(text, left).to_owned();
            left = left.saturating_sub(kept.len());
            if kept.len() == text.len() {
                return;
            }
            *text = if is_cut { kept } else { format!("{kept}\n{}", self.words) };
            is_cut = true;
        });
        is_cut.then_some(value)
    }
}

/// Every large text of a value, in its order.
fn large_texts(value: &mut Value, change: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) if text.len() > PLAIN_BYTES_MAX => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| large_texts(item, change)),
        Value::Object(fields) => fields.values_mut().for_each(|field| large_texts(field, change)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_3_large_texts_of_a_result_share_the_limit_and_its_form_stays() {
        let short = ShortResult { beside: None, bytes: 300, words: "[rest]".to_owned() };
        let name = "n".repeat(PLAIN_BYTES_MAX);
        let response = serde_json::json!({"name": name, "stdout": "o".repeat(290), "n": 1, "stderr": "e".repeat(400), "x": ["y".repeat(257)]});
        let made = short.of_response(&response.to_string()).unwrap();
        assert_eq!((&made["name"], &made["n"]), (&response["name"], &response["n"]));
        let all: String = ["stdout", "stderr"].map(|member| made[member].as_str().unwrap().to_owned()).concat();
        assert_eq!(all.matches('o').count() + all.replace("[rest]", "").matches('e').count(), 300, "{all}");
        assert_eq!(made.to_string().matches("[rest]").count(), 1, "{made}");
        assert_eq!(short.of_response(r#"{"stdout":"small"}"#), None);
        assert_eq!(short.of_response("no JSON"), None);
    }
}
