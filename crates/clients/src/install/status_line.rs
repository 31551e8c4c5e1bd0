//! The command for a client's status line, in the same file as the hooks; one that a person wrote is never touched.

use super::form::HookSettings;
use super::settings::{SettingsError, parse, remove_member, split_mark};
use jsonc_parser::json;
use std::path::Path;
use tripwire_fs::shell_word::shell_quoted;

/// What a text of settings says about the status line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusLine {
    /// The client has none, or the text sets none.
    Absent,
    /// It is ours, by this command.
    Ours(String),
    /// It is the person's.
    Theirs,
}

/// How our command ends, wherever our program is.
const CALL: &str = " statusline";

/// The command for our status line.
#[must_use]
pub fn command(program: &Path) -> String {
    format!("{}{CALL}", shell_quoted(&program.to_string_lossy()))
}

/// What a text of settings says about the status line; a text that cannot be read says nothing.
#[must_use]
pub fn look(text: &str, client: &HookSettings) -> StatusLine {
    let value = client.status_line.and_then(|member| {
        let root = parse(split_mark(text).1).ok()?.to_serde_value()?;
        root.get(member).cloned()
    });
    let Some(value) = value else { return StatusLine::Absent };
    match value["command"].as_str() {
        Some(command) if command.trim_end().ends_with(CALL) && command.contains("tripwire") => {
            StatusLine::Ours(command.to_owned())
        }
        Some(_) | None => StatusLine::Theirs,
    }
}

/// The text with our status line; one of the person's own stays, and so does a text of a client that has none.
///
/// # Errors
/// When the text is not what the client reads.
pub(crate) fn with(text: &str, client: &HookSettings, command: &str) -> Result<String, SettingsError> {
    let Some(member) = client.status_line else { return Ok(text.to_owned()) };
    let text = match look(text, client) {
        StatusLine::Theirs => return Ok(text.to_owned()),
        StatusLine::Ours(known) if known == command => return Ok(text.to_owned()),
        StatusLine::Ours(_) => without(text, client)?,
        StatusLine::Absent => text.to_owned(),
    };
    let (mark, body) = split_mark(&text);
    let root = parse(body)?;
    let object = root
        .object_value_or_create()
        .ok_or_else(|| SettingsError::Shape { member: "the whole file".to_owned(), wanted: "an object" })?;
    object.append(member, json!({ "type": "command", "command": command }));
    Ok(format!("{mark}{root}"))
}

/// The text without our status line.
///
/// # Errors
/// When the text is not JSON.
pub(crate) fn without(text: &str, client: &HookSettings) -> Result<String, SettingsError> {
    let (StatusLine::Ours(_), Some(member)) = (look(text, client), client.status_line) else {
        return Ok(text.to_owned());
    };
    let (mark, body) = split_mark(text);
    let root = parse(body)?;
    if let Some(object) = root.object_value() {
        remove_member(&object, member);
    }
    Ok(format!("{mark}{root}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Client;

    #[test]
    fn a_persons_own_status_line_stays_and_ours_comes_and_goes() {
        let [claude, codex] = ["claude", "codex"].map(|name| Client::named(name).unwrap().adapter().settings);
        let command = command(Path::new("/opt/tripwire"));
        let own = "{\n  \"model\": \"m\"\n}\n";
        let made = with(own, claude, &command).unwrap();
        assert_eq!(look(&made, claude), StatusLine::Ours("'/opt/tripwire' statusline".to_owned()), "{made}");
        assert_eq!(with(&made, claude, &command).unwrap(), made, "a second time changes nothing");
        let value: serde_json::Value = serde_json::from_str(&without(&made, claude).unwrap()).unwrap();
        assert_eq!(value, serde_json::json!({"model": "m"}));
        let moved = with(&made, claude, "'/new/tripwire' statusline").unwrap();
        assert_eq!(look(&moved, claude), StatusLine::Ours("'/new/tripwire' statusline".to_owned()));
        let theirs = "{\"statusLine\": {\"type\": \"command\", \"command\": \"mine.sh\"}}";
        assert_eq!(with(theirs, claude, &command).unwrap(), theirs);
        assert_eq!((look(theirs, claude), without(theirs, claude).unwrap().as_str()), (StatusLine::Theirs, theirs));
        assert_eq!(with(own, codex, &command).unwrap(), own, "a client without one");
        assert!(with("[1]", claude, &command).is_err() && with("{", claude, &command).is_err());
    }
}
