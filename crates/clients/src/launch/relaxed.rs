//! JSON as people write it in settings files: with comments and trailing commas, which the clients accept.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::CstRootNode;
use serde_json::{Map, Value};

/// The object in a settings file; an empty file is an empty object.
pub(crate) fn object(text: &str) -> Result<Map<String, Value>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let root = CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| error.to_string())?;
    match root.to_serde_value() {
        None if root.value().is_none() => Ok(Map::new()),
        None => Err("it holds a number that JSON does not have".to_owned()),
        Some(Value::Object(object)) => Ok(object),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err("it is not an object".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_read_and_strings_are_untouched() {
        let text = "\u{feff}{ // first\n \"a\": \"/* no */ // no ,]\", /* x */ \"b\": [1, 2, ], \"c\": \"\\\"\", }";
        let object = object(text).unwrap();
        assert_eq!(object["a"], "/* no */ // no ,]");
        assert_eq!(object["b"], serde_json::json!([1, 2]));
        assert_eq!(object["c"], "\"");
        assert!(super::object(" // nothing\n").unwrap().is_empty());
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["[]", "{", "{\"a\":}", "1", "{\"a\":1} x", "{\"a\":1e}"] {
            assert!(object(text).is_err(), "{text}");
        }
    }
}
