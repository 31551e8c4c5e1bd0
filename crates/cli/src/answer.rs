//! A person's answer to what waits in a workspace, for every verb that gives one.

use crate::error::Problem;
use crate::notify;
use crate::person::Reason;
use crate::workspace;
use tripwire_console::approvals;
use tripwire_core::chain::gate::floor::ApprovalVerdict;
use tripwire_core::units::MicroUsd;
use tripwire_session::approvals::{Answer, Answered, Approval, ApprovalQueue};
use tripwire_session::driver::{Driver, open_existing};
use tripwire_session::review::Gate;
use tripwire_workspace::session::SessionId;
use tripwire_workspace::{Workspace, account};

/// The answer of the person who runs the command.
pub(crate) fn own(says: ApprovalVerdict, reason: &Reason, raise: Option<MicroUsd>) -> Answer {
    Answer { says, who: account::current(), reason: reason.reason.clone(), raise }
}

/// What waits in a workspace.
pub(crate) fn queue(workspace: &Workspace) -> ApprovalQueue<'_> {
    let gate = Gate::of(workspace, &workspace::places());
    ApprovalQueue::new(workspace, gate, workspace::signing(workspace))
}

/// The command that is asked about, without secrets; nothing where another thing is asked about, or its secrets cannot be known.
pub(crate) fn command_of(approval: &Approval, workspace: &Workspace) -> Option<String> {
    let journal = open_existing(workspace.layout(), approval.session.as_ref()?).ok()?;
    let call = approvals::call_asked(&journal, approval.asked?.get())?;
    Some(workspace::redactor(workspace).ok()?.redact(&call).into_owned())
}

/// Takes an answer, and tells people what came of it.
pub(crate) fn take(
    workspace: &Workspace,
    id: &str,
    answer: &Answer,
    within: Option<&SessionId>,
) -> Result<Answered, Problem> {
    let answered = queue(workspace).answer(id, answer, within)?;
    if let Some(taken) = &answered.taken
        && let Ok(driver) = Driver::resume(workspace.layout(), &answered.session)
    {
        notify::notify(&driver, taken);
    }
    Ok(answered)
}
