//! tripwire under other people's agents: hooks, the supervisor, the way between them, and the allow-list proxy for what
//! runs confined.
//! tripwire under other people's agents: hooks, the way from them to the supervisor, the figures of their transcripts, and
//! the allow-list proxy for what runs confined.

#[cfg(unix)]
pub mod allowlist;
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
pub mod usage;
