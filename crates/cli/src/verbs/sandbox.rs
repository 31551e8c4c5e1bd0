//! `tripwire sandbox`: run a command confined, and diff, apply or discard what it staged.

pub(crate) mod args;
pub(crate) mod network;
pub(crate) mod report;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tripwire_core::explain::{ExitClass, Explain};

use clap::{Args, Subcommand};
use tripwire_core::record::chain::Digest;
use tripwire_sandbox::{
    Budgets, Bytes, MilliCores, Outcome, Profile, Sandbox, SpecError, Stage, StageDir, Terminals, WorkspaceAccess,
};

use tripwire_authority::{Need, Who, Writing};
use tripwire_core::input::Permission;
use tripwire_session::review;
use tripwire_workspace::Workspace;

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::Form;
use crate::session;
use crate::verbs::sandbox::args::{ExecArgs, SandboxProfile};
use crate::verbs::sandbox::network::{Allowed, NoNetwork};
use crate::workspace;

/// Run commands confined, and inspect their staged changes.
#[derive(Debug, Args)]
pub(crate) struct SandboxArgs {
    #[command(subcommand)]
    verb: SandboxVerb,
}

#[derive(Debug, Subcommand)]
enum SandboxVerb {
    /// Run one command confined to a workspace.
    Exec(Box<ExecArgs>),
    /// Show what staged runs would change, with the digest for the review.
    Diff(StageArgs),
    /// Apply staged changes to the workspace, if they match the digest.
    Apply(SandboxApplyArgs),
    /// Discard staged changes.
    Discard(StageArgs),
}

/// Options of `sandbox diff` and `sandbox discard`.
#[derive(Debug, Args)]
pub(crate) struct StageArgs {
    /// The workspace with the staged changes.
    #[arg(long, value_name = "DIR")]
    workspace: PathBuf,
    #[command(flatten)]
    form: Form,
}

/// Options of `sandbox apply`.
#[derive(Debug, Args)]
pub(crate) struct SandboxApplyArgs {
    #[command(flatten)]
    stage: StageArgs,
    /// The digest that `sandbox diff` printed.
    #[arg(long, value_name = "SHA256")]
    digest: Digest,
}

/// Runs a sandbox verb.
pub(crate) fn run(args: &SandboxArgs) -> Result<Exit, Problem> {
    Ok(match &args.verb {
        SandboxVerb::Exec(args) => exec(args),
        SandboxVerb::Diff(args) => diff(args),
        SandboxVerb::Apply(args) => apply(args),
        SandboxVerb::Discard(args) => discard(args),
    })
}

/// Runs one command confined.
pub(crate) fn exec(args: &ExecArgs) -> Exit {
    let form = args.form;
    let access = match permitted(args) {
        Ok(access) => access,
        Err(problem) => return report::denied(form, &problem),
    };
    let stage = args.stage.then(|| stage_dir(&args.workspace));
    let spec = match specify(args, stage.as_deref()) {
        Ok(spec) => spec.workspace_access(access).terminals(if args.pty { Terminals::Own } else { Terminals::None }),
        Err(error) => return report::not_asked_for(form, &error),
    };
    let allowed = Allowed { hosts: &args.allow_host, loopback_ports: &args.allow_loopback_port };
    let (spec, _network) = match network::open(spec, allowed) {
        Ok(opened) => opened,
        Err(NoNetwork::BadHost(error)) => return report::bad_host(form, &error),
        Err(NoNetwork::NotServed(error)) => return report::not_run_for_network(form, &*error),
    };
    match spec.run() {
        Outcome::Ran(report) => {
            let staged =
                stage.as_deref().map(|dir| Stage::open(dir, &args.workspace).and_then(|stage| stage.changes()));
            report::report(form, &report, staged)
        }
        Outcome::NotRun(refused) => report::not_run(form, &refused),
    }
}

fn specify(args: &ExecArgs, stage: Option<&Path>) -> Result<Sandbox, SpecError> {
    let mut spec = Sandbox::new(&args.workspace, &args.command)?.budgets(budgets(args));
    for path in &args.read {
        spec = spec.read(path)?;
    }
    for path in &args.write {
        spec = spec.write(path)?;
    }
    for path in &args.hide {
        spec = spec.hide(path)?;
    }
    for entry in &args.env {
        let bytes = entry.as_bytes();
        let end = bytes.iter().position(|byte| *byte == b'=').unwrap_or(bytes.len());
        let (name, value) = bytes.split_at(end);
        spec = spec.env(OsStr::from_bytes(name), OsStr::from_bytes(value.get(1..).unwrap_or_default()))?;
    }
    if let Some(dir) = stage {
        spec = spec.stage(StageDir(dir.to_path_buf()));
    }
    Ok(spec.profile(match args.profile {
        SandboxProfile::Strict => Profile::Strict,
        SandboxProfile::Compat => Profile::Compat,
    }))
}

