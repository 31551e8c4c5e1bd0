//! Gemini CLI: a home of the run's own, in which everything but the settings is a link to the person's.

use super::{ArrangeError, Arranged, HOOK_TIMEOUT_SECONDS, Scene, relaxed, set, write};
use serde_json::{Map, Value, json};
use std::io;
use std::path::{Path, PathBuf};
use tripwire_clients::hooks::Client;
use tripwire_clients::install::settings::events;

/// The variable that tells the client where its home is.
const HOME_VARIABLE: &str = "GEMINI_CLI_HOME";
const FOLDER: &str = ".gemini";
const SETTINGS: &str = "settings.json";

/// Makes the home and points the client to it.
pub(super) fn arrange(scene: &Scene<'_>, arranged: &mut Arranged) -> Result<(), ArrangeError> {
    let person = scene.variable(HOME_VARIABLE).or_else(|| scene.variable("HOME")).map(PathBuf::from);
    let home = scene.folder.path().join("gemini-home");
    let folder = home.join(FOLDER);
    std::fs::create_dir_all(&folder).map_err(file_error("make", &folder))?;
    let mut settings = Map::new();
    if let Some(own) = person.map(|home| home.join(FOLDER)) {
        // The client writes its sessions there; without the folder they would end with the run.
        std::fs::create_dir_all(own.join("tmp")).map_err(file_error("make", &own))?;
        link_all(&own, &folder)?;
        settings = read(&own.join(SETTINGS))?;
    }
    add_hooks(&mut settings, &scene.hook(Client::Gemini));
    let path = folder.join(SETTINGS);
    write(&path, &Value::Object(settings).to_string())?;
    // The client writes beside its settings, so only these are closed.
    arranged.read_only.push(path);
    set(&mut arranged.env, HOME_VARIABLE, home.into_os_string());
    Ok(())
}

/// Links everything of the person's folder but the settings.
fn link_all(own: &Path, folder: &Path) -> Result<(), ArrangeError> {
    for entry in std::fs::read_dir(own).map_err(file_error("list", own))? {
        let entry = entry.map_err(file_error("list", own))?;
        if entry.file_name() == SETTINGS {
            continue;
        }
        let link = folder.join(entry.file_name());
        match std::os::unix::fs::symlink(entry.path(), &link) {
            // A fresh worker of the same run finds what the one before it had.
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(file_error("link", &link)(error)),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Map<String, Value>, ArrangeError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(error) => return Err(file_error("read", path)(error)),
    };
    let settings = |problem| ArrangeError::Settings { client: "Gemini CLI", path: path.to_owned(), problem };
    relaxed::object(&text).map_err(settings)
}

/// Adds our hooks behind the person's own, and turns hooks on.
fn add_hooks(settings: &mut Map<String, Value>, command: &str) {
    let hooks = settings.entry("hooks").or_insert_with(|| json!({}));
    if !hooks.is_object() {
        *hooks = json!({});
    }
    for event in events(Client::Gemini) {
        let timeout_ms = HOOK_TIMEOUT_SECONDS * 1_000;
        let hook = json!({"matcher": "*", "hooks": [
            {"type": "command", "name": format!("tripwire-{event}"), "command": command, "timeout": timeout_ms},
        ]});
        match hooks.get_mut(event).and_then(Value::as_array_mut) {
            Some(list) => list.push(hook),
            None => hooks[event] = json!([hook]),
        }
    }
    let config = settings.entry("hooksConfig").or_insert_with(|| json!({}));
    if !config.is_object() {
        *config = json!({});
    }
    config["enabled"] = json!(true);
    if let Some(disabled) = config.get_mut("disabled").and_then(Value::as_array_mut) {
        disabled.retain(|name| !name.as_str().is_some_and(|name| name.starts_with("tripwire-")));
    }
}

fn file_error(action: &'static str, path: &Path) -> impl Fn(io::Error) -> ArrangeError {
    let path = path.to_owned();
    move |error| ArrangeError::File { action, path: path.clone(), error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::RunFolder;

    #[test]
    fn the_runs_home_has_the_persons_files_by_link_and_the_hooks_in_its_own_settings() {
        let base = tempfile::tempdir().unwrap();
        let program = base.path().join("p");
        std::fs::write(&program, "").unwrap();
        let own = base.path().join("home/.gemini");
        std::fs::create_dir_all(&own).unwrap();
        let text = "{\"ui\":{\"theme\":\"x\"}, // mine\n\"hooks\":{\"BeforeTool\":[{\"hooks\":[]}]},\
            \"hooksConfig\":{\"enabled\":false,\"disabled\":[\"tripwire-BeforeTool\",\"mine\"]}}";
        std::fs::write(own.join("settings.json"), text).unwrap();
        std::fs::write(own.join("oauth_creds.json"), "secret").unwrap();
        let folder = RunFolder::make(&[base.path().to_owned()], &program).unwrap();
        let env = [("HOME".into(), base.path().join("home").into_os_string())];
        let scene = Scene { folder: &folder, cwd: base.path(), env: &env };
        let mut arranged = Arranged { command: vec!["gemini".into()], env: env.to_vec(), read_only: Vec::new() };
        arrange(&scene, &mut arranged).unwrap();
        let home = arranged.env.iter().find(|(name, _)| name == HOME_VARIABLE).map(|(_, value)| PathBuf::from(value));
        let shadow = home.unwrap().join(".gemini");
        assert_eq!(std::fs::read_to_string(shadow.join("oauth_creds.json")).unwrap(), "secret");
        assert!(shadow.join("tmp").is_symlink(), "sessions stay in the person's home");
        let settings: Value = serde_json::from_slice(&std::fs::read(shadow.join("settings.json")).unwrap()).unwrap();
        assert_eq!(settings["ui"]["theme"], "x");
        assert_eq!(settings["hooks"]["BeforeTool"].as_array().unwrap().len(), 2);
        assert_eq!(settings["hooksConfig"], json!({"enabled": true, "disabled": ["mine"]}));
        assert_eq!(std::fs::read_to_string(own.join("settings.json")).unwrap(), text, "the person's file is untouched");
        std::fs::write(own.join("settings.json"), "[").unwrap();
        let again = RunFolder::make(&[base.path().to_owned()], &program).unwrap();
        assert!(arrange(&Scene { folder: &again, ..scene }, &mut arranged).is_err());
    }
}
