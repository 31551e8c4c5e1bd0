//! The tool servers of Gemini CLI: `mcpServers` in its settings.

use super::settings::{FILE, HOME, SERVER_FORM};
use crate::homes::Homes;
use crate::install::file::Scope;
use crate::install::form::Relaxed;
use crate::tool_servers::table::ServerSettings;
use std::path::PathBuf;

pub(super) static SERVERS: ServerSettings = ServerSettings { files, form: SERVER_FORM, relaxed: Relaxed::Reads };

fn files(scope: &Scope, homes: &Homes) -> Vec<PathBuf> {
    let folder = match scope {
        Scope::Project(root) => Some(root.join(HOME.folder)),
        Scope::User => homes.folder(&HOME),
    };
    folder.map(|folder| folder.join(FILE)).into_iter().collect()
}
