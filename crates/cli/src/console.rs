//! The console's view of this person and machine: what the environment says, handed to the crate that shows it.

use crate::notify;
use crate::snapshots;
use crate::workspace;
use std::path::PathBuf;
use tripwire_console::Host;
use tripwire_journal::SessionPaths;
use tripwire_journal::verify::Trust;
use tripwire_workspace::account;

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
        snapshots: |workspace| snapshots::store(workspace).ok(),
        key_home: workspace::key_home(),
        fleet: || Ok(None),
        notify: notify::notify,
    }
}

/// The key of this machine, and where it keeps the last checkpoint a second time.
fn trust(paths: &SessionPaths) -> Trust {
    let home = workspace::key_home();
    let verifier = home.as_ref().and_then(|home| home.verifier().ok().flatten());
    Trust { verifier, witness: home.map(|home| home.witness(paths)) }
}
