//! What `tripwire fleet` can be asked.

use crate::error::Problem;
use crate::exit::Exit;
use crate::limits;
use crate::print::{Form, Out};
use crate::workspace::Where;
use clap::{Args, Subcommand, value_parser};
use std::path::PathBuf;
use tripwire_fleet::order::FleetAct;

/// Connect machines into a fleet: one stop for all of them, one record of all sessions.
///
/// A fleet is a NATS JetStream cluster, or a folder that several homes of one machine share. Each machine runs
/// `tripwire fleet serve`, which copies the journals of its sessions, obeys the fleet's orders, and pauses the
/// machine's agents when it loses contact with the fleet; `run`, `agent` and `gateway` with `--fleet` do the same
/// while they run. `tripwire stop --all` stops all machines.
#[derive(Debug, Args)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    pub(super) act: FleetVerb,
}

#[derive(Debug, Subcommand)]
pub(super) enum FleetVerb {
    /// Start a development cluster of NATS servers on this machine, with TLS and credentials.
    Up(UpArgs),
    /// Stop the development cluster; its data is kept.
    Down(ClusterArgs),
    /// Create a machine's own credentials for the development cluster.
    Invite(MachineArgs),
    /// Revoke a machine's credentials.
    Revoke(MachineArgs),
    /// Join this machine to a fleet; a cluster with weaker guarantees than requested is refused.
    Join(JoinArgs),
    /// Leave the fleet; the fleet keeps its record of this machine.
    Leave(FormArgs),
    /// Take part: copy journals, obey orders, send heartbeats.
    Serve(FleetServeArgs),
    /// Show machines, sessions, budgets and policies of the fleet.
    Status(FleetStatusArgs),
    /// Publish this workspace's policy for all machines, show what is published, or fetch it into this workspace.
    Policy(FleetPolicyArgs),
    /// Show a budget over all machines, or set its limit.
    Budget(BudgetArgs),
    /// Show how many model calls all machines may make in a minute, or set it.
    Rate(RateArgs),
    /// Continue a lost machine's session here; from then on that machine cannot append to it.
    Adopt(AdoptArgs),
    /// Compare the fleet's record with the journals and checkpoints of this machine.
    Audit(FormArgs),
}

#[derive(Debug, Args)]
pub(super) struct FormArgs {
    #[command(flatten)]
    pub(super) form: Form,
}

#[derive(Debug, Args)]
pub(super) struct UpArgs {
    /// How many servers: 1, 3 or 5.
    #[arg(long, default_value_t = 3)]
    pub(super) nodes: u64,
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
}

#[derive(Debug, Args)]
pub(super) struct ClusterArgs {
    /// The cluster's folder; by default one in the state folder.
    #[arg(long, value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,
    #[command(flatten)]
    pub(super) form: Form,
}

#[derive(Debug, Args)]
pub(super) struct MachineArgs {
    /// The machine's name.
    pub(super) machine: String,
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
}

#[derive(Debug, Args)]
pub(super) struct JoinArgs {
    /// `nats://HOST:PORT` (several with commas), or `file:/a/folder`.
    pub(super) address: String,
    /// The credentials that `fleet up` or `fleet invite` wrote, or a NATS credentials file.
    #[arg(long, value_name = "FILE")]
    pub(super) creds: Option<PathBuf>,
    /// Credentials of a system account, to see how the servers sync their disks.
    #[arg(long, value_name = "FILE")]
    pub(super) monitor_creds: Option<PathBuf>,
    /// How many servers must store each entry; by default as the credentials say.
    #[arg(long, value_name = "N")]
    pub(super) replicas: Option<u64>,
    /// This machine's name; by default its host name.
    #[arg(long, value_name = "NAME")]
    pub(super) machine: Option<String>,
    /// A label such as `team=search`; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) label: Vec<String>,
    /// After this many seconds without a heartbeat, this machine pauses its agents.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(super) dead_man: u64,
    #[command(flatten)]
    pub(super) form: Form,
}

#[derive(Debug, Args)]
pub(super) struct BudgetArgs {
    /// The budget's name: any that a manifest's `fleet.budget` names, or `org-NAME`, `team-NAME`, `key-NAME` for accounts of gateways.
    pub(super) name: String,
    /// The total that may ever be spent from it, such as `100usd`.
    #[arg(long, value_name = "AMOUNT", value_parser = limits::budget)]
    pub(super) limit: Option<u64>,
    #[command(flatten)]
    pub(super) form: Form,
}

