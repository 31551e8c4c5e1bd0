//! What waits for a person's answer. Today these are held commands, which `tripwire allow` answers on the command line; a queue
//! that can be answered from here plugs in as another [`Approvals`].

use crate::summary::{SessionSummary, Standing};
use serde::Serialize;
use std::sync::Arc;

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
    /// The session.
    pub session: String,
    /// Who asks.
    pub client: String,
    /// What it is, in words.
    pub what: String,
    /// The command that answers it.
    pub answered_by: String,
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
}

/// What kind of answer is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum WaitingKind {
    /// A command that would destroy what cannot be restored.
    Command,
    /// A session that is held.
    Session,
}

/// A person's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Let it pass.
    Approve,
    /// Do not.
    Deny,
}

/// Why an answer was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotAnswered(pub String);

/// Where answers go.
pub trait Approvals: Send + Sync {
    /// What waits in these sessions.
    fn waiting(&self, sessions: &[Arc<SessionSummary>]) -> Vec<Waiting>;

    /// Answers one of them.
    ///
    /// # Errors
    /// When it cannot be answered here or not any more; in words for a person.
    fn answer(&self, id: &str, answer: Answer, reason: &str) -> Result<String, NotAnswered>;
}

/// What sessions hold today: it is shown here and answered on the command line.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeldCommands;

impl Approvals for HeldCommands {
    fn waiting(&self, sessions: &[Arc<SessionSummary>]) -> Vec<Waiting> {
        sessions.iter().flat_map(|session| of_session(session)).collect()
    }

    fn answer(&self, id: &str, _answer: Answer, _reason: &str) -> Result<String, NotAnswered> {
        Err(NotAnswered(format!("`{id}` is answered on the command line: `tripwire allow {id}`")))
    }
}

/// What waits in one session.
#[must_use]
pub fn of_session(session: &SessionSummary) -> Vec<Waiting> {
    let is_over = match &session.standing {
        Standing::Ended(_) | Standing::Broken(_) | Standing::Unread => true,
        Standing::Running | Standing::Active | Standing::Idle | Standing::Held(_) | Standing::Stopped(_) => false,
    };
    let Some(view) = session.view.as_deref().filter(|_| !is_over) else { return Vec::new() };
    let (root, id) = (session.root.display().to_string(), session.id.to_string());
    let make = |kind, name: String, what: String, answered_by: String| Waiting {
        id: name,
        kind,
        workspace: root.clone(),
        session: id.clone(),
        client: session.client.clone(),
        what,
        answered_by,
        since_ms: session.heard_ms,
    };
    let mut found = Vec::new();
    if let Standing::Held(hold) = &session.standing {
        let cause = view.cause.as_ref().map(|cause| format!("; {}", cause.words())).unwrap_or_default();
        let what = format!("{}{cause}", hold.explain());
        let command = format!("{} --session {id} --workspace {root}", tripwire_session::ended::cleared_by(*hold));
        found.push(make(WaitingKind::Session, id.clone(), what, command));
    }
    found.extend(view.waiting.iter().map(|code| {
        let what = "a command that would destroy what cannot be restored is held".to_owned();
        let command = format!("tripwire allow {code} --session {id} --workspace {root}");
        make(WaitingKind::Command, code.to_string(), what, command)
    }));
    found
}
