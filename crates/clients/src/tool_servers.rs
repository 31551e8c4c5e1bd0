//! The tool servers (MCP) in a client's settings, and our guard before each of them.
//!
//! A guarded server holds its own command line behind ours, in the very letters in which it stood there. So taking the guard
//! out gives the same bytes back, whatever else was changed in the file meanwhile.

pub(crate) mod address;
mod edit;
pub(crate) mod entry;
pub(crate) mod guarded;
mod json;
mod plan;
pub(crate) mod run_guard;
pub(crate) mod server_form;
pub(crate) mod table;
pub(crate) mod texts;
mod toml;

pub use address::{AddressEntry, ENTRY_VARIABLE, EntryError};
pub use entry::{ServerKind, ServerSwitch, ToolServer};
pub use guarded::{GuardForm, Guarded, guard_name};
pub use plan::{ListedServer, ServerFileError, ServerPlan, listed, plan_install, plan_remove};
pub use run_guard::RunGuard;
pub use server_form::ServerForm;
pub use table::ServerSettings;

#[cfg(test)]
mod tests;
