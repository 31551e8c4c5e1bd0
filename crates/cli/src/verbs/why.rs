//! `tripwire why`: what one decision rests on.

use crate::error::Problem;
use crate::exit::Exit;
use crate::history;
use crate::print::Out;
use crate::verbs::web;
use crate::workspace::Which;
use clap::Args;
use std::borrow::Cow;
use tripwire_console::explanation::{Explanation, last_alarm};
use tripwire_core::explain::Explain;
use tripwire_session::driver::{Driver, open_existing};

/// Explain a decision: the rule, its threshold, the inputs that prove it, the frozen policy, who acted.
///
/// Without a number it explains the last alarm or refusal of the session, rather than later refusals that follow from
/// it.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// The decision's number `i`, as `log`, `status` and the decisions themselves show it; by default the last alarm or refusal.
    decision: Option<u64>,
    #[command(flatten)]
    which: Which,
    /// Write JSON.
    #[arg(long)]
    json: bool,
    /// Show it on the local page of `tripwire web`.
    #[arg(long, conflicts_with = "json")]
    web: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &WhyArgs) -> Result<Exit, Problem> {
    let workspace = args.which.place.look()?;
    let session = args.which.find(workspace.layout())?;
    let driver = Driver::resume(workspace.layout(), &session)?;
    let journal = &open_existing(workspace.layout(), &session)?;
    let pair = match args.decision {
        Some(asked) => history::find(journal, asked)?.ok_or_else(|| Problem::NoDecision {
            asked,
            session: session.to_string(),
            count: driver.view().inputs.get(),
        })?,
        None => last_alarm(journal)?.ok_or_else(|| NothingToExplainError { session: session.to_string() })?,
    };
    if args.web {
        return web::show(&workspace, Some(&session), Some(pair.number));
    }
    let answer = Explanation::gather(journal, pair, driver.policy(), session.as_str())?;
    let mut out = Out::lock();
    match args.json {
        true => out.line(&answer.as_json()?.to_string())?,
        false => answer.in_words(&args.which.options()).iter().try_for_each(|line| out.prose(line))?,
    }
    out.flush()?;
    Ok(Exit::Done)
}

#[derive(Debug, thiserror::Error)]
#[error("nothing was refused in {session}, and no alarm was raised")]
struct NothingToExplainError {
    session: String,
}

impl Explain for NothingToExplainError {
    fn hint(&self) -> Cow<'_, str> {
        "choose a decision with `tripwire log`, then `tripwire why NUMBER`; `--session ID` asks another session".into()
    }
}