#[derive(Debug, Args)]
pub(super) struct RateArgs {
    /// The rate's name: that of a budget that a manifest's `fleet.budget` names, or `org-NAME`, `team-NAME`, `key-NAME` for accounts
    /// of gateways.
    pub(super) name: String,
    /// Model calls that all machines together may make in a minute.
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u64).range(1..=RATE_MAX))]
    pub(super) per_minute: Option<u64>,
    /// How many of them at once; by default a whole minute's worth.
    #[arg(long, value_name = "COUNT", requires = "per_minute", value_parser = value_parser!(u64).range(1..=RATE_MAX))]
    pub(super) at_once: Option<u64>,
    #[command(flatten)]
    pub(super) form: Form,
}

#[derive(Debug, Args)]
pub(super) struct FleetStatusArgs {
    /// Write the figures in Prometheus' text format.
    #[arg(long, conflicts_with = "json")]
    pub(super) metrics: bool,
    #[command(flatten)]
    pub(super) form: Form,
}

#[derive(Debug, Args)]
pub(super) struct FleetPolicyArgs {
    #[command(subcommand)]
    pub(super) act: FleetPolicyVerb,
}

#[derive(Debug, Subcommand)]
pub(super) enum FleetPolicyVerb {
    /// Sign this workspace's policy files with your key and publish them for all machines, or for those with a label.
    Publish(PolicyPublishArgs),
    /// Show what is published, and what is refused.
    Show(FormArgs),
    /// Show how the published policy differs from this workspace's, and write it here.
    Fetch(PolicyFetchArgs),
}

impl FleetPolicyArgs {
    /// Whether nothing is written.
    pub(super) const fn only_looks(&self) -> bool {
        match &self.act {
            FleetPolicyVerb::Show(_) => true,
            FleetPolicyVerb::Publish(_) | FleetPolicyVerb::Fetch(_) => false,
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct PolicyPublishArgs {
    /// Only for machines with this label; takes precedence over a policy for all machines.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) label: Option<String>,
    /// How many days it is valid.
    #[arg(long, value_name = "DAYS", default_value_t = 365)]
    pub(super) days: u64,
    #[command(flatten)]
    pub(super) place: Where,
    #[command(flatten)]
    pub(super) form: Form,
}

#[derive(Debug, Args)]
pub(super) struct PolicyFetchArgs {
    /// Write it without asking.
    #[arg(long)]
    pub(super) yes: bool,
    #[command(flatten)]
    pub(super) place: Where,
    #[command(flatten)]
    pub(super) form: Form,
}

#[derive(Debug, Args)]
pub(super) struct AdoptArgs {
    /// The session.
    pub(super) session: String,
    /// The machine that had it, or `MACHINE/WORKSPACE` if several have that name.
    #[arg(long, value_name = "NAME")]
    pub(super) from: Option<String>,
    /// Take it even if that machine is alive.
    #[arg(long)]
    pub(super) even_if_alive: bool,
    #[command(flatten)]
    pub(super) place: Where,
    #[command(flatten)]
    pub(super) form: Form,
}

#[derive(Debug, Args)]
pub(super) struct FleetServeArgs {
    /// Leave after this many seconds.
    #[arg(long, value_name = "SECONDS")]
    pub(super) timeout: Option<u64>,
}

/// Flags of an order for more than one workspace.
#[derive(Debug, Args)]
pub(crate) struct OrderScope {
    #[command(flatten)]
    pub(super) targets: OrderTargets,
    #[command(flatten)]
    pub(super) way: OrderWay,
}

/// The workspaces or machines that such an order is for.
#[derive(Debug, Args)]
#[group(id = "targets", multiple = true, conflicts_with_all = ["session", "workspace"])]
pub(super) struct OrderTargets {
    /// Every workspace of this machine; in a fleet, every workspace of all its machines.
    #[arg(long)]
    pub(super) all: bool,
    /// The machines of the fleet that have this label.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) label: Option<String>,
}

/// How such an order is given.
#[derive(Debug, Args)]
pub(super) struct OrderWay {
    /// Show who would get the order, without sending it.
    #[arg(long, requires = "targets")]
    pub(super) dry_run: bool,
    /// How many seconds to wait for the receipts of machines.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, requires = "targets")]
    pub(super) wait: u64,
}

/// What is ordered, and how it is told.
pub(crate) struct WideOrder<'a> {
    pub(crate) act: FleetAct,
    pub(crate) scope: &'a OrderScope,
    pub(crate) reason: &'a str,
    pub(crate) form: Form,
}

impl OrderScope {
    /// Whether the order is for more than one workspace.
    pub(crate) const fn is_wide(&self) -> bool {
        self.targets.all || self.targets.label.is_some()
    }
}

/// Answers with one text.
pub(super) fn print(line: &str) -> Result<Exit, Problem> {
    let mut out = Out::lock();
    out.line(line)?;
    out.flush()?;
    Ok(Exit::Done)
}

/// More calls than any fleet makes.
const RATE_MAX: u64 = 1_000_000_000;
