//! What all answers share: the workspaces, the opened sessions, the secrets that are kept out of answers.

use super::guard::Guard;
use super::limits::{CHANGES_MAX, OPENED_MAX, PER_WORKSPACE_MAX, REDACTOR_FOR, SETTLED_AFTER_MS, SUMMARY_FOR};
use super::reply::NotDone;
use crate::host::Host;
use crate::live::Change;
use crate::opened::OpenedSession;
use crate::summary::{self, SessionSummary};
use hyper::StatusCode;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};
use tokio::sync::broadcast;
use tripwire_core::record::chain::Digest;
use tripwire_journal::SessionPaths;
use tripwire_secrets::Redactor;
use tripwire_session::approvals::ApprovalQueue;
use tripwire_session::driver::views;
use tripwire_session::foreign;
use tripwire_session::review::Gate;
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;
use tripwire_workspace::session::SessionId;

/// What all answers share.
pub(super) struct Shared {
    pub(super) host: Host,
    pub(super) guard: Guard,
    pub(super) changes: broadcast::Sender<Change>,
    pub(super) connections: AtomicUsize,
    pub(super) streams: AtomicUsize,
    opened: Mutex<BTreeMap<(PathBuf, String), InUse>>,
    summaries: Mutex<BTreeMap<(PathBuf, SessionId), Settled>>,
    redactors: Mutex<BTreeMap<PathBuf, (Arc<Redactor>, Instant)>>,
}

/// An opened session, and when it was last asked for.
type InUse = (Arc<OpenedSession>, Instant);

/// A summary, and as long as it holds: until the session's files change, and not for long where time itself may change it.
struct Settled {
    stamp: Vec<Option<(SystemTime, u64)>>,
    until: Option<Instant>,
    summary: Arc<SessionSummary>,
}

/// A short name for a workspace in links: its path is nobody's business there.
#[must_use]
pub fn workspace_key(root: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    Digest::of(root.as_os_str().as_bytes()).to_string().chars().take(12).collect()
}

impl Shared {
    pub(super) fn new(host: Host, guard: Guard) -> Self {
        let (changes, _) = broadcast::channel(CHANGES_MAX);
        Self {
            host,
            guard,
            changes,
            connections: AtomicUsize::new(0),
            streams: AtomicUsize::new(0),
            opened: Mutex::default(),
            summaries: Mutex::default(),
            redactors: Mutex::default(),
        }
    }

