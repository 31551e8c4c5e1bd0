//! Claude Code: one settings file given by flag. What the person gave by the same flag is merged into it.

use super::output;
use super::route;
use super::run_servers;
use super::settings::{FILES, FORM, HOME};
use crate::install::change::read_settings;
use crate::install::settings;
use crate::launch::command_line::{CommandLineForm, KnownBy, PromptPlace, WorkerDefault};
use crate::launch::dialect::{LaunchDialect, TrialPlace};
use crate::launch::prepare::{HOOK_TIMEOUT_SECONDS, LaunchError, LaunchPlace, OwnWords, PreparedClient, write};
use crate::launch::relaxed;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Command;

const FLAG: &str = "--settings";
/// Flags with which it runs no hooks.
const HOOKLESS_FLAGS: [&str; 2] = ["--bare", "--safe-mode"];
/// The variable for the same.
const SIMPLE: &str = "CLAUDE_CODE_SIMPLE";

/// Its start and its output.
pub(super) static LAUNCH: LaunchDialect = LaunchDialect {
    known_by: KnownBy {
        package: "@anthropic-ai/claude-code",
        programs: &["claude"],
        package_folder: "claude-code",
        agent_variables: &["CLAUDECODE"],
    },
    command_line: CommandLineForm {
        subcommands: &[],
        prompt_flags: &[],
        value_flags: &[
            "--output-format",
            "--input-format",
            "--permission-mode",
            "--model",
            "--fallback-model",
            "--settings",
            "--setting-sources",
            "--system-prompt",
            "--append-system-prompt",
            "--system-prompt-file",
            "--append-system-prompt-file",
            "--max-turns",
            "--max-budget-usd",
            "--effort",
            "--agent",
            "--agents",
            "--json-schema",
            "--permission-prompt-tool",
            "--add-dir",
            "--allowedTools",
            "--allowed-tools",
            "--disallowedTools",
            "--disallowed-tools",
            "--tools",
            "--mcp-config",
            "--betas",
            "--plugin-dir",
            "--debug-file",
        ],
        resume_flags: &["-r", "--resume", "-c", "--continue", "--session-id", "--fork-session"],
        resume_words: &["--resume"],
        one_prompt: &["-p"],
        print_flags: &["-v", "--version", "-h", "--help"],
        manage_words: &[
            "agents",
            "auth",
            "doctor",
            "install",
            "mcp",
            "plugin",
            "plugins",
            "setup-token",
            "update",
            "upgrade",
        ],
        worker_defaults: &[
            WorkerDefault { unless: &["-p", "--print"], words: &["-p"] },
            WorkerDefault { unless: &["--output-format"], words: &["--output-format", "stream-json", "--verbose"] },
            WorkerDefault {
                unless: &["--permission-mode", "--dangerously-skip-permissions"],
                words: &["--permission-mode", "acceptEdits"],
            },
        ],
        worker_prompt: PromptPlace::First,
    },
    prepare,
    switched_off,
    output_tells_end: output::tells_end,
    note_output: output::note,
    provider_status: &[],
    prepare_trial,
    any_program: None,
};

/// Adds the hooks to the command line.
fn prepare(place: &LaunchPlace<'_>, arguments: usize, prepared: &mut PreparedClient) -> Result<(), LaunchError> {
    let mut settings = take_given(place, arguments, &mut prepared.command)?;
    if settings.get("disableAllHooks") == Some(&Value::Bool(true)) {
        return Err(LaunchError::SwitchedOff { by: format!("`disableAllHooks` behind `{FLAG}`") });
    }
    add_hooks(&mut settings, place.hook);
    if let Some(gateway) = place.gateway {
        prepared.routing = route::route(place, gateway, &mut settings, &mut prepared.env);
    }
    let path = place.guard_folder.join("claude-settings.json");
    write(&path, &Value::Object(settings).to_string())?;
    let own = prepared.command.get(arguments..).unwrap_or_default();
    let manages = own.first().is_some_and(|first| LAUNCH.command_line.manage_words.iter().any(|word| first == word));
    if !manages {
        run_servers::guard(place, arguments, prepared)?;
    }
    prepared.command.splice(arguments..arguments, [OsString::from(FLAG), path.into_os_string()]);
    Ok(())
}

/// Takes the person's own `--settings` out of the command line: the client reads only one.
fn take_given(
    place: &LaunchPlace<'_>,
    arguments: usize,
    command: &mut Vec<OsString>,
) -> Result<Map<String, Value>, LaunchError> {
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
        merged.extend(read_given(place, value)?);
    }
    Ok(merged)
}

