//! `tripwire doctor`: one line per promise, with what was seen and what to do.

mod checks;
mod layers;
mod tool_servers;

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self, Form, Out};
use crate::workspace::{self, Where};
use clap::{Args, Subcommand};
use serde_json::json;
use std::path::Path;
use tripwire_clients::canary::{self, Guard};
use tripwire_clients::checkup::ClientCheck;
use tripwire_clients::install::{self, Found};
use tripwire_clients::{CheckResult, CheckState, Client};
use tripwire_core::explain::Explain as _;

/// Check which promises hold on this machine and in this workspace, with evidence and a fix for each.
///
/// Checks the clients and their hooks, the mode, the policy, the newest journal, the key, git and the sandbox, and
/// changes nothing. Exits with 1 if a promise is broken. `off` means that something is switched off or not installed,
/// which is not a failure.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DoctorArgs {
    #[command(subcommand)]
    part: Option<DoctorPart>,
    #[command(flatten)]
    place: Where,
    /// Also send canaries through the installed clients, under `tripwire run`, and with the hooks alone where they
    /// are installed: real runs against a model built into this program, without a key or network, in temporary
    /// folders. May take several minutes.
    #[arg(long)]
    live: bool,
    /// Write one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum DoctorPart {
    /// Check only the sandbox: one line per layer.
    Sandbox(Form),
}

/// Runs the verb.
pub(crate) fn run(args: &DoctorArgs) -> Result<Exit, Problem> {
    match &args.part {
        Some(DoctorPart::Sandbox(form)) => layers::run(*form),
        None => print(args, &promises(args)?),
    }
}

fn promises(args: &DoctorArgs) -> Result<Vec<CheckResult>, Problem> {
    let workspace = args.place.look()?;
    let program = std::env::current_exe().and_then(|program| program.canonicalize()).map_err(Problem::OwnProgram)?;
    let homes = workspace::homes();
    let search = std::env::var_os("PATH");
    let client_check =
        ClientCheck { homes: &homes, workspace: workspace.root(), program: &program, search: search.as_deref() };
    let found = install::detect(search.clone());
    let mut promises = Vec::new();
    for client in Client::ALL {
        promises.extend(client_check.client(client, found.iter().find(|found| found.client == client)));
    }
    promises.extend(client_check.at_gateway());
    promises.extend(checks::promises(&workspace));
    promises.extend(checks::sandbox());
    promises.extend(tool_servers::checks(workspace.root()));
    if args.live {
        let canaries = canaries(&found, &program, &promises);
        promises.extend(canaries);
    }
    Ok(promises)
}

/// What the canaries of every client tell: under `tripwire run`, and with the hooks alone where they are installed.
fn canaries(found: &[Found], program: &Path, promises: &[CheckResult]) -> Vec<CheckResult> {
    let mut sent = Vec::new();
    for client in Client::ALL {
        let name = client.name();
        let id = format!("{name}.live");
        let Some(found) = found.iter().find(|found| found.client == client) else {
            sent.push(CheckResult::off(&id, "not sent: the client is not on the search path", ""));
            continue;
        };
        let mut send = |guard: Guard, id: &str, how: &str| {
            print::say(&format!("sending canaries through {name} {how}"));
            match canary::send(found, program, guard) {
                Ok(checks) => sent.extend(checks),
                Err(error) => sent.push(CheckResult::broken(id, error.to_string(), error.hint().into_owned())),
            }
        };
        send(Guard::Run, &id, "under `tripwire run`");
        let id = format!("{name}.live-hooks");
        let hooks: Vec<_> =
            promises.iter().filter(|promise| promise.id.starts_with(&format!("{name}.hooks."))).collect();
        if hooks.is_empty() {
            let fix = format!("tripwire init --client {name}");
            sent.push(CheckResult::off(&id, "not sent: no hooks are installed", fix));
        } else if let Some(broken) = hooks.iter().find(|promise| promise.state == CheckState::Broken) {
            sent.push(CheckResult::off(&id, format!("not sent: see `{}`", broken.id), ""));
        } else {
            send(Guard::InstalledHooks, &id, "with the hooks as they are installed");
        }
    }
    sent
}

fn print(args: &DoctorArgs, promises: &[CheckResult]) -> Result<Exit, Problem> {
    let broken = promises.iter().filter(|promise| promise.state == CheckState::Broken).count();
    let guarded = has_hooks(promises);
    let mut out = Out::lock();
    if args.json {
        let shown = |promise: &CheckResult| {
            json!({"id": promise.id, "status": promise.state.word().to_ascii_lowercase(), "summary": promise.proof,
                "remediation": promise.fix})
        };
        let checks: Vec<_> = promises.iter().map(shown).collect();
        out.line(&json!({"schema": 1, "holds": broken == 0, "hooks": guarded, "checks": checks}).to_string())?;
    } else {
        for promise in promises {
            let CheckResult { id, state, proof, fix } = promise;
            out.prose(&format!("{id:<20} {:<7} {proof}", state.word()))?;
            if !fix.is_empty() {
                out.prose(&format!("{:28} -> {fix}", ""))?;
            }
        }
        out.prose(&match (broken, guarded) {
            (0, true) => "every check passed".to_owned(),
            (0, false) => "nothing failed, but no hooks are installed".to_owned(),
            (1, _) => "1 check failed".to_owned(),
            (more, _) => format!("{more} checks failed"),
        })?;
        if !guarded {
            out.prose(NOT_GUARDED)?;
        }
    }
    out.flush()?;
    Ok(if broken == 0 { Exit::Done } else { Exit::NotKept })
}

/// Whether hooks of ours are installed for any client, sound or not.
fn has_hooks(promises: &[CheckResult]) -> bool {
    let is_file_of_hooks = |promise: &&CheckResult| promise.id.contains(".hooks.") && !promise.id.starts_with("mcp.");
    promises.iter().filter(is_file_of_hooks).any(|promise| promise.state != CheckState::Off)
}

/// What it means that no hooks are there, and the way on.
const NOT_GUARDED: &str =
    "sessions are not guarded yet: `tripwire init` installs the hooks, `tripwire run claude` guards one run";
