//! The console's view of this person and machine: what the environment says, handed to the crate that shows it.

use crate::notify;
use crate::snapshots;
use crate::workspace;
use std::path::PathBuf;
use tripwire_console::Host;
use tripwire_journal::SessionPaths;
use tripwire_journal::verify::Trust;
use tripwire_workspace::{Workspace, account};

/// The host of a console over these workspaces; over all that are known if none is named.
pub(crate) fn host(named: Vec<PathBuf>) -> Host {
    Host {
        places: workspace::places(),
        known: workspace::known(),
        named,
        who: account::current(),
        signing: workspace::signing,
        redactor: |workspace| {
            workspace::redactor(workspace).map_err(|problem| format!("{problem}; {}", problem.hint()))
        },
        trust,
        key_home: workspace::key_home(),
        notify: notify::notify,
        undo_steps,
    }
}

/// The key of this machine, and where it keeps the last checkpoint a second time.
fn trust(paths: &SessionPaths) -> Trust {
    let home = workspace::key_home();
    let verifier = home.as_ref().and_then(|home| home.verifier().ok().flatten());
    Trust { verifier, witness: home.map(|home| home.witness(paths)) }
}

/// The steps of a session that changed files and can be taken back; none where nothing is kept.
fn undo_steps(workspace: &Workspace, session: &str) -> Vec<u64> {
    let Ok(history) = snapshots::store(workspace).and_then(|store| Ok(store.history()?)) else { return Vec::new() };
    let steps = history.steps().iter().filter(|step| step.session == session);
    steps.filter(|step| step.changed_files() && !step.undone && step.missing.is_none()).map(|step| step.step).collect()
}
