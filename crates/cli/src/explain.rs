//! `tripwire explain`: what a rule is, its threshold, where it comes from, and an example of each kind.

use crate::exit::Exit;
use crate::output::Out;
use crate::problem::Problem;
use clap::Args;
use tripwire_core::rules::{CATALOGUE, find};

/// Explain a rule: what it does, its thresholds, its source, when it fires and when it stays quiet.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The rule, as decisions name it (`LOOP-1.exact`); without one, all rules are listed.
    rule: Option<String>,
    /// Write JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &ExplainArgs) -> Result<Exit, Problem> {
    let mut out = Out::lock();
    match &args.rule {
        None => {
            for entry in CATALOGUE {
                out.line(&format!("{:<20} {}", entry.id, entry.title))?;
            }
        }
        Some(name) => {
            let entry = find(name).ok_or_else(|| Problem::NoRule { name: name.clone(), nearest: None })?;
            out.line(&format!("{}: {}\n\n{}", entry.id, entry.title, entry.what))?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}
