//! `tripwire policy`: the effective policy, where each value came from, and whether a file is good.

use crate::error::Problem;
use crate::exit::Exit;
use crate::policy::PolicyArgs;
use crate::print::{self, Out, terminal};
use crate::workspace::{self, Where};
use clap::{Args, Subcommand};
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tripwire_authority::{self as authority, current};
use tripwire_core::counted::{agreeing, counted};
use tripwire_core::explain::Explain;
use tripwire_session::driver::check_secrets;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::manifest::Manifest;
use tripwire_workspace::policy_file::{self, PolicyFileError};

/// Show the effective policy, or check a policy file.
#[derive(Debug, Args)]
pub(crate) struct PolicyVerbArgs {
    #[command(subcommand)]
    act: PolicyAct,
}

#[derive(Debug, Subcommand)]
enum PolicyAct {
    /// Print every setting with its value and where it came from: this workspace's manifest, `--policy`, or a default.
    Show(PolicyShowArgs),
    /// Check a policy file: settings and roles of a manifest, or Cedar policies with their examples.
    Check(PolicyCheckArgs),
}

#[derive(Debug, Args)]
struct PolicyShowArgs {
    #[command(flatten)]
    chosen: PolicyArgs,
    #[command(flatten)]
    place: Where,
    /// Write one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct PolicyCheckArgs {
    /// `MANIFEST.yaml` or `policy.cedar`, or a file in one of these formats; by default both files of the workspace.
    file: Option<PathBuf>,
    #[command(flatten)]
    place: Where,
    /// Write one JSON object.
    #[arg(long)]
    json: bool,
}

/// Examples of a policy file do not hold.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {} {} not hold", counted(*count, "example"), agreeing(*count, "does", "do"))]
struct ExamplesError {
    file: String,
    count: usize,
}

impl Explain for ExamplesError {
    fn hint(&self) -> Cow<'_, str> {
        "change the policies or the examples, then run `tripwire policy check`".into()
    }
}

/// Runs the verb.
pub(crate) fn run(args: &PolicyVerbArgs) -> Result<Exit, Problem> {
    match &args.act {
        PolicyAct::Show(args) => show(args),
        PolicyAct::Check(args) => check(args, &mut Out::lock()),
    }
}

/// Checks the policy files of a workspace, as `policy check` does without a file.
pub(crate) fn check_workspace(place: &Where, mut out: Out) -> Result<Exit, Problem> {
    check(&PolicyCheckArgs { file: None, place: place.clone(), json: false }, &mut out)
}

/// Refuses broken policy files, as `policy check` does, and prints nothing about good ones.
pub(crate) fn require_good(layout: &Layout) -> Result<(), Problem> {
    let is_there = |file: &PathBuf| file.symlink_metadata().is_ok();
    if let Some(file) = Some(layout.manifest()).filter(is_there) {
        check_secrets(layout, None, &policy_file::load(&file)?.policy)?;
        authority::of_manifest(&Manifest::load(&file).map_err(PolicyFileError::from)?)?;
    }
    if let Some(file) = Some(layout.policy()).filter(is_there) {
        let failed = authority::check(&file, &current::roles(layout)?)?.failed;
        if let Some(first) = failed.first() {
            print::say(&first.to_string());
            return Err(ExamplesError { file: print::name(&file), count: failed.len() }.into());
        }
    }
    Ok(())
}

