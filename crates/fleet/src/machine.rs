//! A machine as the others see it: its heartbeat, and until when it counts as alive.

use crate::approval::Question;
use crate::log::{Append, Log, LogError, Sequence};
use crate::subject::{MACHINES, Name, Subject};
use crate::value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tripwire_core::record::chain::Digest;

/// What a machine tells of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineState {
    /// Its name.
    pub machine: Name,
    /// Its labels.
    pub labels: BTreeMap<Name, Name>,
    /// The version of its program.
    pub version: String,
    /// When it wrote this, by its clock, in milliseconds since 1970.
    pub at_ms: u64,
    /// Until when it counts as alive.
    pub until_ms: u64,
    /// The last order that it has handled.
    pub order: Sequence,
    /// Its sessions that are replicated.
    pub sessions: Vec<SessionState>,
    /// What does not work there, a line each.
    pub problems: Vec<String>,
    /// What waits there for a person.
    #[serde(default)]
    pub waiting: Vec<Question>,
    /// The policies that its agents run under; none of a version that does not tell.
    #[serde(default)]
    pub policies: Option<Vec<RunningPolicy>>,
    /// Tells one life of its process from the next.
    pub life: String,
    /// What that process is.
    #[serde(default)]
    pub part: Part,
    /// When it left in order: nothing of it runs in the fleet's name any more.
    #[serde(default)]
    pub left_ms: Option<u64>,
}

/// What the process is that speaks for a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// `tripwire fleet serve`: it speaks for the machine as long as it runs.
    #[default]
    Service,
    /// An agent's run or a gateway with `--fleet`: it speaks for the machine while no service does.
    Standby,
}

/// A session of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionState {
    /// The session.
    pub session: String,
    /// The workspace.
    pub place: Name,
    /// How many lines of it are in the fleet.
    pub records: u64,
}

/// A policy that agents of a machine run under.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningPolicy {
    /// The digest of its settings and permissions; none of one that cannot be read.
    pub digest: Option<Digest>,
    /// In how many workspaces and sessions.
    pub count: u64,
    /// The first of them.
    pub at: String,
}

/// Whether a machine takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// Heard of within its lease.
    Alive,
    /// Not heard of.
    Silent,
    /// It left in order.
    Left,
}

impl Liveness {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::Alive, Self::Silent, Self::Left];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Alive => "alive",
            Self::Silent => "silent",
            Self::Left => "left",
        }
    }
}

impl MachineState {
    /// What it counts as at this time.
    #[must_use]
    pub const fn liveness(&self, now_ms: u64) -> Liveness {
        match self.left_ms {
            Some(_) => Liveness::Left,
            None if now_ms <= self.until_ms => Liveness::Alive,
            None => Liveness::Silent,
        }
    }

    /// Whether this one keeps another process from speaking for the machine. Our own beat, whose answer was lost, does not; and a
    /// service takes over from a process that only stood in for it.
    fn is_rival_of(&self, newer: &Self) -> bool {
        let gives_way = match (self.part, newer.part) {
            (Part::Standby, Part::Service) => true,
            (Part::Service, Part::Service | Part::Standby) | (Part::Standby, Part::Standby) => false,
        };
        let is_here = self.liveness(newer.at_ms) == Liveness::Alive;
        self.life != newer.life && is_here && !gives_way
    }
}

/// Writes a heartbeat; one attempt, because the next one comes soon. Says its place.
///
/// # Errors
/// When the fleet does not acknowledge it.
pub fn beat(log: &dyn Log, state: &MachineState, after: Sequence) -> Result<Beat, LogError> {
    let subject = Subject::machine(&state.machine);
    match log.append(&subject, after, &value::text_of(&subject, state)?)? {
        Append::Ack(sequence) => Ok(Beat::Heard(sequence)),
        Append::Unknown(reason) => Err(LogError::Unreachable(reason)),
        Append::Fenced => {
            let (found, at) = value::load::<MachineState>(log, &subject)?;
            let rival = found.is_some_and(|found| found.is_rival_of(state));
            Ok(if rival { Beat::Rival } else { Beat::Again(at) })
        }
    }
}

/// What became of a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beat {
    /// It was acknowledged.
    Heard(Sequence),
    /// The last one was another: write behind this place.
    Again(Sequence),
    /// Another process speaks for this machine.
    Rival,
}

/// All machines that were ever heard of.
///
/// # Errors
/// When the fleet cannot be read.
pub fn all(log: &dyn Log) -> Result<Vec<MachineState>, LogError> {
    let mut machines = Vec::new();
    for subject in log.subjects(MACHINES)? {
        machines.extend(value::load::<MachineState>(log, &subject)?.0);
    }
    Ok(machines)
}

/// One machine.
///
/// # Errors
/// When the fleet cannot be read.
pub fn one(log: &dyn Log, machine: &Name) -> Result<Option<MachineState>, LogError> {
    Ok(value::load(log, &Subject::machine(machine))?.0)
}
