//! The snapshots of a run: one store for as long as it lasts, which remembers what it saw of the workspace.

use crate::options::Notifier;
use tripwire_clients::Homes;
use tripwire_core::explain::Explain as _;
use tripwire_session::driver::Driver;
use tripwire_undo::UndoStore;
use tripwire_workspace::Workspace;

/// The snapshots of a run.
pub(super) struct RunSnapshots(Option<UndoStore>);

impl RunSnapshots {
    pub(super) fn of(workspace: &Workspace, homes: &Homes, driver: &Driver) -> Self {
        let store = UndoStore::under(homes.own_state().as_deref(), workspace.root(), driver.policy());
        Self(store.map(UndoStore::watching))
    }

    pub(super) const fn store(&self) -> Option<&UndoStore> {
        self.0.as_ref()
    }

    /// Takes the snapshot with which the session begins, before anything of the client runs.
    pub(super) fn begin(&self, session: &str, notifier: &dyn Notifier) {
        if let Some(Err(error)) = self.0.as_ref().map(|undo| undo.begin(session, None)) {
            notifier.say(&format!("tripwire: no undo so far: {error}; {}", error.hint()));
        }
    }
}
