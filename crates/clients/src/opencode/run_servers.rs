//! The tool servers of opencode in one run: the configuration in the variable puts the guard before each.

use super::config::OpencodeConfig;
use crate::launch::prepare::{LaunchPlace, PreparedClient, ServerTools};
use crate::tool_servers::run_guard::not_wrapped;
use serde_json::{Map, Value, json};

/// Puts the guard before the servers of all its files into the configuration of the run.
pub(super) fn guard(
    place: &LaunchPlace<'_>,
    config: &OpencodeConfig,
    content: &mut Map<String, Value>,
    prepared: &mut PreparedClient,
) {
    let Some(guard) = place.servers else { return };
    let mut open = Vec::new();
    for (path, server) in config.servers() {
        let name = path.last().cloned().unwrap_or_default();
        let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        let prefix: String = name.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect();
        prepared.server_tools.push(ServerTools { prefix: format!("{prefix}_"), server: name.clone() });
        let texts = |list: &Vec<Value>| list.iter().map(|word| word.as_str().map(str::to_owned)).collect();
        let own: Option<Vec<String>> = server.get("command").and_then(Value::as_array).and_then(texts);
        match own.filter(|own| !own.is_empty() && !server.contains_key("url")) {
            Some(own) => {
                let entry = json!({"type": "local", "command": guard.words(&name, &own),
                    "environment": {guard.variable: guard.socket()}});
                put(content, &path, entry);
            }
            // A mere switch for a server that is named elsewhere.
            None if server.keys().all(|member| member == "enabled") => {}
            None => open.push(name),
        }
    }
    prepared
        .notes
        .extend(not_wrapped(&open, "HTTP; the gateway sees their calls, and `tripwire init --mcp` wraps them"));
}

/// Puts members of a server into a configuration, over what stands there.
fn put(content: &mut Map<String, Value>, path: &[String], entry: Value) {
    let mut at = content.entry("mcp").or_insert_with(|| json!({}));
    for name in path {
        if !at.is_object() {
            *at = json!({});
        }
        if at.get(name).is_none_or(|value| !value.is_object()) {
            at[name] = json!({});
        }
        at = &mut at[name];
    }
    let (Some(known), Value::Object(new)) = (at.as_object_mut(), entry) else { return };
    for (member, value) in new {
        match (known.get_mut(&member).and_then(Value::as_object_mut), value) {
            (Some(inner), Value::Object(more)) => inner.extend(more),
            (_, value) => drop(known.insert(member, value)),
        }
    }
}
