//! `tripwire allow`: a person lets one held command pass once.

use crate::answer;
use crate::error::Problem;
use crate::exit::Exit;
use crate::person::{self, Reason};
use crate::print::Out;
use crate::workspace::Which;
use clap::Args;
use serde_json::json;
use tripwire_core::chain::gate::floor::ApprovalVerdict;

/// Allow a held command once: exactly that command, in that folder, within 24 hours.
///
/// The code is in the refusal. The permission is journaled in the session that held the command; the agent has to
/// request the command again.
#[derive(Debug, Args)]
pub(crate) struct AllowArgs {
    /// The code from the refusal, such as `K7Q2-9F`.
    #[arg(value_name = "CODE", required_unless_present = "once", conflicts_with = "once")]
    code: Option<String>,
    /// The same code, in the form that refusals print.
    #[arg(long, value_name = "CODE")]
    once: Option<String>,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    reason: Reason,
    /// Write JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &AllowArgs) -> Result<Exit, Problem> {
    person::only("allow", &args.which.place)?;
    let workspace = args.which.place.look()?;
    let code = args.code.as_deref().or(args.once.as_deref()).unwrap_or_default().trim().to_uppercase();
    let within = match &args.which.session {
        Some(_) => Some(args.which.find(workspace.layout())?),
        None => None,
    };
    let says = answer::own(ApprovalVerdict::Allowed, &args.reason, None);
    let answered = answer::take(&workspace, &code, &says, within.as_ref())?;
    let command = answer::command_of(&answered.approval, &workspace);
    let (session, reason) = (answered.session, answered.approval.what);
    let mut out = Out::lock();
    if args.json {
        let allowed = json!({
            "verb": "allow", "code": code, "session": session.to_string(), "hours": 24, "command": command, "reason": reason,
        });
        out.line(&allowed.to_string())?;
    } else {
        let command = command.map(|command| format!("`{command}`: ")).unwrap_or_default();
        out.prose(&format!("the command with the code `{code}` may pass once within 24 hours: {command}{reason}"))?;
        out.prose(&format!("journaled in {session}"))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}
