//! tripwire under other people's agents: hooks and supervisor.

#[cfg(unix)]
pub mod allowlist;
