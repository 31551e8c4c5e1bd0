//! What waits for a person on this machine, as its fleet is told, and the answers that come from there.

use super::places::{changed_ms, place_of, sessions, workspaces};
use crate::answer;
use crate::print::terminal;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tripwire_fleet::approval::{Question, Verdict};
use tripwire_fleet::subject::Name;
use tripwire_session::approvals::{Answer, Approval};
use tripwire_workspace::Workspace;
use tripwire_workspace::session::SessionId;

/// What waits on this machine. A session is opened again when it was written to, and now and then.
#[derive(Default)]
pub(super) struct OpenQuestions(Mutex<BTreeMap<PathBuf, SeenSession>>);

/// A session as it was last opened.
struct SeenSession {
    changed_ms: u64,
    at: Instant,
    open: Vec<Approval>,
}

impl OpenQuestions {
    /// What waits in the sessions that were written to since a time, and in the review gates beside them.
    pub(super) fn look(&self, machine: &Name, since_ms: u64) -> Vec<Question> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = Vec::new();
        for workspace in workspaces() {
            let queue = answer::queue(&workspace);
            let sessions = sessions(&workspace, since_ms);
            let mut open = if sessions.is_empty() { Vec::new() } else { queue.proposals() };
            for paths in sessions {
                let changed_ms = changed_ms(paths.dir());
                let known = seen.get(paths.dir()).filter(|known| known.is_fresh(changed_ms));
                if let Some(known) = known {
                    open.extend(known.open.iter().cloned());
                    continue;
                }
                let here = queue.open_in(paths.session());
                open.extend(here.iter().cloned());
                seen.insert(paths.dir().to_owned(), SeenSession { changed_ms, at: Instant::now(), open: here });
            }
            found.extend(open.into_iter().map(|approval| asked(machine, &workspace, approval)));
        }
        found
    }
}

impl SeenSession {
    fn is_fresh(&self, changed_ms: u64) -> bool {
        self.changed_ms == changed_ms && self.at.elapsed() < FRESH_FOR
    }
}

fn asked(machine: &Name, workspace: &Workspace, approval: Approval) -> Question {
    let Approval { id, kind, session, asked: _, since, what, rule, digest } = approval;
    Question {
        machine: machine.clone(),
        place: place_of(workspace.root()),
        workspace: workspace.root().display().to_string(),
        session: session.map(|session| session.to_string()),
        id,
        kind: kind.name().to_owned(),
        what: terminal::cut(&what, WHAT_MAX),
        rule,
        since_ms: since.map(|since| since.epoch_ms()),
        digest,
    }
}

/// Takes a person's verdict in: the session that asks journals it.
pub(super) fn take(question: &Question, verdict: &Verdict) -> Result<String, String> {
    let workspace = workspaces().into_iter().find(|workspace| place_of(workspace.root()) == question.place);
    let workspace = workspace.ok_or_else(|| "its workspace is gone".to_owned())?;
    let within = question.session.as_deref().map(SessionId::parse).transpose().map_err(|error| error.to_string())?;
    let answer = Answer {
        says: verdict.answer,
        who: format!("{} (fleet)", verdict.who),
        reason: verdict.reason.clone(),
        raise: verdict.raise,
    };
    let taken = answer::take(&workspace, &question.id, &answer, within.as_ref()).map_err(|error| error.to_string())?;
    Ok(format!("{} {} `{}`; journaled in {}", verdict.who, verdict.answer.past(), question.id, taken.session))
}

/// A session whose process has died tells nothing by writing.
const FRESH_FOR: Duration = Duration::from_secs(30);
/// Letters of a question that are told.
const WHAT_MAX: usize = 300;
