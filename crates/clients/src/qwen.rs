//! Qwen Code: it speaks OpenAI's API, as its environment says; a login asks a service of its own.

mod private;

use crate::adapter::{Adapter, SandboxUse};
use crate::homes::ClientHome;
use crate::hookless;
use crate::install::change::read_settings;
use crate::install::form::HookSettings;
use crate::launch::command_line::{CommandLineForm, KnownBy, PromptPlace, WorkerDefault};
use crate::launch::dialect::LaunchDialect;
use crate::launch::prepare::{LaunchError, LaunchPlace, PreparedClient};
use crate::launch::relaxed;
use crate::openai_api::VARIABLES;

const TITLE: &str = "Qwen Code";

/// Qwen Code.
pub(crate) static ADAPTER: Adapter = Adapter {
    private: Some(&private::PRIVATE),
    sandbox: SandboxUse::measured("0.24.4"),
    ..hookless::adapter(TITLE, &SETTINGS, &LAUNCH)
};

static SETTINGS: HookSettings = hookless::settings("qwen", &HOME);
static HOME: ClientHome = hookless::home("QWEN_HOME", ".qwen");
static LAUNCH: LaunchDialect = hookless::launch(KNOWN_BY, COMMAND_LINE, prepare);

const KNOWN_BY: KnownBy = KnownBy {
    package: "@qwen-code/qwen-code",
    programs: &["qwen"],
    package_folder: "qwen-code",
    agent_variables: &["QWEN_CODE"],
};

const COMMAND_LINE: CommandLineForm = CommandLineForm {
    prompt_flags: &["-p", "--prompt", "-i", "--prompt-interactive"],
    value_flags: &["-m", "--model", "--approval-mode", "-o", "--output-format", "--auth-type"],
    one_prompt: &["-p"],
    worker_defaults: &[WorkerDefault {
        unless: &["--approval-mode", "-y", "--yolo"],
        words: &["--approval-mode", "auto-edit"],
    }],
    worker_prompt: PromptPlace::LastBehind("-p"),
    ..hookless::PLAIN
};

/// What it is told by flag, which counts more than a variable.
const FLAGS: [&str; 2] = ["--openai-base-url", "--openai-api-key"];

fn prepare(place: &LaunchPlace<'_>, arguments: usize, prepared: &mut PreparedClient) -> Result<(), LaunchError> {
    let own = prepared.command.get(arguments..).unwrap_or_default();
    if let Some(flag) = hookless::option_in(own, &FLAGS) {
        let why = format!("`{flag}` names its model's place; set OPENAI_BASE_URL and OPENAI_API_KEY instead");
        return Err(LaunchError::Unguarded { client: TITLE, why });
    }
    let folders = [place.cwd, place.root].map(|folder| folder.join(HOME.folder)).into_iter();
    let files = folders.chain(place.homes.folder(&HOME)).map(|folder| folder.join("settings.json"));
    let settings = files.filter_map(|file| relaxed::object(&read_settings(&file)?).ok());
    let auth = |settings: &serde_json::Map<String, serde_json::Value>| settings.get("security")?.get("auth").cloned();
    for auth in settings.filter_map(|settings| auth(&settings)) {
        let told = ["baseUrl", "apiKey"].into_iter().find(|name| auth.get(*name).is_some_and(|value| !value.is_null()));
        let login = auth.get("selectedType").and_then(serde_json::Value::as_str).filter(|kind| *kind != "openai");
        if let Some(why) =
            login.map(|kind| format!("its login `{kind}` asks a service that the gateway does not speak to"))
        {
            return Err(LaunchError::Unguarded { client: TITLE, why });
        }
        if let Some(name) = told {
            let why = format!("`security.auth.{name}` of its settings counts more than a variable");
            return Err(LaunchError::Unguarded { client: TITLE, why });
        }
    }
    hookless::route_by_variables(place, TITLE, &[VARIABLES], prepared)
}
