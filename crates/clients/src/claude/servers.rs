//! The tool servers of Claude Code: the person's in `.claude.json`, for all projects and for single ones, and a project's in
//! `.mcp.json`.

use super::settings::HOME;
use crate::homes::Homes;
use crate::install::file::Scope;
use crate::install::form::Relaxed;
use crate::tool_servers::server_form::ServerForm;
use crate::tool_servers::table::ServerSettings;
use std::path::PathBuf;

/// The person's own file; it lies in the client's folder only where a variable names that.
pub(super) const OWN_FILE: &str = ".claude.json";
/// A project's file.
pub(super) const PROJECT_FILE: &str = ".mcp.json";
/// The person's servers for single projects stand in this member, by the project's path.
pub(super) const PROJECTS: &str = "projects";

pub(super) const FORM: ServerForm = ServerForm::McpServers { also_in: Some(PROJECTS) };

pub(super) static SERVERS: ServerSettings =
    ServerSettings { files, form: FORM, relaxed: Relaxed::Ignores("Claude Code does not read servers") };

fn files(scope: &Scope, homes: &Homes) -> Vec<PathBuf> {
    match scope {
        Scope::Project(root) => vec![root.join(PROJECT_FILE)],
        Scope::User => own_file(homes).into_iter().collect(),
    }
}

pub(super) fn own_file(homes: &Homes) -> Option<PathBuf> {
    let folder = homes.given.get(HOME.variable).or(homes.home.as_ref());
    folder.map(|folder| folder.join(OWN_FILE))
}
