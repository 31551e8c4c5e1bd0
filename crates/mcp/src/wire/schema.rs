//! Whether a value fits a tool's declared JSON schema.
//!
//! It finds what certainly does not fit. A keyword that it does not know, a pattern, a format, a reference to elsewhere say
//! nothing here, and the server judges them itself. The work is bounded: a schema that asks for more than that says nothing more.

use serde_json::{Map, Value};
use std::cell::Cell;

/// Most mistakes that are named.
const MISTAKES_MAX: usize = 5;
/// Most steps of one check.
const STEPS_MAX: u32 = 200_000;
/// Deepest nesting that is followed.
const DEPTH_MAX: u32 = 96;
/// Most bytes of a value that are repeated.
const PIECE_BYTES_MAX: usize = 80;

/// What certainly does not fit, in words that name the place; nothing if all of it may.
#[must_use]
pub fn mistakes(schema: &Value, value: &Value) -> Vec<String> {
    let check = Check { root: schema, steps: Cell::new(STEPS_MAX) };
    let mut found = Vec::new();
    check.value(schema, value, At { path: "", depth: DEPTH_MAX }, &mut found);
    found.truncate(MISTAKES_MAX);
    found
}

struct Check<'a> {
    root: &'a Value,
    steps: Cell<u32>,
}

/// Where a value stands.
#[derive(Clone, Copy)]
struct At<'a> {
    path: &'a str,
    depth: u32,
}

