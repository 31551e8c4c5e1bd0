//! A session at a glance: who runs it, how it stands, when it was last heard of, what it cost, its last alarm.

use crate::moment;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tripwire_core::chain::ChainView;
use tripwire_core::decision::Level;
use tripwire_core::effect::{HoldReason, StopReason};
use tripwire_core::units::MicroUsd;
use tripwire_session::driver::{Driver, views};
use tripwire_session::ended;
use tripwire_session::foreign;
use tripwire_session::supervised::{self, Supervisor};
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::loop_lock::LoopLock;
use tripwire_workspace::session::SessionId;

/// One session at a glance.
#[derive(Debug)]
pub struct SessionSummary {
    /// The workspace.
    pub root: PathBuf,
    /// Its id.
    pub id: SessionId,
    /// Who acts in it: a client, our own loop, or nobody that is known.
    pub client: String,
    /// How it stands.
    pub standing: Standing,
    /// When it was last heard of, in milliseconds since 1970.
    pub heard_ms: u64,
    /// What it cost.
    pub spent: MicroUsd,
    /// The figures of the engine; none where the journal cannot be read.
    pub view: Option<Box<ChainView>>,
    /// The last thing above a note that was noticed.
    pub alarm: Option<LastAlarm>,
}

/// An alarm for a list.
#[derive(Debug)]
pub struct LastAlarm {
    /// The decision, for `tripwire why` and `tripwire tune`.
    pub decision: u64,
    /// The rule.
    pub rule: String,
    /// In one sentence.
    pub reason: String,
}

/// How a session stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// A process runs it now.
    Running,
    /// Heard of lately, through hooks: its client may be at work.
    Active,
    /// Not heard of for a while; with hooks alone nobody says that a client has ended.
    Idle,
    /// It waits for a person.
    Held(HoldReason),
    /// It was ended.
    Stopped(StopReason),
    /// It came to its end.
    Ended(String),
    /// Its journal cannot be read.
    Broken(String),
    /// Its journal was not read yet, and that takes a while.
    Unread,
}

/// Silence after which a session through hooks is called idle.
const IDLE_AFTER_MS: u64 = 10 * 60 * 1_000;

impl Standing {
    /// In a few words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Running => "running".to_owned(),
            Self::Active => "active".to_owned(),
            Self::Idle => "idle".to_owned(),
            Self::Held(hold) => match hold {
                HoldReason::Paused => "paused",
                HoldReason::Money => "held: budget",
                HoldReason::Loop => "held: loop",
                HoldReason::NoProgress => "held: no progress",
                HoldReason::IterationCap => "held: iteration cap",
                HoldReason::SoftSuspend => "held: health",
                HoldReason::Context => "held: context",
                HoldReason::GuardFailure => "held: guard broken",
                HoldReason::Converged => "held: converged",
                HoldReason::UnreadBlocker | HoldReason::UnreadCheckpoint => "held: unread report",
            }
            .to_owned(),
            Self::Stopped(stop) => match stop {
                StopReason::StoppedByPerson => "stopped",
                StopReason::SystemError | StopReason::InfiniteLoop => "stopped: loop",
                StopReason::HardStop => "stopped: health",
                StopReason::Runaway => "stopped: runaway",
                StopReason::WallClock => "stopped: clock",
                StopReason::Refusals => "stopped: refusals",
            }
            .to_owned(),
            Self::Ended(_) => "ended".to_owned(),
            Self::Broken(_) => "BROKEN".to_owned(),
            Self::Unread => "not read yet".to_owned(),
        }
    }

    /// Whether a person's word may let it go on.
    #[must_use]
    pub const fn waits(&self) -> bool {
        match self {
            Self::Held(_) | Self::Stopped(StopReason::StoppedByPerson) => true,
            Self::Running
            | Self::Active
            | Self::Idle
            | Self::Ended(_)
            | Self::Broken(_)
            | Self::Unread
            | Self::Stopped(
                StopReason::SystemError
                | StopReason::InfiniteLoop
                | StopReason::HardStop
                | StopReason::Runaway
                | StopReason::Refusals
                | StopReason::WallClock,
            ) => false,
        }
    }

    /// Whether its agent may still act.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        match self {
            Self::Running | Self::Active | Self::Held(_) => true,
            Self::Idle | Self::Stopped(_) | Self::Ended(_) | Self::Broken(_) | Self::Unread => false,
        }
    }
}

impl SessionSummary {
    /// How long ago it was heard of.
    #[must_use]
    pub fn age(&self) -> String {
        moment::ago(clock::now().epoch_ms().saturating_sub(self.heard_ms) / 1_000)
    }

    /// The last alarm in one cell.
    #[must_use]
    pub fn alarm_words(&self) -> String {
        self.alarm
            .as_ref()
            .map_or_else(|| "-".to_owned(), |alarm| format!("#{} {}: {}", alarm.decision, alarm.rule, alarm.reason))
    }

    /// As an object for programs.
    #[must_use]
    pub fn as_json(&self) -> serde_json::Value {
        let alarm = self
            .alarm
            .as_ref()
            .map(|alarm| serde_json::json!({"decision": alarm.decision, "rule": alarm.rule, "reason": alarm.reason}));
        let how = match &self.standing {
            Standing::Ended(how) | Standing::Broken(how) => Some(how.as_str()),
            Standing::Running
            | Standing::Active
            | Standing::Idle
            | Standing::Held(_)
            | Standing::Stopped(_)
            | Standing::Unread => None,
        };
        serde_json::json!({
            "workspace": self.root.to_string_lossy(), "session": self.id.as_str(), "client": self.client, "state": self.standing.words(),
            "how": how, "last_activity_ms": self.heard_ms, "spent_micro_usd": self.spent.get(), "alarm": alarm,
        })
    }
}

