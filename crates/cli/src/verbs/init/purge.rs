//! What tripwire wrote and `tripwire init --remove --purge` deletes: journals, reports, policies, keys and settings.

use crate::error::Problem;
use crate::sessions::{self, Standing};
use crate::workspace;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tripwire_clients::install::Scope;
use tripwire_core::counted::counted;
use tripwire_core::explain::Explain;
use tripwire_fs::file::{FileAction, FileError};
use tripwire_fs::shell_word::shell_word;
use tripwire_workspace::Workspace;

/// Sessions of one workspace that are looked at.
const SESSIONS_MAX: usize = 200;

/// Everything that would be deleted.
#[derive(Debug, Default)]
pub(super) struct Purge {
    folders: Vec<PurgeFolder>,
}

/// One folder, with what a person loses.
#[derive(Debug)]
struct PurgeFolder {
    path: PathBuf,
    holds: String,
}

/// A session still writes where something would be deleted.
#[derive(Debug, thiserror::Error)]
#[error("session `{session}` in `{}` is running", root.display())]
pub(crate) struct StillRunningError {
    session: String,
    root: PathBuf,
}

impl Explain for StillRunningError {
    fn hint(&self) -> Cow<'_, str> {
        format!("end it first with `tripwire stop --workspace {}`", shell_word(&self.root)).into()
    }
}

impl Purge {
    /// What lies in the one workspace that was named, or in all that this person used with the person's own state.
    pub(super) fn plan(only: Option<&Workspace>) -> Result<Self, Problem> {
        let mut purge = Self::default();
        let mut seen = BTreeSet::new();
        match only {
            Some(workspace) => purge.add_workspace(workspace, &mut seen)?,
            None => {
                for root in workspace::known().map(|known| known.list()).unwrap_or_default() {
                    if let Ok(workspace) = Workspace::locate(&root, &workspace::places()) {
                        purge.add_workspace(&workspace, &mut seen)?;
                    }
                }
                let state = workspace::state_home().map(|state| state.join("tripwire"));
                purge.add(state, "your mode, your list of workspaces and your key", &mut seen);
                let settings = workspace::places().user_settings();
                let settings = settings.and_then(|file| file.parent().map(Path::to_owned));
                purge.add(settings, "your settings for all workspaces", &mut seen);
            }
        }
        Ok(purge)
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.folders.is_empty()
    }

    /// One line for each folder.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |folder: &PurgeFolder| format!("delete      `{}`: {}", folder.path.display(), folder.holds);
        self.folders.iter().map(line).collect()
    }

    /// The folders, for machines.
    pub(super) fn paths(&self) -> Vec<&Path> {
        self.folders.iter().map(|folder| folder.path.as_path()).collect()
    }

    /// What is left behind when nothing is purged.
    pub(super) fn left(&self, scope: &Scope) -> Option<String> {
        let first = self.folders.first()?;
        let others = match self.folders.len() - 1 {
            0 => String::new(),
            others => format!(" and {}", counted(others, "other folder")),
        };
        let scope = match scope {
            Scope::Project(_) => " --project",
            Scope::User => "",
        };
        Some(format!(
            "left        `{}`{others}; `tripwire init --remove --purge{scope}` deletes what tripwire wrote",
            first.path.display()
        ))
    }

    /// Deletes them all.
    pub(super) fn carry_out(&self) -> Result<(), FileError> {
        self.folders.iter().try_for_each(|folder| {
            std::fs::remove_dir_all(&folder.path).map_err(FileError::at(&folder.path, FileAction::Remove))
        })
    }

    fn add_workspace(&mut self, workspace: &Workspace, seen: &mut BTreeSet<PathBuf>) -> Result<(), Problem> {
        let sessions = sessions::of_workspace(workspace, SESSIONS_MAX);
        if let Some(running) = sessions.iter().find(|session| session.standing == Standing::Running) {
            let root = workspace.root().to_owned();
            return Err(StillRunningError { session: running.id.to_string(), root }.into());
        }
        let holds = format!("{} with journals, reports and the policy", counted(sessions.len(), "session"));
        self.add(Some(workspace.layout().folder().to_owned()), &holds, seen);
        Ok(())
    }

    /// Only a real folder is deleted, and each once.
    fn add(&mut self, path: Option<PathBuf>, holds: &str, seen: &mut BTreeSet<PathBuf>) {
        let is_folder = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_dir());
        if let Some(path) = path.filter(is_folder).filter(|path| seen.insert(path.clone())) {
            self.folders.push(PurgeFolder { path, holds: holds.to_owned() });
        }
    }
}
