//! The tool servers of opencode: `mcp` in its configuration.

use super::config::FILES;
use crate::homes::Homes;
use crate::install::file::Scope;
use crate::install::form::Relaxed;
use crate::tool_servers::server_form::ServerForm;
use crate::tool_servers::table::ServerSettings;
use std::path::PathBuf;

pub(super) static SERVERS: ServerSettings =
    ServerSettings { files, form: ServerForm::CommandLists, relaxed: Relaxed::Reads };

fn files(scope: &Scope, homes: &Homes) -> Vec<PathBuf> {
    let folders = match scope {
        Scope::Project(root) => vec![root.clone(), root.join(".opencode")],
        Scope::User => {
            let config = homes.config.clone().or_else(|| Some(homes.home.as_ref()?.join(".config")));
            config.map(|config| config.join("opencode")).into_iter().collect()
        }
    };
    folders.iter().flat_map(|folder| FILES.map(|name| folder.join(name))).collect()
}
