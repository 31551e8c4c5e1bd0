//! `tripwire fleet`: many machines with one stop and one record.

mod adopt;
pub(crate) mod approvals;
mod args;
mod bundles;
mod everywhere;
mod link;
mod membership;
mod metrics;
mod money;
mod order;
mod overview;
mod places;
mod policy;
mod policy_files;
mod questions;
mod serve;
mod status;
mod this_machine;
#[cfg(feature = "fleet")]
mod up;

use crate::error::Problem;
use crate::exit::Exit;
use crate::person;
use crate::workspace::Where;
use args::FleetVerb;
pub(crate) use args::{FleetArgs, OrderScope, WideOrder};
pub(crate) use everywhere::order_everywhere;
pub(crate) use link::{FleetChoice, FleetLink};
pub(crate) use status::standing;

/// Runs the verb.
pub(crate) fn run(args: &FleetArgs) -> Result<Exit, Problem> {
    let here = Where::of(None);
    match &args.act {
        FleetVerb::Up(_)
        | FleetVerb::Down(_)
        | FleetVerb::Invite(_)
        | FleetVerb::Revoke(_)
        | FleetVerb::Join(_)
        | FleetVerb::Adopt(_)
        | FleetVerb::Leave(_) => person::only("fleet", &here)?,
        FleetVerb::Budget(args) if args.limit.is_some() => person::only("fleet", &here)?,
        FleetVerb::Rate(args) if args.per_minute.is_some() => person::only("fleet", &here)?,
        FleetVerb::Policy(args) if !args.only_looks() => person::only("fleet", &here)?,
        FleetVerb::Serve(_)
        | FleetVerb::Status(_)
        | FleetVerb::Audit(_)
        | FleetVerb::Budget(_)
        | FleetVerb::Rate(_)
        | FleetVerb::Policy(_) => {}
    }
    match &args.act {
        FleetVerb::Up(args) => up::up(args),
        FleetVerb::Down(args) => up::down(args),
        FleetVerb::Invite(args) => up::invite(args),
        FleetVerb::Revoke(args) => up::revoke(args),
        FleetVerb::Join(args) => membership::join(args),
        FleetVerb::Leave(args) => membership::leave(args.form),
        FleetVerb::Serve(args) => serve::run(args),
        FleetVerb::Status(args) => status::status(args),
        FleetVerb::Policy(args) => policy::run(args),
        FleetVerb::Audit(args) => status::audit(args.form),
        FleetVerb::Adopt(args) => adopt::run(args),
        FleetVerb::Budget(args) => money::budget(args),
        FleetVerb::Rate(args) => money::rate(args),
    }
}

/// Says how to get the NATS client.
#[cfg(not(feature = "fleet"))]
mod up {
    use super::args::{ClusterArgs, MachineArgs, UpArgs};
    use super::membership::FleetError;
    use super::{Exit, Problem};

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
