//! The tool servers of Codex CLI: tables of `mcp_servers` in its configuration.

use super::settings::HOME;
use crate::homes::Homes;
use crate::install::file::Scope;
use crate::install::form::Relaxed;
use crate::tool_servers::server_form::ServerForm;
use crate::tool_servers::table::ServerSettings;
use std::path::PathBuf;

/// The file, in the person's folder and in a project's.
const FILE: &str = "config.toml";

pub(super) static SERVERS: ServerSettings =
    ServerSettings { files, form: ServerForm::TomlTables, relaxed: Relaxed::Reads };

fn files(scope: &Scope, homes: &Homes) -> Vec<PathBuf> {
    let folder = match scope {
        Scope::Project(root) => Some(root.join(HOME.folder)),
        Scope::User => homes.folder(&HOME),
    };
    folder.map(|folder| folder.join(FILE)).into_iter().collect()
}
