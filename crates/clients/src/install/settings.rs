//! The text of a client's settings file with our hooks in it, and without them again. All clients take the same
//! shape: `{"hooks": {EVENT: [{"matcher", "hooks": [{"type", "command", "timeout"}]}]}}`.
//!
//! What the person wrote is never written again by us: the text is edited as a tree that keeps every blank and comment.

use super::called::called;
use super::form::{HookEntry, HookSettings, Relaxed};
use crate::hook_command;
use crate::hooks::time_limit::SECONDS_RECOMMENDED;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;
use std::borrow::Cow;
use tripwire_core::explain::Explain;

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
    /// It is JSON with a comment, a trailing comma or the like, and its client ignores the whole file then.
    #[error("line {line}: {ignores} with comments or trailing commas")]
    NotStrict {
        /// What the client does then.
        ignores: &'static str,
        /// Where, counted from one.
        line: usize,
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

impl Explain for SettingsError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::NotStrict { .. } => "take them out, then `tripwire init`; nothing was changed".into(),
            Self::Syntax { .. } | Self::Shape { .. } => {
                "fix it first, then `tripwire init`; nothing was changed".into()
            }
        }
    }
}

/// The text with our hooks behind the person's own; hooks of another tripwire are replaced.
///
/// # Errors
/// When the text is not what the client reads: then nothing is to be written.
pub(crate) fn with_hooks(text: &str, client: &HookSettings, command: &str) -> Result<String, SettingsError> {
    is_read(text, client.relaxed)?;
    edited(text, client, command)
}

/// Whether the client reads a text at all. Some ignore a file that is not strict JSON, without a message.
///
/// # Errors
/// When it is not what the client reads.
pub(crate) fn is_read(text: &str, relaxed: Relaxed) -> Result<(), SettingsError> {
    let ignores = match relaxed {
        Relaxed::Ignores(ignores) => ignores,
        Relaxed::Reads => return Ok(()),
    };
    let (_, body) = split_mark(text);
    let read = serde_json::from_str::<Value>(body);
    match (read, body.trim().is_empty()) {
        (Ok(_), _) | (Err(_), true) => Ok(()),
        (Err(error), false) => {
            parse(body)?;
            Err(SettingsError::NotStrict { ignores, line: line_of(&error, body) })
        }
    }
}

/// The line of what is not JSON: a trailing comma stands before the bracket at which the reader stumbles.
fn line_of(error: &serde_json::Error, body: &str) -> usize {
    if !error.to_string().starts_with("trailing comma") {
        return error.line();
    }
    let before: usize = body.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let before = body.get(..before + error.column().saturating_sub(1)).unwrap_or(body);
    let comma = before.rfind(',').and_then(|comma| before.get(..comma)).unwrap_or(before);
    comma.matches('\n').count() + 1
}

