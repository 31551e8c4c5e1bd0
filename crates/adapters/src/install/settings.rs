//! The text of a client's settings file with our hooks in it, and without them again. All three clients take the same
//! shape: `{"hooks": {EVENT: [{"matcher", "hooks": [{"type", "command", "timeout"}]}]}}`.
//!
//! What the person wrote is never written again by us: the text is edited as a tree that keeps every blank and comment.

use crate::hooks::{Client, SECONDS_RECOMMENDED};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstObject, CstRootNode};
use jsonc_parser::json;
use serde_json::Value;

/// What a settings file is called that cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// It is not JSON.
    #[error("line {line}: {problem}")]
    Syntax {
        /// Where, counted from one.
        line: usize,
        /// What is wrong there.
        problem: String,
    },
    /// Something has another shape than the client reads.
    #[error("`{member}` is not {wanted}")]
    Shape {
        /// The member.
        member: String,
        /// What it should be.
        wanted: &'static str,
    },
}

/// The events that the engine wants to hear of.
#[must_use]
pub const fn events(client: Client) -> &'static [&'static str] {
    match client {
        Client::Claude => &[
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "UserPromptSubmit",
            "SessionStart",
            "SessionEnd",
            "Stop",
            "SubagentStart",
            "SubagentStop",
            "PreCompact",
            "PostCompact",
        ],
        Client::Codex => &[
            "PreToolUse",
            "PostToolUse",
            "UserPromptSubmit",
            "SessionStart",
            "SessionEnd",
            "Stop",
            "SubagentStart",
            "SubagentStop",
            "PreCompact",
            "PostCompact",
        ],
        // Those that come with every part of an answer are left out: they cost most and tell least.
        Client::Gemini => {
            &["SessionStart", "BeforeAgent", "BeforeModel", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"]
        }
    }
}

/// The text with our hooks behind the person's own; hooks of another tripwire are replaced.
///
/// # Errors
/// When the text is not what the client reads: then nothing is to be written.
pub fn with_hooks(text: &str, client: Client, command: &str) -> Result<String, SettingsError> {
    if commands(text, client)?.iter().all(|known| known == command) && is_complete(text, client)? {
        return Ok(text.to_owned());
    }
    let text = without_hooks(text, client)?;
    let (mark, body) = split_mark(&text);
    let root = parse(body)?;
    let object = root.object_value_or_create().ok_or_else(|| shape("the whole file", "an object"))?;
    let hooks = object.object_value_or_create("hooks").ok_or_else(|| shape("hooks", "an object"))?;
    for event in events(client) {
        let list = hooks.array_value_or_create(event).ok_or_else(|| shape(&format!("hooks.{event}"), "a list"))?;
        list.append(hook(client, event, command));
    }
    hooks.ensure_multiline();
    let mut edited = root.to_string();
    if !edited.ends_with('\n') && body.trim().is_empty() {
        edited.push('\n');
    }
    Ok(format!("{mark}{edited}"))
}

/// The text without our hooks; lists and objects that are empty then go too.
///
/// # Errors
/// When the text is not JSON.
pub fn without_hooks(text: &str, client: Client) -> Result<String, SettingsError> {
    let (mark, body) = split_mark(text);
    let root = parse(body)?;
    let Some(object) = root.object_value() else { return Ok(text.to_owned()) };
    let Some(hooks) = object.object_value("hooks") else { return Ok(text.to_owned()) };
    let mut found = Touched::No;
    for event in events(client) {
        let Some(list) = hooks.array_value(event) else { continue };
        for element in list.elements() {
            if element.as_object().is_some_and(|element| is_ours(&element, client)) {
                element.remove();
                found = Touched::Yes;
            }
        }
        if found == Touched::Yes && list.elements().is_empty() {
            remove_member(&hooks, event);
        }
    }
    if found == Touched::No {
        return Ok(text.to_owned());
    }
    if hooks.properties().is_empty() {
        remove_member(&object, "hooks");
    }
    Ok(format!("{mark}{root}"))
}

/// The commands of our hooks that stand in a text.
///
/// # Errors
/// When the text is not JSON.
pub fn commands(text: &str, client: Client) -> Result<Vec<String>, SettingsError> {
    Ok(lists(text, client)?.into_iter().flat_map(|list| ours(&list, client)).collect())
}

/// The setting by which all hooks of a client are switched off, if a text has it.
pub(crate) fn switched_off(text: &str, client: Client) -> Option<&'static str> {
    let value = parse(split_mark(text).1).ok()?.to_serde_value()?;
    match client {
        Client::Claude => (value["disableAllHooks"] == true).then_some("disableAllHooks"),
        Client::Codex => None,
        Client::Gemini => (value["hooksConfig"]["enabled"] == false).then_some("hooksConfig.enabled"),
    }
}

