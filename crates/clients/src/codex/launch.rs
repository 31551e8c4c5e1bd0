//! Codex CLI: overrides on the command line, each hook marked as trusted by the client's own hash of it.
//!
//! Hooks that are not trusted are skipped without a message. The client itself tells the hash of each hook; it is given back to
//! it for this run only, for our hooks and for no others. The flag that trusts every hook is never used: it would also run
//! whatever hooks a repository brings along.

use super::app_server::{self, ListedHook, NO_TERMINALS, SOURCE_GIVEN, toml_text};
use super::output;
use super::route;
use super::run_servers;
use super::settings::{FORM, HOME};
use crate::install::change::read_settings;
use crate::launch::command_line::{CommandLineForm, KnownBy, PromptPlace, WorkerDefault};
use crate::launch::dialect::{LaunchDialect, TrialPlace};
use crate::launch::prepare::{HOOK_TIMEOUT_SECONDS, LaunchError, LaunchPlace, OwnWords, PreparedClient};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use toml_edit::{DocumentMut, Item};

/// The setting that switches hooks, in a file or behind `-c`.
const HOOKS_SETTING: &str = "features.hooks";

/// Its start and its output.
pub(super) static LAUNCH: LaunchDialect = LaunchDialect {
    known_by: KnownBy {
        package: "@openai/codex",
        programs: &["codex", "codex.js"],
        package_folder: "codex",
        agent_variables: &["CODEX_CI", "CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"],
    },
    command_line: CommandLineForm {
        subcommands: &["exec", "e"],
        prompt_flags: &[],
        value_flags: &[
            "-c",
            "--config",
            "-m",
            "--model",
            "-s",
            "--sandbox",
            "-a",
            "--ask-for-approval",
            "-C",
            "--cd",
            "-p",
            "--profile",
            "-i",
            "--image",
            "-o",
            "--output-last-message",
            "--output-schema",
            "--add-dir",
            "--enable",
            "--disable",
            "--color",
            "--local-provider",
        ],
        resume_flags: &[],
        resume_words: &["resume"],
        one_prompt: &["exec"],
        print_flags: &["-V", "--version", "-h", "--help"],
        manage_words: &["completion", "features", "help", "login", "logout", "mcp"],
        worker_defaults: &[
            WorkerDefault { unless: &["exec", "e"], words: &["exec"] },
            WorkerDefault { unless: &["--json"], words: &["--json"] },
            WorkerDefault { unless: &["--skip-git-repo-check"], words: &["--skip-git-repo-check"] },
            WorkerDefault {
                unless: &[
                    "-s",
                    "--sandbox",
                    "--full-auto",
                    "--dangerously-bypass-approvals-and-sandbox",
                    "-c",
                    "--config",
                ],
                words: &["-s", "workspace-write"],
            },
        ],
        worker_prompt: PromptPlace::Last,
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
    let hook = place.hook;
    let mut overrides: Vec<OsString> =
        app_server::overrides(hook, HOOK_TIMEOUT_SECONDS).into_iter().map(OsString::from).collect();
    // What is typed into a program that runs already reaches no hook, so none may be left open for it.
    overrides.push(OsString::from("-c"));
    overrides.push(OsString::from(format!("{NO_TERMINALS}=false")));
    let listed = list(place, arguments, &overrides, prepared)?;
    let mut marks = Vec::new();
    for entry in listed.iter().filter(|entry| entry.source == SOURCE_GIVEN && entry.command.as_deref() == Some(hook)) {
        marks.push(format!("{}={{trusted_hash={}}}", toml_text(&entry.key), toml_text(&entry.hash)));
    }
    if marks.len() != FORM.events.len() {
        let problem = format!("{} of {} hooks were taken", marks.len(), FORM.events.len());
        return Err(LaunchError::Trust { problem });
    }
    overrides.push(OsString::from("-c"));
    overrides.push(OsString::from(format!("hooks.state={{{}}}", marks.join(","))));
    prepared.command.splice(arguments..arguments, overrides);
    run_servers::guard(place, arguments, prepared);
    if let Some(gateway) = place.gateway {
        prepared.routing = route::route(place, gateway, arguments, prepared);
    }
    Ok(())
}

/// Asks the client for its hooks with these overrides; nothing of the person's is changed and no model is asked.
fn list(
    place: &LaunchPlace<'_>,
    arguments: usize,
    overrides: &[OsString],
    prepared: &PreparedClient,
) -> Result<Vec<ListedHook>, LaunchError> {
    let trust = |problem: String| LaunchError::Trust { problem };
    let starter = prepared.command.get(..arguments).unwrap_or_default();
    let (program, rest) = starter.split_first().ok_or_else(|| trust("no program".to_owned()))?;
    let mut command = Command::new(program);
    command.args(rest).args(overrides).env_clear();
    command.envs(prepared.env.iter().map(|(name, value)| (name, value)));
    app_server::list(command, place.cwd).map_err(trust)
}

/// What switches its hooks off: its arguments, else a configuration.
fn switched_off(place: &LaunchPlace<'_>, words: &OwnWords) -> Option<String> {
    match by_words(&words.own) {
        HooksSwitch::Off(word) => Some(word),
        HooksSwitch::On => None,
        HooksSwitch::Nothing => by_file(place),
    }
}

/// What a command line says about the hooks of Codex.
#[derive(Debug, PartialEq, Eq)]
enum HooksSwitch {
    Off(String),
    On,
    Nothing,
}

/// The last word counts, as it does for the client.
fn by_words(own: &[String]) -> HooksSwitch {
    let mut said = HooksSwitch::Nothing;
    for (index, word) in own.iter().enumerate() {
        let next = || own.get(index + 1).cloned().unwrap_or_default();
        let (flag, value) = match word.split_once('=') {
            Some((flag @ ("--disable" | "--enable" | "--config"), value)) => (flag.to_owned(), value.to_owned()),
            Some(_) | None if word.starts_with("-c") && word.len() > 2 && !word.starts_with("--") => {
                ("-c".to_owned(), word.trim_start_matches("-c").trim_start_matches('=').to_owned())
            }
            Some(_) | None => (word.clone(), next()),
        };
        let shown = if flag == *word { format!("`{word} {value}`") } else { format!("`{word}`") };
        said = match (flag.as_str(), value.as_str()) {
            ("--disable", "hooks") => HooksSwitch::Off(shown),
            ("--enable", "hooks") => HooksSwitch::On,
            ("-c" | "--config", setting) => match setting.split_once('=') {
                Some((name, value)) if name.trim() == HOOKS_SETTING && value.trim() == "false" => {
                    HooksSwitch::Off(shown)
                }
                Some((name, value)) if name.trim() == HOOKS_SETTING && value.trim() == "true" => HooksSwitch::On,
                Some(_) | None => said,
            },
            _ => said,
        };
    }
    said
}

/// The person's configuration, and the workspace's.
fn by_file(place: &LaunchPlace<'_>) -> Option<String> {
    let own = place.homes.folder(&HOME);
    let folders = [place.cwd, place.root].map(|folder| folder.join(HOME.folder)).into_iter().chain(own);
    let is_off = |file: &PathBuf| {
        let document = read_settings(file).and_then(|text| text.parse::<DocumentMut>().ok());
        let switch = document.and_then(|document| document.get("features")?.get("hooks").and_then(Item::as_bool));
        switch == Some(false)
    };
    let file = folders.map(|folder| folder.join("config.toml")).find(is_off)?;
    Some(format!("`{HOOKS_SETTING} = false` in `{}`", file.display()))
}

fn prepare_trial(place: &TrialPlace<'_>, command: &mut Command) -> io::Result<()> {
    let model = place.model_url;
    let folder = place.home.join(".codex");
    std::fs::create_dir(&folder)?;
    let workspace = serde_json::Value::from(place.workspace.display().to_string());
    let config = format!(
        "model = \"gpt-5-codex\"\nmodel_provider = \"scripted\"\napproval_policy = \"never\"\n\
         sandbox_mode = \"danger-full-access\"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n\
         [projects.{workspace}]\ntrust_level = \"trusted\"\n[model_providers.scripted]\nname = \"scripted\"\n\
         base_url = \"{model}/v1\"\nenv_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\nrequest_max_retries = 1\n\
         stream_max_retries = 1\n"
    );
    std::fs::write(folder.join("config.toml"), config)?;
    command.args(["exec", "--json", "--skip-git-repo-check", place.task]);
    command.env("CODEX_HOME", folder).env("SCRIPTED_KEY", "sk-made-up");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn const_5_flags_that_switch_hooks_off_are_seen_in_every_spelling() {
        for (line, shown) in [
            ("exec --disable hooks x", "`--disable hooks`"),
            ("exec --disable=hooks x", "`--disable=hooks`"),
            ("-c features.hooks=false exec x", "`-c features.hooks=false`"),
            ("-cfeatures.hooks=false exec x", "`-cfeatures.hooks=false`"),
            ("--config features.hooks=false exec x", "`--config features.hooks=false`"),
            ("--config=features.hooks=false exec x", "`--config=features.hooks=false`"),
            ("--enable hooks --disable hooks exec x", "`--disable hooks`"),
        ] {
            assert_eq!(by_words(&words(line)), HooksSwitch::Off(shown.to_owned()), "{line}");
        }
        for line in ["exec --disable web_search x", "-c features.hooksy=false x", "exec hooks", "-c model=m x"] {
            assert_eq!(by_words(&words(line)), HooksSwitch::Nothing, "{line}");
        }
        for line in ["--disable hooks -c features.hooks=true x", "exec --enable=hooks x"] {
            assert_eq!(by_words(&words(line)), HooksSwitch::On, "{line}");
        }
    }
}
