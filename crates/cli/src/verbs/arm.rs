//! `tripwire arm` and `disarm`: whether the hooks enforce the policy or only watch.

use crate::error::Problem;
use crate::exit::Exit;
use crate::person::{self, Reason};
use crate::print::{Form, Out};
use crate::workspace::{self, Where};
use clap::Args;
use serde_json::json;
use tripwire_core::input::{HumanAct, Mode};
use tripwire_session::driver::{Driver, views};
use tripwire_workspace::clock;
use tripwire_workspace::mode::{Choice, word};

/// Enforce the policy: from the next call on, what it refuses is blocked.
///
/// Without `--project` this applies to all workspaces that have no setting of their own.
#[derive(Debug, Args)]
pub(crate) struct ArmArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
}

/// Let the hooks only observe: they record decisions, and refuse only what people and explicit limits refuse.
///
/// STOP and PAUSE, an explicit budget or wall clock and the destructive-command guard still apply. Such a session is
/// never reported as guarded. `tripwire run` and `tripwire agent` are always armed.
#[derive(Debug, Args)]
pub(crate) struct DisarmArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
}

#[derive(Debug, Args)]
struct ChoiceArgs {
    /// Only in this workspace, whatever the setting for the others.
    #[arg(long)]
    project: bool,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    reason: Reason,
    #[command(flatten)]
    form: Form,
}

/// Runs `tripwire arm`.
pub(crate) fn arm(args: &ArmArgs) -> Result<Exit, Problem> {
    choose(&args.choice, Mode::Armed)
}

/// Runs `tripwire disarm`.
pub(crate) fn disarm(args: &DisarmArgs) -> Result<Exit, Problem> {
    person::only("disarm", &args.choice.place)?;
    choose(&args.choice, Mode::Observe)
}

fn choose(args: &ChoiceArgs, mode: Mode) -> Result<Exit, Problem> {
    let choice = if args.project {
        let workspace = args.place.open()?;
        Choice::of_workspace(workspace.layout())
    } else {
        Choice::of_person(&workspace::state_home().ok_or(Problem::NoHome)?)
    };
    choice.write(mode)?;
    let journaled = journal(args, mode)?;
    let mut out = Out::lock();
    if args.form.json {
        let (mode, file) = (word(mode), choice.path().to_string_lossy());
        out.line(&json!({ "mode": mode, "file": file, "journaledIn": journaled }).to_string())?;
    } else {
        out.prose(&format!("mode        {}, in `{}`", word(mode), choice.path().display()))?;
        match journaled {
            Some(session) => {
                out.line(&format!("journaled   in {session}; other sessions follow at their next call"))?
            }
            None => out.line("journaled   by each session at its next call")?,
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Tells the newest session of this workspace at once, if there is one and it is not in that mode already.
fn journal(args: &ChoiceArgs, mode: Mode) -> Result<Option<String>, Problem> {
    let workspace = args.place.look()?;
    let layout = workspace.layout();
    // A word of the workspace's own may say otherwise: then nothing changes here.
    if tripwire_workspace::mode::wanted(layout, workspace::state_home().as_deref()) != mode {
        return Ok(None);
    }
    let Some(session) = views::newest(layout)? else { return Ok(None) };
    let mut driver = Driver::resume(layout, &session)?.signed_by(workspace::signing(&workspace));
    if driver.view().guard == mode {
        return Ok(None);
    }
    let taken = driver.take_now(args.reason.sign(HumanAct::SetMode(mode)), clock::now)?;
    crate::notify::notify(&driver, &taken);
    Ok(Some(session.to_string()))
}
