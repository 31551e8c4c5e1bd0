//! Agents that work in the folder are paused before something is taken back under them.

use crate::error::Problem;
use crate::person::Reason;
use crate::sessions::{self, Standing};
use tripwire_workspace::Workspace;
use tripwire_workspace::account;
use tripwire_workspace::clock;
use tripwire_workspace::control::order::{Given, Note, Order};

/// Sessions that are looked at.
const SESSIONS_MAX: usize = 8;

/// A folder in which no agent begins another step.
pub(super) struct Quiet {
    /// Whether an agent runs that is to stay paused.
    runs: bool,
    given: Option<Given>,
}

impl Quiet {
    /// Pauses the workspace, if a session of it may be at work.
    pub(super) fn make(workspace: &Workspace, reason: &Reason) -> Result<Self, Problem> {
        let standings: Vec<Standing> =
            sessions::of_workspace(workspace, SESSIONS_MAX).into_iter().map(|session| session.standing).collect();
        let runs = standings.contains(&Standing::Running);
        if !runs && !standings.contains(&Standing::Active) {
            return Ok(Self { runs, given: None });
        }
        let words = if reason.reason.is_empty() { "steps are taken back" } else { &reason.reason };
        let note = Note::new(&account::current(), clock::now(), words);
        Ok(Self { runs, given: Some(Order::Pause.give(workspace.layout(), &note)?) })
    }

    /// What a person has to know.
    pub(super) fn lines(&self) -> Vec<String> {
        if self.runs && self.given.is_some() {
            vec!["the running agent is paused; it goes on with `tripwire resume`".to_owned()]
        } else {
            Vec::new()
        }
    }

    /// Lets a client that is only asked through hooks go on; one that runs here stays paused, because its agent does not
    /// know yet what was taken back.
    pub(super) fn end(self, workspace: &Workspace) -> Result<(), Problem> {
        if !self.runs && self.given == Some(Given::Now) {
            Order::Pause.withdraw(workspace.layout())?;
        }
        Ok(())
    }
}
