//! Gemini CLI: a home of the run's own, in which everything but the settings is a link to the person's.

use super::output;
use super::route;
use super::run_servers;
use super::settings::{FILE, FORM, HOME};
use crate::install::change::read_settings;
use crate::install::settings;
use crate::launch::command_line::{CommandLineForm, KnownBy, PromptPlace, WorkerDefault};
use crate::launch::dialect::{LaunchDialect, ProviderExit, TrialPlace};
use crate::launch::prepare::{
    HOOK_TIMEOUT_SECONDS, LaunchError, LaunchPlace, OwnWords, PreparedClient, file_error, write,
};
use crate::launch::relaxed;
use serde_json::{Map, Value, json};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Its start and its output.
pub(super) static LAUNCH: LaunchDialect = LaunchDialect {
    known_by: KnownBy {
        package: "@google/gemini-cli",
        programs: &["gemini", "gemini.js"],
        package_folder: "gemini-cli",
        agent_variables: &["GEMINI_CLI"],
    },
    command_line: CommandLineForm {
        subcommands: &[],
        prompt_flags: &["-p", "--prompt", "-i", "--prompt-interactive"],
        value_flags: &[
            "-m",
            "--model",
            "--approval-mode",
            "-o",
            "--output-format",
            "--policy",
            "--allowed-tools",
            "--allowed-mcp-server-names",
            "-e",
            "--extensions",
            "--include-directories",
        ],
        resume_flags: &["-r", "--resume", "--session-id"],
        resume_words: &["--resume"],
        one_prompt: &["-p"],
        print_flags: &["-v", "--version", "-h", "--help", "-l", "--list-extensions", "--list-sessions"],
        manage_words: &["extension", "extensions", "hook", "hooks", "mcp", "skill", "skills"],
        worker_defaults: &[
            WorkerDefault { unless: &["-o", "--output-format"], words: &["--output-format", "stream-json"] },
            WorkerDefault { unless: &["--approval-mode", "-y", "--yolo"], words: &["--approval-mode", "auto_edit"] },
        ],
        worker_prompt: PromptPlace::LastBehind("-p"),
    },
    prepare,
    switched_off,
    output_tells_end: output::tells_end,
    note_output: output::note,
    provider_status: &[
        // The provider's status, cut to a byte.
        ProviderExit { exit_code: 173, status: 429 },
        ProviderExit { exit_code: 247, status: 503 },
        ProviderExit { exit_code: 17, status: 529 },
    ],
    prepare_trial,
    any_program: Some("gemini-api"),
};

/// Makes the home and points the client to it.
fn prepare(place: &LaunchPlace<'_>, _arguments: usize, prepared: &mut PreparedClient) -> Result<(), LaunchError> {
    let person = place.variable(HOME.variable).or_else(|| place.variable("HOME")).map(PathBuf::from);
    let home = place.run_folder.join("gemini-home");
    let folder = home.join(HOME.folder);
    std::fs::create_dir_all(&folder).map_err(file_error("make", &folder))?;
    let mut settings = Map::new();
    if let Some(own) = person.map(|home| home.join(HOME.folder)) {
        // The client writes its sessions there; without the folder they would end with the run.
        std::fs::create_dir_all(own.join("tmp")).map_err(file_error("make", &own))?;
        link_all(&own, &folder)?;
        settings = read(&own.join(FILE))?;
    }
    if let Some(gateway) = place.gateway {
        prepared.routing = route::route(place, gateway, &settings, &mut prepared.env);
    }
    run_servers::guard(place, &mut settings, prepared);
    add_hooks(&mut settings, place.hook);
    let path = folder.join(FILE);
    write(&path, &Value::Object(settings).to_string())?;
    // The client writes beside its settings, so only these are closed.
    prepared.read_only.push(path);
    prepared.set(HOME.variable, home.into_os_string());
    Ok(())
}

