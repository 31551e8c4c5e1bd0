//! Putting our hooks into a client's own settings, and taking them out again.
//!
//! A change is planned first, shown as a diff, and carried out only then. The file as it was is kept beside it; taking the
//! hooks out gives those very bytes back, unless the person has edited the file since: then only our part goes.

pub(crate) mod called;
pub(crate) mod change;
pub(crate) mod file;
pub(crate) mod form;
mod plan;
pub(crate) mod settings;
pub mod status_line;
pub(crate) mod trust;

pub use change::{Change, InstallError, SettingsFile, StatusLineWish, read_settings};
pub use file::{FileProblem, Scope};
pub use form::{HookEntry, HookSettings, Relaxed};
pub use plan::{InstallPlan, Installation, command};
pub use settings::SettingsError;
pub use trust::{HookTrust, TrustCheck, TrustPlace, TrustPlan};

use crate::client::Client;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// A client that is on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The client.
    pub client: Client,
    /// Its program.
    pub program: PathBuf,
}

/// The clients that a search path leads to.
#[must_use]
pub fn detect(search_path: Option<OsString>) -> Vec<Found> {
    let find = |client: Client| Some(Found { client, program: program(search_path.as_deref(), client.name())? });
    Client::ALL.into_iter().filter_map(find).collect()
}

/// The first program of a name on a search path.
pub(crate) fn program(search_path: Option<&OsStr>, name: &str) -> Option<PathBuf> {
    let mut files = std::env::split_paths(search_path?).map(|folder| folder.join(name));
    files.find(|file| file::is_program(file))
}

/// Whether a text of settings calls our hooks at all.
#[must_use]
pub fn holds_our_hooks(text: &str, form: &HookSettings) -> bool {
    settings::commands(text, form).is_ok_and(|commands| !commands.is_empty())
}

#[cfg(test)]
mod tests;
