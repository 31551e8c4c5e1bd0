//! `tripwire fleet`: many machines with one stop and one record.

mod membership;
mod order;
mod serve;
mod status;
#[cfg(feature = "fleet")]
mod up;

use crate::error::Problem;
use crate::exit::Exit;
use crate::person;
use crate::print::{Form, Out};
use crate::workspace::Where;
use clap::{Args, Subcommand};
use membership::FleetError;
use std::path::PathBuf;

/// Join machines to a fleet: one stop for all of them, one record of all sessions.
///
/// A fleet is a NATS JetStream cluster, or a folder that several homes of one machine share. Each machine runs `tripwire fleet
/// serve`, which copies the journals of its sessions, obeys the fleet's orders, and pauses the machine's agents when nobody
/// hears it any more.
#[derive(Debug, Args)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    act: FleetVerb,
}

#[derive(Debug, Subcommand)]
enum FleetVerb {
    /// Start a development cluster of NATS servers on this machine, with TLS and credentials.
    Up(UpArgs),
    /// End the development cluster; its data stays.
    Down(ClusterArgs),
    /// Give a machine credentials of its own for the development cluster.
    Invite(MachineArgs),
    /// Take a machine's credentials away.
    Revoke(MachineArgs),
    /// Join this machine to a fleet; what is weaker than asked is refused.
    Join(JoinArgs),
    /// Leave the fleet; its record of this machine stays.
    Leave(FormArgs),
    /// Take part: copy journals, obey orders, tell that this machine is alive.
    Serve(ServeArgs),
    /// Show machines, sessions and budgets of the fleet.
    Status(FormArgs),
    /// Compare the fleet's record with the journals and checkpoints of this machine.
    Audit(FormArgs),
    /// Stop every agent of every machine, or of those with a label.
    Stop(OrderFlags),
    /// Hold every agent of every machine, or of those with a label.
    Pause(OrderFlags),
    /// Take a stop or a pause back.
    Resume(OrderFlags),
}

#[derive(Debug, Args)]
struct FormArgs {
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, Args)]
struct UpArgs {
    /// How many servers: 1, 3 or 5.
    #[arg(long, default_value_t = 3)]
    nodes: u64,
    #[command(flatten)]
    cluster: ClusterArgs,
}

#[derive(Debug, Args)]
struct ClusterArgs {
    /// The cluster's folder; by default one in the state folder.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, Args)]
struct MachineArgs {
    /// The machine's name.
    machine: String,
    #[command(flatten)]
    cluster: ClusterArgs,
}

#[derive(Debug, Args)]
struct JoinArgs {
    /// `nats://HOST:PORT` (several with commas), or `file:/a/folder`.
    address: String,
    /// The credentials that `fleet up` or `fleet invite` wrote, or a NATS credentials file.
    #[arg(long, value_name = "FILE")]
    creds: Option<PathBuf>,
    /// Credentials of a system account, to see how the servers sync their disks.
    #[arg(long, value_name = "FILE")]
    monitor_creds: Option<PathBuf>,
    /// On how many servers each entry must be; by default what the credentials say.
    #[arg(long, value_name = "N")]
    replicas: Option<u64>,
    /// What this machine is called; by default as its host.
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// A label such as `team=search`; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    label: Vec<String>,
    /// Without a heartbeat for so many seconds this machine pauses its agents.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    dead_man: u64,
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, Args)]
struct ServeArgs {
    /// Leave after so many seconds.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
}

#[derive(Debug, Args)]
struct OrderFlags {
    /// Only machines with this label.
    #[arg(long, value_name = "KEY=VALUE")]
    label: Option<String>,
    /// Say which machines would be told, and tell none.
    #[arg(long)]
    dry_run: bool,
    /// How many seconds to wait for the receipts.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    wait: u64,
    #[command(flatten)]
    reason: person::Reason,
    #[command(flatten)]
    form: Form,
}

/// Runs the verb.
pub(crate) fn run(args: &FleetArgs) -> Result<Exit, Problem> {
    use tripwire_fleet::order::FleetAct;
    let here = Where::of(None);
    match &args.act {
        FleetVerb::Up(_)
        | FleetVerb::Down(_)
        | FleetVerb::Invite(_)
        | FleetVerb::Revoke(_)
        | FleetVerb::Join(_)
        | FleetVerb::Leave(_)
        | FleetVerb::Resume(_) => person::only("fleet", &here)?,
        FleetVerb::Serve(_) | FleetVerb::Status(_) | FleetVerb::Audit(_) | FleetVerb::Stop(_) | FleetVerb::Pause(_) => {
        }
    }
    match &args.act {
        FleetVerb::Up(args) => up::up(args),
        FleetVerb::Down(args) => up::down(args),
        FleetVerb::Invite(args) => up::invite(args),
        FleetVerb::Revoke(args) => up::revoke(args),
        FleetVerb::Join(args) => membership::join(args),
        FleetVerb::Leave(args) => membership::leave(args.form),
        FleetVerb::Serve(args) => serve::run(args),
        FleetVerb::Status(args) => status::status(args.form),
        FleetVerb::Audit(args) => status::audit(args.form),
        FleetVerb::Stop(flags) => order::give(FleetAct::Stop, flags),
        FleetVerb::Pause(flags) => order::give(FleetAct::Pause, flags),
        FleetVerb::Resume(flags) => order::give(FleetAct::Resume, flags),
    }
}

/// Says how to get the NATS client.
#[cfg(not(feature = "fleet"))]
mod up {
    use super::{ClusterArgs, Exit, FleetError, MachineArgs, Problem, UpArgs};

    pub(super) fn up(args: &UpArgs) -> Result<Exit, Problem> {
        let UpArgs { nodes: _, cluster } = args;
        down(cluster)
    }

    pub(super) fn down(args: &ClusterArgs) -> Result<Exit, Problem> {
        let ClusterArgs { dir: _, form: _ } = args;
        Err(FleetError::NotBuiltIn.into())
    }

    pub(super) fn invite(args: &MachineArgs) -> Result<Exit, Problem> {
        let MachineArgs { machine: _, cluster } = args;
        down(cluster)
    }

    pub(super) fn revoke(args: &MachineArgs) -> Result<Exit, Problem> {
        invite(args)
    }
}

fn print(line: &str) -> Result<Exit, Problem> {
    let mut out = Out::lock();
    out.line(line)?;
    out.flush()?;
    Ok(Exit::Done)
}
