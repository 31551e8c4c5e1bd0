//! The plan of a whole installation: every client's changes, planned before any is carried out.

use super::change::{Change, InstallError, SettingsFile, StatusLineWish};
use super::file::Scope;
use super::status_line;
use super::trust::TrustPlace;
use crate::client::Client;
use crate::homes::Homes;
use crate::hook_command;
use crate::hooks::time_limit::{SECONDS_RECOMMENDED, SECONDS_VARIABLE};
use std::path::Path;

/// What is to be installed, and where.
#[derive(Debug, Clone, Copy)]
pub struct Installation<'a> {
    /// Whose sessions are guarded.
    pub scope: &'a Scope,
    /// The person's folders.
    pub homes: &'a Homes,
    /// Our own program.
    pub program: &'a Path,
    /// Whether our status line comes too, where a client has one.
    pub status_line: StatusLineWish,
}

/// All changes, and notes for the person.
#[derive(Debug, Default)]
pub struct InstallPlan {
    /// The changes, in the order in which they are to be carried out.
    pub changes: Vec<(Client, Change)>,
    /// What could not be planned, and what to do instead.
    pub notes: Vec<String>,
}

/// The command that a client runs for each event. It refuses also when our program is missing, crashes or is killed.
#[must_use]
pub fn command(program: &Path, client: Client) -> String {
    format!("{SECONDS_VARIABLE}={SECONDS_RECOMMENDED} {}", hook_command::line(program, client.name()))
}

impl Installation<'_> {
    /// The file that holds a client's hooks.
    ///
    /// # Errors
    /// When the person has no home.
    pub fn file(&self, client: Client) -> Result<SettingsFile, InstallError> {
        SettingsFile::find(client.adapter().settings, self.scope, self.homes)
    }

    /// Plans to put the hooks of a client in; `found` is the client's program, where it is known.
    ///
    /// # Errors
    /// When a file cannot be read or is not what the client reads.
    pub fn plan_install(
        &self,
        client: Client,
        found: Option<&Path>,
        plan: &mut InstallPlan,
    ) -> Result<(), InstallError> {
        let command = command(self.program, client);
        let hooks = Change::install(client.adapter().settings, &self.file(client)?, &command)?;
        let line = status_line::command(self.program);
        let hooks = hooks.with_status_line(client.adapter().settings, &line, self.status_line)?;
        let trust = match client.adapter().trust {
            Some(trust) => trust.plan_install(&self.trust_place(found), &hooks, &command)?,
            None => Default::default(),
        };
        plan.changes.push((client, hooks));
        plan.changes.extend(trust.changes.into_iter().map(|change| (client, change)));
        plan.notes.extend(trust.notes);
        Ok(())
    }

    /// Plans to take the hooks of a client out.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn plan_remove(&self, client: Client, plan: &mut InstallPlan) -> Result<(), InstallError> {
        if let Some(trust) = client.adapter().trust {
            let trust = trust.plan_remove(&self.trust_place(None))?;
            plan.changes.extend(trust.changes.into_iter().map(|change| (client, change)));
            plan.notes.extend(trust.notes);
        }
        plan.changes.push((client, Change::remove(client.adapter().settings, &self.file(client)?)?));
        Ok(())
    }

    /// What a person has to do before a client runs the installed hooks; nothing if it does.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn left_to_do(&self, client: Client, found: Option<&Path>) -> Result<Vec<String>, InstallError> {
        match client.adapter().trust {
            Some(trust) => trust.left_to_do(&self.trust_place(found)),
            None => Ok(Vec::new()),
        }
    }

    const fn trust_place<'a>(&'a self, program: Option<&'a Path>) -> TrustPlace<'a> {
        TrustPlace { scope: self.scope, homes: self.homes, program }
    }
}
