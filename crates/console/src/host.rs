//! What a console needs of the world around it: the environment is read by the command and handed in.

use serde_json::Value;
use std::path::PathBuf;
use tripwire_journal::SessionPaths;
use tripwire_journal::keys::KeyHome;
use tripwire_journal::verify::Trust;
use tripwire_secrets::Redactor;
use tripwire_session::driver::{Driver, Signing, StepOutcome};
use tripwire_undo::UndoStore;
use tripwire_workspace::known::KnownWorkspaces;
use tripwire_workspace::{Places, Workspace};

/// The person and the machine that a console runs for.
#[derive(Clone)]
pub struct Host {
    /// Where workspaces' state may live.
    pub places: Places,
    /// The workspaces in which tripwire was used; none without a home.
    pub known: Option<KnownWorkspaces>,
    /// Workspaces that were named; where there are some, only these are shown.
    pub named: Vec<PathBuf>,
    /// The person's account.
    pub who: String,
    /// Who signs the checkpoints of a workspace's sessions.
    pub signing: fn(&Workspace) -> Option<Signing>,
    /// What keeps a workspace's secrets out of what is shown; in words, why there is none.
    pub redactor: fn(&Workspace) -> Result<Redactor, String>,
    /// Whose signatures under a session's checkpoints count.
    pub trust: fn(&SessionPaths) -> Trust,
    /// The snapshots of a workspace; none where there is no place for them.
    pub snapshots: fn(&Workspace) -> Option<UndoStore>,
    /// Where the person's key is, which signs the links of messages; none without a home.
    pub key_home: Option<KeyHome>,
    /// The fleet that this machine belongs to, as `tripwire fleet status --json` shows it; nothing if it belongs to none, and in words why
    /// it cannot be read.
    pub fleet: fn() -> Result<Option<Value>, String>,
    /// Who hears what a decision has to tell a person.
    pub notify: fn(&Driver, &StepOutcome),
}

impl Host {
    /// The workspaces to show, in the order in which they were first used; those that are gone are left out.
    #[must_use]
    pub fn workspaces(&self) -> Vec<Workspace> {
        let roots = match (&self.known, self.named.is_empty()) {
            (_, false) => self.named.clone(),
            (Some(known), true) => known.list(),
            (None, true) => Vec::new(),
        };
        let found = roots.iter().filter_map(|root| {
            let located = Workspace::locate(root, &self.places).ok()?;
            // Another workspace may have taken the place of a known one: that one has an entry of its own.
            (!self.named.is_empty() || located.root() == root).then_some(located)
        });
        found.collect()
    }
}
