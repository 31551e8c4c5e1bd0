//! `tripwire fleet up`, `down`, `invite`, `revoke`: a development cluster on this machine.

use super::args::{ClusterArgs, MachineArgs, UpArgs, print};
use crate::error::Problem;
use crate::exit::Exit;
use crate::print as talk;
use crate::workspace;
use serde_json::json;
use tripwire_fleet::nats::cluster::{Cluster, default_folder, find_server};
use tripwire_fleet::subject::Name;
use tripwire_fs::shell_word::shell_word;

fn cluster(args: &ClusterArgs) -> Result<Cluster, Problem> {
    let folder = match &args.dir {
        Some(folder) => std::path::absolute(folder).map_err(|error| Problem::open(folder, error))?,
        None => default_folder(&workspace::state_home().ok_or(Problem::NoHome)?),
    };
    Ok(Cluster::new(folder, find_server(std::env::var_os("PATH").as_deref())?))
}

/// Runs `tripwire fleet up`.
pub(super) fn up(args: &UpArgs) -> Result<Exit, Problem> {
    let cluster = cluster(&args.cluster)?;
    talk::say("starting the servers; this takes some seconds");
    let running = cluster.up(args.nodes)?;
    let (url, creds) = (running.urls.join(","), running.credentials.display().to_string());
    print(&match args.cluster.form.json {
        true => json!({"version": 1, "url": url, "pids": running.pids, "creds": creds}).to_string(),
        false => format!(
            "{} servers run, each on 127.0.0.1 with TLS\nnext: `tripwire fleet join {url} --creds {}`",
            running.pids.len(),
            shell_word(&running.credentials)
        ),
    })
}

/// Runs `tripwire fleet down`.
pub(super) fn down(args: &ClusterArgs) -> Result<Exit, Problem> {
    let ended = cluster(args)?.down()?;
    print(&match args.form.json {
        true => json!({"version": 1, "ended": ended}).to_string(),
        false => format!("{ended} servers ended; their data stays"),
    })
}

/// Runs `tripwire fleet invite`.
pub(super) fn invite(args: &MachineArgs) -> Result<Exit, Problem> {
    let creds = cluster(&args.cluster)?.invite(&Name::parse(&args.machine)?)?.display().to_string();
    print(&match args.cluster.form.json {
        true => json!({"version": 1, "machine": args.machine, "creds": creds}).to_string(),
        false => format!("`{}` may join with `--machine {} --creds {creds}`", args.machine, args.machine),
    })
}

/// Runs `tripwire fleet revoke`.
pub(super) fn revoke(args: &MachineArgs) -> Result<Exit, Problem> {
    cluster(&args.cluster)?.revoke(&Name::parse(&args.machine)?)?;
    print(&match args.cluster.form.json {
        true => json!({"version": 1, "revoked": args.machine}).to_string(),
        false => format!("`{}` is cut off", args.machine),
    })
}
