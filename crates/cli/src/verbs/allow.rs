//! `tripwire allow`: a person lets one held command pass once.

use crate::error::Problem;
use crate::exit::Exit;
use crate::history::Pairs;
use crate::notify;
use crate::person::{self, Reason};
use crate::print::Out;
use crate::workspace::{self, Which};
use clap::Args;
use serde_json::json;
use std::borrow::Cow;
use tripwire_core::explain::Explain;
use tripwire_core::input::HumanAct;
use tripwire_core::label::Label;
use tripwire_session::driver::{Driver, views};
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;
use tripwire_workspace::session::SessionId;

/// Let a held command pass once: exactly that command, in that folder, within 24 hours.
///
/// The code is in the refusal. The act is journaled in the session that held the command; the agent has to ask for
/// the command again.
#[derive(Debug, Args)]
pub(crate) struct AllowArgs {
    /// The code from the refusal, such as `K7Q2-9F`.
    #[arg(value_name = "CODE", required_unless_present = "once", conflicts_with = "once")]
    code: Option<String>,
    /// The same code, as refusals spell it.
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

/// Why no command was allowed.
#[derive(Debug, thiserror::Error)]
enum AllowError {
    #[error("no held command has the code `{code}`{}", if waiting.is_empty() { String::new() } else { format!("; waiting: {}", waiting.join(", ")) })]
    NoHeldCommand { code: String, waiting: Vec<String> },
    #[error("two different held commands have the code `{code}`, so nothing is allowed")]
    AmbiguousCode { code: String },
}

impl Explain for AllowError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::NoHeldCommand { .. } => "the code is in the refusal; see `tripwire log`".into(),
            Self::AmbiguousCode { .. } => {
                "judge each with `tripwire judge`, and run the one that you want yourself".into()
            }
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &AllowArgs) -> Result<Exit, Problem> {
    person::only("allow", &args.which.place)?;
    let workspace = args.which.place.look()?;
    let code = args.code.as_deref().or(args.once.as_deref()).unwrap_or_default().trim().to_uppercase();
    let (session, mut driver) = holder(args, &workspace, &code)?;
    let taken = driver.take_now(args.reason.sign(HumanAct::AllowOnce(Label::cut(&code))), clock::now)?;
    notify::notify(&driver, &taken);
    // The command may have passed, or another one with the same code may have come, in between: then the engine allowed
    // nothing. What waits is as it was when the engine decided.
    let waiting = driver.view().waiting;
    match count(&waiting, &code) {
        1 => {}
        0 => {
            return Err(
                AllowError::NoHeldCommand { code, waiting: waiting.iter().map(Label::to_string).collect() }.into()
            );
        }
        _ => return Err(AllowError::AmbiguousCode { code }.into()),
    }
    let mut out = Out::lock();
    let reason = reason_of(&driver, &code)?;
    if args.json {
        let allowed =
            json!({"verb": "allow", "code": code, "session": session.to_string(), "hours": 24, "reason": reason});
        out.line(&allowed.to_string())?;
    } else {
        out.prose(&format!("the command with the code `{code}` may pass once within 24 hours: {reason}"))?;
        out.prose(&format!("journaled in {session}"))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// What the command with this code would do, by the decision that held it.
fn reason_of(driver: &Driver, code: &str) -> Result<String, Problem> {
    let mut pairs = Pairs::new(driver.journal());
    let mut found = String::new();
    while let Some(pair) = pairs.next_pair()? {
        let safety = pair.decision.as_ref().map(|decided| &decided.parts.safety);
        let reason = safety.and_then(|safety| safety.reason.split_once(&format!("{code}; ")));
        if let Some((_, reason)) = reason {
            found = reason.to_owned();
        }
    }
    Ok(found)
}

/// How many held commands have this code.
fn count(waiting: &[Label], code: &str) -> usize {
    waiting.iter().filter(|known| known.as_str() == code).count()
}

/// The newest session that holds a command with this code, and only one such command.
fn holder(args: &AllowArgs, workspace: &Workspace, code: &str) -> Result<(SessionId, Driver), Problem> {
    let layout = workspace.layout();
    let sessions = match &args.which.session {
        Some(_) => vec![args.which.find(layout)?],
        None => views::sessions(layout)?,
    };
    let mut waiting = Vec::new();
    for session in sessions.into_iter().rev().take(SESSIONS_MAX) {
        // A session that cannot be opened holds nothing that could be allowed.
        let Ok(mut driver) = Driver::resume(layout, &session) else { continue };
        driver.refresh()?;
        let codes = driver.view().waiting;
        let same = count(&codes, code);
        if same > 1 {
            return Err(AllowError::AmbiguousCode { code: code.to_owned() }.into());
        }
        if same == 1 {
            return Ok((session, driver.signed_by(workspace::signing(workspace))));
        }
        waiting.extend(codes.iter().map(Label::to_string));
    }
    Err(AllowError::NoHeldCommand { code: code.to_owned(), waiting }.into())
}

/// Newest sessions that are looked at for a code.
const SESSIONS_MAX: usize = 32;
