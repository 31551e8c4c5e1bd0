//! The read model that every face shares: the workspaces, the sessions at a glance, the opened sessions, and the secrets that are
//! kept out of what is shown. The journals are the truth; what is kept here is a cache.

use crate::host::Host;
use crate::live::Change;
use crate::opened::OpenedSession;
use crate::summary::{self, SessionSummary};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tripwire_core::record::chain::Digest;
use tripwire_journal::{JournalError, SessionPaths};
use tripwire_secrets::Redactor;
use tripwire_session::approvals::ApprovalQueue;
use tripwire_session::driver::views;
use tripwire_session::foreign;
use tripwire_session::review::Gate;
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;
use tripwire_workspace::session::{SessionId, SessionIdError};

/// Sessions that are kept open, each with its walk.
const OPENED_MAX: usize = 12;
/// Sessions of one workspace in the list.
const PER_WORKSPACE_MAX: usize = 1_000;
/// A session that was silent for so long is looked at again only when its files change.
const SETTLED_AFTER_MS: u64 = 15 * 60 * 1_000;
/// How long the summary of a live session holds while its files do not change.
const SUMMARY_FOR: Duration = Duration::from_secs(3);
/// How long the secrets of a workspace are known before they are read again.
const REDACTOR_FOR: Duration = Duration::from_secs(10);

/// What every face reads.
pub struct ReadModel {
    /// The person and the machine.
    pub host: Host,
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

/// Why something cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// No workspace has this short name.
    #[error("there is no such workspace")]
    NoWorkspace,
    /// This is no session's name.
    #[error(transparent)]
    Name(#[from] SessionIdError),
    /// The session cannot be opened.
    #[error(transparent)]
    Session(#[from] JournalError),
    /// The workspace's secrets cannot be known, so nothing of it is shown.
    #[error("{0}")]
    Secrets(String),
}

/// A short name for a workspace in links: its path is nobody's business there.
#[must_use]
pub fn workspace_key(root: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    Digest::of(root.as_os_str().as_bytes()).to_string().chars().take(12).collect()
}

impl ReadModel {
    /// The model of this person's workspaces; nothing is read yet.
    #[must_use]
    pub fn new(host: Host) -> Self {
        Self { host, opened: Mutex::default(), summaries: Mutex::default(), redactors: Mutex::default() }
    }

    /// What waits for a person's answer in a workspace.
    #[must_use]
    pub fn queue<'a>(&self, workspace: &'a Workspace) -> ApprovalQueue<'a> {
        let gate = Gate::of(workspace, &self.host.places);
        ApprovalQueue::new(workspace, gate, (self.host.signing)(workspace))
    }

    /// The workspace with this short name.
    ///
    /// # Errors
    /// When none that is shown has it.
    pub fn workspace(&self, key: &str) -> Result<Workspace, ModelError> {
        let found = self.host.workspaces().into_iter().find(|workspace| workspace_key(workspace.root()) == key);
        found.ok_or(ModelError::NoWorkspace)
    }

    /// A session that is looked at; the one that was not for longest makes room.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn open(&self, workspace: &Workspace, session: &str) -> Result<Arc<OpenedSession>, ModelError> {
        let id = SessionId::parse(session)?;
        let key = (workspace.root().to_owned(), id.to_string());
        let mut opened = lock(&self.opened);
        if let Some((session, used)) = opened.get_mut(&key) {
            *used = Instant::now();
            return Ok(Arc::clone(session));
        }
        let paths = SessionPaths::new(workspace.layout().folder(), &id);
        let trust = (self.host.trust)(&paths);
        let session = OpenedSession::open(paths, trust)?;
        opened.insert(key, (Arc::clone(&session), Instant::now()));
        if opened.len() > OPENED_MAX
            && let Some(oldest) = opened.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone())
            && let Some((closed, _)) = opened.remove(&oldest)
        {
            closed.close();
        }
        Ok(session)
    }

    /// Tells the opened session that its journal grew.
    pub fn notice(&self, change: &Change) {
        if let Change::Session { root, session } = change
            && let Some((opened, _)) = lock(&self.opened).get(&(root.clone(), session.clone()))
        {
            opened.notice();
        }
    }

    /// All sessions, those that were heard of last first.
    #[must_use]
    pub fn sessions(&self) -> Vec<Arc<SessionSummary>> {
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

    /// What is told about a workspace, without its secrets. Where they cannot be known, nothing is shown.
    ///
    /// # Errors
    /// See [`Self::redactor`].
    pub fn redacted(&self, workspace: &Workspace, value: &Value) -> Result<String, ModelError> {
        let redactor = self.redactor(workspace)?;
        Ok(redactor.redact_json(&value.to_string()).into_owned())
    }

    /// What keeps a workspace's secrets out of what is shown.
    ///
    /// # Errors
    /// When they cannot be known.
    pub fn redactor(&self, workspace: &Workspace) -> Result<Arc<Redactor>, ModelError> {
        let root = workspace.root();
        if let Some((redactor, made)) = lock(&self.redactors).get(root)
            && made.elapsed() < REDACTOR_FOR
        {
            return Ok(Arc::clone(redactor));
        }
        let redactor = Arc::new((self.host.redactor)(workspace).map_err(ModelError::Secrets)?);
        lock(&self.redactors).insert(root.to_owned(), (Arc::clone(&redactor), Instant::now()));
        Ok(redactor)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
