//! aider: it asks its model through a library that reads each provider's variables. It edits files without tools.

use crate::adapter::Adapter;
use crate::homes::ClientHome;
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

fn prepare(place: &LaunchPlace<'_>, arguments: usize, prepared: &mut PreparedClient) -> Result<(), LaunchError> {
    let own = prepared.command.get(arguments..).unwrap_or_default();
    let name = |word: &std::ffi::OsString| word.to_string_lossy().split('=').next().unwrap_or_default().to_owned();
    if let Some(flag) = own.iter().map(name).find(|word| FLAGS.contains(&word.as_str())) {
        let why =
            format!("`{flag}` names its model's place; set OPENAI_API_BASE or ANTHROPIC_BASE_URL and the key instead");
        return Err(LaunchError::Unguarded { client: TITLE, why });
    }
    hookless::route_by_variables(place, TITLE, &[openai_api::VARIABLES, anthropic_api::VARIABLES], prepared)
}