fn show(args: &PolicyShowArgs) -> Result<Exit, Problem> {
    let (loaded, problem) = args.chosen.in_workspace_or_defaults(args.place.look()?.layout())?;
    let policy = args.chosen.over(loaded.policy.clone(), None)?;
    let hash = policy.hash()?;
    let columns = terminal::columns_of_output();
    let mut out = Out::lock();
    let origin = |path: &str, source: &str| {
        if path == "profile" && args.chosen.profile.is_some() {
            return "--profile".to_owned();
        }
        match loaded.place_of(path) {
            Some(place) => format!("line {} of {}", place.line, print::name(&place.file)),
            None => format!("default ({source})"),
        }
    };
    if args.json {
        let settings: BTreeMap<_, _> = policy
            .rows()
            .into_iter()
            .map(|row| {
                (
                    row.path,
                    serde_json::json!({"value": row.value, "inForce": row.in_force, "from": origin(row.path, row.source), "means": row.doc}),
                )
            })
            .collect();
        let mut object = json!({"policyHash": hash.to_string(), "settings": settings});
        if let Some(problem) = problem {
            object["problem"] = json!(problem);
        }
        out.line(&object.to_string())?;
    } else {
        for row in policy.rows() {
            let line = format!("{:<36} {:<14} {}", row.path, row.shown(), origin(row.path, row.source));
            out.line(&columns.map_or_else(|| line.clone(), |columns| terminal::cut(&line, columns)))?;
        }
        out.line(&format!("policy hash sha256:{hash}"))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn check(args: &PolicyCheckArgs, out: &mut Out) -> Result<Exit, Problem> {
    let layout = match &args.file {
        Some(_) => None,
        None => Some(args.place.look()?.layout().clone()),
    };
    let files: Vec<PathBuf> = match (&args.file, &layout) {
        (Some(file), _) => vec![file.clone()],
        (None, Some(layout)) => vec![layout.manifest(), layout.policy()],
        (None, None) => Vec::new(),
    };
    let mut exit = Exit::Done;
    for file in files.iter().filter(|file| args.file.is_some() || file.symlink_metadata().is_ok()) {
        let is_cedar = file.extension().is_some_and(|kind| kind == "cedar");
        let found = if is_cedar { check_cedar(args, file, out)? } else { check_manifest(args, file, out)? };
        exit = if exit == Exit::Done { found } else { exit };
    }
    Ok(exit)
}

fn check_manifest(args: &PolicyCheckArgs, file: &Path, out: &mut Out) -> Result<Exit, Problem> {
    let loaded = policy_file::load(file)?;
    let workspace = args.place.look()?;
    check_secrets(workspace.layout(), workspace::signing(&workspace).as_ref(), &loaded.policy)
        .map_err(|error| Problem::in_file(print::name(file), error))?;
    let manifest = Manifest::load(file).map_err(PolicyFileError::from)?;
    let roles = authority::of_manifest(&manifest)?;
    let hash = loaded.policy.hash()?;
    let (set, name) = (loaded.lines.len(), print::name(file));
    out.line(&match args.json {
        true => json!({"ok": true, "set": set, "roles": roles.len(), "policyHash": hash.to_string()}).to_string(),
        false => {
            let (set, roles) = (counted(set, "setting"), counted(roles.len(), "role"));
            format!("{name}: good, {set}, hash sha256:{hash}, {roles}")
        }
    })?;
    out.flush()?;
    Ok(Exit::Done)
}

/// Checks Cedar policies under the roles of the manifest beside them, and tells every example that does not hold.
fn check_cedar(args: &PolicyCheckArgs, file: &Path, out: &mut Out) -> Result<Exit, Problem> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let checked = authority::check(file, &current::roles(&Layout::at(folder))?)?;
    let (name, held, count) = (print::name(file), checked.examples, checked.failed.len());
    if args.json {
        let failed: Vec<_> =
            checked.failed.iter().map(|error| json!({"line": error.line(), "problem": error.to_string()})).collect();
        let ok = checked.failed.is_empty();
        out.line(&json!({"ok": ok, "policies": checked.policies, "examples": held, "failed": failed}).to_string())?;
    } else {
        checked.failed.iter().try_for_each(|error| out.prose(&error.to_string()))?;
        if checked.failed.is_empty() {
            let (policies, examples) = (counted(checked.policies, "policy"), counted(held, "example"));
            out.line(&format!("{name}: good, {policies}, {examples} {}", agreeing(held, "holds", "hold")))?;
        }
    }
    out.flush()?;
    if count > 0 { Err(ExamplesError { file: name, count }.into()) } else { Ok(Exit::Done) }
}
