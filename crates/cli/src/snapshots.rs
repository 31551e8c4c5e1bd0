//! The store of a workspace's snapshots, as the verbs open it, and its steps by the numbers that people see in `log`.

use crate::error::Problem;
use crate::workspace;
use tripwire_undo::{History, Settings, StepSummary, UndoError, UndoStore};
use tripwire_workspace::Workspace;
use tripwire_workspace::policy_file;

/// The store of a workspace. It needs neither a manifest nor a journal: both may be what was lost.
pub(crate) fn store(workspace: &Workspace) -> Result<UndoStore, Problem> {
    let own_state = workspace::homes().own_state().ok_or(Problem::NoHome)?;
    let policy = policy_file::load_for(workspace.layout()).map(|loaded| loaded.policy).unwrap_or_default();
    Ok(UndoStore::of(&own_state, workspace.root(), Settings::of(&policy)))
}

/// The session that is meant: the one that was named, else that of the newest step.
pub(crate) fn session(named: Option<&str>, history: &History, store: &UndoStore) -> Result<String, UndoError> {
    let newest = named.or_else(|| history.newest_session());
    newest.map(str::to_owned).ok_or_else(|| UndoError::NoSnapshots { what: format!("`{}`", store.root().display()) })
}

/// A step by its number in `log`: that of the request, or of the call that came of it.
pub(crate) fn step<'a>(history: &'a History, session: &str, number: u64) -> Result<&'a StepSummary, UndoError> {
    let steps = history.steps().iter().filter(|step| step.session == session && step.step <= number);
    let none = || UndoError::NoStep { step: number, session: session.to_owned() };
    steps.max_by_key(|step| step.step).ok_or_else(none)
}
