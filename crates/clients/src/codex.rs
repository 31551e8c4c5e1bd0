//! Codex CLI: hooks that it must trust, a rollout with the thread's totals, no answer that ends a turn.

mod app_server;
mod hook;
mod launch;
mod output;
mod private;
mod route;
mod run_servers;
mod servers;
mod settings;
mod transcript;
mod trust;
mod trusted_config;

use crate::adapter::{Adapter, Door, SandboxUse};

/// Codex CLI.
pub(crate) static ADAPTER: Adapter = Adapter {
    title: "Codex CLI",
    settings: &settings::FORM,
    trust: Some(&trust::CodexTrust),
    hooks: &hook::HOOKS,
    transcript: &transcript::TRANSCRIPT,
    launch: &launch::LAUNCH,
    servers: Some(&servers::SERVERS),
    door: Door::Hooks,
    private: Some(&private::PRIVATE),
    sandbox: SandboxUse::measured("0.166.0"),
};