impl Check<'_> {
    fn value(&self, schema: &Value, value: &Value, at: At<'_>, found: &mut Vec<String>) {
        let steps = self.steps.get();
        if found.len() >= MISTAKES_MAX || steps == 0 || at.depth == 0 {
            return;
        }
        self.steps.set(steps - 1);
        let at = At { depth: at.depth - 1, ..at };
        let keywords = match schema {
            Value::Bool(false) => return found.push(wrong(at, "nothing is allowed here", value)),
            Value::Object(keywords) => keywords,
            Value::Bool(true) | Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => return,
        };
        if let Some(target) = keywords.get("$ref").and_then(Value::as_str).and_then(|target| self.resolve(target)) {
            self.value(target, value, at, found);
        }
        if let Some(expected) = keywords.get("type").filter(|expected| !is_of_type(expected, value)) {
            return found.push(wrong(at, &format!("it must be of type {expected}"), value));
        }
        if let Some(Value::Array(allowed)) = keywords.get("enum")
            && !allowed.iter().any(|allowed| is_equal(allowed, value))
        {
            found.push(wrong(at, &format!("it must be one of {}", piece(&Value::Array(allowed.clone()))), value));
        }
        if let Some(only) = keywords.get("const").filter(|only| !is_equal(only, value)) {
            found.push(wrong(at, &format!("it must be {}", piece(only)), value));
        }
        self.combined(keywords, value, at, found);
        match value {
            Value::Object(fields) => self.object(keywords, fields, at, found),
            Value::Array(items) => self.array(keywords, items, at, found),
            Value::String(text) => {
                let count = text.chars().count();
                found.extend(bounds(keywords, ["minLength", "maxLength"], (count, "characters"), at));
            }
            Value::Number(number) => number_bounds(keywords, number.as_f64(), at, found),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn fits(&self, schema: &Value, value: &Value, at: At<'_>) -> bool {
        let mut found = Vec::new();
        self.value(schema, value, at, &mut found);
        found.is_empty()
    }

    fn combined(&self, keywords: &Map<String, Value>, value: &Value, at: At<'_>, found: &mut Vec<String>) {
        let list = |name: &str| keywords.get(name).and_then(Value::as_array);
        for schema in list("allOf").into_iter().flatten() {
            self.value(schema, value, at, found);
        }
        for name in ["anyOf", "oneOf"] {
            if let Some(schemas) = list(name)
                && !schemas.iter().any(|schema| self.fits(schema, value, at))
            {
                found.push(wrong(at, &format!("it fits none of its `{name}`"), value));
            }
        }
    }

    fn object(&self, keywords: &Map<String, Value>, fields: &Map<String, Value>, at: At<'_>, found: &mut Vec<String>) {
        let required = keywords.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in required.filter_map(Value::as_str).filter(|name| !fields.contains_key(*name)) {
            found.push(format!("at `{}/{name}`: it is required and missing", at.path));
        }
        let known = keywords.get("properties").and_then(Value::as_object);
        let has_patterns = keywords.contains_key("patternProperties");
        for (name, value) in fields {
            let path = format!("{}/{name}", at.path);
            let inner = At { path: &path, ..at };
            match (known.and_then(|known| known.get(name)), keywords.get("additionalProperties")) {
                (Some(schema), _) => self.value(schema, value, inner, found),
                (None, Some(Value::Bool(false))) if !has_patterns => {
                    found.push(wrong(inner, "the tool knows no such argument", value));
                }
                (None, Some(schema)) if !has_patterns => self.value(schema, value, inner, found),
                (None, Some(_) | None) => {}
            }
        }
    }

    fn array(&self, keywords: &Map<String, Value>, items: &[Value], at: At<'_>, found: &mut Vec<String>) {
        found.extend(bounds(keywords, ["minItems", "maxItems"], (items.len(), "items"), at));
        let first = keywords.get("prefixItems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let rest = keywords.get("items").filter(|items| !items.is_array());
        for (n, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(n).or(rest) {
                let path = format!("{}/{n}", at.path);
                self.value(schema, item, At { path: &path, ..at }, found);
            }
        }
    }

    /// What a reference within the schema names.
    fn resolve(&self, target: &str) -> Option<&Value> {
        self.root.pointer(target.strip_prefix('#')?)
    }
}

fn bounds(
    keywords: &Map<String, Value>,
    [least, most]: [&str; 2],
    (count, unit): (usize, &str),
    at: At<'_>,
) -> Vec<String> {
    let bound = |name: &str| keywords.get(name).and_then(Value::as_u64);
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    let few = bound(least)
        .filter(|bound| count < *bound)
        .map(|bound| format!("at `{}`: at least {bound} {unit}, found {count}", at.path));
    let many = bound(most)
        .filter(|bound| count > *bound)
        .map(|bound| format!("at `{}`: at most {bound} {unit}, found {count}", at.path));
    few.into_iter().chain(many).collect()
}

fn number_bounds(keywords: &Map<String, Value>, number: Option<f64>, at: At<'_>, found: &mut Vec<String>) {
    let Some(number) = number else { return };
    let bound = |name: &str| keywords.get(name).and_then(Value::as_f64);
    let crossed = [
        bound("minimum").filter(|bound| number < *bound).map(|bound| format!("at least {bound}")),
        bound("maximum").filter(|bound| number > *bound).map(|bound| format!("at most {bound}")),
        bound("exclusiveMinimum").filter(|bound| number <= *bound).map(|bound| format!("more than {bound}")),
        bound("exclusiveMaximum").filter(|bound| number >= *bound).map(|bound| format!("less than {bound}")),
    ];
    found.extend(crossed.into_iter().flatten().map(|words| format!("at `{}`: {words}, found {number}", at.path)));
}

fn wrong(at: At<'_>, why: &str, value: &Value) -> String {
    let place = if at.path.is_empty() { "the whole" } else { at.path };
    format!("at `{place}`: {why}, found {}", piece(value))
}

fn piece(value: &Value) -> String {
    let text = value.to_string();
    let kept = tripwire_core::label::cut(&text, PIECE_BYTES_MAX);
    if kept.len() < text.len() { format!("{kept}…") } else { text }
}

fn is_of_type(expected: &Value, value: &Value) -> bool {
    match expected {
        Value::String(name) => is_named_type(name, value),
        Value::Array(names) => names.iter().any(|name| is_of_type(name, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
    }
}

fn is_named_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    }
}

/// Whether two values are one: `1` and `1.0` are.
fn is_equal(one: &Value, other: &Value) -> bool {
    one == other || (one.is_number() && other.is_number() && one.as_f64() == other.as_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1, "maxLength": 5},
                "count": {"type": "integer", "minimum": 1, "maximum": 10},
                "mode": {"enum": ["a", "b"]},
                "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "maxItems": 2},
                "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "odd": {"type": "string", "pattern": "^x$", "x-unknown": 1},
            },
            "required": ["path"],
            "additionalProperties": false,
            "$defs": {"tag": {"type": "string"}},
        })
    }

    #[test]
    fn mcp_3_what_does_not_fit_is_named_with_its_place() {
        for (value, place) in [
            (json!({}), "/path"),
            (json!({"path": 1}), "/path"),
            (json!({"path": ""}), "/path"),
            (json!({"path": "ffffff"}), "/path"),
            (json!({"path": "a", "count": 1.5}), "/count"),
            (json!({"path": "a", "count": 0}), "/count"),
            (json!({"path": "a", "count": 11}), "/count"),
            (json!({"path": "a", "mode": "c"}), "/mode"),
            (json!({"path": "a", "tags": ["x", 1]}), "/tags/1"),
            (json!({"path": "a", "tags": ["x", "y", "z"]}), "/tags"),
            (json!({"path": "a", "either": 1}), "/either"),
            (json!({"path": "a", "more": 1}), "/more"),
            (json!([]), "the whole"),
        ] {
            let found = mistakes(&schema(), &value);
            assert!(found.iter().any(|mistake| mistake.contains(&format!("at `{place}`"))), "{value}: {found:?}");
        }
    }

    #[test]
    fn mcp_3_what_may_fit_passes_and_what_is_not_known_says_nothing() {
        for value in [
            json!({"path": "a"}),
            json!({"path": "ä€", "count": 2.0, "mode": "a", "tags": ["x"], "either": null, "odd": "not x"}),
        ] {
            assert_eq!(mistakes(&schema(), &value), Vec::<String>::new(), "{value}");
        }
        for odd in [json!(true), json!({}), json!(7), json!({"type": "blob"}), json!({"$ref": "https://x/y"})] {
            assert_eq!(mistakes(&odd, &json!({"a": 1})), Vec::<String>::new(), "{odd}");
        }
    }

    #[test]
    fn mcp_3_a_schema_that_never_ends_is_bounded() {
        let own = json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}]});
        assert!(mistakes(&own, &json!({"a": [1]})).len() <= MISTAKES_MAX);
    }
}
