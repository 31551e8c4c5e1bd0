//! Any program that speaks OpenAI's API and reads the usual variables: `--client openai`.

use crate::adapter::Adapter;
use crate::homes::ClientHome;
use crate::hookless;
use crate::install::form::HookSettings;
use crate::launch::command_line::KnownBy;
use crate::launch::dialect::LaunchDialect;
use crate::launch::model_route::{ApiVariables, KeyVariable};
use tripwire_core::family::{Family, KeyHeader};

const TITLE: &str = "a program with OpenAI's API";

/// a program with OpenAI's API.
pub(crate) static ADAPTER: Adapter = hookless::adapter(TITLE, &SETTINGS, &LAUNCH);

static SETTINGS: HookSettings = hookless::settings("openai", &HOME);
static HOME: ClientHome = hookless::home("", "");
static LAUNCH: LaunchDialect = hookless::launch(KNOWN_BY, hookless::PLAIN, |place, _, prepared| {
    hookless::route_by_variables(place, TITLE, &[VARIABLES], prepared)
});

/// It is known by `--client` alone.
const KNOWN_BY: KnownBy = KnownBy { package: "", programs: &[], package_folder: "", agent_variables: &[] };

/// The usual variables.
pub(crate) const VARIABLES: ApiVariables = ApiVariables {
    family: Family::OpenAi,
    base_urls: &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
    keys: &[KeyVariable { name: "OPENAI_API_KEY", header: KeyHeader::Usual }],
    default_base: "https://api.openai.com/v1",
};
