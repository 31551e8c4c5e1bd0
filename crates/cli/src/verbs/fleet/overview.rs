//! The whole fleet at one moment: machines with the policy that they run and the order that holds them, budgets, rates, bundles.

use super::bundles;
use super::membership::Membership;
use crate::error::Problem;
use tripwire_fleet::bucket::{self, Bucket};
use tripwire_fleet::budget;
use tripwire_fleet::escrow::Pool;
use tripwire_fleet::log::{Log, LogError};
use tripwire_fleet::machine::{self, MachineState};
use tripwire_fleet::order::{FleetOrder, OrderHistory};
use tripwire_fleet::policy::{PolicyStanding, Published};
use tripwire_fleet::subject::{Name, POOLS, RATES};
use tripwire_workspace::clock;

/// A fleet at one moment.
pub(super) struct Overview {
    pub(super) machines: Vec<SeenMachine>,
    pub(super) budgets: Vec<(Name, Pool)>,
    pub(super) rates: Vec<(Name, Bucket)>,
    pub(super) bundles: Vec<Published>,
    pub(super) now_ms: u64,
}

/// A machine as others see it.
pub(super) struct SeenMachine {
    pub(super) state: MachineState,
    pub(super) policy: PolicyStanding,
    /// The order that keeps its agents from working.
    pub(super) held: Option<FleetOrder>,
}

impl SeenMachine {
    /// How many journal lines of it are in the fleet.
    pub(super) fn records(&self) -> u64 {
        self.state.sessions.iter().map(|session| session.records).sum()
    }
}

impl Overview {
    /// Reads the fleet of this machine.
    pub(super) fn gather(membership: &Membership) -> Result<Self, Problem> {
        let log = membership.log()?;
        let log = log.as_ref();
        let (bundles, orders) = (bundles::read(log)?, OrderHistory::read(log, &bundles::trusted()?)?);
        let seen = |state: MachineState| SeenMachine {
            policy: PolicyStanding::of(&state, &bundles),
            held: orders.hold_for(&state.labels).cloned(),
            state,
        };
        let machines = machine::all(log)?.into_iter().map(seen).collect();
        let (budgets, rates) = (named(log, POOLS, budget::look)?, named(log, RATES, bucket::look)?);
        Ok(Self { machines, budgets, rates, bundles, now_ms: clock::now().epoch_ms() })
    }
}

/// Each value of which the subject begins so, with its name.
fn named<T>(
    log: &dyn Log,
    prefix: &str,
    look: impl Fn(&dyn Log, &Name) -> Result<Option<T>, LogError>,
) -> Result<Vec<(Name, T)>, Problem> {
    let mut found = Vec::new();
    for subject in log.subjects(prefix)? {
        let name = Name::parse(subject.last_word())?;
        if let Some(value) = look(log, &name)? {
            found.push((name, value));
        }
    }
    Ok(found)
}
