//! Claude Code: hooks by settings file, a transcript with a line per block, an answer that can end a turn.

mod hook;
mod launch;
mod output;
mod private;
mod route;
mod run_servers;
mod servers;
mod settings;
pub mod statusline;
mod transcript;

use crate::adapter::{Adapter, Door, SandboxUse};

/// Claude Code.
pub(crate) static ADAPTER: Adapter = Adapter {
    title: "Claude Code",
    settings: &settings::FORM,
    trust: None,
    hooks: &hook::HOOKS,
    transcript: &transcript::TRANSCRIPT,
    launch: &launch::LAUNCH,
    servers: Some(&servers::SERVERS),
    door: Door::Hooks,
    private: Some(&private::PRIVATE),
    sandbox: SandboxUse::measured("2.1.325"),
};
