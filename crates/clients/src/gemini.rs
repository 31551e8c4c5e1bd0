//! Gemini CLI: hooks in a home of the run's own, a session file with calls and results together.

mod hook;
mod launch;
mod output;
mod private;
mod route;
mod settings;
mod transcript;

pub(crate) use route::VARIABLES;

use crate::adapter::{Adapter, Door};

/// Gemini CLI.
pub(crate) static ADAPTER: Adapter = Adapter {
    title: "Gemini CLI",
    settings: &settings::FORM,
    trust: None,
    hooks: &hook::HOOKS,
    transcript: &transcript::TRANSCRIPT,
    launch: &launch::LAUNCH,
    door: Door::Hooks,
    private: Some(&private::PRIVATE),
};
