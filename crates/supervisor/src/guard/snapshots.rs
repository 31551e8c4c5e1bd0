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
    /// Takes the snapshot with which the session begins, before anything of the client runs.
    pub(super) fn begin(workspace: &Workspace, homes: &Homes, driver: &Driver, notifier: &dyn Notifier) -> Self {
        let store = UndoStore::under(homes.own_state().as_deref(), workspace.root(), driver.policy());
        let store = store.map(UndoStore::watching);
        if let Some(Err(error)) = store.as_ref().map(|undo| undo.begin(driver.session().as_str(), None)) {
            notifier.say(&format!("tripwire: no undo so far: {error}; {}", error.hint()));
        }
        Self(store)
    }

    pub(super) const fn store(&self) -> Option<&UndoStore> {
        self.0.as_ref()
    }
}
