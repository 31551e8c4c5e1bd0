//! `tripwire scan`: what the policy would have done with past runs.

mod no_session;
mod secrets;
mod sums;
mod trace_files;
mod transcripts;

use crate::client_name::ClientName;
use crate::error::Problem;
use crate::exit::Exit;
use crate::moment::moment;
use crate::policy::PolicyArgs;
use crate::print::Form;
use crate::workspace;
use clap::Args;
use secrets::SecretSearch;
use std::path::{Path, PathBuf};
use transcripts::Wanted;
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;

/// Check past sessions as if they had been guarded: which alarm would have fired, at which event, by which rule.
///
/// Reads the transcripts that Claude Code, Codex and Gemini CLI keep on this machine. Shows when, where and at which
/// repeated call the policy would have warned, held or stopped the agent, and how much that would have saved. Copies
/// of a transcript count once. Without `--policy`, your own settings and the manifest of this workspace apply, if
/// they exist. Nothing is installed or written.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    /// Read traces instead, one JSON object per line; zstd-compressed if the name ends in `.zst`; `-` reads standard
    /// input.
    #[arg(long, value_name = "FILE", conflicts_with = "client")]
    traces: Option<PathBuf>,
    /// Only the transcripts of this client; may be repeated.
    #[arg(long, value_name = "NAME")]
    client: Vec<ClientName>,
    /// Only sessions that were active after this time: `7d`, `12h`, or `2026-02-28T15:30:00Z`.
    #[arg(long, value_name = "WHEN", conflicts_with = "traces")]
    since: Option<String>,
    /// Only sessions in this folder, or below it.
    #[arg(long, value_name = "DIR", conflicts_with = "traces")]
    project: Option<PathBuf>,
    /// One session, by its id or a prefix of it: everything that would have fired, call by call.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Search for keys and passwords instead, in these transcripts and in the records of every workspace in which
    /// tripwire was used (with `--project`, of that workspace only). Prints location and kind, never the value. Exits
    /// with 1 if any are found.
    #[arg(long, conflicts_with_all = ["traces", "since", "session"])]
    secrets: bool,
    #[command(flatten)]
    chosen: PolicyArgs,
    /// Write one JSON object per run.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &ScanArgs) -> Result<Exit, Problem> {
    if args.secrets {
        let project = args.project.as_deref().map(|dir| dir.canonicalize().map_err(|error| Problem::open(dir, error)));
        let clients = args.client.iter().map(|client| client.client()).collect();
        return secrets::run(&SecretSearch { clients, project: project.transpose()? }, Form { json: args.json });
    }
    let Some(file) = &args.traces else {
        let workspace = Workspace::locate(Path::new("."), &workspace::places())?;
        let loaded = args.chosen.in_workspace(workspace.layout())?;
        let policy = args.chosen.over(loaded.policy, None)?;
        let since = args.since.as_deref().map(|text| moment(text, clock::now())).transpose()?;
        let gone = |dir: &Path| std::path::absolute(dir).map_err(|error| Problem::open(dir, error));
        let project = args.project.as_deref().map(|dir| dir.canonicalize().or_else(|_missing| gone(dir)));
        let wanted = Wanted {
            clients: args.client.iter().map(|client| client.client()).collect(),
            since_ms: since.map(|since| since.epoch_ms()),
            project: project.transpose()?,
            session: args.session.clone(),
        };
        return transcripts::run(&wanted, &policy, Form { json: args.json });
    };
    trace_files::run(file, args.session.as_deref(), &args.chosen.policy(None)?, Form { json: args.json })
}
