//! JSON Schema, made from the Rust types themselves, and the check of a call's arguments against it.
//!
//! A model repairs its call from the words of the error, so each one names the place, what was expected there, and the
//! piece that is wrong, cut to a readable length; and it hears of several mistakes at once. `serde` alone would stop at the
//! first, name Rust's types and take a list for an object. The schemas are our own and flat, so the check knows exactly
//! the keywords that they use; a test holds every tool to that.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt;

/// Most mistakes that one answer names.
const MISTAKES_MAX: usize = 5;
/// Most bytes of the offending piece that are repeated.
const PIECE_BYTES_MAX: usize = 160;

/// Which side of a type a schema describes: a field with a default may be left out when it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaSide {
    Arguments,
    Result,
}

/// One thing that is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mistake {
    /// Where, as a JSON pointer; empty for the value as a whole.
    pub path: String,
    /// What is wrong, and what was expected.
    pub why: String,
    /// The offending piece, cut.
    pub found: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.path.is_empty() { "the arguments" } else { &self.path };
        write!(f, "at `{place}`: {}", self.why)?;
        if self.found.is_empty() { Ok(()) } else { write!(f, "; found `{}`", self.found) }
    }
}

/// The schema of a type, without references, so that every provider understands it.
pub(super) fn schema_of<T: JsonSchema>(side: SchemaSide) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let settings = match side {
        SchemaSide::Arguments => settings.for_deserialize(),
        SchemaSide::Result => settings.for_serialize(),
    };
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(object) = schema.as_object_mut() {
        // The Rust name of the type says nothing to a model.
        object.remove("title");
    }
    schema
}

/// What is wrong with the arguments of a call; at most a handful, in a fixed order.
pub(super) fn mistakes(schema: &Value, arguments: &Value) -> Vec<Mistake> {
    let Value::Object(fields) = arguments else {
        return vec![Mistake { path: String::new(), why: of_type("\"object\""), found: piece(arguments) }];
    };
    let none = Map::new();
    let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let whole = |why: String| Mistake { path: String::new(), why, found: piece(arguments) };
    let mut mistakes: Vec<Mistake> = Vec::new();
    for (name, value) in fields {
        let Some(schema) = known.get(name) else { continue };
        if let Some(why) = field_mistake(schema, value) {
            mistakes.push(Mistake { path: format!("/{name}"), why, found: piece(value) });
        }
        mistakes.extend(
            item_mistakes(schema, value).map(|mistake| Mistake { path: format!("/{name}{}", mistake.path), ..mistake }),
        );
    }
    let unknown: Vec<String> =
        fields.keys().filter(|name| !known.contains_key(*name)).map(|name| format!("'{name}'")).collect();
    if !unknown.is_empty() {
        let were = if unknown.len() == 1 { "was" } else { "were" };
        mistakes
            .push(whole(format!("Additional properties are not allowed ({} {were} unexpected)", unknown.join(", "))));
    }
    let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let missing = required.iter().filter_map(Value::as_str).filter(|name| !fields.contains_key(*name));
    mistakes.extend(missing.map(|name| whole(format!("\"{name}\" is a required property"))));
    mistakes.truncate(MISTAKES_MAX);
    mistakes.sort_by(|a, b| (&a.path, &a.why).cmp(&(&b.path, &b.why)));
    mistakes
}

/// What is wrong with the objects of a list.
fn item_mistakes<'a>(schema: &'a Value, value: &'a Value) -> impl Iterator<Item = Mistake> + 'a {
    let items = schema.get("items").filter(|items| items.get("type").is_some_and(|kind| kind == "object"));
    let values = items.and(value.as_array()).map(Vec::as_slice).unwrap_or_default();
    values.iter().enumerate().filter_map(move |(at, item)| Some((at, mistakes(items?, item)))).flat_map(
        |(at, found)| {
            found.into_iter().map(move |mistake| Mistake { path: format!("/{at}{}", mistake.path), ..mistake })
        },
    )
}