/// The text with our hooks, whether its client reads it or not.
pub(crate) fn edited(text: &str, client: &HookSettings, command: &str) -> Result<String, SettingsError> {
    if commands(text, client)?.iter().all(|known| known == command) && is_complete(text, client)? {
        return Ok(text.to_owned());
    }
    let text = without_hooks(text, client)?;
    let (mark, body) = split_mark(&text);
    let root = parse(body)?;
    let object = root.object_value_or_create().ok_or_else(|| shape("the whole file", "an object"))?;
    let hooks = object.object_value_or_create("hooks").ok_or_else(|| shape("hooks", "an object"))?;
    for event in client.events {
        let list = hooks.array_value_or_create(event).ok_or_else(|| shape(&format!("hooks.{event}"), "a list"))?;
        list.append((client.entry)(&HookEntry { event, command, seconds: SECONDS_RECOMMENDED }));
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
pub(crate) fn without_hooks(text: &str, client: &HookSettings) -> Result<String, SettingsError> {
    let (mark, body) = split_mark(text);
    let root = parse(body)?;
    let Some(object) = root.object_value() else { return Ok(text.to_owned()) };
    let Some(hooks) = object.object_value("hooks") else { return Ok(text.to_owned()) };
    let mut found = Touched::No;
    for event in client.events {
        let Some(list) = hooks.array_value(event) else { continue };
        let entries = list.elements().into_iter().filter_map(|element| element.as_object());
        let taken = entries.filter(|entry| take_out(entry, client) == Touched::Yes).count();
        if taken > 0 {
            found = Touched::Yes;
            if list.elements().is_empty() {
                remove_member(&hooks, event);
            }
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

/// Takes our commands out of one entry of an event; an entry that holds nothing else goes whole.
fn take_out(entry: &CstObject, client: &HookSettings) -> Touched {
    let hooks = entry.array_value("hooks").map_or_else(Vec::new, |hooks| hooks.elements());
    let (ours, others): (Vec<_>, Vec<_>) = hooks.into_iter().partition(|hook| our_command(hook, client).is_some());
    match (ours.is_empty(), others.is_empty()) {
        (true, _) => return Touched::No,
        (false, true) => entry.clone().remove(),
        (false, false) => ours.into_iter().for_each(CstNode::remove),
    }
    Touched::Yes
}

/// The commands of our hooks that stand in a text.
///
/// # Errors
/// When the text is not JSON.
pub(crate) fn commands(text: &str, client: &HookSettings) -> Result<Vec<String>, SettingsError> {
    Ok(lists(text, client)?.into_iter().flat_map(|list| ours(&list, client)).collect())
}

/// The setting by which all hooks of a client are switched off, or ours by name, if a text has it.
pub(crate) fn switched_off(text: &str, client: &HookSettings) -> Option<&'static str> {
    let value = parse(split_mark(text).1).ok()?.to_serde_value()?;
    (client.switched_off)(&value)
}

/// Where our hooks stand: the event, the place in its list, and the place in that entry.
///
/// # Errors
/// When the text is not JSON.
pub(crate) fn places(text: &str, client: &HookSettings) -> Result<Vec<(&'static str, usize, usize)>, SettingsError> {
    let root = parse(split_mark(text).1)?;
    let hooks = root.object_value().and_then(|object| object.object_value("hooks"));
    let mut places = Vec::new();
    for event in client.events {
        let list = hooks.as_ref().and_then(|hooks| hooks.array_value(event));
        for (entry, element) in list.map(|list| list.elements()).unwrap_or_default().iter().enumerate() {
            let hooks = element.as_object().and_then(|element| element.array_value("hooks"));
            for (place, hook) in hooks.map(|hooks| hooks.elements()).unwrap_or_default().iter().enumerate() {
                if our_command(hook, client).is_some() {
                    places.push((*event, entry, place));
                }
            }
        }
    }
    Ok(places)
}

/// Whether every event that the engine wants calls us, once, for every tool, and in the form that refuses when we fail.
///
/// # Errors
/// When the text is not JSON.
pub(crate) fn is_complete(text: &str, client: &HookSettings) -> Result<bool, SettingsError> {
    let value = parse(split_mark(text).1)?.to_serde_value().unwrap_or(Value::Null);
    Ok(client.events.iter().all(|event| {
        let entries = value["hooks"][event].as_array().map(Vec::as_slice).unwrap_or_default();
        let ours: Vec<Value> = entries.iter().filter_map(|entry| our_part(entry, client)).collect();
        matches!(ours.as_slice(), [only] if is_whole(only, client, event))
    }))
}

/// An entry without what the person put beside our hook; nothing if there is none of ours in it.
fn our_part(entry: &Value, client: &HookSettings) -> Option<Value> {
    let call = hook_command::call(client.client);
    let mut entry = entry.clone();
    let hooks = entry.get_mut("hooks")?.as_array_mut()?;
    hooks.retain(|hook| hook["command"].as_str().is_some_and(|command| command.contains(&call)));
    if hooks.is_empty() { None } else { Some(entry) }
}

/// Whether an entry is as we write it, or as a person does by hand. A longer time is fine, and a matcher or a name that is
/// not there; any other matcher, a shorter time or another member can keep the hook from being called, or its answer from
/// being heard.
fn is_whole(entry: &Value, client: &HookSettings, event: &str) -> bool {
    let command = entry["hooks"][0]["command"].as_str().unwrap_or_default();
    let seconds = called(command, client.client).map_or(SECONDS_RECOMMENDED, |called| called.seconds);
    let mut expected = read_back(&(client.entry)(&HookEntry { event, command, seconds }));
    let timeout = |entry: &Value| entry["hooks"][0]["timeout"].as_u64();
    if timeout(entry) >= timeout(&expected) {
        expected["hooks"][0]["timeout"] = entry["hooks"][0]["timeout"].clone();
    }
    forget_absent(&mut expected, entry, "matcher");
    forget_absent(&mut expected["hooks"][0], &entry["hooks"][0], "name");
    *entry == expected
}

/// Takes a member out of what is expected if it is not there.
fn forget_absent(expected: &mut Value, entry: &Value, member: &str) {
    if let (None, Some(expected)) = (entry.get(member), expected.as_object_mut()) {
        expected.remove(member);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Touched {
    Yes,
    No,
}

/// The lists of the events that a text has.
fn lists(text: &str, client: &HookSettings) -> Result<Vec<CstArray>, SettingsError> {
    let root = parse(split_mark(text).1)?;
    let hooks = root.object_value().and_then(|object| object.object_value("hooks"));
    Ok(hooks.map_or_else(Vec::new, |hooks| client.events.iter().filter_map(|event| hooks.array_value(event)).collect()))
}

fn ours(list: &CstArray, client: &HookSettings) -> Vec<String> {
    let elements = list.elements().into_iter().filter_map(|element| element.as_object());
    elements.flat_map(|element| our_commands(&element, client)).collect()
}

/// The commands in one entry of an event that call us.
fn our_commands(element: &CstObject, client: &HookSettings) -> Vec<String> {
    let hooks = element.array_value("hooks").map_or_else(Vec::new, |hooks| hooks.elements());
    hooks.iter().filter_map(|hook| our_command(hook, client)).collect()
}

/// The command of one hook, if it calls us.
fn our_command(hook: &CstNode, client: &HookSettings) -> Option<String> {
    let command = hook.as_object()?.get("command")?.value()?.as_string_lit()?.decoded_value().ok()?;
    command.contains(&hook_command::call(client.client)).then_some(command)
}

pub(super) fn remove_member(object: &CstObject, name: &str) {
    if let Some(member) = object.get(name) {
        member.remove();
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
pub(crate) fn split_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    }
}

pub(super) fn parse(text: &str) -> Result<CstRootNode, SettingsError> {
    CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|error| SettingsError::Syntax { line: error.line_display(), problem: error.kind().to_string() })
}

fn shape(member: &str, wanted: &'static str) -> SettingsError {
    SettingsError::Shape { member: member.to_owned(), wanted }
}

#[cfg(test)]
mod tests;