/// Where our hooks stand: the event, and the place in its list.
///
/// # Errors
/// When the text is not JSON.
pub(super) fn places(text: &str, client: Client) -> Result<Vec<(&'static str, usize)>, SettingsError> {
    let root = parse(split_mark(text).1)?;
    let hooks = root.object_value().and_then(|object| object.object_value("hooks"));
    let mut places = Vec::new();
    for event in events(client) {
        let list = hooks.as_ref().and_then(|hooks| hooks.array_value(event));
        for (place, element) in list.map(|list| list.elements()).unwrap_or_default().iter().enumerate() {
            if element.as_object().is_some_and(|element| is_ours(&element, client)) {
                places.push((*event, place));
            }
        }
    }
    Ok(places)
}

/// Whether every event that the engine wants calls us, once, for every tool, and in the form that refuses when we fail.
///
/// # Errors
/// When the text is not JSON.
pub fn is_complete(text: &str, client: Client) -> Result<bool, SettingsError> {
    let value = parse(split_mark(text).1)?.to_serde_value().unwrap_or(Value::Null);
    let call = super::call(client);
    let is_ours = |entry: &&Value| {
        let hooks = entry["hooks"].as_array().map(Vec::as_slice).unwrap_or_default();
        hooks.iter().any(|hook| hook["command"].as_str().is_some_and(|command| command.contains(&call)))
    };
    Ok(events(client).iter().all(|event| {
        let entries = value["hooks"][event].as_array().map(Vec::as_slice).unwrap_or_default();
        let ours: Vec<&Value> = entries.iter().filter(is_ours).collect();
        matches!(ours.as_slice(), [only] if is_whole(only, client, event))
    }))
}

/// Whether an entry is as we write it. A longer time is fine; a matcher, a shorter time or any other member can keep the
/// hook from being called, or its answer from being heard.
fn is_whole(entry: &Value, client: Client, event: &str) -> bool {
    let command = entry["hooks"][0]["command"].as_str().unwrap_or_default();
    let mut expected = read_back(&hook(client, event, command));
    let timeout = |entry: &Value| entry["hooks"][0]["timeout"].as_u64();
    if timeout(entry) >= timeout(&expected) {
        expected["hooks"][0]["timeout"] = entry["hooks"][0]["timeout"].clone();
    }
    *entry == expected
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Touched {
    Yes,
    No,
}

/// The lists of the events that a text has.
fn lists(text: &str, client: Client) -> Result<Vec<CstArray>, SettingsError> {
    let root = parse(split_mark(text).1)?;
    let hooks = root.object_value().and_then(|object| object.object_value("hooks"));
    Ok(hooks
        .map_or_else(Vec::new, |hooks| events(client).iter().filter_map(|event| hooks.array_value(event)).collect()))
}

fn ours(list: &CstArray, client: Client) -> Vec<String> {
    let elements = list.elements().into_iter().filter_map(|element| element.as_object());
    elements.flat_map(|element| our_commands(&element, client)).collect()
}

fn is_ours(element: &CstObject, client: Client) -> bool {
    !our_commands(element, client).is_empty()
}

/// The commands in one entry of an event that call us.
fn our_commands(element: &CstObject, client: Client) -> Vec<String> {
    let call = super::call(client);
    let hooks = element.array_value("hooks").map_or_else(Vec::new, |hooks| hooks.elements());
    let command = |hook: CstObject| hook.get("command")?.value()?.as_string_lit()?.decoded_value().ok();
    hooks.into_iter().filter_map(|hook| command(hook.as_object()?)).filter(|command| command.contains(&call)).collect()
}

fn remove_member(object: &CstObject, name: &str) {
    if let Some(member) = object.get(name) {
        member.remove();
    }
}

fn hook(client: Client, event: &str, command: &str) -> CstInputValue {
    let seconds = SECONDS_RECOMMENDED;
    match client {
        Client::Claude => json!({ "matcher": "*", "hooks": [
            { "type": "command", "command": command, "timeout": seconds, "onFailure": "block" }] }),
        // The client cuts longer waits at the end of a session to three seconds anyway, and says so each time.
        Client::Codex if event == "SessionEnd" => {
            json!({ "hooks": [{ "type": "command", "command": command, "timeout": 3 }] })
        }
        Client::Codex => json!({ "hooks": [{ "type": "command", "command": command, "timeout": seconds }] }),
        Client::Gemini => {
            let (name, milliseconds) = (format!("tripwire-{event}"), seconds.saturating_mul(1_000));
            json!({ "matcher": "*", "hooks": [
                { "type": "command", "name": name, "command": command, "timeout": milliseconds }] })
        }
    }
}

/// What we write, as it is read back.
fn read_back(written: &CstInputValue) -> Value {
    match written {
        CstInputValue::Null => Value::Null,
        CstInputValue::Bool(value) => Value::Bool(*value),
        CstInputValue::Number(text) => text.parse::<u64>().map_or(Value::Null, Value::from),
        CstInputValue::String(text) => Value::from(text.as_str()),
        CstInputValue::Array(items) => items.iter().map(read_back).collect(),
        CstInputValue::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), read_back(value))).collect(),
    }
}