/// What is wrong with the value of one field.
fn field_mistake(schema: &Value, value: &Value) -> Option<String> {
    let mut types: Vec<&str> = match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        Some(_) | None => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|kind| is_of_type(value, kind)) {
        types.sort_by_key(|kind| *kind != "null");
        return Some(of_type(&types.iter().map(|kind| format!("\"{kind}\"")).collect::<Vec<_>>().join(", ")));
    }
    let minimum = schema.get("minimum")?;
    let is_less = value.as_f64()? < minimum.as_f64()?;
    is_less.then(|| format!("this is less than the minimum of {minimum}"))
}

fn of_type(types: &str) -> String {
    let plural = if types.contains(',') { "s" } else { "" };
    format!("this is not of type{plural} {types}")
}

fn is_of_type(value: &Value, kind: &str) -> bool {
    match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
        // A whole number is an integer however it is written; one that no integer holds is left to the typed reading.
        Value::Number(number) => {
            let is_whole = || number.as_f64().is_some_and(|number| number.fract().abs() < f64::EPSILON);
            kind == "number" || kind == "integer" && (!number.is_f64() || is_whole())
        }
    }
}

/// The beginning of a value as compact JSON.
fn piece(value: &Value) -> String {
    let text = value.to_string();
    let cut = tripwire_core::label::cut(&text, PIECE_BYTES_MAX);
    if cut.len() < text.len() { format!("{cut}…") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Ask {
        /// Where.
        path: String,
        /// How many.
        #[serde(default)]
        count: Option<u32>,
    }

    #[test]
    fn tool_2_a_fitting_value_has_no_mistakes() {
        let schema = schema_of::<Ask>(SchemaSide::Arguments);
        for value in [json!({"path": "a"}), json!({"path": "a", "count": 3}), json!({"path": "a", "count": null})] {
            assert_eq!(mistakes(&schema, &value), [], "{value}");
        }
    }

    #[test]
    fn tool_2_a_mistake_names_place_expectation_and_piece() {
        let schema = schema_of::<Ask>(SchemaSide::Arguments);
        for (value, place, words) in [
            (json!({"path": 7}), "/path", "is not of type \"string\""),
            (json!({"path": "a", "count": "many"}), "/count", "is not of type"),
            (json!({"path": "a", "count": -1}), "/count", "less than the minimum of 0"),
            (json!({}), "", "\"path\" is a required property"),
            (json!({"path": "a", "file": 1}), "", "'file' was unexpected"),
            (json!([]), "", "is not of type \"object\""),
        ] {
            let mistakes = mistakes(&schema, &value);
            assert_eq!(mistakes.len(), 1, "{value}: {mistakes:?}");
            assert_eq!(mistakes[0].path, place, "{value}");
            assert!(mistakes[0].why.contains(words), "{value}: {}", mistakes[0].why);
        }
    }

    #[test]
    fn tool_2_a_large_piece_is_cut_and_mistakes_are_few() {
        let names = || (0..50).map(|number| format!("field{number}"));
        let schema =
            json!({"properties": names().map(|name| (name, json!({"type": "integer"}))).collect::<Map<_, _>>()});
        let long = names().map(|name| (name, json!("ü".repeat(5_000)))).collect::<Map<_, _>>();
        let mistakes = mistakes(&schema, &Value::Object(long));
        assert_eq!(mistakes.len(), MISTAKES_MAX);
        assert!(mistakes.iter().all(|mistake| mistake.found.len() <= PIECE_BYTES_MAX + "…".len()));
    }

    #[test]
    fn tool_2_schemas_hold_no_references_and_are_the_same_each_time() {
        let text = |()| schema_of::<Vec<Ask>>(SchemaSide::Result).to_string();
        assert!(!text(()).contains("$ref") && !text(()).contains("$schema"), "{}", text(()));
        assert_eq!(text(()), text(()));
    }
}
