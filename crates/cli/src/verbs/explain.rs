//! `tripwire explain`: what a rule is, its threshold, where it comes from, and an example of each kind.

use crate::error::Problem;
use crate::exit::Exit;
use crate::policy::PolicyArgs;
use crate::print::{self, Out};
use crate::workspace::Where;
use clap::Args;
use serde_json::json;
use tripwire_console::explanation::in_force;
use tripwire_core::policy::Policy;
use tripwire_core::rules::{RuleEntry, entries, find, nearest};

/// Explain a rule: what it does, its thresholds, its source, when it fires and when it stays quiet.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The rule, as decisions name it (`LOOP-1.exact`); without one, all rules are listed.
    rule: Option<String>,
    #[command(flatten)]
    chosen: PolicyArgs,
    #[command(flatten)]
    place: Where,
    /// Write JSON, one object per rule.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &ExplainArgs) -> Result<Exit, Problem> {
    let (loaded, _problem) = args.chosen.in_workspace_or_defaults(args.place.look()?.layout())?;
    let policy = args.chosen.over(loaded.policy, None)?;
    let mut out = Out::lock();
    match &args.rule {
        Some(name) => {
            let unknown = || Problem::NoRule { name: name.clone(), nearest: nearest(name).map(|entry| entry.id) };
            let entry = find(name).ok_or_else(unknown)?;
            out.line(&if args.json { as_json(entry, &policy) } else { in_words(entry, &policy) })?;
        }
        None => {
            for entry in entries() {
                out.line(&match args.json {
                    true => as_json(entry, &policy),
                    false => format!("{:<20} {}", entry.id, entry.title),
                })?;
            }
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn in_words(entry: &RuleEntry, policy: &Policy) -> String {
    const HANGING: &str = "           ";
    let part = |label: &str, text: &str| print::wrap(text, &format!("{label:<11}"), HANGING);
    let mut lines = vec![format!("{}: {}", entry.id, entry.title), String::new()];
    lines.extend(print::wrap(entry.what, "", ""));
    lines.push(String::new());
    lines.extend(part("threshold", entry.threshold));
    lines.extend(in_force(entry, policy).iter().map(|row| format!("{HANGING}{} = {}", row.path, row.shown())));
    for (label, text) in [("source", entry.source), ("fires", entry.fires), ("quiet", entry.quiet)] {
        lines.extend(part(label, text));
    }
    lines.join("\n")
}

fn as_json(entry: &RuleEntry, policy: &Policy) -> String {
    let settings: serde_json::Map<String, serde_json::Value> = in_force(entry, policy)
        .into_iter()
        .map(|row| (row.path.to_owned(), row.in_force.unwrap_or(row.value).into()))
        .collect();
    json!({
        "id": entry.id, "title": entry.title, "what": entry.what, "threshold": entry.threshold,
        "settings": settings, "source": entry.source, "fires": entry.fires, "quiet": entry.quiet,
    })
    .to_string()
}
