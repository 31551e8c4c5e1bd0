//! What a person does from a console, whichever face it has: an answer to what waits, and orders; each journaled as that person's.

use crate::control::{self, Actor, OrderReport};
use crate::model::ReadModel;
use crate::order_error::OrderError;
use crate::resume::{self, ResumeOrder, ResumeReport};
use tripwire_session::approvals::{Answer, Answered, ApprovalError};
use tripwire_session::driver::Driver;
use tripwire_workspace::Workspace;
use tripwire_workspace::control::order::Order;

/// The face that a person acts through; it stands beside the account in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    /// The local page.
    Page,
    /// The terminal.
    Terminal,
    /// A link in a message.
    Link,
}

impl Face {
    /// The person as the journal names them.
    #[must_use]
    pub fn sign(self, who: &str) -> String {
        let face = match self {
            Self::Page => "console",
            Self::Terminal => "watch",
            Self::Link => "link",
        };
        format!("{who} ({face})")
    }
}

/// Takes an answer to what waits, and tells people what came of it.
///
/// # Errors
/// When nothing of this id waits, or another answer came first.
pub fn answer(
    model: &ReadModel,
    workspace: &Workspace,
    id: &str,
    answer: &Answer,
) -> Result<Answered, Box<ApprovalError>> {
    let taken = model.queue(workspace).answer(id, answer, None)?;
    if let (Some(outcome), Ok(driver)) = (&taken.taken, Driver::resume(workspace.layout(), &taken.session)) {
        (model.host.notify)(&driver, outcome);
    }
    Ok(taken)
}

/// Gives an order for a workspace.
///
/// # Errors
/// See [`control::give`].
pub fn order(
    model: &ReadModel,
    workspace: &Workspace,
    order: Order,
    (face, reason): (Face, &str),
) -> Result<OrderReport, OrderError> {
    control::give(workspace, None, order, actor(model, workspace, face, reason))
}

/// Lets every session of a workspace go on, as far as a person's word does that.
///
/// # Errors
/// See [`resume::resume`].
pub fn go_on(model: &ReadModel, workspace: &Workspace, face: Face, reason: &str) -> Result<ResumeReport, OrderError> {
    resume::resume(workspace, &ResumeOrder::default(), &actor(model, workspace, face, reason))
}

fn actor<'a>(model: &'a ReadModel, workspace: &Workspace, face: Face, reason: &'a str) -> Actor<'a> {
    Actor {
        who: face.sign(&model.host.who),
        reason,
        signing: (model.host.signing)(workspace),
        notify: &model.host.notify,
    }
}
