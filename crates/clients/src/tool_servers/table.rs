//! Which files of a client name its tool servers, and how.

use super::server_form::ServerForm;
use crate::homes::Homes;
use crate::install::file::Scope;
use crate::install::form::Relaxed;
use std::path::PathBuf;

/// The tool servers of a client's settings.
#[derive(Debug, Clone, Copy)]
pub struct ServerSettings {
    /// The files of a scope that may name servers; those that are not there name none.
    pub files: fn(&Scope, &Homes) -> Vec<PathBuf>,
    /// How they are written there.
    pub form: ServerForm,
    /// What the client does with JSON that is not strict.
    pub relaxed: Relaxed,
}
