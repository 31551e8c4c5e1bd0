//! opencode: a configuration given in a variable has the last word on where its providers are.

mod config;
mod private;
mod route;
mod run_servers;
mod servers;

use crate::adapter::{Adapter, SandboxUse};
use crate::homes::ClientHome;
use crate::hookless;
use crate::install::form::HookSettings;
use crate::launch::command_line::{CommandLineForm, KnownBy, WorkerDefault};
use crate::launch::dialect::LaunchDialect;

/// opencode.
pub(crate) static ADAPTER: Adapter = Adapter {
    servers: Some(&servers::SERVERS),
    private: Some(&private::PRIVATE),
    sandbox: SandboxUse::measured("1.18.33"),
    ..hookless::adapter(config::TITLE, &SETTINGS, &LAUNCH)
};

static SETTINGS: HookSettings = hookless::settings("opencode", &HOME);
static HOME: ClientHome = hookless::home("OPENCODE_CONFIG_DIR", ".opencode");
static LAUNCH: LaunchDialect = hookless::launch(KNOWN_BY, COMMAND_LINE, route::prepare);

const KNOWN_BY: KnownBy = KnownBy {
    package: "opencode-ai",
    programs: &["opencode"],
    package_folder: "opencode-ai",
    agent_variables: &["OPENCODE"],
};

const COMMAND_LINE: CommandLineForm = CommandLineForm {
    subcommands: &["run"],
    value_flags: &["-m", "--model", "--agent", "--format", "-s", "--session", "-f", "--file", "--title", "--variant"],
    resume_flags: &["-c", "--continue", "-s", "--session"],
    one_prompt: &["run"],
    manage_words: &[
        "auth",
        "mcp",
        "models",
        "providers",
        "upgrade",
        "uninstall",
        "stats",
        "export",
        "import",
        "session",
    ],
    worker_defaults: &[WorkerDefault { unless: &["run"], words: &["run"] }],
    ..hookless::PLAIN
};
