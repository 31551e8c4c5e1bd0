//! What the environment of this process names: the person's folders, their key, the secrets that must reach no record.

use std::path::PathBuf;
use tripwire_clients::{Client, Homes};
use tripwire_journal::keys::KeyHome;
use tripwire_secrets::KnownSecret;
use tripwire_session::driver::Signing;
use tripwire_workspace::known::KnownWorkspaces;
use tripwire_workspace::{Places, StatePlace, Workspace, exclude};

/// The role in the environment; an empty one is none.
#[must_use]
pub fn role() -> Option<String> {
    std::env::var("TRIPWIRE_ROLE").ok().filter(|role| !role.is_empty())
}

/// Where a workspace's state may live.
#[must_use]
pub fn places() -> Places {
    Places { xdg_state_home: set("XDG_STATE_HOME"), xdg_config_home: set("XDG_CONFIG_HOME"), home: set("HOME") }
}

/// The person's folders and the clients'.
#[must_use]
pub fn homes() -> Homes {
    let own =
        Homes { home: set("HOME"), state: set("XDG_STATE_HOME"), config: set("XDG_CONFIG_HOME"), ..Homes::default() };
    Client::ALL.into_iter().map(|client| client.home()).fold(own, |homes, home| match set(home.variable) {
        Some(value) => homes.with(home, value),
        None => homes,
    })
}

/// Where the person's key lives; none without a home.
#[must_use]
pub fn key_home() -> Option<KeyHome> {
    KeyHome::locate(std::env::var_os("XDG_STATE_HOME").as_deref(), std::env::var_os("HOME").as_deref())
}

/// Who signs the checkpoints of this workspace's sessions.
#[must_use]
pub fn signing(workspace: &Workspace) -> Option<Signing> {
    key_home().map(|home| Signing::new(home, workspace.root().to_owned()).knowing(secrets()))
}

/// The secrets in the environment, by the names of their variables.
#[must_use]
pub fn secrets() -> Vec<KnownSecret> {
    std::env::vars_os().filter_map(|(name, value)| KnownSecret::of_variable(name.to_str()?, value.to_str()?)).collect()
}

/// The list of workspaces in which this person used tripwire; none without a home.
#[must_use]
pub fn known() -> Option<KnownWorkspaces> {
    places().state_home().map(|state| KnownWorkspaces::of_person(&state))
}

/// Puts the workspace into the list of those that `tripwire ls` looks at. A list that cannot be written is no reason to do
/// nothing, and not worth a word in a hook.
pub fn remember(workspace: &Workspace) {
    if let Some(known) = known() {
        known.add(workspace.root()).ok();
    }
}

/// Keeps `.geometry/` out of the person's commits, and says why it could not. A repository that cannot be told so is no reason
/// to do nothing.
#[must_use]
pub fn keep_out_of_commits(workspace: &Workspace) -> Option<String> {
    if workspace.state() == StatePlace::InStateHome {
        return None;
    }
    let error = exclude::exclude_geometry(workspace.root()).err()?;
    Some(format!("`.geometry/` is not excluded from git: {error}"))
}

fn set(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}
