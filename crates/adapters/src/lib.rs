//! tripwire under other people's agents: hooks, the supervisor, the way between them, and the allow-list proxy for what
//! runs confined.

#[cfg(unix)]
pub mod allowlist;
pub mod hooks;
#[cfg(unix)]
pub mod socket;
#[cfg(unix)]
pub mod supervisor;
