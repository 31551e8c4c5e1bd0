//! The person's folders and those of the clients, as the environment names them.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Folders that the environment names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Homes {
    /// `HOME`.
    pub home: Option<PathBuf>,
    /// `XDG_STATE_HOME`, where our key lives.
    pub state: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, where a person's own settings live.
    pub config: Option<PathBuf>,
    /// The clients' own variables, by name.
    pub given: BTreeMap<&'static str, PathBuf>,
}

/// Where a client keeps its settings and its sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientHome {
    /// The environment variable by which a person moves it.
    pub variable: &'static str,
    /// The folder's name, below the person's home or a workspace.
    pub folder: &'static str,
    /// What the variable names.
    pub names: VariableNames,
    /// What an agent must not write in a workspace's folder of this name.
    pub in_workspace: ProtectedPart,
    /// What an agent must not write in the person's own.
    pub in_home: ProtectedPart,
    /// Files of the person's own that are read-only while a client runs supervised.
    pub read_only_in_run: &'static [&'static str],
}

/// A part of a client's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectedPart {
    /// The folder with all that is in it.
    WholeFolder,
    /// `settings*.json`.
    SettingsFiles,
    /// The files of these names.
    Files(&'static [&'static str]),
}

/// What a client's variable names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableNames {
    /// The folder itself.
    TheFolder,
    /// The folder that it is in.
    ItsParent,
}

impl Homes {
    /// The same with the value of a client's own variable.
    #[must_use]
    pub fn with(mut self, home: &ClientHome, value: PathBuf) -> Self {
        self.given.insert(home.variable, value);
        self
    }

    /// A client's folder; none if the environment names neither it nor a home.
    #[must_use]
    pub fn folder(&self, home: &ClientHome) -> Option<PathBuf> {
        match (self.given.get(home.variable), home.names) {
            (Some(given), VariableNames::TheFolder) => Some(given.clone()),
            (Some(given), VariableNames::ItsParent) => Some(given.join(home.folder)),
            (None, VariableNames::TheFolder | VariableNames::ItsParent) => {
                self.home.as_ref().map(|folder| folder.join(home.folder))
            }
        }
    }

    /// The folder of a person's own settings for all workspaces.
    #[must_use]
    pub fn own_settings(&self) -> Option<PathBuf> {
        let config = self.config.clone().or_else(|| self.home.as_ref().map(|home| home.join(".config")));
        config.map(|config| config.join("tripwire"))
    }

    /// The folder of our own state: keys and choices.
    #[must_use]
    pub fn own_state(&self) -> Option<PathBuf> {
        let state = self.state.clone().or_else(|| self.home.as_ref().map(|home| home.join(".local/state")));
        state.map(|state| state.join("tripwire"))
    }
}
