//! Other people's agents: the dialect of each client's hooks, its settings, its transcripts.

#[cfg(unix)]
pub mod canary;
#[cfg(unix)]
pub mod checkup;
#[cfg(unix)]
pub mod codex_hooks;
mod explained;
pub mod hooks;
#[cfg(unix)]
pub mod install;
pub mod statusline;
#[cfg(unix)]
pub mod throwaway;
pub mod transcripts;
pub mod usage;
