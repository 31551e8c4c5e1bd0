//! `tripwire status --all`: how it stands in every workspace in which tripwire was used.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::style::Tone;
use crate::print::table::{Cell, Column, Table};
use crate::print::{self, Form, Out, money};
use crate::sessions::{self, SessionSummary, short_path};
use crate::workspace;
use serde_json::{Value, json};
use std::path::PathBuf;
use tripwire_workspace::Workspace;
use tripwire_workspace::control::ControlFile;

/// Sessions of one workspace that are looked at.
const PER_WORKSPACE_MAX: usize = 32;

/// One workspace at a glance.
struct WorkspaceState {
    root: PathBuf,
    sessions: Vec<SessionSummary>,
    /// Control files that stand there.
    orders: Vec<&'static str>,
}

/// Shows them; ends with 5 if something waits anywhere, with 9 if a guard is not sound.
pub(super) fn run(form: Form) -> Result<Exit, Problem> {
    let known = workspace::known().ok_or(Problem::NoHome)?;
    let mut found = Vec::new();
    for root in known.list() {
        match Workspace::locate(&root, &workspace::places()) {
            Ok(workspace) if workspace.root() == root => found.push(look(&workspace)),
            Ok(_) => {}
            Err(error) => print::say(&format!("skipped `{}`: {error}", root.display())),
        }
    }
    found.sort_by_key(|state| std::cmp::Reverse(state.sessions.first().map_or(0, |session| session.heard_ms)));
    let mut out = Out::lock();
    if form.json {
        let all: Vec<_> = found.iter().map(WorkspaceState::as_json).collect();
        out.line(&json!({"version": 1, "workspaces": all}).to_string())?;
    } else if found.is_empty() {
        out.line("no workspace yet: tripwire was used in none that is still there")?;
    } else {
        for line in table(&found).lines() {
            out.line(&line)?;
        }
    }
    out.flush()?;
    Ok(found.iter().map(WorkspaceState::exit).max_by_key(|exit| exit.code()).unwrap_or(Exit::Done))
}

fn look(workspace: &Workspace) -> WorkspaceState {
    let stands = |file: &ControlFile| file.path(workspace.layout()).symlink_metadata().is_ok();
    let orders = ControlFile::ALL.into_iter().filter(stands).map(|file| match file {
        ControlFile::Stop => "STOP",
        ControlFile::Pause => "PAUSE",
        ControlFile::BlockerReport => "BLOCKER_REPORT.md",
        ControlFile::Checkpoint => "CHECKPOINT.md",
    });
    WorkspaceState {
        root: workspace.root().to_owned(),
        orders: orders.collect(),
        sessions: sessions::of_workspace(workspace, PER_WORKSPACE_MAX),
    }
}

impl WorkspaceState {
    fn exit(&self) -> Exit {
        let newest = self.sessions.first().map_or(Exit::Done, |session| sessions::exit(&session.standing));
        let broken = self.sessions.iter().any(|session| sessions::exit(&session.standing) == Exit::DoesNotHold);
        match (broken, self.orders.is_empty()) {
            (true, _) => Exit::DoesNotHold,
            (false, false) => Exit::Held,
            (false, true) => newest,
        }
    }

    fn live(&self) -> usize {
        self.sessions.iter().filter(|session| session.standing.is_live()).count()
    }

    fn cells(&self) -> Vec<Cell> {
        let newest = self.sessions.first();
        let waits = match self.orders.is_empty() {
            true => ("-".to_owned(), None),
            false => (self.orders.join(" "), Some(Tone::Warning)),
        };
        let spent = self.sessions.iter().map(|session| session.spent.get()).sum();
        vec![
            (short_path(&self.root), None),
            (
                newest.map_or_else(|| "no session".to_owned(), |one| one.standing.words()),
                newest.and_then(|one| sessions::tone(&one.standing)),
            ),
            (newest.map_or_else(|| "-".to_owned(), SessionSummary::age), None),
            (self.live().to_string(), None),
            (money::dollars(spent), None),
            waits,
            (newest.map_or_else(|| "-".to_owned(), SessionSummary::alarm_words), None),
        ]
    }

    fn as_json(&self) -> Value {
        let sessions: Vec<_> = self.sessions.iter().map(SessionSummary::as_json).collect();
        json!({"workspace": self.root.to_string_lossy(), "waits": self.orders, "exit": self.exit().code(), "sessions": sessions})
    }
}

fn table(found: &[WorkspaceState]) -> Table {
    let mut table = Table::new(&[
        Column::path("workspace", 10),
        Column::long("newest", 8),
        Column::figure("last"),
        Column::figure("live"),
        Column::figure("spent"),
        Column::long("stands", 5),
        Column::long("alarm", 8),
    ]);
    found.iter().for_each(|state| table.row(state.cells()));
    table
}
