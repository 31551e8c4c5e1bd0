//! `tripwire ls`: all sessions of all workspaces in which tripwire was used.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::table::{Column, Table};
use crate::print::{self, Form, Out, money};
use crate::sessions::{self, SessionSummary, short_path};
use crate::workspace;
use clap::Args;
use serde_json::json;
use tripwire_core::counted::counted;
use tripwire_workspace::Workspace;

/// List the sessions of all workspaces: client, state, age, cost, last alarm.
///
/// The workspaces come from a list in `$XDG_STATE_HOME/tripwire/workspaces`, to which tripwire adds each workspace on
/// first use. The disk is not searched, and workspaces that no longer exist are omitted.
#[derive(Debug, Args)]
pub(crate) struct LsArgs {
    /// All sessions, not only the 30 most recently active ones.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    form: Form,
}

/// Sessions that a person sees at once.
const SHOWN: usize = 30;
/// Sessions of one workspace that are looked at.
const PER_WORKSPACE_MAX: usize = 200;

/// Runs the verb.
pub(crate) fn run(args: &LsArgs) -> Result<Exit, Problem> {
    let known = workspace::known().ok_or(Problem::NoHome)?;
    let mut found: Vec<SessionSummary> = Vec::new();
    for root in known.list() {
        match Workspace::locate(&root, &workspace::places()) {
            Ok(workspace) if workspace.root() == root => {
                found.extend(sessions::of_workspace(&workspace, PER_WORKSPACE_MAX));
            }
            // Another workspace has taken its place: that one has an entry of its own.
            Ok(_) => {}
            Err(error) => print::say(&format!("skipped `{}`: {error}", root.display())),
        }
    }
    found.sort_by_key(|session| std::cmp::Reverse(session.heard_ms));
    let mut out = Out::lock();
    if args.form.json {
        let sessions: Vec<_> = found.iter().map(SessionSummary::as_json).collect();
        out.line(&json!({"version": 1, "sessions": sessions}).to_string())?;
        out.flush()?;
        return Ok(Exit::Done);
    }
    if found.is_empty() {
        out.line("no sessions yet; begin one with `tripwire run claude`, or install the hooks with `tripwire init`")?;
        out.flush()?;
        return Ok(Exit::Done);
    }
    let shown = if args.all { found.len() } else { SHOWN.min(found.len()) };
    for line in table(found.get(..shown).unwrap_or_default()).lines() {
        out.line(&line)?;
    }
    if shown < found.len() {
        out.line(&format!("… and {}: `tripwire ls --all`", counted(found.len() - shown, "older session")))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn table(found: &[SessionSummary]) -> Table {
    let mut table = Table::new(&[
        Column::text("session"),
        Column::text("client"),
        Column::long("state", 13),
        Column::figure("last"),
        Column::figure("spent"),
        Column::path("workspace", 8),
        Column::long("alarm", 8),
    ]);
    for session in found {
        table.row(vec![
            (session.id.to_string(), None),
            (session.client.clone(), None),
            (session.standing.words(), sessions::tone(&session.standing)),
            (session.age(), None),
            (money::dollars(session.spent.get()), None),
            (short_path(&session.root), None),
            (session.alarm_words(), None),
        ]);
    }
    table
}
