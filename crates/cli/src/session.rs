//! What the verbs of agents share: the session in which a role asks, and how a refusal is printed.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self, Form, Out};
use tripwire_authority::{Need, Who};
use tripwire_core::chain::event::Action;
use tripwire_core::decision::SafetyDecision;
use tripwire_core::label::Label;
use tripwire_session::driver::{AskError, Driver};
use tripwire_session::newest::newest_or_new;
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;

/// The newest session of a workspace, or a new one for this role.
pub(crate) fn session(workspace: &Workspace, role: Option<&str>) -> Result<Driver, Problem> {
    let driver = newest_or_new(workspace.layout(), crate::workspace::signing(workspace), role)?;
    Ok(driver.acting_as(role.map(str::to_owned)))
}

/// Asks the engine for the right to do something, in the role that the driver acts in.
pub(crate) fn ask(driver: &mut Driver, tool: &str, target: Option<&str>, needs: &[Need]) -> Result<(), Problem> {
    let action = Action { tool: Label::cut(tool), target: target.map(Label::cut), ..Action::default() };
    let role = driver.role().to_owned();
    match driver.ask(Who::role(&role), &action, needs, clock::now) {
        Ok(_spent) => Ok(()),
        Err(AskError::Refused(decision)) => Err(Problem::Refused(decision)),
        Err(error @ (AskError::Driver(_) | AskError::Execution(_))) => Err(error.into()),
    }
}

/// A refusal with the same fields for every kind, for programs.
pub(crate) fn as_json(decision: &SafetyDecision) -> serde_json::Value {
    match &decision.error {
        Some(error) => serde_json::json!({"refused": error.explained(decision.rule)}),
        None => serde_json::json!({"refused": {"error": "Veto", "rule": decision.rule.id(), "message": decision.reason,
            "fix": "wait and ask again", "role": null, "permission": null}}),
    }
}

/// Prints a refusal as JSON where that was asked for, and leaves every other outcome alone.
pub(crate) fn print_refusal(done: Result<Exit, Problem>, form: Form) -> Result<Exit, Problem> {
    let (Err(Problem::Refused(decision)), true) = (&done, form.json) else { return done };
    let mut out = Out::lock();
    out.line(&as_json(decision).to_string())?;
    out.flush()?;
    print::say(&format!("error: {}", decision.reason));
    Ok(Exit::Refused)
}
