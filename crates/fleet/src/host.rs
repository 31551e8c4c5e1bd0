//! What a machine's part in the fleet needs from the place where it runs, and who the machine is.

use crate::approval::{Question, Verdict};
use crate::machine::{Part, RunningPolicy};
use crate::order::FleetAct;
use crate::subject::Name;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tripwire_journal::note::Verifier;
use tripwire_journal::{SessionId, SessionPaths};

/// What a machine needs from the place where it runs.
pub trait Host: Send + Sync {
    /// The journals of this machine's sessions, each with the name of its workspace.
    fn sessions(&self) -> Vec<(Name, SessionPaths)>;

    /// Whose orders count.
    fn trusted(&self) -> Vec<Verifier>;

    /// Carries an order out in every workspace of this machine.
    fn obey(&self, act: FleetAct, who: &str, reason: &str) -> Obeyed;

    /// Ends one session of this machine: another machine went on with it.
    ///
    /// # Errors
    /// When it cannot be ended, in words.
    fn end_session(&self, place: &Name, session: &SessionId, reason: &str) -> Result<(), String>;

    /// What waits for a person on this machine, in the name of `machine`.
    fn waiting(&self, machine: &Name) -> Vec<Question>;

    /// Takes a person's answer to one of these in, and says in words what came of it.
    ///
    /// # Errors
    /// When the session does not take it, in words.
    fn answer(&self, question: &Question, verdict: &Verdict) -> Result<String, String>;

    /// The policies that the agents of this machine run under, each once.
    fn policies(&self) -> Vec<RunningPolicy>;

    /// Milliseconds since 1970.
    fn now_ms(&self) -> u64;

    /// Tells a person.
    fn say(&self, line: &str);

    /// Whether it is time to leave.
    fn is_over(&self) -> bool;
}

/// What came of an order in the workspaces of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Obeyed {
    /// In words, a line each.
    pub lines: Vec<String>,
    /// Processes that ended.
    pub ended: u64,
    /// Processes that are still alive.
    pub survivors: u64,
    /// What does not hold; nothing if everything is as ordered.
    pub failures: Vec<String>,
}

/// Who a machine is in the fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// Its name.
    pub machine: Name,
    /// Its labels.
    pub labels: BTreeMap<Name, Name>,
    /// The version of the program.
    pub version: String,
    /// Without a heartbeat for so long everything is paused.
    pub dead_man: Duration,
    /// Where it remembers which orders it has handled.
    pub memory: PathBuf,
    /// Tells this life of the process from the next.
    pub life: String,
    /// What this process is.
    pub part: Part,
}
