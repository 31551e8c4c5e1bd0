//! The schema of the protocol, made from the types that read and write it.

use super::message::{ErrorCode, PROTOCOL_VERSION};
use super::methods::schemas;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The schema of the protocol: for each method what it takes and gives, and the errors. It is committed as
/// `docs/reference/stdio.schema.json`.
#[must_use]
pub fn schema() -> Value {
    let inline = || {
        SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
    };
    let mut takes = inline().for_deserialize().into_generator();
    let mut gives = inline().for_serialize().into_generator();
    let methods: Map<String, Value> = schemas(&mut takes, &mut gives)
        .into_iter()
        .map(|(name, params, result)| (name.to_owned(), json!({"params": params, "result": result})))
        .collect();
    let errors: Vec<Value> = ErrorCode::ALL
        .iter()
        .map(|code| json!({"code": code.number(), "name": format!("{code:?}"), "meaning": code.meaning()}))
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tripwire serve --stdio",
        "description": "JSON-RPC 2.0, one message a line. Made from the code by `cargo xtask reference`.",
        "protocol": PROTOCOL_VERSION,
        "methods": methods,
        "errors": errors,
    })
}
