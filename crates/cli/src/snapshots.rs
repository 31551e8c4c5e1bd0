//! The store of a workspace's snapshots, as the verbs open it, and its steps by the numbers that people see in `log`.

use crate::error::Problem;
use crate::history::Pairs;
use crate::workspace;
use std::collections::BTreeMap;
use tripwire_core::chain::event::Action;
use tripwire_core::input::What;
use tripwire_core::label::{Fingerprint, Label};
use tripwire_session::driver::open_existing;
use tripwire_undo::{History, Settings, StepSummary, UndoError, UndoStore};
use tripwire_workspace::Workspace;
use tripwire_workspace::policy_file;
use tripwire_workspace::session::SessionId;

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
pub(crate) fn step<'a>(
    history: &'a History,
    workspace: &Workspace,
    session: &str,
    number: u64,
) -> Result<&'a StepSummary, UndoError> {
    history.step(session, number).or_else(|none| {
        let request = request_of(workspace, session, number).and_then(|request| history.step(session, request).ok());
        request.ok_or(none)
    })
}

/// The request whose call ended with the input of this number; nothing where the journal is gone or no call ended there.
fn request_of(workspace: &Workspace, session: &str, number: u64) -> Option<u64> {
    let journal = open_existing(workspace.layout(), &SessionId::parse(session).ok()?).ok()?;
    let mut pairs = Pairs::new(&journal);
    let mut asked: BTreeMap<Fingerprint, u64> = BTreeMap::new();
    while let Some(pair) = pairs.next_pair().ok()? {
        if pair.number == number {
            let What::Event(event) = &pair.input.what else { return None };
            return asked.get(&key_of(event.action.as_ref()?, event.agent_id.as_ref())).copied();
        }
        if let What::Request(request) = &pair.input.what {
            asked.insert(key_of(&request.action, request.agent_id.as_ref()), pair.number);
        }
    }
    None
}

/// By what a call is known again: what is asked for, and the sub-agent that asks.
fn key_of(action: &Action, agent: Option<&Label>) -> Fingerprint {
    action.exact().and(agent.map_or(Fingerprint::NONE, Label::fingerprint))
}
