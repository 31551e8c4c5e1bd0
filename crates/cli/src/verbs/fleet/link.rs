//! `--fleet` on `run`, `agent` and `gateway`: for as long as the process runs, this machine takes part in its fleet.

use super::membership::{FleetError, Membership};
use super::money::FleetMoney;
use super::places::place_of;
use super::questions::OpenQuestions;
use super::this_machine::{ThisMachine, Until};
use crate::error::Problem;
use clap::Args;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use tripwire_fleet::copier::Copier;
use tripwire_fleet::host::Membership as Who;
use tripwire_fleet::log::{Log, LogError};
use tripwire_fleet::machine::Part;
use tripwire_fleet::member::Member;
use tripwire_fleet::order::FleetOrder;
use tripwire_fleet::settings::{FleetDurability, FleetSettings};
use tripwire_fleet::subject::Name;
use tripwire_journal::SessionPaths;
use tripwire_session::replica::{Replica, ReplicaError};
use tripwire_session::shared_money::SharedMoney;
use tripwire_workspace::Workspace;
use tripwire_workspace::geometry::manifest::Manifest;
use tripwire_workspace::policy_file::PolicyFileError;

/// Whether a process takes part in the fleet.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct FleetChoice {
    /// Take part in this machine's fleet: copy records to it, obey its orders, and pause when it cannot be reached. A
    /// `fleet:` section in the manifest does the same.
    #[arg(long)]
    fleet: bool,
}

/// A process's part in the fleet; without a fleet it is nothing.
#[derive(Default)]
pub(crate) struct FleetLink(Option<Linked>);

struct Linked {
    over: Arc<AtomicBool>,
    serving: JoinHandle<()>,
    replica: Option<Arc<dyn Replica>>,
    money: Arc<FleetMoney>,
}

impl FleetLink {
    /// Takes part, if that is asked for. What was ordered in the fleet holds here when this returns.
    pub(crate) fn open(
        choice: FleetChoice,
        workspace: &Workspace,
        talk: Box<dyn Fn(&str) + Send + Sync>,
    ) -> Result<Self, Problem> {
        let settings = settings(workspace)?;
        if !choice.fleet && !settings.is_asked_for() {
            return Ok(Self::default());
        }
        let membership = Membership::load()?;
        let log: Arc<dyn Log> = Arc::from(membership.log()?);
        let dead_man = settings.dead_man.map_or(membership.dead_man(), |own| own.min(membership.dead_man()));
        let copier = match settings.durability.unwrap_or_default() {
            FleetDurability::Async => None,
            FleetDurability::Replicated => {
                let begun = Copier::begin(Arc::clone(&log), membership.machine.clone(), dead_man);
                Some(begun.map_err(FleetError::Thread)?)
            }
        };
        let place = place_of(workspace.root());
        let replica = copier.clone().map(|copier| Arc::new(FleetReplica { copier, place }) as Arc<dyn Replica>);
        let over = Arc::new(AtomicBool::new(false));
        let host = ThisMachine {
            joined_ms: membership.joined_ms,
            own: Some(workspace.root().to_owned()),
            until: Until::Flag(Arc::clone(&over)),
            copier,
            talk,
            questions: OpenQuestions::default(),
        };
        let who = membership.as_member(Part::Standby, dead_man)?;
        let money = Arc::new(FleetMoney::begin(Arc::clone(&log), &membership, settings.budget)?);
        let serving = serve(log, host, who)?;
        Ok(Self(Some(Linked { over, serving, replica, money })))
    }

    /// The fleet's budgets.
    pub(crate) fn money(&self) -> Option<Arc<dyn SharedMoney>> {
        self.0.as_ref().map(|linked| Arc::clone(&linked.money) as Arc<dyn SharedMoney>)
    }

    /// Who must have the records before anything follows from them.
    pub(crate) fn replica(&self) -> Option<Arc<dyn Replica>> {
        self.0.as_ref().and_then(|linked| linked.replica.clone())
    }

    /// Ends it, with the last lines copied and unused money given back.
    pub(crate) fn finish(self) {
        drop(self);
    }
}

impl Drop for FleetLink {
    /// A process that ends early leaves in order as well.
    fn drop(&mut self) {
        if let Some(Linked { over, serving, replica: _, money }) = self.0.take() {
            money.finish();
            over.store(true, Ordering::Relaxed);
            // It serves no longer, whether it ended well or not.
            drop(serving.join());
        }
    }
}

/// Enters the fleet, then serves on a thread of its own.
fn serve(log: Arc<dyn Log>, host: ThisMachine, who: Who) -> Result<JoinHandle<()>, Problem> {
    let (entered, has_entered) = mpsc::sync_channel(1);
    let builder = std::thread::Builder::new().name("fleet member".to_owned());
    let serving = builder.spawn(move || {
        let member = Member::new(log.as_ref(), &host, who);
        let first = member.enter().and_then(|()| member.held_by());
        let is_in = matches!(first, Ok(None));
        if entered.send(first).is_ok() && is_in {
            member.serve();
        }
    });
    let serving = serving.map_err(FleetError::Thread)?;
    let gone = |_gone| Err(LogError::Unreachable("the thread of the fleet ended".to_owned()));
    match has_entered.recv().unwrap_or_else(gone)? {
        None => Ok(serving),
        Some(FleetOrder { act, who, reason, .. }) => Err(FleetError::Held { act, who, reason }.into()),
    }
}

/// What the manifest says about the fleet, where there is one.
pub(crate) fn settings(workspace: &Workspace) -> Result<FleetSettings, Problem> {
    let file = workspace.layout().manifest();
    if file.symlink_metadata().is_err() {
        return Ok(FleetSettings::default());
    }
    let manifest = Manifest::load(&file).map_err(PolicyFileError::from)?;
    Ok(FleetSettings::read(&manifest.settings())?)
}

/// The fleet as the second place of a session's records.
#[derive(Debug)]
struct FleetReplica {
    copier: Copier,
    place: Name,
}

impl Replica for FleetReplica {
    fn confirm(&self, session: &SessionPaths, records: u64) -> Result<(), ReplicaError> {
        self.copier.confirm(&self.place, session, records).map_err(|error| ReplicaError(error.to_string()))
    }
}