/// The flag takes a file or the JSON itself.
fn read_given(place: &LaunchPlace<'_>, value: OsString) -> Result<Map<String, Value>, LaunchError> {
    let text = value.into_string().map_err(|word| LaunchError::NotText { word })?;
    let (path, text) = if text.trim_start().starts_with('{') {
        (PathBuf::from(FLAG), text)
    } else {
        let path = place.cwd.join(&text);
        let read = std::fs::read_to_string(&path);
        let text = read.map_err(|error| LaunchError::File { action: "read", path: path.clone(), error })?;
        (path, text)
    };
    relaxed::object(&text).map_err(|problem| LaunchError::Settings { client: "Claude Code", path, problem })
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
    for event in FORM.events {
        match hooks.get_mut(event).and_then(Value::as_array_mut) {
            Some(list) => list.push(hook.clone()),
            None => hooks[event] = json!([hook]),
        }
    }
}

/// What switches its hooks off: a flag, a variable in the environment or before the client as `env` takes it, a setting.
fn switched_off(place: &LaunchPlace<'_>, words: &OwnWords) -> Option<String> {
    let flag = words.own.iter().find(|word| HOOKLESS_FLAGS.contains(&word.as_str())).map(|word| format!("`{word}`"));
    flag.or_else(|| by_variable(place, &words.starter)).or_else(|| by_settings(place))
}

fn by_variable(place: &LaunchPlace<'_>, starter: &[String]) -> Option<String> {
    let given = starter.iter().filter_map(|word| word.strip_prefix(SIMPLE)?.strip_prefix('='));
    let named = place.env.iter().filter(|(name, _)| name == SIMPLE).map(|(_, value)| value.to_string_lossy());
    let mut values = given.map(str::to_owned).chain(named.map(Cow::into_owned));
    let is_on = |value: &String| !["", "0", "false", "no", "off"].contains(&value.to_ascii_lowercase().trim());
    values.find(is_on).map(|value| format!("`{SIMPLE}={value}`"))
}

/// The files that it reads: the person's and the workspace's.
fn by_settings(place: &LaunchPlace<'_>) -> Option<String> {
    let own = place.homes.folder(&HOME);
    let folders = [place.cwd, place.root].map(|folder| folder.join(HOME.folder)).into_iter().chain(own);
    let mut files = folders.flat_map(|folder| FILES.map(|name| folder.join(name)));
    files.find_map(|file| {
        let switch = settings::switched_off(&read_settings(&file)?, &FORM)?;
        Some(format!("`{switch}` in `{}`", file.display()))
    })
}

fn prepare_trial(place: &TrialPlace<'_>, command: &mut Command) -> io::Result<()> {
    command
        .args([
            "-p",
            place.task,
            "--output-format",
            "stream-json",
            "--verbose",
            "--permission-mode",
            "bypassPermissions",
        ])
        .envs([
            ("ANTHROPIC_BASE_URL", place.model_url),
            ("ANTHROPIC_API_KEY", "sk-ant-made-up"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            // Without it the client refuses to skip its own questions as root; here everything is thrown away.
            ("IS_SANDBOX", "1"),
        ]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::homes::Homes;

    fn arranged(command: &[&str], cwd: &std::path::Path) -> (Result<PreparedClient, LaunchError>, Value) {
        let folder = tempfile::tempdir().unwrap();
        let hook = crate::hook_command::line(std::path::Path::new("/guard/tripwire"), "claude");
        let place = LaunchPlace {
            run_folder: folder.path(),
            guard_folder: folder.path(),
            hook: &hook,
            cwd,
            root: cwd,
            env: &[],
            homes: &Homes::default(),
            gateway: None,
            servers: None,
        };
        let mut result =
            PreparedClient { command: command.iter().map(OsString::from).collect(), ..PreparedClient::default() };
        let done = prepare(&place, 1, &mut result).map(|()| result);
        let text = std::fs::read(folder.path().join("claude-settings.json")).unwrap_or_default();
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
        for event in FORM.events {
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
            assert!(matches!(refused, Err(LaunchError::SwitchedOff { .. })), "{words:?}");
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

    #[test]
    fn const_5_flags_that_switch_hooks_off_are_seen() {
        let off = |line: &str| {
            let homes = Homes::default();
            let place = LaunchPlace::nowhere(&[], &homes, None);
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            switched_off(&place, &OwnWords::of(&words, 1))
        };
        for line in ["claude --bare -p x", "claude -p x --safe-mode"] {
            assert!(off(line).is_some(), "{line}");
        }
        assert_eq!(off("claude -p --barefoot x"), None);
        assert_eq!(off("CLAUDE_CODE_SIMPLE=1 -p x").as_deref(), Some("`CLAUDE_CODE_SIMPLE=1`"));
    }
}