    /// What waits for a person's answer in a workspace.
    pub(super) fn queue<'a>(&self, workspace: &'a Workspace) -> ApprovalQueue<'a> {
        let gate = Gate::of(workspace, &self.host.places);
        ApprovalQueue::new(workspace, gate, (self.host.signing)(workspace))
    }

    /// The workspace with this short name.
    pub(super) fn workspace(&self, key: &str) -> Result<Workspace, NotDone> {
        let found = self.host.workspaces().into_iter().find(|workspace| workspace_key(workspace.root()) == key);
        found.ok_or_else(|| NotDone::not_found("there is no such workspace"))
    }

    /// A session that is looked at; the one that was not for longest makes room.
    pub(super) fn open(&self, workspace: &Workspace, session: &str) -> Result<Arc<OpenedSession>, NotDone> {
        let id = SessionId::parse(session).map_err(|error| NotDone::bad(error.to_string()))?;
        let key = (workspace.root().to_owned(), id.to_string());
        let mut opened = lock(&self.opened);
        if let Some((session, used)) = opened.get_mut(&key) {
            *used = Instant::now();
            return Ok(Arc::clone(session));
        }
        let paths = SessionPaths::new(workspace.layout().folder(), &id);
        let trust = (self.host.trust)(&paths);
        let session = OpenedSession::open(paths, trust).map_err(|error| NotDone::not_found(error.to_string()))?;
        opened.insert(key, (Arc::clone(&session), Instant::now()));
        if opened.len() > OPENED_MAX
            && let Some(oldest) = opened.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone())
            && let Some((closed, _)) = opened.remove(&oldest)
        {
            closed.close();
        }
        Ok(session)
    }

    /// Tells everybody that something changed; whether the server still runs.
    pub(super) fn notice(&self, change: Change) {
        if let Change::Session { root, session } = &change
            && let Some((opened, _)) = lock(&self.opened).get(&(root.clone(), session.clone()))
        {
            opened.notice();
        }
        // Nobody may be listening.
        drop(self.changes.send(change));
    }

    /// All sessions, those that were heard of last first.
    pub(super) fn sessions(&self) -> Vec<Arc<SessionSummary>> {
        let mut found = Vec::new();
        for workspace in self.host.workspaces() {
            let layout = workspace.layout();
            let ids = views::sessions(layout).unwrap_or_default();
            let begun = ids.into_iter().rev().filter(|id| layout.first_segment(id).exists());
            let clients = foreign::clients(layout);
            found.extend(begun.take(PER_WORKSPACE_MAX).map(|id| self.summary(&workspace, id, &clients)));
        }
        found.sort_by_key(|session| std::cmp::Reverse(session.heard_ms));
        found
    }

    fn summary(
        &self,
        workspace: &Workspace,
        id: SessionId,
        clients: &BTreeMap<SessionId, String>,
    ) -> Arc<SessionSummary> {
        let layout = workspace.layout();
        let stamp_of = |file: PathBuf| {
            let metadata = file.metadata().ok()?;
            Some((metadata.modified().ok()?, metadata.len()))
        };
        let files = [
            layout.journal_of(&id).join("HEAD"),
            layout.state_of(&id),
            layout.run_of(&id),
            layout.stop(),
            layout.pause(),
        ];
        let stamp: Vec<_> = files.into_iter().map(stamp_of).collect();
        let key = (workspace.root().to_owned(), id.clone());
        if let Some(settled) = lock(&self.summaries)
            .get(&key)
            .filter(|settled| settled.stamp == stamp && settled.until.is_none_or(|until| Instant::now() < until))
        {
            return Arc::clone(&settled.summary);
        }
        if !summary::is_at_hand(layout, &id) {
            return Arc::new(summary::being_read(workspace, id, clients, None));
        }
        let summary = Arc::new(summary::of_session(workspace, id, clients));
        let silent_ms = clock::now().epoch_ms().saturating_sub(summary.heard_ms);
        let is_settled = silent_ms > SETTLED_AFTER_MS && !summary.standing.is_live();
        let until = if is_settled { None } else { Some(Instant::now() + SUMMARY_FOR) };
        lock(&self.summaries).insert(key, Settled { stamp, until, summary: Arc::clone(&summary) });
        summary
    }

    /// An answer about a workspace, without its secrets. Where they cannot be known, nothing is shown.
    pub(super) fn redacted(&self, workspace: &Workspace, value: &Value) -> Result<String, NotDone> {
        let redactor = self.redactor(workspace)?;
        Ok(redactor.redact_json(&value.to_string()).into_owned())
    }

    pub(super) fn redactor(&self, workspace: &Workspace) -> Result<Arc<Redactor>, NotDone> {
        let root = workspace.root();
        if let Some((redactor, made)) = lock(&self.redactors).get(root)
            && made.elapsed() < REDACTOR_FOR
        {
            return Ok(Arc::clone(redactor));
        }
        let made = (self.host.redactor)(workspace);
        let redactor = Arc::new(made.map_err(|why| NotDone::new(StatusCode::CONFLICT, why))?);
        lock(&self.redactors).insert(root.to_owned(), (Arc::clone(&redactor), Instant::now()));
        Ok(redactor)
    }
}

/// A session in the list.
pub(super) fn listed(session: &SessionSummary) -> Value {
    let mut value = session.as_json();
    value["key"] = json!(workspace_key(&session.root));
    value["live"] = json!(session.standing.is_live());
    value["waits"] = json!(session.standing.waits());
    value["waiting"] = json!(crate::approvals::of_session(session).len());
    if let Some(view) = session.view.as_deref() {
        value["health"] = json!(view.health.millionths());
        value["context"] = json!(view.context_percent);
        value["budget_micro_usd"] = json!(view.budget_micro_usd);
        value["verdict"] = json!(view.verdict);
        value["guard"] = json!(view.guard);
        value["steps"] = json!(view.steps);
    }
    value
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
