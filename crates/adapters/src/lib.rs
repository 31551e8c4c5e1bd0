//! tripwire under other people's agents: hooks, the supervisor, the way between them, their transcripts, and the
//! allow-list proxy for what runs confined.

#[cfg(unix)]
pub mod allowlist;
#[cfg(unix)]
pub mod canary;
#[cfg(unix)]
pub mod checkup;
#[cfg(unix)]
pub mod codex_hooks;
pub mod hooks;
#[cfg(unix)]
pub mod install;
#[cfg(unix)]
pub mod socket;
pub mod statusline;
#[cfg(unix)]
pub mod supervisor;
#[cfg(unix)]
mod throwaway;
pub mod transcripts;
pub mod usage;
