//! TypeScript declarations of the stdio protocol, made from its schema.

use serde_json::Value;
use std::fmt::Write as _;

/// The declarations: for each method a type of what it takes and one of what it gives.
#[must_use]
pub fn declarations(schema: &Value) -> String {
    let mut text =
        "// Made by `cargo xtask reference` from docs/reference/stdio.schema.json; do not edit.\n\n".to_owned();
    // A text that cannot be written to a string does not exist.
    writeln!(text, "export declare const PROTOCOL: {};\n", schema["protocol"]).unwrap_or_default();
    let methods = schema["methods"].as_object();
    for (name, method) in methods.into_iter().flatten() {
        for (side, ending) in [("params", "Params"), ("result", "Result")] {
            let described = &method[side];
            comment(described, "", &mut text);
            writeln!(text, "export interface {}{ending} {}\n", capital(name), object(described, ""))
                .unwrap_or_default();
        }
    }
    text.push_str("/** The methods, with what each takes and gives. */\nexport interface Methods {\n");
    for name in methods.into_iter().flatten().map(|(name, _)| name) {
        let title = capital(name);
        writeln!(text, "  {name}: {{ params: {title}Params; result: {title}Result }};").unwrap_or_default();
    }
    text.push_str("}\n");
    text
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn comment(schema: &Value, indent: &str, text: &mut String) {
    if let Some(words) = schema["description"].as_str() {
        let words = words.replace('\n', " ").replace("*/", "* /");
        writeln!(text, "{indent}/** {words} */").unwrap_or_default();
    }
}

fn object(schema: &Value, indent: &str) -> String {
    let Some(fields) = schema["properties"].as_object() else {
        let values = &schema["additionalProperties"];
        return if values.is_object() {
            format!("{{ [key: string]: {} }}", kind(values, indent))
        } else {
            "{}".to_owned()
        };
    };
    let inner = format!("{indent}  ");
    let required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let mut text = "{\n".to_owned();
    for (name, field) in fields {
        comment(field, &inner, &mut text);
        let mark = if required(name) { "" } else { "?" };
        writeln!(text, "{inner}{name}{mark}: {};", kind(field, &inner)).unwrap_or_default();
    }
    text.push_str(indent);
    text.push('}');
    text
}

/// The type of a value, by the few keywords that our schemas use.
fn kind(schema: &Value, indent: &str) -> String {
    if let Some(one) = schema["oneOf"].as_array() {
        return one.iter().map(|one| kind(one, indent)).collect::<Vec<_>>().join(" | ");
    }
    if let Some(text) = schema["const"].as_str() {
        return format!("{text:?}");
    }
    let names: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return "unknown".to_owned(),
    };
    let one = |name: &&str| match *name {
        "integer" | "number" => "number".to_owned(),
        "array" => format!("Array<{}>", kind(&schema["items"], indent)),
        "object" => object(schema, indent),
        other => other.to_owned(),
    };
    names.iter().map(one).collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_keyword_of_our_schemas_has_its_type() {
        let schema = json!({"protocol": 1, "methods": {"ask": {
            "params": {"type": "object", "required": ["tool"], "properties": {
                "tool": {"type": "string", "description": "Its name."},
                "args": {},
                "turn": {"type": ["string", "null"]},
                "settings": {"type": "object", "additionalProperties": {"type": "string"}},
            }},
            "result": {"type": "object", "required": ["kind"], "properties": {
                "kind": {"oneOf": [{"const": "held"}, {"const": "refused"}]},
                "evidence": {"type": "array", "items": {"type": "integer"}},
            }},
        }}});
        let text = declarations(&schema);
        for line in [
            "export interface AskParams {",
            "  /** Its name. */",
            "  tool: string;",
            "  args?: unknown;",
            "  turn?: string | null;",
            "  settings?: { [key: string]: string };",
            "  kind: \"held\" | \"refused\";",
            "  evidence?: Array<number>;",
            "  ask: { params: AskParams; result: AskResult };",
        ] {
            assert!(text.lines().any(|found| found == line), "`{line}` is not in\n{text}");
        }
    }
}
