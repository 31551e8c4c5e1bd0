//! Any program that speaks Anthropic's API and reads the usual variables: `--client anthropic`.

use crate::adapter::Adapter;
use crate::homes::ClientHome;
use crate::hookless;
use crate::install::form::HookSettings;
use crate::launch::command_line::KnownBy;
use crate::launch::dialect::LaunchDialect;
use crate::launch::model_route::{ApiVariables, KeyVariable};
use tripwire_core::family::{Family, KeyHeader};

const TITLE: &str = "a program with Anthropic's API";

/// a program with Anthropic's API.
pub(crate) static ADAPTER: Adapter = hookless::adapter(TITLE, &SETTINGS, &LAUNCH);

static SETTINGS: HookSettings = hookless::settings("anthropic", &HOME);
static HOME: ClientHome = hookless::home("", "");
static LAUNCH: LaunchDialect = hookless::launch(KNOWN_BY, hookless::PLAIN, |place, _, prepared| {
    hookless::route_by_variables(place, TITLE, &[VARIABLES], prepared)
});

/// It is known by `--client` alone.
const KNOWN_BY: KnownBy = KnownBy { package: "", programs: &[], package_folder: "", agent_variables: &[] };

/// The usual variables.
pub(crate) const VARIABLES: ApiVariables = ApiVariables {
    family: Family::Anthropic,
    base_urls: &["ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"],
    keys: &[
        KeyVariable { name: "ANTHROPIC_AUTH_TOKEN", header: KeyHeader::Bearer },
        KeyVariable { name: "ANTHROPIC_API_KEY", header: KeyHeader::Usual },
    ],
    default_base: "https://api.anthropic.com",
};