/// Links everything of the person's folder but the settings.
fn link_all(own: &Path, folder: &Path) -> Result<(), LaunchError> {
    for entry in std::fs::read_dir(own).map_err(file_error("list", own))? {
        let entry = entry.map_err(file_error("list", own))?;
        if entry.file_name() == FILE {
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

fn read(path: &Path) -> Result<Map<String, Value>, LaunchError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(error) => return Err(file_error("read", path)(error)),
    };
    let settings = |problem| LaunchError::Settings { client: "Gemini CLI", path: path.to_owned(), problem };
    relaxed::object(&text).map_err(settings)
}

/// Adds our hooks behind the person's own, and turns hooks on.
fn add_hooks(settings: &mut Map<String, Value>, command: &str) {
    let hooks = settings.entry("hooks").or_insert_with(|| json!({}));
    if !hooks.is_object() {
        *hooks = json!({});
    }
    for event in FORM.events {
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

/// The workspace's own settings; the person's are replaced for the run.
fn switched_off(place: &LaunchPlace<'_>, _words: &OwnWords) -> Option<String> {
    [place.cwd, place.root].into_iter().find_map(|folder| {
        let file = folder.join(HOME.folder).join(FILE);
        let switch = settings::switched_off(&read_settings(&file)?, &FORM)?;
        Some(format!("`{switch}` in `{}`", file.display()))
    })
}

fn prepare_trial(place: &TrialPlace<'_>, command: &mut Command) -> io::Result<()> {
    let folder = place.home.join(HOME.folder);
    std::fs::create_dir(&folder)?;
    let settings = json!({
        "telemetry": {"enabled": false}, "privacy": {"usageStatisticsEnabled": false},
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "disableAutoUpdate": true},
        // Its own loop guard would hide ours.
        "model": {"disableLoopDetection": true},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
    });
    std::fs::write(folder.join(FILE), settings.to_string())?;
    command
        .args(["-p", place.task, "-m", "gemini-2.5-pro", "--approval-mode", "yolo", "--output-format", "stream-json"])
        .envs([
            ("GEMINI_API_KEY", "made-up"),
            ("GOOGLE_GEMINI_BASE_URL", place.model_url),
            ("GEMINI_CLI_NO_RELAUNCH", "true"),
            ("GEMINI_SANDBOX", "false"),
            ("NO_BROWSER", "1"),
        ]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::homes::Homes;

    #[test]
    fn the_runs_home_has_the_persons_files_by_link_and_the_hooks_in_its_own_settings() {
        let base = tempfile::tempdir().unwrap();
        let own = base.path().join("home/.gemini");
        std::fs::create_dir_all(&own).unwrap();
        let text = "{\"ui\":{\"theme\":\"x\"}, // mine\n\"hooks\":{\"BeforeTool\":[{\"hooks\":[]}]},\
            \"hooksConfig\":{\"enabled\":false,\"disabled\":[\"tripwire-BeforeTool\",\"mine\"]}}";
        std::fs::write(own.join("settings.json"), text).unwrap();
        std::fs::write(own.join("oauth_creds.json"), "secret").unwrap();
        let env = [("HOME".into(), base.path().join("home").into_os_string())];
        let run_folder = base.path().join("run");
        let homes = Homes::default();
        let place = LaunchPlace {
            run_folder: &run_folder,
            guard_folder: &run_folder,
            hook: "hook",
            cwd: base.path(),
            root: base.path(),
            env: &env,
            homes: &homes,
            gateway: None,
            servers: None,
        };
        let mut prepared =
            PreparedClient { command: vec!["gemini".into()], env: env.to_vec(), ..PreparedClient::default() };
        prepare(&place, 0, &mut prepared).unwrap();
        let home = prepared.env.iter().find(|(name, _)| name == HOME.variable).map(|(_, value)| PathBuf::from(value));
        let shadow = home.unwrap().join(".gemini");
        assert_eq!(std::fs::read_to_string(shadow.join("oauth_creds.json")).unwrap(), "secret");
        assert!(shadow.join("tmp").is_symlink(), "sessions stay in the person's home");
        let settings: Value = serde_json::from_slice(&std::fs::read(shadow.join("settings.json")).unwrap()).unwrap();
        assert_eq!(settings["ui"]["theme"], "x");
        assert_eq!(settings["hooks"]["BeforeTool"].as_array().unwrap().len(), 2);
        assert_eq!(settings["hooksConfig"], json!({"enabled": true, "disabled": ["mine"]}));
        assert_eq!(std::fs::read_to_string(own.join("settings.json")).unwrap(), text, "the person's file is untouched");
        std::fs::write(own.join("settings.json"), "[").unwrap();
        let again = base.path().join("again");
        assert!(prepare(&LaunchPlace { run_folder: &again, ..place }, 0, &mut prepared).is_err());
    }
}
