//! aider: it asks its model through a library that reads each provider's variables. It edits files without tools.

use crate::adapter::Adapter;
use crate::homes::ClientHome;
use crate::install::change::read_settings;
use crate::install::form::HookSettings;
use crate::launch::command_line::{CommandLineForm, KnownBy, PromptPlace, WorkerDefault};
use crate::launch::dialect::LaunchDialect;
use crate::launch::prepare::{LaunchError, LaunchPlace, PreparedClient};
use crate::{anthropic_api, hookless, openai_api};

const TITLE: &str = "aider";

/// aider.
pub(crate) static ADAPTER: Adapter = hookless::adapter(TITLE, &SETTINGS, &LAUNCH);

static SETTINGS: HookSettings = hookless::settings("aider", &HOME);
static HOME: ClientHome = hookless::home("", ".aider");
static LAUNCH: LaunchDialect = hookless::launch(KNOWN_BY, COMMAND_LINE, prepare);

const KNOWN_BY: KnownBy =
    KnownBy { package: "aider-chat", programs: &["aider"], package_folder: "aider", agent_variables: &[] };

const COMMAND_LINE: CommandLineForm = CommandLineForm {
    prompt_flags: &["-m", "--message", "--msg"],
    value_flags: &["--model", "--file", "--read", "--edit-format", "--test-cmd", "--lint-cmd"],
    one_prompt: &["--message"],
    worker_defaults: &[WorkerDefault { unless: &["--yes", "--yes-always"], words: &["--yes-always"] }],
    worker_prompt: PromptPlace::LastBehind("--message"),
    ..hookless::PLAIN
};

/// What it is told by flag, which counts more than a variable.
const FLAGS: [&str; 5] = ["--openai-api-base", "--openai-api-key", "--anthropic-api-key", "--api-key", "--set-env"];

/// Options, variables and settings that name a model.
const MODEL_OPTIONS: [&str; 3] = ["--model", "--weak-model", "--editor-model"];
const MODEL_VARIABLES: [&str; 3] = ["AIDER_MODEL", "AIDER_WEAK_MODEL", "AIDER_EDITOR_MODEL"];
const MODEL_SETTINGS: [&str; 3] = ["model", "weak-model", "editor-model"];
/// What its files must not set, because they count more than what we set.
const PLACES: [&str; 7] = [
    "OPENAI_API_BASE",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_BASE",
    "ANTHROPIC_BASE_URL",
    "AIDER_OPENAI_API_BASE",
    "openai-api-base",
    "set-env",
];
/// The beginnings of the names by which it knows the models of the two APIs that it is routed to.
const MODELS: [&str; 12] = ["gpt", "chatgpt", "codex", "o1", "o3", "o4", "4o", "4", "35", "claude", "sonnet", "opus"];

fn prepare(place: &LaunchPlace<'_>, arguments: usize, prepared: &mut PreparedClient) -> Result<(), LaunchError> {
    let own = prepared.command.get(arguments..).unwrap_or_default();
    let unguarded = |why: String| LaunchError::Unguarded { client: TITLE, why };
    if let Some(flag) = hookless::option_in(own, &FLAGS) {
        return Err(unguarded(format!(
            "`{flag}` names its model's place; set OPENAI_API_BASE or ANTHROPIC_BASE_URL and the key instead"
        )));
    }
    let words: Vec<String> = own.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let behind = words.windows(2).filter(|two| MODEL_OPTIONS.contains(&two[0].as_str())).map(|two| two[1].clone());
    let joined = words.iter().filter_map(|word| {
        let (option, model) = word.split_once('=')?;
        MODEL_OPTIONS.contains(&option).then(|| model.to_owned())
    });
    let variables = MODEL_VARIABLES.iter().filter_map(|name| place.variable_text(name));
    let (set, models) = of_files(place);
    if let Some(name) = set {
        return Err(unguarded(format!("`{name}` in its `.env` or `.aider.conf.yml` counts more than what we set")));
    }
    if let Some(model) = behind.chain(joined).chain(variables).chain(models).find(|model| !is_routed(model)) {
        return Err(unguarded(format!("the gateway does not speak to the provider of `{model}`")));
    }
    hookless::route_by_variables(place, TITLE, &[openai_api::VARIABLES, anthropic_api::VARIABLES], prepared)
}

/// Whether a model is asked through one of the two APIs.
fn is_routed(model: &str) -> bool {
    match model.split_once('/') {
        Some((provider, _)) => matches!(provider, "openai" | "anthropic"),
        None => MODELS.iter().chain(&["haiku"]).any(|start| model.starts_with(start)),
    }
}

/// What its files say: a place that they set, and the models that they name. It reads them where it starts, at the root and at home.
fn of_files(place: &LaunchPlace<'_>) -> (Option<String>, Vec<String>) {
    let home = place.variable_text("HOME").map(std::path::PathBuf::from);
    let folders = [Some(place.cwd.to_owned()), Some(place.root.to_owned()), home].into_iter().flatten();
    let (mut set, mut models) = (None, Vec::new());
    for file in folders.flat_map(|folder| [folder.join(".env"), folder.join(".aider.conf.yml")]) {
        let text = read_settings(&file).unwrap_or_default();
        for (name, value) in text.lines().filter_map(|line| line.split_once(['=', ':'])) {
            let name = name.trim().trim_start_matches("export ").trim();
            let value = value.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']);
            if PLACES.contains(&name) {
                set = Some(name.to_owned());
            }
            if MODEL_VARIABLES.contains(&name) || MODEL_SETTINGS.contains(&name) {
                models.push(value.to_owned());
            }
        }
    }
    (set, models)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_of_the_routed_apis_are_known_and_others_are_not() {
        for model in
            ["gpt-5", "openai/gpt-4o", "sonnet", "claude-opus-4-5", "anthropic/claude-opus-4-5", "o3-mini", "haiku"]
        {
            assert!(is_routed(model), "{model}");
        }
        for model in ["deepseek", "gemini/gemini-2.5-pro", "openrouter/openai/gpt-4o", "r1", "flash", "ollama/llama3"] {
            assert!(!is_routed(model), "{model}");
        }
    }

    #[test]
    fn what_its_files_set_is_seen_and_what_they_only_mention_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let homes = crate::homes::Homes::default();
        let place = LaunchPlace { cwd: folder.path(), ..LaunchPlace::nowhere(&[], &homes, None) };
        write(".env", "# OPENAI_API_BASE=x\nOPENAI_API_KEY=sk-1\nMY_OPENAI_API_BASE=x\n");
        write(".aider.conf.yml", "# openai-api-base: x\nmodel: sonnet # usual\ndark-mode: true\n");
        assert_eq!(of_files(&place), (None, vec!["sonnet".to_owned()]));
        write(".env", "export OPENAI_API_BASE=\"http://elsewhere\"\n");
        assert_eq!(of_files(&place).0.as_deref(), Some("OPENAI_API_BASE"));
        write(".env", "AIDER_MODEL='deepseek/deepseek-chat'\n");
        assert_eq!(of_files(&place).1, ["deepseek/deepseek-chat", "sonnet"]);
    }
}
