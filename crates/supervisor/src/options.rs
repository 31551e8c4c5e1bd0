//! What a person asks for: the client, the workspace, the limits, and who is told about it.

use crate::traffic::Traffic;
use std::ffi::OsString;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tripwire_clients::{Client, Homes};
use tripwire_core::ledger::AccountId;
use tripwire_sandbox::{Budgets, MilliCores, WorkspaceAccess};
use tripwire_session::driver::{Driver, Reporting, Signing, StepOutcome};
use tripwire_session::replica::Replica;
use tripwire_session::shared_money::SharedMoney;
use tripwire_workspace::Workspace;
use tripwire_workspace::session::SessionId;

/// Tells the person what happens during the run.
pub trait Notifier: Send + Sync {
    /// Says a line.
    fn say(&self, line: &str);
    /// A session has begun.
    fn begun(&self, _session: &SessionId) {}
    /// Passes on what was decided, for notifications.
    fn taken(&self, driver: &Driver, taken: &StepOutcome);
}

/// Where the client's output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// To the person: it has our own streams.
    Passed,
    /// Only into the report, which keeps its last lines; nothing can be typed to it.
    Kept,
}

/// Who has our standard error beside the client, whose own words pass untouched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StderrUse {
    /// The test command writes to it as well.
    Shared,
    /// Only the report is written to it; the test command's last lines are in the report.
    ReportOnly,
}

/// What a person asks for.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The client's command line.
    pub command: Vec<OsString>,
    /// The client, where its program's name does not tell.
    pub client: Option<Client>,
    /// Where the client starts.
    pub cwd: PathBuf,
    /// The client's environment.
    pub env: Vec<(OsString, OsString)>,
    /// The workspace.
    pub workspace: Workspace,
    /// The person's folders.
    pub homes: Homes,
    /// Folders that the client's processes are not to see.
    pub hidden: Vec<PathBuf>,
    /// Files and folders of the person's that the client's processes may only read, where they exist.
    pub kept: Vec<PathBuf>,
    /// Folders in which the run's own folder may be made, best first.
    pub temporary: Vec<PathBuf>,
    /// Our own program.
    pub program: PathBuf,
    /// Settings that this run freezes, as a person writes them.
    pub settings: Vec<(String, String)>,
    /// The command that proves the work.
    pub verify: Option<String>,
    /// Engines to go on with, in order: a client's name, or its command line.
    pub fallbacks: Vec<Vec<OsString>>,
    /// Whether a person can be asked.
    pub presence: Presence,
    /// Where the client's output goes.
    pub output: Output,
    /// Who leaves reports for people; a worker's run leaves them to the loop that sent it.
    pub reporting: Reporting,
    /// Who has our standard error.
    pub stderr: StderrUse,
    /// Who signs the journal.
    pub signing: Option<Signing>,
    /// Who must have the session's records before anything follows from them.
    pub replica: Option<Arc<dyn Replica>>,
    /// Budgets that other machines spend too.
    pub money: Option<Arc<dyn SharedMoney>>,
    /// The account above the session's: that of the loop which sent it as a worker.
    pub payer: Option<AccountId>,
    /// How long the supervisor waits for signs of life.
    pub limits: WatchLimits,
    /// Whether model calls go through the gateway.
    pub gateway: GatewaySwitch,
    /// The sandbox around the client's whole tree, if a person wants one.
    pub sandbox: Option<SandboxOptions>,
    /// Processor time of the tree.
    pub cpu: Option<MilliCores>,
}

/// The sandbox around a client.
#[derive(Debug, Clone)]
pub struct SandboxOptions {
    /// Whether the client may write to the workspace.
    pub access: WorkspaceAccess,
    /// Budgets of the whole tree; their time is that of the start.
    pub budgets: Budgets,
    /// The proxy that lets named hosts through, and what passed there; none without such a host.
    pub network: Option<Arc<UnixListener>>,
    /// What passed at the proxy.
    pub traffic: Arc<Traffic>,
}

/// Whether model calls go through the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatewaySwitch {
    /// They do, where the client can be told.
    On,
    /// They do not: the client's own records are all that counts.
    Off,
}

/// Whether a person at a terminal can answer a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// One can: a hold waits.
    Terminal,
    /// None can: a hold ends the run. A pause waits all the same, because a person asked for it.
    Headless,
}

/// How long the supervisor waits before it takes the guard for broken. These clocks stand still while the client is frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchLimits {
    /// The longest between a call in the client's transcript and its announcement by a hook.
    pub announced: Duration,
    /// The longest between the start of a hook's process and its question.
    pub question: Duration,
    /// The longest between the end of a reply that asks for a call and its announcement by a hook.
    pub silent: Duration,
    /// The longest that the engine may take for one input: a disk or a lock that does not answer is a broken guard.
    pub engine: Duration,
}

impl Default for WatchLimits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { announced: seconds(20), question: seconds(20), silent: seconds(10), engine: seconds(15) }
    }
}

impl WatchLimits {
    /// The environment variable that shortens the waits for hooks.
    pub const SECONDS_VARIABLE: &str = "TRIPWIRE_WATCH_SECONDS";

    /// The usual limits, with waits for hooks that are not longer than the value of [`Self::SECONDS_VARIABLE`], if it is set and a number above 0.
    #[must_use]
    pub fn at_most(seconds: Option<&str>) -> Self {
        let usual = Self::default();
        let Some(seconds) = seconds.and_then(|text| text.trim().parse().ok()).filter(|seconds| *seconds > 0) else {
            return usual;
        };
        let most = Duration::from_secs(seconds);
        let (announced, question) = (usual.announced.min(most), usual.question.min(most));
        Self { announced, question, silent: usual.silent.min(most), ..usual }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_can_be_made_shorter_and_never_longer() {
        let usual = WatchLimits::default();
        for text in [None, Some(""), Some("0"), Some("many"), Some("3600")] {
            assert_eq!(WatchLimits::at_most(text), usual, "{text:?}");
        }
        assert_eq!(WatchLimits::at_most(Some("1")).announced, Duration::from_secs(1));
    }
}
