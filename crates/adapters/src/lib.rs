//! tripwire under other people's agents: hooks, and the allow-list proxy for what runs confined.

#[cfg(unix)]
pub mod allowlist;
pub mod hooks;
