//! Any program that speaks Gemini's API and reads the usual variables: `--client gemini`, unless it is Gemini CLI itself.

use crate::adapter::Adapter;
use crate::gemini::VARIABLES;
use crate::homes::ClientHome;
use crate::hookless;
use crate::install::form::HookSettings;
use crate::launch::command_line::KnownBy;
use crate::launch::dialect::LaunchDialect;

const TITLE: &str = "a program with Gemini's API";

/// a program with Gemini's API.
pub(crate) static ADAPTER: Adapter = hookless::adapter(TITLE, &SETTINGS, &LAUNCH);

static SETTINGS: HookSettings = hookless::settings("gemini-api", &HOME);
static HOME: ClientHome = hookless::home("", "");
static LAUNCH: LaunchDialect = hookless::launch(KNOWN_BY, hookless::PLAIN, |place, _, prepared| {
    hookless::route_by_variables(place, TITLE, &[VARIABLES], prepared)
});

/// It is known by `--client` alone.
const KNOWN_BY: KnownBy = KnownBy { package: "", programs: &[], package_folder: "", agent_variables: &[] };
