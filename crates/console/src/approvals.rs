//! What waits for a person, over all workspaces: held commands, sessions, budgets and proposals. Answers go into the queue of the
//! workspace, the same that `tripwire approvals` answers.

use crate::history;
use crate::summary::{SessionSummary, Standing};
use serde::Serialize;
use tripwire_core::chain::gate::floor::HeldCommand;
use tripwire_core::effect::HoldReason;
use tripwire_fs::shell_word::shell_word;
use tripwire_journal::Journal;
use tripwire_journal::storage::Disk;
use tripwire_session::approvals::Approval;
use tripwire_workspace::Workspace;

/// Something that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// Its name, by which it is answered.
    pub id: String,
    /// What kind of answer it waits for.
    pub kind: WaitingKind,
    /// The workspace.
    pub workspace: String,
    /// The session; empty where none asks.
    pub session: String,
    /// Who asks.
    pub client: String,
    /// What it is, in words.
    pub what: String,
    /// The rule that holds it.
    pub rule: String,
    /// The command that answers it.
    pub answered_by: String,
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
    /// The input that asked, where one of the session did.
    pub asked: Option<u64>,
}

/// What kind of answer is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum WaitingKind {
    /// A command that would destroy or publish, or that a policy asks about.
    Command,
    /// A staged change.
    Review,
    /// A budget that is used up.
    Budget,
    /// A session that is held; it is let go on at the command line.
    Session,
}

/// The call that a held command is, as it was asked for, with its line ends; nothing where the journal does not hold it.
#[must_use]
pub fn call_asked(journal: &Journal<Disk>, asked: u64) -> Option<String> {
    let pair = history::find(journal, asked).ok()??;
    pair.input.what.action().map(|action| action.worded().to_owned())
}

/// What waits in one session.
#[must_use]
pub fn of_session(session: &SessionSummary) -> Vec<Waiting> {
    let is_over = match &session.standing {
        Standing::Ended(_) | Standing::Broken(_) | Standing::Unread => true,
        Standing::Running | Standing::Active | Standing::Idle | Standing::Held(_) | Standing::Stopped(_) => false,
    };
    let Some(view) = session.view.as_deref().filter(|_| !is_over) else { return Vec::new() };
    let mut found = Vec::new();
    if let Standing::Held(hold) = &session.standing {
        let cause = view.cause.as_ref().map(|cause| format!("; {}", cause.words())).unwrap_or_default();
        found.push(held_session(session, *hold, format!("{}{cause}", hold.explain())));
    }
    let unanswered = view.waiting.iter().filter(|held| held.answer.is_none());
    found.extend(unanswered.map(|held| held_command(session, held, view.now.get())));
    found
}

fn held_session(session: &SessionSummary, hold: HoldReason, what: String) -> Waiting {
    let (root, id) = (shell_word(&session.root), &session.id);
    let (kind, name, rule, answered_by) = match hold {
        HoldReason::Money => {
            let name = format!("budget-{id}");
            let command = format!("tripwire approvals approve {name} --raise 5usd --workspace {root}");
            (WaitingKind::Budget, name, "GATE-8", command)
        }
        HoldReason::Loop
        | HoldReason::NoProgress
        | HoldReason::IterationCap
        | HoldReason::SoftSuspend
        | HoldReason::Context
        | HoldReason::GuardFailure
        | HoldReason::Converged
        | HoldReason::Paused
        | HoldReason::UnreadBlocker
        | HoldReason::UnreadCheckpoint => {
            let command = format!("{} --session {id} --workspace {root}", tripwire_session::ended::cleared_by(hold));
            (WaitingKind::Session, id.to_string(), "", command)
        }
    };
    Waiting { id: name, kind, answered_by, what, rule: rule.to_owned(), since_ms: session.heard_ms, ..of(session) }
}

/// A command that was held at a time of the session's own clock, which stands at `now`.
fn held_command(session: &SessionSummary, held: &HeldCommand, now: u64) -> Waiting {
    Waiting {
        id: held.code.to_string(),
        kind: WaitingKind::Command,
        what: held.reason.to_string(),
        rule: held.rule.to_string(),
        answered_by: format!("tripwire approvals approve {} --workspace {}", held.code, shell_word(&session.root)),
        since_ms: session.heard_ms.saturating_sub(now.saturating_sub(held.since.get())),
        asked: Some(held.asked.get()),
        ..of(session)
    }
}

/// What is the same for everything that waits in a session.
fn of(session: &SessionSummary) -> Waiting {
    Waiting {
        id: String::new(),
        kind: WaitingKind::Session,
        workspace: session.root.display().to_string(),
        session: session.id.to_string(),
        client: session.client.clone(),
        what: String::new(),
        rule: String::new(),
        answered_by: String::new(),
        since_ms: session.heard_ms,
        asked: None,
    }
}

/// A proposed change that waits for its review.
#[must_use]
pub fn of_proposal(workspace: &Workspace, proposal: Approval) -> Waiting {
    let root = workspace.root().display().to_string();
    let Approval { id, kind: _, session: _, asked: _, since, what, rule, digest: _ } = proposal;
    Waiting {
        answered_by: format!("tripwire approvals approve {id} --workspace {}", shell_word(workspace.root())),
        id,
        kind: WaitingKind::Review,
        workspace: root,
        session: String::new(),
        client: String::new(),
        what,
        rule,
        since_ms: since.map_or(0, |since| since.epoch_ms()),
        asked: None,
    }
}