/// The sessions of a workspace, newest first; at most so many are looked at.
#[must_use]
pub fn of_workspace(workspace: &Workspace, at_most: usize) -> Vec<SessionSummary> {
    let layout = workspace.layout();
    let ids = views::sessions(layout).unwrap_or_default();
    let clients = foreign::clients(layout);
    let begun = ids.into_iter().rev().filter(|id| layout.first_segment(id).exists());
    begun.take(at_most).map(|id| look(workspace.root(), layout, id, &clients)).collect()
}

/// The client of a session, where one is known.
#[must_use]
pub fn client_of(layout: &Layout, id: &SessionId) -> Option<String> {
    let record = supervised::look(layout, id).ok().flatten();
    record.map(|seen| seen.record.client).or_else(|| foreign::clients(layout).remove(id))
}

/// One session at a glance; `clients` are those of its workspace.
#[must_use]
pub fn of_session(workspace: &Workspace, id: SessionId, clients: &BTreeMap<SessionId, String>) -> SessionSummary {
    look(workspace.root(), workspace.layout(), id, clients)
}

/// Whether a session's summary costs next to nothing: it has its state file, or a journal that is decided again in a moment.
#[must_use]
pub fn is_at_hand(layout: &Layout, id: &SessionId) -> bool {
    layout.state_of(id).exists() || layout.first_segment(id).metadata().is_ok_and(|file| file.len() < AT_ONCE_BYTES)
}

/// A journal that is decided again in a moment.
const AT_ONCE_BYTES: u64 = 512 * 1_024;

/// A session whose journal must be read before it is known how it stands; `view` is as far as that came.
#[must_use]
pub fn being_read(
    workspace: &Workspace,
    id: SessionId,
    clients: &BTreeMap<SessionId, String>,
    view: Option<Box<ChainView>>,
) -> SessionSummary {
    let heard_ms = modified_ms(&workspace.layout().first_segment(&id));
    SessionSummary {
        root: workspace.root().to_owned(),
        client: clients.get(&id).cloned().unwrap_or_else(|| "-".to_owned()),
        id,
        standing: Standing::Unread,
        heard_ms,
        spent: view.as_ref().map(|view| view.spent.micro_usd).unwrap_or_default(),
        view,
        alarm: None,
    }
}

fn look(root: &Path, layout: &Layout, id: SessionId, clients: &BTreeMap<SessionId, String>) -> SessionSummary {
    let record = supervised::look(layout, &id).ok().flatten();
    let running = record.as_ref().is_some_and(|seen| seen.supervisor == Supervisor::Alive);
    let client = record.map(|seen| seen.record.client).or_else(|| clients.get(&id).cloned());
    let opened = Driver::resume(layout, &id).and_then(|mut driver| driver.refresh().map(|()| driver));
    let driver = match opened {
        Ok(driver) => driver,
        Err(error) => {
            let client = client.unwrap_or_else(|| "-".to_owned());
            let standing = Standing::Broken(error.to_string());
            let heard_ms = modified_ms(&layout.first_segment(&id));
            return SessionSummary {
                root: root.to_owned(),
                id,
                client,
                standing,
                heard_ms,
                spent: MicroUsd::default(),
                view: None,
                alarm: None,
            };
        }
    };
    let own = ended::is_own_loop(&driver);
    let running = running || (own && LoopLock::is_held(layout, &id));
    let view = driver.view();
    let heard_ms = driver.start().epoch_ms().saturating_add(view.now.get());
    let silent = clock::now().epoch_ms().saturating_sub(heard_ms) > IDLE_AFTER_MS;
    let over = ended::look(layout, &driver).filter(|ended| ended.goes_on_with.is_none());
    let standing = match (over, view.stopped, view.held) {
        (Some(over), ..) => Standing::Ended(over.how),
        (None, Some(stop), _) => Standing::Stopped(stop),
        (None, None, Some(hold)) => Standing::Held(hold),
        (None, None, None) if running => Standing::Running,
        (None, None, None) if silent || own => Standing::Idle,
        (None, None, None) => Standing::Active,
    };
    let alarm = driver.recent().iter().rfind(|finding| finding.level > Level::Note).map(|finding| LastAlarm {
        decision: finding.decision.get(),
        rule: finding.rule.clone(),
        reason: finding.reason.clone(),
    });
    let client = client.unwrap_or_else(|| if own { "agent" } else { "-" }.to_owned());
    let spent = view.spent.micro_usd;
    SessionSummary { root: root.to_owned(), id, client, standing, heard_ms, spent, view: Some(Box::new(view)), alarm }
}

fn modified_ms(file: &Path) -> u64 {
    let modified = file.metadata().and_then(|metadata| metadata.modified()).ok();
    let since = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A path as people write it: the home as `~`.
#[must_use]
pub fn short_path(path: &Path, home: Option<&Path>) -> String {
    let home = home.filter(|home| home.is_absolute());
    match home.and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned)) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}
