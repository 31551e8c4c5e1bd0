//! Claude Code: one settings file given by flag. What the person gave by the same flag is merged into it.

use super::{ArrangeError, Arranged, HOOK_TIMEOUT_SECONDS, Scene, relaxed, write};
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::path::PathBuf;
use tripwire_clients::hooks::Client;
use tripwire_clients::install::settings::events;

const FLAG: &str = "--settings";

/// Adds the hooks to the command line.
pub(super) fn arrange(scene: &Scene<'_>, arguments: usize, arranged: &mut Arranged) -> Result<(), ArrangeError> {
    let mut settings = take_given(scene, arguments, &mut arranged.command)?;
    if settings.get("disableAllHooks") == Some(&Value::Bool(true)) {
        return Err(ArrangeError::SwitchedOff { by: format!("`disableAllHooks` behind `{FLAG}`") });
    }
    add_hooks(&mut settings, &scene.hook(Client::Claude));
    let path = scene.folder.inner().join("claude-settings.json");
    write(&path, &Value::Object(settings).to_string())?;
    arranged.command.splice(arguments..arguments, [OsString::from(FLAG), path.into_os_string()]);
    Ok(())
}

/// Takes the person's own `--settings` out of the command line: the client reads only one.
fn take_given(
    scene: &Scene<'_>,
    arguments: usize,
    command: &mut Vec<OsString>,
) -> Result<Map<String, Value>, ArrangeError> {
    let mut merged = Map::new();
    let mut index = arguments;
    while let Some(word) = command.get(index) {
        if word == "--" {
            break;
        }
        let text = word.to_string_lossy().into_owned();
        let value = if text == FLAG && index + 1 < command.len() {
            command.remove(index);
            command.remove(index)
        } else if let Some(value) = text.strip_prefix("--settings=") {
            let value = OsString::from(value);
            command.remove(index);
            value
        } else {
            index += 1;
            continue;
        };
        merged.extend(read_given(scene, value)?);
    }
    Ok(merged)
}

/// The flag takes a file or the JSON itself.
fn read_given(scene: &Scene<'_>, value: OsString) -> Result<Map<String, Value>, ArrangeError> {
    let text = value.into_string().map_err(|word| ArrangeError::NotText { word })?;
    let (path, text) = if text.trim_start().starts_with('{') {
        (PathBuf::from(FLAG), text)
    } else {
        let path = scene.cwd.join(&text);
        let read = std::fs::read_to_string(&path);
        let text = read.map_err(|error| ArrangeError::File { action: "read", path: path.clone(), error })?;
        (path, text)
    };
    relaxed::object(&text).map_err(|problem| ArrangeError::Settings { client: "Claude Code", path, problem })
}

/// Adds our hooks behind the person's own.
fn add_hooks(settings: &mut Map<String, Value>, command: &str) {
    let hook = json!({
        "matcher": "*",
        "hooks": [{"type": "command", "command": command, "timeout": HOOK_TIMEOUT_SECONDS, "onFailure": "block"}],
    });
    let hooks = settings.entry("hooks").or_insert_with(|| json!({}));
    if !hooks.is_object() {
        *hooks = json!({});
    }
    for event in events(Client::Claude) {
        match hooks.get_mut(event).and_then(Value::as_array_mut) {
            Some(list) => list.push(hook.clone()),
            None => hooks[event] = json!([hook]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::RunFolder;

    fn arranged(command: &[&str], cwd: &std::path::Path) -> (Result<Arranged, ArrangeError>, Value) {
        let base = tempfile::tempdir().unwrap();
        let program = base.path().join("p");
        std::fs::write(&program, "").unwrap();
        let folder = RunFolder::make(&[base.path().to_owned()], &program).unwrap();
        let scene = Scene { folder: &folder, cwd, env: &[] };
        let mut result =
            Arranged { command: command.iter().map(OsString::from).collect(), env: Vec::new(), read_only: Vec::new() };
        let done = arrange(&scene, 1, &mut result).map(|()| result);
        let text = std::fs::read(folder.inner().join("claude-settings.json")).unwrap_or_default();
        (done, serde_json::from_slice(&text).unwrap_or_default())
    }

    #[test]
    fn the_hooks_come_by_flag_and_close_when_our_program_is_missing() {
        let place = tempfile::tempdir().unwrap();
        let (done, settings) = arranged(&["claude", "-p", "x"], place.path());
        let command = done.unwrap().command;
        assert_eq!(
            (&command[1], &command[3..]),
            (&OsString::from("--settings"), &[OsString::from("-p"), "x".into()][..])
        );
        for event in events(Client::Claude) {
            let hook = &settings["hooks"][event][0]["hooks"][0];
            assert_eq!(hook["onFailure"], "block", "{event}");
            assert!(hook["command"].as_str().unwrap().ends_with("|| { echo 'tripwire: guard failed' >&2; exit 2; }"));
        }
    }

    #[test]
    fn the_persons_own_settings_are_kept_whether_file_or_text() {
        let place = tempfile::tempdir().unwrap();
        let own = r#"{"model":"m","hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}"#;
        std::fs::write(place.path().join("own.json"), own).unwrap();
        let joined = format!("--settings={own}");
        for words in [vec!["claude", "--settings", "own.json", "-p"], vec!["claude", "-p", &joined]] {
            let (done, settings) = arranged(&words, place.path());
            let command = done.unwrap().command;
            assert_eq!(command.iter().filter(|word| word.to_string_lossy().starts_with("--settings")).count(), 1);
            assert_eq!(settings["model"], "m");
            assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["command"], "mine");
            assert_eq!(settings["hooks"]["Stop"].as_array().unwrap().len(), 2);
        }
        let behind = arranged(&["claude", "--", "--settings"], place.path()).0.unwrap();
        assert_eq!(behind.command.last().unwrap(), "--settings", "what stands behind `--` is a prompt");
    }

    #[test]
    fn const_5_settings_by_flag_that_switch_hooks_off_start_nothing() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("off.json"), r#"{"disableAllHooks": true}"#).unwrap();
        for words in
            [vec!["claude", "--settings", "off.json"], vec!["claude", r#"--settings={"disableAllHooks":true}"#]]
        {
            let refused = arranged(&words, place.path()).0;
            assert!(matches!(refused, Err(ArrangeError::SwitchedOff { .. })), "{words:?}");
        }
        let on = arranged(&["claude", "--settings", r#"{"disableAllHooks":false}"#], place.path()).0;
        assert!(on.is_ok());
    }

    #[test]
    fn settings_that_cannot_be_read_start_nothing() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("bad.json"), "[1]").unwrap();
        for words in
            [["claude", "--settings", "none.json"], ["claude", "--settings", "bad.json"], ["claude", "--settings", "{"]]
        {
            assert!(arranged(&words, place.path()).0.is_err(), "{words:?}");
        }
    }
}
