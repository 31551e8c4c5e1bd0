//! JSON Schema: made from the Rust types themselves, checked before arguments are used and before results go out.
//!
//! A model repairs its call from the words of the error, so each one names the place, what was expected there, and the
//! piece that is wrong, cut to a readable length.

use jsonschema::Validator;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// Most mistakes that one answer names.
const MISTAKES_MAX: usize = 5;
/// Most bytes of the offending piece that are repeated.
const PIECE_BYTES_MAX: usize = 160;

/// A schema, compiled once.
#[derive(Debug)]
pub struct Schema {
    text: Value,
    validator: Validator,
}

/// Which side of a type a schema describes: a field with a default may be left out when it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What comes in.
    Arguments,
    /// What goes out.
    Result,
}

/// A schema that cannot be used: a defect of the type that it was made from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the schema cannot be compiled: {why}")]
pub struct SchemaError {
    why: String,
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

impl Schema {
    /// The schema of a type, without references, so that every provider understands it.
    ///
    /// # Errors
    /// If the type's schema is no schema.
    pub fn of<T: JsonSchema>(side: Side) -> Result<Self, SchemaError> {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        let settings = match side {
            Side::Arguments => settings.for_deserialize(),
            Side::Result => settings.for_serialize(),
        };
        let mut text = settings.into_generator().into_root_schema_for::<T>().to_value();
        if let Some(object) = text.as_object_mut() {
            // The Rust name of the type says nothing to a model.
            object.remove("title");
        }
        Self::compile(text)
    }

    /// A schema from its text.
    ///
    /// # Errors
    /// If it is none.
    pub fn compile(text: Value) -> Result<Self, SchemaError> {
        let validator = jsonschema::validator_for(&text).map_err(|error| SchemaError { why: error.to_string() })?;
        Ok(Self { text, validator })
    }

    /// The schema as JSON.
    #[must_use]
    pub const fn text(&self) -> &Value {
        &self.text
    }

    /// What is wrong with a value; at most a handful, in a fixed order.
    #[must_use]
    pub fn mistakes(&self, value: &Value) -> Vec<Mistake> {
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        let mut mistakes: Vec<Mistake> = self
            .validator
            .iter_errors(value)
            .take(MISTAKES_MAX)
            .map(|error| Mistake {
                path: error.instance_path().as_str().to_owned(),
                why: error.masked_with("this").to_string(),
                found: piece(error.instance()),
            })
            .collect();
        mistakes.sort_by(|a, b| (&a.path, &a.why).cmp(&(&b.path, &b.why)));
        if mistakes.is_empty() {
            // Invalid without a word about it: never taken for valid.
            mistakes.push(Mistake {
                path: String::new(),
                why: "it does not fit the schema".to_owned(),
                found: piece(value),
            });
        }
        mistakes
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
        let schema = Schema::of::<Ask>(Side::Arguments).unwrap();
        for value in [json!({"path": "a"}), json!({"path": "a", "count": 3}), json!({"path": "a", "count": null})] {
            assert_eq!(schema.mistakes(&value), [], "{value}");
        }
    }

    #[test]
    fn tool_2_a_mistake_names_place_expectation_and_piece() {
        let schema = Schema::of::<Ask>(Side::Arguments).unwrap();
        for (value, place, words) in [
            (json!({"path": 7}), "/path", "is not of type \"string\""),
            (json!({"path": "a", "count": "many"}), "/count", "is not of type"),
            (json!({"path": "a", "count": -1}), "/count", "less than the minimum of 0"),
            (json!({}), "", "\"path\" is a required property"),
            (json!({"path": "a", "file": 1}), "", "'file' was unexpected"),
            (json!([]), "", "is not of type \"object\""),
        ] {
            let mistakes = schema.mistakes(&value);
            assert_eq!(mistakes.len(), 1, "{value}: {mistakes:?}");
            assert_eq!(mistakes[0].path, place, "{value}");
            assert!(mistakes[0].why.contains(words), "{value}: {}", mistakes[0].why);
        }
    }

    #[test]
    fn tool_2_a_large_piece_is_cut_and_mistakes_are_few() {
        let schema = Schema::compile(json!({"items": {"type": "integer"}})).unwrap();
        let mistakes = schema.mistakes(&json!(vec!["ü".repeat(5_000); 50]));
        assert_eq!(mistakes.len(), MISTAKES_MAX);
        assert!(mistakes.iter().all(|mistake| mistake.found.len() <= PIECE_BYTES_MAX + "…".len()));
    }

    #[test]
    fn tool_2_schemas_hold_no_references_and_are_the_same_each_time() {
        let text = |()| Schema::of::<Vec<Ask>>(Side::Result).unwrap().text().to_string();
        assert!(!text(()).contains("$ref") && !text(()).contains("$schema"), "{}", text(()));
        assert_eq!(text(()), text(()));
        assert!(Schema::compile(json!({"type": "nonsense"})).is_err());
    }
}