/// The mark that some editors put before a text, and the text.
fn split_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    }
}

fn parse(text: &str) -> Result<CstRootNode, SettingsError> {
    CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|error| SettingsError::Syntax { line: error.line_display(), problem: error.kind().to_string() })
}

fn shape(member: &str, wanted: &'static str) -> SettingsError {
    SettingsError::Shape { member: member.to_owned(), wanted }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMAND: &str = "'/opt/tripwire' hook claude || { echo 'tripwire: guard failed' >&2; exit 2; }";
    const PERSONS: [&str; 7] = [
        "{}\n",
        "{\n  \"model\": \"m\"\n}\n",
        "{\n\t\"a\" : [1,2 ,3],\n\n\t// mine\n\t\"hooks\": {\n\t\t\"Stop\": [ {\"hooks\":[{\"type\":\"command\",\"command\":\"mine\"}]} ]\n\t}\n}",
        "{\"hooks\":{}}",
        "\u{feff}{\r\n  \"x\": 1,\r\n}\r\n",
        "{ \"hooks\": { \"PreToolUse\": [] }, \"b\": null }",
        "",
    ];

    fn value(text: &str) -> serde_json::Value {
        parse(split_mark(text).1).unwrap().to_serde_value().unwrap_or_default()
    }

    #[test]
    fn hooks_come_in_for_every_event_and_the_persons_text_stays() {
        for text in PERSONS {
            let edited = with_hooks(text, Client::Claude, COMMAND).unwrap();
            assert!(is_complete(&edited, Client::Claude).unwrap(), "{edited}");
            assert_eq!(commands(&edited, Client::Claude).unwrap(), vec![COMMAND; events(Client::Claude).len()]);
            for line in text.lines().map(str::trim).filter(|line| line.len() > 3 && !line.contains("hooks")) {
                assert!(edited.contains(line.trim_end_matches(['}', ','])), "`{line}` is lost in {edited}");
            }
            assert_eq!(with_hooks(&edited, Client::Claude, COMMAND).unwrap(), edited, "a second time changes nothing");
        }
    }

    #[test]
    fn without_them_the_settings_say_what_they_said_before() {
        for text in PERSONS {
            let edited = with_hooks(text, Client::Claude, COMMAND).unwrap();
            let mut before = value(text);
            // Empty lists and an empty object of hooks say nothing; they may go.
            if let Some(hooks) = before.get_mut("hooks").and_then(serde_json::Value::as_object_mut) {
                hooks.retain(|_, list| list.as_array().is_none_or(|list| !list.is_empty()));
                if hooks.is_empty() {
                    before.as_object_mut().unwrap().remove("hooks");
                }
            }
            let after = value(&without_hooks(&edited, Client::Claude).unwrap());
            assert_eq!(after, if before.is_null() { serde_json::json!({}) } else { before }, "{edited}");
        }
    }

    #[test]
    fn hooks_of_an_older_place_are_replaced_and_foreign_ones_kept() {
        let old = COMMAND.replace("/opt", "/old");
        let text = with_hooks(PERSONS[2], Client::Claude, &old).unwrap();
        let edited = with_hooks(&text, Client::Claude, COMMAND).unwrap();
        assert!(!edited.contains("/old") && edited.contains("\"mine\"") && edited.contains("// mine"), "{edited}");
        assert_eq!(without_hooks(PERSONS[2], Client::Claude).unwrap(), PERSONS[2], "nothing of ours: nothing changes");
    }

    #[test]
    fn every_client_gets_its_own_words() {
        for client in Client::ALL {
            let command = format!("'/opt/tripwire'{}", super::super::call(client));
            let edited = value(&with_hooks("", client, &command).unwrap());
            let hook = &edited["hooks"][events(client)[0]][0]["hooks"][0];
            assert_eq!(hook["command"], command.as_str());
            let (timeout, closing) = match client {
                Client::Claude => (90, Some("block")),
                Client::Codex => (90, None),
                Client::Gemini => (90_000, None),
            };
            assert_eq!((hook["timeout"].as_u64(), hook["onFailure"].as_str()), (Some(timeout), closing));
        }
    }

    #[test]
    fn hooks_that_are_not_called_for_everything_or_not_heard_are_not_complete_and_are_mended() {
        for client in Client::ALL {
            let command = format!("'/opt/tripwire'{}", super::super::call(client));
            let right = with_hooks("", client, &command).unwrap();
            assert!(is_complete(&right, client).unwrap(), "{right}");
            let longer = right.replace("90", "900");
            assert!(is_complete(&longer, client).unwrap(), "a longer time is fine: {longer}");
            assert_eq!(with_hooks(&longer, client, &command).unwrap(), longer, "and stays");
            let mut wrong = vec![
                right.replacen("90", "9", 1),
                right.replacen("\"command\",", "\"command\", \"async\": true,", 1),
                right.replacen("\"type\": \"command\"", "\"type\": \"prompt\"", 1),
            ];
            match client {
                Client::Claude => wrong.extend([
                    right.replace("\"*\"", "\"NoSuchTool\""),
                    right.replacen("\"*\"", "\"Read\"", 1),
                    right.replacen("\"block\"", "\"allow\"", 1),
                ]),
                Client::Gemini => wrong.push(right.replacen("\"*\"", "\"NoSuchTool\"", 1)),
                Client::Codex => wrong.push(right.replacen("\"hooks\": [{", "\"matcher\": \"x\", \"hooks\": [{", 1)),
            }
            for text in wrong {
                if text == right {
                    continue; // This client's form has another spelling of it.
                }
                assert!(!is_complete(&text, client).unwrap(), "{text}");
                assert!(is_complete(&with_hooks(&text, client, &command).unwrap(), client).unwrap(), "{text}");
            }
        }
    }

    #[test]
    fn what_is_not_a_settings_file_is_refused_with_its_line() {
        let error = with_hooks("{\n  \"a\": 1\n  \"b\": }\n", Client::Claude, COMMAND).unwrap_err();
        assert!(matches!(error, SettingsError::Syntax { line: 3, .. }), "{error}");
        for (text, member) in
            [("[]", "the whole file"), ("{\"hooks\":1}", "hooks"), ("{\"hooks\":{\"Stop\":{}}}", "hooks.Stop")]
        {
            let error = with_hooks(text, Client::Claude, COMMAND).unwrap_err();
            assert!(matches!(&error, SettingsError::Shape { member: found, .. } if found == member), "{error}");
        }
    }
}
