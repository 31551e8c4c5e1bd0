//! Gemini CLI: hooks in a home of the run's own, a session file with calls and results together.

mod hook;
mod launch;
mod output;
mod private;
mod route;
mod run_servers;
mod servers;
mod settings;
mod transcript;

pub(crate) use route::VARIABLES;

use crate::adapter::{Adapter, Door, SandboxUse};

/// Gemini CLI.
pub(crate) static ADAPTER: Adapter = Adapter {
    title: "Gemini CLI",
    settings: &settings::FORM,
    trust: None,
    hooks: &hook::HOOKS,
    transcript: &transcript::TRANSCRIPT,
    launch: &launch::LAUNCH,
    servers: Some(&servers::SERVERS),
    door: Door::Hooks,
    private: Some(&private::PRIVATE),
    sandbox: SandboxUse::measured("0.61.0"),
};