fn budgets(args: &ExecArgs) -> Budgets {
    let usual = Budgets::default();
    let disk = args.disk.map_or(usual.disk, Bytes);
    // A larger budget for all files means a larger single file as well, unless that is given too.
    let file_size = if disk > usual.disk { disk } else { usual.file_size.min(disk) };
    Budgets {
        memory: args.memory.map_or(usual.memory, Bytes),
        processes: args.pids.unwrap_or(usual.processes),
        cpu: args.cpu.map(MilliCores),
        file_size: args.file_size.map_or(file_size, Bytes),
        disk,
        inodes: args.inodes.unwrap_or(usual.inodes),
        // The reading of the options lets no other value through; one that came all the same would end the run at once.
        time: Duration::try_from_secs_f64(args.timeout).unwrap_or(Duration::ZERO),
        ..usual
    }
}

/// The stage of a workspace.
fn stage_dir(workspace: &Path) -> PathBuf {
    review::stage_dir(&workspace::places(), workspace)
}

/// What a role may do in the sandbox: run at all, reach these hosts, and write to the workspace or only look.
fn permitted(args: &ExecArgs) -> Result<WorkspaceAccess, Problem> {
    let Some(role) = args.acting.named() else { return Ok(WorkspaceAccess::Write) };
    let workspace = workspace::open(&args.workspace)?;
    let mut driver = session::session(&workspace, Some(&role))?;
    let mut needs = vec![Need::new(Permission::CanExecuteTasks, EXEC)];
    needs.extend(args.write.iter().map(|path| Need::new(Permission::Write, &path.to_string_lossy())));
    needs.extend(args.allow_host.iter().map(|host| {
        let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _port)| name);
        Need::new(Permission::Reach, name)
    }));
    // The last need is the one that is named when all are granted.
    needs.reverse();
    session::ask(&mut driver, EXEC, None, &needs)?;
    let permissions = driver.frozen().permissions.as_ref();
    Ok(match permissions.map(|permissions| permissions.writing(Who::role(&role))) {
        Some(Writing::Workspace) => WorkspaceAccess::Write,
        Some(Writing::Nothing) | None => WorkspaceAccess::Read,
    })
}

/// The tool's name under which a confined command is journaled.
const EXEC: &str = "sandbox.exec";

fn diff(args: &StageArgs) -> Exit {
    let form = args.form;
    match Stage::open(&stage_dir(&args.workspace), &args.workspace).and_then(|stage| stage.changes()) {
        Ok(changes) => report::changes(form, &changes),
        Err(error) => report::stage_error(&error),
    }
}

fn apply(args: &SandboxApplyArgs) -> Exit {
    let form = args.stage.form;
    if let Err(problem) = no_review_required(&args.stage.workspace) {
        return report::denied(form, &problem);
    }
    let stage = match Stage::open(&stage_dir(&args.stage.workspace), &args.stage.workspace) {
        Ok(stage) => stage,
        Err(error) => return report::stage_error(&error),
    };
    match stage.apply(&args.digest) {
        Ok(changes) => report::changes(form, &changes),
        Err(error) => report::apply_error(&error),
    }
}

#[derive(Debug, thiserror::Error)]
#[error("a review is required before staged changes may be applied")]
struct ReviewRequiredError;

impl Explain for ReviewRequiredError {
    fn hint(&self) -> Cow<'_, str> {
        "propose them with `tripwire review propose`, then `tripwire review decide` and `apply`".into()
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::Refused
    }
}

/// Where a review is required, only the review gate applies a change set.
fn no_review_required(workspace: &Path) -> Result<(), Problem> {
    let workspace = Workspace::locate(workspace, &workspace::places())?;
    if review::is_required(workspace.layout())? { Err(ReviewRequiredError.into()) } else { Ok(()) }
}

fn discard(args: &StageArgs) -> Exit {
    match Stage::open(&stage_dir(&args.workspace), &args.workspace).and_then(Stage::discard) {
        Ok(()) => report::discarded(args.form),
        Err(error) => report::stage_error(&error),
    }
}
